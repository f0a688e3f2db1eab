"""The checks of the verifier in words, each with the source that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from service.verify.asks import ASKS
from service.verify.finding import Check

SHOWN = ("verify", "record")
"""The packages whose source is shown: the checks, and what they stand on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A check as the page has it."""

    name: str
    asks: str
    module: str


def checks() -> list[Described]:
    """Return all checks in the order in which they are made."""
    return [
        Described(name=check.value, asks=ASKS[check], module=_MODULES[check]) for check in Check
    ]


@cache
def sources() -> Mapping[str, Mapping[str, str]]:
    """Return the source that is shown, by package and file name."""
    return {
        package: {
            file.name: file.read_text("utf-8")
            for file in sorted(files(f"service.{package}").iterdir(), key=lambda file: file.name)
            if file.name.endswith(".py")
        }
        for package in SHOWN
    }


_MODULES: Mapping[Check, str] = {
    Check.BYTES: "chain.py",
    Check.CHAIN: "chain.py",
    Check.ORDER: "order.py",
    Check.COMMITMENTS: "shuffling.py",
    Check.SHUFFLE: "shuffling.py",
    Check.OPENINGS: "shuffling.py",
    Check.DEAL: "custody.py",
    Check.CUSTODY: "custody.py",
    Check.LEGALITY: "legality.py",
    Check.HIDDEN: "hidden.py",
    Check.SIGNATURES: "signatures.py",
    Check.RECEIPTS: "receipts.py",
    Check.ANCHOR: "outside.py",
    Check.WITNESS: "outside.py",
    Check.SEAL: "sequence.py",
    Check.SEQUENCE: "sequence.py",
}
