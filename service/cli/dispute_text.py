"""A dispute in words: charge, findings, statements, referees, ruling, and the next steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.cli.narration import Event, People, narrated
from service.domain.words import counted, duration
from service.replay.sentences import prose, sentence
from service.verify.claims import describe
from service.verify.stored_findings import ON_THE_MOVE, in_words

CHARGES: Final[Mapping[str, str]] = {
    "illegal-move": "an illegal move",
    "false-pick-up": "taking the pile although a card could be played",
    "wrong-deal": "a wrong deal",
    "altered-log": "changing the record of the game",
    "time": "play outside the time limit",
    "collusion": "collusion",
    "other": "an offence described in the statement",
}
"""The charges as options of the command line, with their wording."""

_TAKES_THE_PILE: Final = frozenset({"pile_picked_up", "blind_failed", "stock_failed"})
_MOVES: Final = _TAKES_THE_PILE | {
    *("cards_swapped", "table_laid", "seat_ready", "cards_played", "turn_passed")
}

STATES: Final = {
    "open": "waiting for referees",
    "voting": "the referees are voting",
    "revealing": "all referees have voted and reveal their votes",
    "ruled": "there is a ruling, which can be appealed",
    "appealed": "appealed: waiting for other referees",
    "final": "closed",
}
_RESULTS: Final = {"fail": "FAULT", "missing": "open", "pass": "ok", "n/a": "-"}
_SERVER: Final = "the server"
MIN_PANEL: Final = 3
"""Smallest number of referees who can rule on a dispute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A dispute, with the names at the table, the disputed event, and the reader."""

    dispute: Mapping[str, Any]
    people: People
    event: Event | None  # None for collusion
    me: str | None  # the id of the reader as a player
    referees: Mapping[int, str]  # the names that the reader may see, by number
    command: Callable[[str, object], str]  # the command line for a subcommand and an id

    @property
    def accused(self) -> str:
        """Return the accused in words."""
        seat = self.dispute["accused"]
        return _SERVER if seat is None else self.people(seat)

    @property
    def panel(self) -> list[Mapping[str, Any]]:
        """Return the referees of the present panel; after an appeal, those of the new one."""
        ruled = {number for one in self.dispute["rulings"] for number in one["referees"]}
        every = self.dispute["referees"]
        return [r for r in every if r["state"] != "recused" and r["referee"] not in ruled]

    @property
    def earlier_panel(self) -> frozenset[int]:
        """Return the numbers of the referees whose ruling was appealed."""
        rulings = self.dispute["rulings"]
        appealed = [one for one in rulings if one["state"] in ("appealed", "superseded")]
        return frozenset(number for one in appealed for number in one["referees"])

    @property
    def may(self) -> frozenset[str]:
        """Return the actions that the service allows the reader now."""
        return frozenset((self.dispute["you"] or {"may": ()})["may"])

    def side(self, name: str) -> str:
        """Return `accuser`, `accused` or `partner`, followed by the name in brackets."""
        if name == "partner":
            return f"partner ({self.people(self.dispute['partner'])})"
        return f"{name} ({self.people(self.dispute['by']) if name == 'accuser' else self.accused})"


_NEXT: Final = {
    "reveal": "reveal your vote, else it does not count",
    "vote": "your vote is awaited",
    "appeal": "you lost, and can appeal",
    "statement": "you can make a statement",
}
"""The acts of a player in a dispute, the most urgent first."""


_PARTS: Final = {
    None: "you are a referee",
    "accuser": "you opened it",
    "accused": "you are accused",
    "partner": "you are named as the partner of the accused",
}


def concerns(disputes: Sequence[Mapping[str, Any]], url: str, player: str) -> Iterator[str]:
    """
    Yield two lines for each running dispute of a player: part, next step and end, and a command.

    `player` are the options that name the same player.
    """
    for one in disputes:
        if one["state"] == "final":
            continue
        part = _PARTS[one["you"]["side"]]
        step = next((words for act, words in _NEXT.items() if act in one["you"]["may"]), None)
        said = [f"dispute   {part}", step or STATES[one["state"]]]
        yield "; ".join(said) + _until(one)
        yield f"  shithead dispute show {url.rstrip('/')}/v1/disputes/{one['id']}{player}"


def fits(event: Event, charge: str) -> bool:
    """Return whether a charge (as typed) can be about the move that an event begins."""
    return event["type"] in (_TAKES_THE_PILE if charge == "false-pick-up" else _MOVES)


def event_sentence(event: Event, people: People) -> str:
    """Return an event as one sentence."""
    lines = narrated([event], people)
    if lines:
        return lines[0]
    return prose([describe(event)])


def case_text(case: Case) -> str:
    """Return a dispute as text, with the next steps of the reader at the end."""
    return "\n".join(_lines(case)) + "\n"


def _lines(case: Case) -> Iterator[str]:
    dispute = case.dispute
    charge = CHARGES[dispute["charge"].replace("_", "-")]
    yield f"Dispute {dispute['id']}"
    partner = dispute["partner"]
    pair = "" if partner is None else f" with {case.people(partner)}"
    accuses = case.people.does(dispute["by"], "accuses", "accuse")
    yield f"  {accuses} {case.accused} of {charge}{pair}."
    if case.event is not None:
        yield f"  Event {dispute['seq']}: {event_sentence(case.event, case.people)}"
    state = "withdrawn" if dispute["withdrawn"] else STATES[dispute["state"]]
    yield f"  State: {state}{_until(dispute)}."
    yield from _findings(dispute)
    yield from _statements(case)
    yield from _receipts(case)
    yield from _panel(case)
    yield from _ruling(case)
    yield from _periods(dispute)
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
    """
    Return the dates that end a state.

    >>> day = "2026-11-24T15:04:59.000000Z"
    >>> undated = {"state": "open", "rulings": [], "voting_from": None, "deadline": None}
    >>> _until(undated)
    '; the voting opens after the end of the game'
    >>> _until({**undated, "voting_from": day, "deadline": day})
    '; the voting opens on 2026-11-24 15:04 UTC'
    >>> _until({**undated, "deadline": day})
    '; if they are not complete by 2026-11-24 15:04 UTC, the dispute is closed'
    >>> _until({**undated, "state": "appealed", "rulings": [{}], "deadline": day})
    '; if they are not complete by 2026-11-24 15:04 UTC, the ruling is final'
    >>> _until({**undated, "state": "voting", "deadline": day})
    ', until 2026-11-24 15:04 UTC'
    >>> _until({**undated, "state": "final"})
    ''
    """
    opens, ends = dispute["voting_from"], dispute["deadline"]
    if dispute["state"] not in ("open", "appealed"):
        return f", until {when(ends)}" if ends else ""
    voting = f"; the voting opens on {when(opens)}" if opens else ""
    if opens or not ends:
        return voting or "; the voting opens after the end of the game"
    outcome = "the ruling is final" if dispute["rulings"] else "the dispute is closed"
    return f"; if they are not complete by {when(ends)}, {outcome}"


def _periods(dispute: Mapping[str, Any]) -> Iterator[str]:
    """Yield the conditions and periods, which were fixed at the opening."""
    periods = dispute["periods"]
    hands = counted(periods["referee_hands"], "finished hand")
    age, refusal, vote, appeal, end = (
        duration(periods[f"{name}_seconds"])
        for name in ("referee_account", "referee_seated", "vote", "appeal", "dispute")
    )
    yield from ("", f"Periods, fixed when the dispute was opened on {when(dispute['opened_at'])}")
    yield f"  A referee needs {hands} and an account of {age}."
    yield f"  A new referee can be refused for {refusal}; then the voting opens."
    yield f"  The referees vote within {vote}, and reveal their votes within {vote} more."
    yield f"  The side that lost can appeal once, within {appeal}."
    yield f"  A dispute without a panel is closed {end} after the latest of these times:"
    yield "  the game's end, the opening of the dispute and the appeal."


_ORDER: Final = ("fail", "missing", "pass")


def _findings(dispute: Mapping[str, Any]) -> Iterator[str]:
    """Yield the findings, faults first: a sentence each, followed by the name of the check."""
    yield from ("", "Findings of the verifier")
    if not dispute["findings"]:
        yield "  nothing yet: the findings follow within seconds"
    judged = [one for one in dispute["findings"] if one["result"] in _ORDER]
    for one in sorted(judged, key=_place):
        yield f"  {_RESULTS[one['result']]:<6} {finding_sentence(one)}"


def _place(finding: Mapping[str, Any]) -> tuple[bool, int]:
    """Return the sort key of a finding: that on the disputed move first, then faults."""
    return finding["check"] != ON_THE_MOVE, _ORDER.index(finding["result"])


def finding_sentence(finding: Mapping[str, Any]) -> str:
    """
    Return a finding in sentences of at most 30 words, followed by the name of the check.

    >>> finding_sentence({"check": "custody", "result": "fail", "seq": 20, "rule": None,
    ...     "code": "custody.not_held", "values": {"seat": 1, "card": "7h"}})
    'Seat 2 played the seven of hearts, but did not hold it at that moment. (custody, event 20)'
    """
    check = finding["check"]
    source = [check if check != ON_THE_MOVE else "the move"]
    source += [] if finding["seq"] is None else [f"event {finding['seq']}"]
    source += [finding["rule"]] if finding["rule"] else []
    return f"{in_words(finding)} ({', '.join(source)})"


def _statements(case: Case) -> Iterator[str]:
    if not case.dispute["statements"]:
        return
    yield from ("", "Statements")
    for one in case.dispute["statements"]:
        text = one["text"] or "(not shown: only the two sides and the referees can read it)"
        yield f"  {case.side(one['by'])}, {when(one['at'])}: {' '.join(text.split())}"


def _receipts(case: Case) -> Iterator[str]:
    if not case.dispute["receipts"]:
        return
    yield from ("", "Receipts: what the server confirmed during the game")
    for number, one in enumerate(case.dispute["receipts"], start=1):
        origin = f"handed in by the {case.side(one['by'])} on {when(one['at'])}"
        yield f"  {number}  up to event {one['seq']}, {origin}"


def _panel(case: Case) -> Iterator[str]:
    dispute = case.dispute
    yield from ("", "Referees")
    votes = {one["referee"]: one["vote"].replace("_", " ") for one in dispute["votes"]}
    reasons = {one["referee"]: one["reason"] for one in dispute["votes"] if one["reason"]}
    for one in dispute["referees"]:
        number = one["referee"]
        name = f"{case.referees[number]}: " if number in case.referees else ""
        yield f"  {number}  {name}{_referee(case, one, votes.get(number))}"
        if (of := one["experience"]) is not None:
            did = (
                f"{counted(of['hands'], 'public hand')}, {counted(of['judged'], 'dispute')} judged"
            )
            yield f"     {did}, account since {when(of['registered_at'])}"
        if number in reasons:
            yield f"     reason: {' '.join(reasons[number].split())}"
    missing = MIN_PANEL - len(case.panel)
    if missing > 0 and dispute["state"] in ("open", "appealed"):
        yield f"  {counted(missing, 'more referee')} needed"
    if dispute["state"] in ("voting", "revealing"):
        yield "  Votes are sealed first, so that no referee knows another vote, and then revealed."
    if dispute["state"] not in ("ruled", "final"):
        yield f"  Only if all of them vote `cheated`, the ruling is against {case.accused}."


def _referee(case: Case, one: Mapping[str, Any], vote: str | None) -> str:
    """Return what a referee has done, and when."""
    sealed = f"on {when(one['voted_at'])}" if one["voted_at"] else ""
    if vote is not None:
        panel = "before the appeal, " if one["referee"] in case.earlier_panel else ""
        return f"{panel}voted: {vote}, sealed {sealed}, revealed on {when(one['revealed_at'])}"
    by = " by the server" if one["sealed_by"] == "server" else ""
    match one["state"]:
        case "committed":
            return f"has voted, sealed{by} {sealed}; the vote is not revealed yet"
        case "revealed":
            return f"has voted and revealed the vote on {when(one['revealed_at'])}"
        case "recused" if one["refused_by"]:
            return f"refused by the {case.side(one['refused_by'])}"
        case "recused":
            return "left the panel: did not vote, or not reveal the vote, in time"
        case _:
            voting = case.dispute["state"] in ("voting", "revealing")
            return "has not voted yet" if voting else "is seated"


_RULINGS: Final = {
    "appealable": "It is not final: the side that lost can appeal",
    "appealed": "It was appealed: other referees judge now",
    "superseded": "It was appealed, and the ruling above replaces it",
    "final": "It is final",
}


def _ruling(case: Case) -> Iterator[str]:
    """Yield the rulings with their states, newest first: one after an appeal replaces the first."""
    dispute = case.dispute
    if dispute["state"] == "final" and not dispute["rulings"]:
        why = "no panel was complete in time"
        if dispute["withdrawn"]:
            why = "the accuser withdrew the dispute before anybody answered it"
        yield from ("", f"Ruling: none; {why}.")
    for ruling in reversed(dispute["rulings"]):
        title = "Earlier ruling" if ruling["state"] == "superseded" else "Ruling"
        if ruling["state"] != "superseded" and len(dispute["rulings"]) > 1:
            title = "Ruling after the appeal"
        outcome = f"not against {case.accused}: the referees did not all vote `cheated`"
        if ruling["against"]:
            outcome = f"against {case.accused}: all referees voted `cheated`"
        appealable = ruling["state"] == "appealable"
        until = f" until {when(dispute['deadline'])}" if appealable else ""
        yield from ("", f"{title}, {when(ruling['at'])}: {outcome}.")
        yield f"  {_RULINGS[ruling['state']]}{until}."


def _next_steps(case: Case) -> Iterator[str]:
    """Yield the commands that the reader can use in this state."""
    dispute, may = case.dispute, case.may
    identity = dispute["id"]
    if dispute["state"] == "final":
        return
    yield f"look at the evidence:  {case.command('evidence', identity)}"
    steps = {
        "statement": ("make a statement", "statement", " TEXT"),
        "receipt": ("hand in a receipt", "receipt", ""),
        "refuse": ("refuse a referee (each can be refused once)", "refuse", " NUMBER"),
        "judge": ("offer to judge", "judge", ""),
        "appeal": ("appeal: the ruling is against your side", "appeal", ""),
        "reveal": ("reveal your vote", "vote", ""),
        "withdraw": ("withdraw the dispute, while it is unanswered", "withdraw", ""),
    }
    for act, (words, command, argument) in steps.items():
        if act in may:
            yield f"{words}:  {case.command(command, identity)}{argument}"
    if "vote" in may:
        yield f"vote:  {case.command('vote', identity)} cheated"
        yield f"   or  {case.command('vote', identity)} not-proven"
        if dispute["reason_needed"]:
            yield "   The findings do not support this charge: `cheated` needs a reason."
    if case.me is None:
        yield "take part: you have no account here; `shithead play` registers you, or use --token"


def no_vote(
    found: Mapping[str, Any], opinion: str | None, command: Callable[[str, object], str]
) -> str | None:
    """Return why the player can neither vote nor reveal a vote, and what to do, or None."""
    you, state = found["you"], found["state"]
    if you is None:
        return "you have no account here: `shithead play` registers you, or use --token"
    if "reveal" in you["may"]:
        return None
    if "vote" in you["may"]:
        words = command("vote", found["id"])
        how = f"you have not voted yet; to vote: {words} cheated, or {words} not-proven"
        return None if opinion is not None else how
    if you["referee"] is None:
        offer = f"; to offer yourself: {command('judge', found['id'])}"
        return f"{sentence('panel.no_referee')}{offer if 'judge' in you['may'] else ''}"
    return _no_vote_of(found["referees"][you["referee"]], found, state)


def _no_vote_of(own: Mapping[str, Any], found: Mapping[str, Any], state: str) -> str:
    """Return why a referee can neither vote nor reveal a vote now."""
    ends = f" The voting ends on {when(found['deadline'])}." if state == "voting" else ""
    if own["state"] == "recused":
        side = own["refused_by"]
        return sentence(f"panel.refused_by.{side}" if side else "panel.left_panel")
    if own["state"] == "revealed":
        return f"you have voted, and your vote is revealed. State of the dispute: {STATES[state]}."
    if own["state"] == "committed":
        reveals = "the server reveals it" if own["sealed_by"] == "server" else "you reveal it"
        return (
            f"your vote is sealed and cannot be changed; {reveals} when all referees have voted."
            f"{ends}"
        )
    if state in ("open", "appealed"):
        opens = "once the game is over and three referees or more have been seated for "
        opens += duration(found["periods"]["referee_seated_seconds"])
        if found["voting_from"]:
            opens = f"on {when(found['voting_from'])}"
        return f"the voting has not begun: it opens {opens}"
    return f"you are not on the panel that judges. State of the dispute: {STATES[state]}.{ends}"
