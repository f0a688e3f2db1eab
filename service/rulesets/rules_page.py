"""The rules page of a ruleset, as its players read it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from service.domain.effects import Acts
from service.domain.ruleset import (
    After,
    Along,
    Layout,
    Opener,
    OpeningPlay,
    Plays,
    Ruleset,
    Taker,
    TryStockWhen,
)
from service.rulesets.catalogue import Definition, KnownByName, Option, definition
from service.rulesets.labels import label_of
from service.rulesets.spoken_of import USUAL_SET
from service.rulesets.statements import SECTIONS, Statement, model

TITLES: Final = {
    "deal": "The deal",
    "opening": "The opening",
    "play": "Play",
    "special": "Special cards",
    "end": "The end",
}
COMMON_TITLE: Final = "Rules of all rulesets, for questions that the rules above leave open"
RECONSTRUCTION: Final = (
    "This ruleset is a reconstruction: its source names the game without describing it. "
    "Rules that were found elsewhere are restated, and readings fill the gaps."
)
MADE_HERE: Final = (
    "The statements whose ids begin with C describe its changes, and override the others."
)
READINGS: Final = (
    "A reading is our decision on a question on which the source is silent or contradicts itself."
)
WIDTH: Final = 88


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesSection:
    """One section of a rules page: deal, opening, play, special cards or end."""

    name: str
    title: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesPage:
    """A rules page; `common` are the general statements that can apply in this ruleset."""

    id: str
    name: str
    origin: str
    file: str  # of the source, in the corpus
    numbered: str  # the note that lists all statements
    notes: tuple[str, ...]
    seats: str
    options: tuple[str, ...]
    sections: tuple[RulesSection, ...]
    common: tuple[Statement, ...]

    @property
    def readings(self) -> tuple[Statement, ...]:
        """Return the readings: decisions on questions that the source leaves open."""
        return tuple(s for part in self.sections for s in part.statements if s.reading)


def rules_page(ruleset: Definition | KnownByName) -> RulesPage:
    """Return the rules page of a ruleset; for one known only by name, a page that states so."""
    origin, file = f"After: {ruleset.source['title']}", ruleset.source["file"]
    if isinstance(ruleset, KnownByName):
        return RulesPage(
            id=ruleset.id,
            name=ruleset.name,
            origin=origin,
            file=file,
            numbered="",
            notes=(ruleset.text, "It can be played once its rules are written as a ruleset."),
            seats="",
            options=(),
            sections=(),
            common=(),
        )
    players = ruleset.settings({})["players"]
    return RulesPage(
        id=ruleset.id,
        name=ruleset.name,
        origin=origin,
        file=file,
        numbered=_numbered(ruleset),
        notes=tuple(_notes(ruleset)),
        seats=_seats(players["min"], players["max"]),
        options=tuple(_option(option) for option in ruleset.options.values()),
        sections=_sections(ruleset.statements),
        common=applying(ruleset),
    )


def as_text(page: RulesPage, *, common: bool = True) -> str:
    """
    Return the page as plain text for the command line.

    Without `common`, the statements that all rulesets share are left out.
    """
    lines = [f"{page.name}  [{page.id}]", "=" * len(f"{page.name}  [{page.id}]"), ""]
    heads = (f"{page.origin} ({page.file}).", *page.notes, page.seats, *page.options)
    for sentence in filter(None, heads):
        lines += textwrap.wrap(sentence, WIDTH, break_on_hyphens=False)
    for section in page.sections:
        lines += _block(section.title, section.statements)
    if page.common and common:
        lines += _block(COMMON_TITLE, page.common)
    return "\n".join(lines) + "\n"


def common_text() -> str:
    """Return the statements that all rulesets share as plain text."""
    return "\n".join(_block(COMMON_TITLE, model().statements)[1:]) + "\n"


def _sections(statements: tuple[Statement, ...]) -> tuple[RulesSection, ...]:
    return tuple(
        RulesSection(
            name=name,
            title=TITLES[name],
            statements=tuple(s for s in statements if s.section == name),
        )
        for name in SECTIONS
    )


def _notes(ruleset: Definition) -> list[str]:
    notes = [RECONSTRUCTION] if ruleset.reconstruction else []
    if ruleset.id.startswith("custom-") and ruleset.base:
        notes.append(f"A custom ruleset, based on {definition(ruleset.base).name}. {MADE_HERE}")
    if ruleset.statements:
        notes.append(_numbered(ruleset))
    if any(s.reading for s in ruleset.statements):
        notes.append(READINGS)
    return notes


def _numbered(ruleset: Definition) -> str:
    own = dict.fromkeys(s.id for s in ruleset.statements)
    return "It has the statements " + ", ".join(own) + "."


def _seats(fewest: int, most: int) -> str:
    return f"Players: {fewest}." if fewest == most else f"Players: {fewest} to {most}."


def _option(option: Option) -> str:
    name = option.name.replace("_", " ")
    if option.kind == "ranks":
        what = label_of(option.sets or name)
        what = f"{what[0].lower()}{what[1:]}"
        return f"Option {name}: {what}; by default none ({option.rule})."
    values = ", ".join(str(value) for value in option.values)
    some = "any of " if option.kind == "set" else ""
    default = option.default
    chosen = ", ".join(map(str, default)) if isinstance(default, list) else default
    return f"Option {name}: {some}{values}; by default {chosen} ({option.rule})."


def _block(title: str, statements: tuple[Statement, ...]) -> list[str]:
    lines = ["", title, "-" * len(title)]
    width = max((len(s.id) for s in statements), default=0) + 2
    for statement in statements:
        text = f"Reading: {statement.text}" if statement.reading else statement.text
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=statement.id.ljust(width),
            subsequent_indent=" " * width,
            break_on_hyphens=False,
        )
    return lines


FIRST_COME: Final = (Opener.FIRST_COME_HAND, Opener.FIRST_COME_TABLE)


def _companions(ruleset: Ruleset) -> bool:
    return any(rule.plays is Plays.WITH_COMPANION for rule in ruleset.ranks.values())


def _previous(ruleset: Ruleset) -> bool:
    pick_up = ruleset.pick_up
    return pick_up.taker is Taker.PREVIOUS or pick_up.after in (
        After.PREVIOUS,
        After.PREVIOUS_ABOVE_TWO,
    )


APPLIES: Final[Mapping[str, Callable[[Ruleset], bool]]] = {
    "exchange": lambda r: r.deal.exchange or r.deal.layout is not Layout.NONE,
    "stacks": lambda r: r.deal.layout is Layout.STACKS,
    "first_come": lambda r: r.opening.opener in FIRST_COME,
    "any_opening": lambda r: r.opening.play is OpeningPlay.ANY,
    "several_ranks": lambda r: r.turn.runs or _companions(r),
    "follow_up": lambda r: r.turn.follow_up,
    "windows": lambda r: r.turn.follow_up or r.opening.opener in FIRST_COME,
    "try": lambda r: r.turn.try_stock is not TryStockWhen.NEVER,
    "pass": _companions,
    "previous": _previous,
    "along": lambda r: r.pick_up.along is not Along.NOTHING,
    "set": lambda r: r.burn.set_size == USUAL_SET,
    "turning": lambda r: any(rule.effects(Acts.TURN) for rule in r.ranks.values()),
    "covering": lambda r: any(rule.effects(Acts.COVER) for rule in r.ranks.values()),
    "shown": lambda r: r.pick_up.show_blind,
    "duties": lambda r: r.burn.flusher or r.end.paper_bag,
}
"""Conditions on a ruleset, by the names that statements of the model use (`applies`)."""


def applying(ruleset: Definition) -> tuple[Statement, ...]:
    """Return the general statements that can apply in one of the hands of a ruleset."""
    hands = [ruleset.ruleset({}, hand=hand) for hand in (1, 2)]
    return tuple(
        statement
        for statement in model().statements
        if not statement.applies or any(APPLIES[statement.applies](hand) for hand in hands)
    )
