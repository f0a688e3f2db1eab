"""The variants that are known by name only."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

KNOWN: Final = "unknown"
"""The file that lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownByName:
    """A variant that a source names and whose rules are unknown; nobody can play it."""

    id: str
    name: str
    source: Mapping[str, str]
    text: str
    playable: bool = False


@cache
def known_by_name() -> Mapping[str, KnownByName]:
    """Return the variants known by name only, by id."""
    document = tomllib.loads((files(__package__) / f"{KNOWN}.toml").read_text("utf-8"))
    return {table["id"]: KnownByName(**table) for table in document["known"]}
