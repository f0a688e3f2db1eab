"""The checks of the verifier in words, each with the source that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

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
        Described(name=check.value, asks=_ASKS[check], module=_MODULES[check]) for check in Check
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


_ASKS: Mapping[Check, str] = {
    Check.BYTES: "Is every line written in the one form that there is for it, and nothing more?",
    Check.CHAIN: "Does every event name the hash of the one before it, and does time go forward?",
    Check.ORDER: "Do set-up, deal and play follow one another, with nothing after the seal?",
    Check.COMMITMENTS: "Is the seed, and all that players added, what was committed to before?",
    Check.SHUFFLE: "Does that give this very deck, the commitments to its cards, and the dealer?",
    Check.OPENINGS: "Does every card that was shown match the commitment to it?",
    Check.DEAL: "Did each card go where the deal puts it, and each draw take the top of the stock?",
    Check.CUSTODY: "Was every card in exactly one place at all times, and played by its holder?",
    Check.LEGALITY: "Do the rules allow each action, and lead to just what followed from it?",
    Check.HIDDEN: "Were blind cards that stayed hidden really those that could not be played?",
    Check.SIGNATURES: "Is every move of a player with a key signed, and for this moment?",
    Check.RECEIPTS: "Does every receipt that was kept name a head of this log?",
    Check.ANCHOR: "Does the public log of the server, signed by its key, contain this game?",
    Check.WITNESS: "Have the witnesses that were asked for cosigned that log?",
    Check.SEAL: "Is the game over, with the seed published?",
    Check.SEQUENCE: "Between the hands of a table: is none left out, doubled, or dealt in hiding?",
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
    Check.RECEIPTS: "outside.py",
    Check.ANCHOR: "outside.py",
    Check.WITNESS: "outside.py",
    Check.SEAL: "sequence.py",
    Check.SEQUENCE: "sequence.py",
}
