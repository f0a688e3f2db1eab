"""Statements of rules pages: those of a ruleset, and those that all rulesets share."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from service.domain.ruleset import ALL_RANKS

SECTIONS: Final = ("deal", "opening", "play", "special", "end")
_SECTIONS_OF: Final = {
    "players": ("deal",),
    "deck": ("deal",),
    "deal": ("deal",),
    "opening": ("opening",),
    "order": ("play",),
    "refill": ("play",),
    "turn": ("play",),
    "pick_up": ("play", "end"),
    "burn": ("special",),
    "ranks": ("special",),
    "end": ("end", "deal"),
}
MODEL: Final = "model"
"""The file of the statements that all rulesets share."""
SHARED: Final = "1-"
"""Prefix of the ids of the statements that all rulesets share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """
    One entry of a rules page.

    A statement may have several entries with the same id: its text, its text for another
    section, and a reading of a question that the source leaves open.
    """

    id: str
    section: str  # deal, opening, play, special, end
    text: str
    reading: bool
    goes_with: str = ""  # the statement that this one depends on
    applies: str = ""  # model only: the condition for a ruleset to have this statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The statements that all rulesets share, and the settings that cite them."""

    statements: tuple[Statement, ...]
    cites: Mapping[str, str]  # by setting
    rank_cites: Mapping[str, str]  # by setting of a rank that is not special


@cache
def model() -> Model:
    """Return the statements of the model (rules.md, section 1); their ids begin with `1-`."""
    document = tomllib.loads((files(__package__) / f"{MODEL}.toml").read_text("utf-8"))
    return Model(
        statements=read_statements(document),
        cites=document["cites"],
        rank_cites=document["rank_cites"],
    )


@cache
def shared_cites() -> Mapping[str, str]:
    """Return for every setting the id of the statement of the model that it cites."""
    shared = model()
    of_ranks = {
        f"ranks.{rank}.{setting}": rule
        for rank in ALL_RANKS
        for setting, rule in shared.rank_cites.items()
    }
    return {**of_ranks, **shared.cites}


def read_statements(document: Mapping[str, Any]) -> tuple[Statement, ...]:
    """
    Return the statements that a parsed file lists.

    Raises ValueError for an unknown section.
    """
    tables = document.get("statements", ())
    for table in tables:
        if table["section"] not in SECTIONS:
            raise ValueError(f"{table['id']}: no section {table['section']}")
    return tuple(
        Statement(
            id=table["id"],
            section=table["section"],
            text=table["text"],
            reading=table.get("reading", False),
            goes_with=table.get("goes_with", ""),
            applies=table.get("applies", ""),
        )
        for table in tables
    )


def kept(statements: Iterable[Statement], replaced: Iterable[str]) -> tuple[Statement, ...]:
    """Return the statements without `replaced`: ids such as `P1`, or `P1/deal` for one section."""
    gone = set(replaced)
    return tuple(s for s in statements if not gone & {s.id, f"{s.id}/{s.section}"})


def sections_of(setting: str) -> tuple[str, ...]:
    """
    Return the sections of a rules page that can describe the setting at a dotted path.

    >>> sections_of("pick_up.taker")
    ('play', 'end')
    """
    return _SECTIONS_OF[setting.removeprefix("second_hand.").partition(".")[0]]


def rule_of(cites: Mapping[str, str], setting: str) -> str:
    """Return the id of the statement that the setting at a dotted path cites."""
    setting = setting.removeprefix("second_hand.")
    if setting in cites:
        return cites[setting]
    if setting.startswith("ranks."):
        return model().rank_cites[setting.rpartition(".")[2]]
    return model().cites.get(setting, "1-model")


def text_of(statements: Iterable[Statement], rule: str) -> str | None:
    """Return the text of a statement and its readings; None for an unknown id."""
    both = (*statements, *model().statements)
    return " ".join(s.text for s in both if s.id == rule) or None
