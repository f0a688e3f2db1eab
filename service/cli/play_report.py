"""The closing lines of `shithead play`: what the verification of a hand shows, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from service.cli.narration import People
from service.cli.screen import printable
from service.replay.captions import listed
from service.verify.finding import Result
from service.verify.report import Report


def closing_lines(report: Report, people: People, bundle: str) -> list[str]:
    """
    Return what the verification of a played hand shows; the last line is the result.

    `bundle` is the path of the evidence. After a failure the first lines state what was changed,
    who may have changed it and what further evidence to get, as in `shithead verify`.
    """
    if report.result is Result.FAIL:
        return [*_failures(report, bundle), printable(report.last_line)]
    shown = [*_shown(report, people), *_not_shown(report, people)]
    shown.append("`shithead verify --help` explains the level in the last line.")
    lines = ["The record of this hand was checked:", *(f"  {printable(line)}" for line in shown)]
    return [*lines, printable(report.conclusion)]


def _failures(report: Report, bundle: str) -> Iterator[str]:
    for line in report.summary.lines(bundle) if report.summary else ():
        yield printable(line)
    for finding in report.findings:
        if finding.result is Result.FAIL:
            where = "" if finding.seq is None else f"seq {finding.seq}: "
            yield printable(f"{finding.check} fails: {where}{finding.text}")


def _shown(report: Report, people: People) -> Iterator[str]:
    if report.result is Result.PASS:
        yield "It is complete, the cards are those of the shuffle, and every move is legal."
    for text in report.outside:
        yield _in_words(text, people) or f"{text[:1].upper()}{text[1:]}."


def _not_shown(report: Report, people: People) -> Iterator[str]:
    for text in (*report.unproven, *report.missing):
        yield _in_words(text, people) or f"Not shown: {text}."


_SIGNED: Final = "with the key that it showed at your first visit"

_WORDS: Final[Mapping[str, Callable[[re.Match[str], People], str]]] = {
    r"1 receipt agrees": lambda _, __: (
        f"The server signed it once, {_SIGNED}. The receipt shows any later change."
    ),
    r"(\d+) receipts agree": lambda found, _: (
        f"The server signed it {found[1]} times, {_SIGNED}. The receipts show any later change."
    ),
    r"the server's key, under a checkpoint": lambda _, __: "The server's public log contains it.",
    r"the keys of seats ([\d, ]+)": lambda found, people: _signed(found[1], people),
    r"seat (\d+) has no key": lambda found, people: _unsigned(int(found[1]), people),
    r"the key of seat (\d+), from outside": lambda found, people: (
        f"Only the server showed you the key of {people(int(found[1]))}. Ask"
        f" {people(int(found[1]))} for it and add --seat-key {found[1]}=KEY."
    ),
    r"seat (\d+) signed no move": lambda found, people: (
        f"{people.does(int(found[1]), 'has', 'have')} signed no move of this hand."
    ),
    r"seq (\d+): made for seat (\d+) after": lambda found, people: (
        f"Event {found[1]}: the server moved for {people(int(found[2]))}, whose time was up."
    ),
    r"seq (\d+): the forfeit of seat (\d+)": lambda found, people: (
        f"Event {found[1]}: no signature shows that {people(int(found[2]))} gave up."
    ),
    r"seq (\d+): that seat (\d+) left": lambda found, people: (
        f"Event {found[1]}: no signature shows that {people(int(found[2]))} left."
    ),
}
"""Patterns of statements in a report, and functions that return the sentence for a player."""


def _in_words(text: str, people: People) -> str | None:
    """Return the sentence for a statement of the report, None if no pattern matches it."""
    for pattern, sentence in _WORDS.items():
        found = re.match(pattern, text)
        if found is not None:
            return sentence(found, people)
    return None


def _signed(seats: str, people: People) -> str:
    keyed = [int(seat) for seat in seats.split(", ")]
    names = [people(seat) for seat in keyed if seat != people.me]
    own = ["You signed your moves with your key."] if people.me in keyed else []
    others = [f"The keys that you entered for {listed(names)} match."] if names else []
    return " ".join([*own, *others])


def _unsigned(seat: int, people: People) -> str:
    if seat == people.me:
        return "You did not sign your moves; the server vouches for them. --keyed signs them."
    return f"{people.names[seat]} did not sign moves; the server vouches for them."
