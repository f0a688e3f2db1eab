"""A dispute in words: charge, findings, statements, referees, ruling, and the next steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from service.cli.narration import Event, People, narrated
from service.replay.captions import counted
from service.verify.claims import describe
from service.verify.plain import ON_THE_MOVE, finding_in_words

CHARGES: Final[Mapping[str, str]] = {
    "illegal-move": "an illegal move",
    "false-pick-up": "taking the pile although a card could be played",
    "wrong-deal": "a wrong deal",
    "altered-log": "changing the record of the game",
    "time": "play outside the time limit",
    "collusion": "collusion",
    "other": "an offence described in the statement",
}
"""The charges as they are typed, and in words."""

ACCUSABLE: Final = frozenset(
    {
        *("cards_swapped", "table_laid", "seat_ready", "cards_played", "pile_picked_up"),
        *("blind_failed", "stock_failed", "turn_passed"),
    }
)
"""The events that begin a move of a seat."""

_STATES: Final = {
    "open": "waiting for referees",
    "voting": "the referees are voting",
    "revealing": "the referees are revealing their votes",
    "ruled": "there is a ruling",
    "appealed": "there is an appeal: other referees are to judge",
    "final": "closed",
}
_RESULTS: Final = {"fail": "FAULT", "missing": "open", "pass": "ok", "n/a": "-"}
_REFEREES: Final = {
    "seated": "has not voted",
    "committed": "has voted, sealed",
    "revealed": "has voted",
    "recused": "no longer a referee",
}
_SERVER: Final = "the server"
FEWEST: Final = 3
"""Referees of a panel, at least."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A dispute, with the names of the table, the disputed event, and the reader."""

    dispute: Mapping[str, Any]
    people: People
    event: Event
    me: str | None  # the id of the reader as a player
    referees: Mapping[int, str]  # their names, as far as the reader may know them
    command: Callable[[str, object], str]

    @property
    def accused(self) -> str:
        """Return the accused in words."""
        seat = self.dispute["accused"]
        return _SERVER if seat is None else self.people(seat)

    @property
    def referee(self) -> Mapping[str, Any] | None:
        """Return the reader's own place among the referees, None if there is none."""
        own = (r for r in self.dispute["referees"] if self.me and r["player"] == self.me)
        return next((r for r in own if r["state"] != "recused"), None)

    @property
    def panel(self) -> list[Mapping[str, Any]]:
        """Return the referees that judge or are to judge; after an appeal the new ones."""
        voted = {one["referee"] for one in self.dispute["votes"]}
        every = self.dispute["referees"]
        return [r for r in every if r["state"] != "recused" and r["referee"] not in voted]

    @property
    def side(self) -> str | None:
        """Return `accuser` or `accused` if the reader is one of them."""
        if self.people.me is None:
            return None
        sides = {self.dispute["by"]: "accuser", self.dispute["accused"]: "accused"}
        return sides.get(self.people.me)


def event_sentence(event: Event, people: People) -> str:
    """Return what an event states, in one sentence."""
    lines = narrated([event], people)
    if lines:
        return lines[0]
    stated = describe(event)
    return f"{stated[0].upper()}{stated[1:]}."


def case_text(case: Case) -> str:
    """Return a dispute as text, with the next steps of the reader at the end."""
    return "\n".join(_lines(case)) + "\n"


def _lines(case: Case) -> Iterator[str]:
    dispute = case.dispute
    charge = CHARGES[dispute["charge"].replace("_", "-")]
    yield f"Dispute {dispute['id']}"
    yield f"  {case.people.does(dispute['by'], 'accuses', 'accuse')} {case.accused} of {charge}."
    yield f"  Event {dispute['seq']}: {event_sentence(case.event, case.people)}"
    yield f"  State: {_STATES[dispute['state']]}{_until(dispute)}."
    yield from _findings(dispute)
    yield from _statements(case)
    yield from _panel(case)
    yield from _ruling(case)
    steps = list(_next_steps(case))
    if steps:
        yield from ("", "What you can do now", *(f"  {step}" for step in steps))


def when(time: str) -> str:
    """
    Return a time to the minute.

    >>> when("2026-11-24T15:04:59.000000Z")
    '2026-11-24 15:04 UTC'
    """
    return f"{time[:10]} {time[11:16]} UTC"


def _until(dispute: Mapping[str, Any]) -> str:
    if dispute["state"] in ("open", "appealed") and dispute["voting_from"]:
        return f"; the voting opens on {when(dispute['voting_from'])}"
    return f", until {when(dispute['deadline'])}" if dispute["deadline"] else ""


_ORDER: Final = ("fail", "missing", "pass")


def _findings(dispute: Mapping[str, Any]) -> Iterator[str]:
    """Yield the findings, the faults first: a sentence each, and the check's name behind it."""
    yield from ("", "What the machine found")
    if not dispute["findings"]:
        yield "  nothing yet: the findings follow within seconds"
    judged = [one for one in dispute["findings"] if one["result"] in _ORDER]
    for one in sorted(judged, key=_place):
        yield f"  {_RESULTS[one['result']]:<6} {finding_sentence(one)}"


def _place(finding: Mapping[str, Any]) -> tuple[bool, int]:
    """Return the place of a finding in the list: the disputed move, then faults first."""
    return finding["check"] != ON_THE_MOVE, _ORDER.index(finding["result"])


def finding_sentence(finding: Mapping[str, Any]) -> str:
    """
    Return a finding as one sentence of at most 30 words, with the check's name behind it.

    >>> finding_sentence({"check": "custody", "result": "fail", "seq": 20, "rule": None,
    ...     "text": "seat 1 does not hold 7h; 3 more, at seq 21, 22, 23"})
    'A card was played or moved that was not there. (custody, event 20: seat 1 does not hold 7h)'
    """
    check = finding["check"]
    sentence, reason = finding_in_words(finding)
    behind = [check if check != ON_THE_MOVE else "the move"]
    behind += [] if finding["seq"] is None else [f"event {finding['seq']}"]
    behind += [finding["rule"]] if finding["rule"] else []
    detail = f": {reason}" if reason else ""
    return f"{sentence} ({', '.join(behind)}{detail})"


def _statements(case: Case) -> Iterator[str]:
    if not case.dispute["statements"]:
        return
    yield from ("", "Statements")
    for one in case.dispute["statements"]:
        text = one["text"] or "(not shown: only the two sides and the referees can read it)"
        yield f"  {one['by']}, {when(one['at'])}: {' '.join(text.split())}"


def _panel(case: Case) -> Iterator[str]:
    dispute = case.dispute
    yield from ("", "Referees")
    votes = {one["referee"]: one["vote"].replace("_", " ") for one in dispute["votes"]}
    for one in dispute["referees"]:
        number = one["referee"]
        state = f"voted: {votes[number]}" if number in votes else _REFEREES[one["state"]]
        sealed = " by the server" if one["sealed_by"] == "server" else ""
        name = f"{case.referees[number]}: " if number in case.referees else ""
        yield f"  {number}  {name}{state}{sealed if state.endswith('sealed') else ''}"
    lacking = FEWEST - len(case.panel)
    if lacking > 0 and dispute["state"] in ("open", "appealed"):
        yield f"  {counted(lacking, 'more referee')} needed"


def _ruling(case: Case) -> Iterator[str]:
    """Yield the rulings; before the end a ruling against a player stands in the votes alone."""
    ruling = case.dispute["ruling"]
    if ruling is None:
        if case.dispute["state"] == "ruled":
            yield from ("", f"Ruling: against {case.accused}; it is not final.")
        elif case.dispute["state"] == "final":
            yield from ("", "Ruling: none; no panel was complete in time.")
        return
    title = "Ruling"
    while ruling is not None:
        verdict = {
            "cad": f"against {case.accused}: all referees voted `cheated`",
            "proven": f"against {case.accused}: all referees voted `cheated`",
            "cleared": f"not against {case.accused}: the referees did not all vote `cheated`",
        }[ruling["verdict"]]
        yield from ("", f"{title}, {when(ruling['at'])}: {verdict}.")
        ruling, title = ruling["superseded_by"], "Ruling after the appeal"


def _next_steps(case: Case) -> Iterator[str]:
    """Yield the commands that the reader can use in this state."""
    dispute, side, referee = case.dispute, case.side, case.referee
    state, identity = dispute["state"], dispute["id"]
    if state == "final":
        return
    yield f"look at the evidence:  {case.command('evidence', identity)}"
    if side is not None:
        yield f"make a statement:  {case.command('statement', identity)} TEXT"
    if side is not None and state in ("open", "appealed") and case.panel:
        yield f"refuse a referee:  {case.command('refuse', identity)} NUMBER"
    if side is not None and state == "ruled":
        yield f"appeal, if you lost:  {case.command('appeal', identity)}"
    if referee is not None and referee["state"] == "seated" and state == "voting":
        yield f"vote:  {case.command('vote', identity)} cheated"
        yield f"   or  {case.command('vote', identity)} not-proven"
    if referee is not None and referee["state"] == "committed" and state == "revealing":
        yield f"reveal your vote:  {case.command('vote', identity)}"
    if side is None and referee is None and state in ("open", "appealed"):
        yield f"offer to judge:  {case.command('judge', identity)}"
