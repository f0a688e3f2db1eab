"""Claims that a verification supports, incidents, and the summary of a failed log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, assert_never

from schemas.events import event_of
from service.domain.cards import Card
from service.replay.captions import PAST, Wording, caption, spelled
from service.replay.history import ACTIONS
from service.rulesets.catalogue import read_ruleset
from service.verify.finding import Check, EvidenceWeight, Finding, Objection, Result
from service.verify.log import PRODUCER, Authorship, Log
from service.verify.plain import FAILS, MOST_WORDS, in_words, shortened
from service.verify.shuffle import doubt_on_the_seed
from service.verify.substitution import CardNotHeld


class Claim(StrEnum):
    """What can be proved of a game, each by itself: (a), (b) and (c) of the protocol."""

    DECK = "deck"
    HISTORY = "history"
    ACTIONS = "actions"


CLAIMS: Final[Mapping[Claim, str]] = {
    Claim.DECK: "the deck was fixed before play, and no party steered it",
    Claim.HISTORY: "this is the history that was played",
    Claim.ACTIONS: "every action was legal, and every card is accounted for",
}
"""What each claim says, in words for people."""

PAST_IN_CODES: Final = Wording(past=True, next_seat=False)
"""As `PAST`, with the codes of cards: for sentences that would be too long in words."""

_DECK: Final = (Check.COMMITMENTS, Check.SHUFFLE, Check.OPENINGS, Check.DEAL)
_ACTIONS: Final = (Check.CUSTODY, Check.LEGALITY, Check.HIDDEN)
_LOG: Final = (Check.BYTES, Check.CHAIN, Check.ORDER, Check.SIGNATURES, Check.SEAL)
_OUTSIDE: Final = (Check.RECEIPTS, Check.ANCHOR, Check.WITNESS, Check.SEQUENCE)
_SPEAKING: Final[Mapping[Claim, tuple[Check, ...]]] = {
    Claim.DECK: _DECK,
    Claim.HISTORY: (*_LOG, *_OUTSIDE),
    Claim.ACTIONS: _ACTIONS,
}
"""The checks that speak for a claim, or against it."""

_NEEDED: Final = {**_SPEAKING, Claim.HISTORY: _LOG}
"""Those of them that a log answers by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a claim stands: its result, and what there is to say to it."""

    claim: Claim
    result: Result
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What claims rest on beside the checks."""

    backed: bool  # something from outside speaks for the history
    entropy: Sequence[Mapping[str, Any]]  # what each seat added to the shuffle
    unheld: CardNotHeld | None = None  # a card that was played by who does not hold it
    unchecked: Sequence[str] = ()  # what was given from outside and could not be checked


def standings(findings: Sequence[Finding], basis: Basis) -> tuple[Standing, ...]:
    """
    Return how the three claims stand.

    The history is only as good as the evidence for it from outside: a log by itself may have
    been invented as a whole.
    """
    return tuple(_standing(claim, findings, basis) for claim in Claim)


def claims_against(findings: Sequence[Finding], unheld: CardNotHeld | None = None) -> str:
    """
    Return in words which claims fail, by which checks, and against which no check speaks.

    A move against the rules does not touch the deck and the history: the report must show a
    referee that such a log was not forged.
    """
    said, unshown, rest = [], [], []
    for claim in Claim:
        if failed := against(claim, findings):
            does_not = "do not" if claim is Claim.ACTIONS else "does not"
            said.append(f"the {claim} {does_not} hold: {_places(failed)}")
        elif unsure := _weighing(claim, findings, EvidenceWeight.UNSIGNED):
            said.append(f"the {claim} {_if_signed(unsure)}")
        elif claim is Claim.DECK and unheld is not None and unheld.unseen:
            unshown.append(_UNSHOWN_DEAL)
        elif _was_seen(claim, findings):
            rest.append(f"the {claim}")
        if idle := _weighing(claim, findings, EvidenceWeight.NOTHING):
            said.append(f"{_places(idle)}: {_IDLE}")
    if rest:
        unshown.append(f"nothing against {' or '.join(rest)}{_as_far(findings)}")
    return "; ".join([*said, *unshown])


_UNSHOWN_DEAL: Final = "not shown: that the cards were dealt as the deck lay"
_IDLE: Final = "the evidence given proves nothing, for or against"


def _standing(claim: Claim, findings: Sequence[Finding], basis: Basis) -> Standing:
    result, said = _stands(claim, findings, basis)
    if idle := _weighing(claim, findings, EvidenceWeight.NOTHING):
        said = f"{said}; {_places(idle)}: {_IDLE}"
    return Standing(claim=claim, result=result, said=said)


def _stands(claim: Claim, findings: Sequence[Finding], basis: Basis) -> tuple[Result, str]:
    if failed := against(claim, findings):
        return Result.FAIL, f"does not hold: {_places(failed)}"
    if unsure := _weighing(claim, findings, EvidenceWeight.UNSIGNED):
        return Result.MISSING, _if_signed(unsure)
    if far := _as_far(findings):
        seen = _was_seen(claim, findings)
        return Result.MISSING, f"nothing against it{far}" if seen else "nothing was seen of it"
    lacking = [f.check for f in findings if f.check in _NEEDED[claim] and _is_missing(f)]
    if lacking:
        said = f"nothing against it so far; not checked yet: {', '.join(lacking)}"
        return Result.MISSING, said
    doubt = _doubt(claim, findings, basis)
    if doubt is not None:
        return Result.MISSING, doubt
    return Result.PASS, "nothing against it"


def _doubt(claim: Claim, findings: Sequence[Finding], basis: Basis) -> str | None:
    """Return what is not shown of a claim against which nothing speaks."""
    if claim is Claim.HISTORY and not basis.backed:
        lacking = " and ".join(basis.unchecked)
        return f"nothing against it, and {lacking or 'nothing from outside for it'}"
    if claim is not Claim.DECK or not _was_seen(claim, findings):
        return None
    seed = doubt_on_the_seed(basis.entropy)
    doubts = [] if seed is None else [seed]
    if basis.unheld is not None and basis.unheld.unseen:
        played = f"the log has seat {basis.unheld.seat} play {basis.unheld.card} unheld"
        unshown = f"that the cards were dealt as it lay, for at seq {basis.unheld.seq}"
        doubts.insert(0, f"{unshown} {played}")
    if not doubts:
        return None
    return f"nothing against that it was fixed before play; not shown: {'; nor '.join(doubts)}"


def against(claim: Claim, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that speak against a claim."""
    return _weighing(claim, findings, EvidenceWeight.AGAINST)


def _weighing(claim: Claim, findings: Sequence[Finding], weight: EvidenceWeight) -> list[Finding]:
    """Return the failed checks of a claim whose gravest objection has this weight."""
    failed = [f for f in findings if f.result is Result.FAIL and f.check in _SPEAKING[claim]]
    return [f for f in failed if min(map(_gravity, f.objections)) == _ORDER.index(weight)]


_ORDER: Final = tuple(EvidenceWeight)


def _gravity(objection: Objection) -> int:
    return _ORDER.index(objection.weight)


def _if_signed(findings: Sequence[Finding]) -> str:
    return f"is contradicted if the server signed it, which is not shown: {_places(findings)}"


def _was_seen(claim: Claim, findings: Sequence[Finding]) -> bool:
    """Return whether any check that speaks for a claim had something to look at."""
    return any(f.result is Result.PASS and f.check in _SPEAKING[claim] for f in findings)


def _is_missing(finding: Finding) -> bool:
    return finding.result is Result.MISSING


def _places(findings: Sequence[Finding]) -> str:
    return ", ".join(map(_where, findings))


def _where(finding: Finding) -> str:
    return f"{finding.check} fails" + ("" if finding.seq is None else f" at seq {finding.seq}")


def _as_far(findings: Sequence[Finding]) -> str:
    """Return in words that a log was read in part, nothing where it was read whole."""
    unread = any(f.check is Check.BYTES and f.result is Result.FAIL for f in findings)
    return " as far as the log can be read" if unread else ""


Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An incident: what the first failure of a claim is about."""

    claim: Claim
    seq: int
    said: str
    move: bool  # whether `shithead audit --move` shows more
    check: Check  # the check that fails there
    happened: str | None = None  # what the event states
    reason: str = ""  # why the check fails, with the rule
    by_server: str = ""  # the server's part, if the server wrote the event
    by_seat: int | None = None  # the seat whose unsigned move it is


def accounts_of(
    log: Log, findings: Sequence[Finding], authorship: Authorship
) -> tuple[Account, ...]:
    """Return for each claim that does not hold what happened at the first event that fails."""
    return tuple(_accounts(log, findings, authorship))


def _accounts(log: Log, findings: Sequence[Finding], authorship: Authorship) -> Iterator[Account]:
    for claim in Claim:
        failed = [f for f in against(claim, findings) if f.seq is not None]
        if not failed:
            continue
        first = min(failed, key=lambda f: f.seq or 0)
        seq = first.seq or 0
        rule = f" [{first.rule}]" if first.rule else ""
        event = log.events[seq] if seq < len(log.events) else None
        stated = None if event is None else describe(event)
        if stated is not None and len(stated.split()) > MOST_WORDS - 3:
            stated = shortened(describe(event or {}, PAST_IN_CODES), MOST_WORDS - 3)
        happened = stated
        if stated is not None and (claim is Claim.HISTORY or seq not in authorship.signed):
            happened = f"this log says: {stated}"
        reason, by_server = f"{first.reason}{rule}", _by_server(claim, event)
        named_already = first.check is Check.RECEIPTS or PRODUCER in (first.reason or "")
        who = "" if named_already else authorship.said(seq, by_server)
        acts = event is not None and event["type"] in ACTIONS
        unsigned = acts and event is not None and "auth" not in event
        yield Account(
            claim=claim,
            seq=seq,
            said="; ".join(filter(None, (happened, who, reason))),
            move=acts or (event is not None and event["by"] is not None),
            check=first.check,
            happened=stated,
            reason=reason,
            by_server=by_server,
            by_seat=event["by"] if event is not None and unsigned else None,
        )


def _by_server(claim: Claim, event: Data | None) -> str:
    """Return whose doing an event is, if the server wrote it."""
    match claim:
        case Claim.DECK:
            return "the server shuffles and deals, no player does"
        case Claim.HISTORY:
            return "the server wrote it so"
        case Claim.ACTIONS if event is None or event["type"] not in ACTIONS:
            return "the server decides this, no player does"
        case Claim.ACTIONS:
            return "the server accepted it"
        case _:
            assert_never(claim)


def describe(event: Data, voice: Wording = PAST) -> str:
    """
    Return in words what an event states: which seat did what, with which cards.

    >>> describe({"type": "pile_burned", "by": None, "data": {
    ...     "seat": 1, "cause": "rank", "count": 5, "cleared_by": 1}})
    'the pile of 5 cards burned by its top card'
    """
    data, kind = event["data"], event["type"]
    if kind == "game_created":
        return "the game was set up"
    try:
        said = caption(event_of(kind, data, read_ruleset), None, None, voice).removesuffix(".")
    except (ValueError, LookupError, TypeError):
        return f"there is an event {kind}"
    if event["by"] is None and kind in ACTIONS:
        seat = f"seat {data['seat']}"
        said = said.replace(f"Seat {data['seat']} ", f"the server, in place of {seat}, ", 1)
    return said[0].lower() + said[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """
    The answer to a log that fails: the change, its possible authors, and useful evidence.

    It is written for readers who do not know the format: no sentence has more than 30 words.
    """

    changed: str
    author: str
    proof: str

    @property
    def lines(self) -> tuple[str, str, str]:
        """Return the three lines that a report begins with."""
        return (
            f"What was changed: {self.changed}",
            f"Who can have done it: {self.author}",
            f"What would prove more: {self.proof}",
        )


def summary_of(
    findings: Sequence[Finding],
    accounts: Sequence[Account],
    authorship: Authorship,
    unheld: CardNotHeld | None,
) -> Summary | None:
    """Return the summary of a log that fails a check, None if it fails none."""
    failed = [finding for finding in findings if finding.result is Result.FAIL]
    if not failed:
        return None
    if not accounts:
        return Summary(
            changed=f"{FAILS[failed[0].check]} Which entry was changed is not shown.",
            author="This file does not show it.",
            proof=f"{_RECEIPT} The server's key has to come from another source than the operator.",
        )
    account = min(accounts, key=lambda one: one.seq)
    return Summary(
        changed=_changed(account, unheld),
        author=_author(account, authorship),
        proof=_proof(account, authorship),
    )


def _changed(account: Account, unheld: CardNotHeld | None) -> str:
    seq = account.seq
    if unheld is not None and unheld.seq == seq:
        card = spelled(Card(unheld.card))
        return f"Event {seq}: seat {unheld.seat} played {card}, which it did not hold."
    place = f"Event {seq}, which is line {seq + 1} of the file."
    happened = account.happened
    if happened is not None:
        place = (
            f"Event {seq}, or something just before it."
            f" Event {seq} says: {shortened(happened, MOST_WORDS - 3)}."
        )
    meaning, detail = FAILS[account.check], in_words(account.reason)
    if detail is not None and account.check in _SAID_BY_DETAIL:
        meaning = "The rules do not allow this." if "The rule: " in detail else ""
    return " ".join(filter(None, (place, meaning, detail)))


_SAID_BY_DETAIL: Final = (Check.LEGALITY, Check.SHUFFLE, Check.CHAIN)
"""Checks of which the sentence for a reason says everything: the general one is left out."""


_RECEIPT: Final = "A receipt: a signed file that the server sends a player for each move."


def _author(account: Account, authorship: Authorship) -> str:
    server = f"{account.by_server[0].upper()}{account.by_server[1:]}."
    if account.seq in authorship.signed:
        return f"The operator of the server, whose signature covers this event. {server}"
    if authorship.denied is not None:
        return (
            "A person who had this file: it was changed after the server wrote it."
            " On this alone neither a player nor the server can be blamed."
        )
    return (
        "A person who had this file before you, or the people who run the server: nothing here"
        " shows which. If the server itself gives out the same record, the fault is the server's:"
        f" {account.by_server}."
    )


def _proof(account: Account, authorship: Authorship) -> str:
    if account.seq in authorship.signed:
        if account.by_seat is None:
            return "Nothing more is needed: the server's signature covers the event."
        return f"A signature by the key of seat {account.by_seat} shows whether it asked for this."
    if authorship.denied is not None:
        return (
            "The file of the same game from another player or from the server."
            " The command `shithead verify` finds nothing wrong with the true one."
        )
    return (
        f"{_RECEIPT} Ask the players for one from event {account.seq} or later."
        " The server's public key is at its address /v1/keys."
        " With both, the command `shithead verify` shows whether the server recorded this event."
    )
