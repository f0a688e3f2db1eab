"""Claims about a game: their results, and an explanation of each failed one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, assert_never

from schemas.events import event_of
from service.replay.captions import caption
from service.replay.history import MoveKind
from service.replay.sentences import Sentence, Values, Voice, begun, sentence
from service.rulesets.catalogue import read_ruleset
from service.shx.event_shapes import ACTIONS
from service.verify.finding import Check, EvidenceWeight, Finding, Objection, Result
from service.verify.log import SEALS, Authorship, Log
from service.verify.shuffle import unproven_of_seed
from service.verify.signatures import OTHER_MOVE
from service.verify.substitution import CardNotHeld


class Claim(StrEnum):
    """The three claims about a game, each verified by itself: (a), (b), (c) in SHX/1."""

    DECK = "deck"
    HISTORY = "history"
    ACTIONS = "actions"


def asserts(claim: Claim) -> str:
    """Return the text of a claim."""
    return sentence(f"claim.{claim}")


_DECK: Final = (Check.COMMITMENTS, Check.SHUFFLE, Check.OPENINGS, Check.DEAL)
_ACTIONS: Final = (Check.CUSTODY, Check.LEGALITY, Check.HIDDEN)
_LOG: Final = (Check.BYTES, Check.CHAIN, Check.ORDER, Check.SIGNATURES, Check.SEAL)
_OUTSIDE: Final = (Check.RECEIPTS, Check.ANCHOR, Check.WITNESS, Check.SEQUENCE)
_CHECKS: Final[Mapping[Claim, tuple[Check, ...]]] = {
    Claim.DECK: _DECK,
    Claim.HISTORY: (*_LOG, *_OUTSIDE),
    Claim.ACTIONS: _ACTIONS,
}
"""The checks that support or contradict each claim."""

_NEEDED: Final = {**_CHECKS, Claim.HISTORY: _LOG}
"""The checks of each claim that need nothing but the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResult:
    """The result of a claim, with an explanation."""

    claim: Claim
    result: Result
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        """Return the explanation; only its first sentence, which follows the claim, is begun."""
        return following(self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The facts other than findings on which the results of the claims depend."""

    backed: bool  # whether evidence from outside supports the history
    entropy: Sequence[Mapping[str, Any]]  # what each seat added to the shuffle
    unheld: CardNotHeld | None = None  # a card that a seat played without holding it
    unchecked: Sequence[Sentence] = ()  # evidence from outside that could not be checked


def claim_results(findings: Sequence[Finding], basis: Basis) -> tuple[ClaimResult, ...]:
    """
    Return the results of the three claims.

    The history passes only with evidence from outside, because a log by itself may have been
    invented.
    """
    return tuple(_claim_result(claim, findings, basis) for claim in Claim)


def claims_against(
    findings: Sequence[Finding], unheld: CardNotHeld | None = None
) -> tuple[Sentence, ...]:
    """
    Return which claims fail, by which checks, and which claims no check contradicts.

    An illegal move contradicts neither deck nor history: the report must show a referee that the
    log of such a move is not a forgery.
    """
    shown, unshown, rest = [], [], []
    for claim in Claim:
        if failed := against(claim, findings):
            shown.append(_with_places(f"against.{claim}", failed))
        elif unsure := _weighing(claim, findings, EvidenceWeight.UNSIGNED):
            shown.append(_with_places(f"doubted.{claim}", unsure))
        elif claim is Claim.DECK and unheld is not None and unheld.unseen:
            unshown.append(Sentence(code="unshown.deal"))
        elif _any_passed(claim, findings):
            rest.append(Sentence(code=f"name.{claim}"))
        if worthless := _weighing(claim, findings, EvidenceWeight.NOTHING):
            shown.append(_with_places("claim.worthless", worthless))
    if rest:
        code = "nothing_against.readable" if _is_partly_read(findings) else "nothing_against"
        unshown.append(Sentence(code=code, values={"claims": tuple(rest)}))
    return (*shown, *unshown)


def _claim_result(claim: Claim, findings: Sequence[Finding], basis: Basis) -> ClaimResult:
    result, found = _result_and_reasons(claim, findings, basis)
    if worthless := _weighing(claim, findings, EvidenceWeight.NOTHING):
        found = (*found, _with_places("claim.worthless", worthless))
    return ClaimResult(claim=claim, result=result, sentences=found)


def _result_and_reasons(
    claim: Claim, findings: Sequence[Finding], basis: Basis
) -> tuple[Result, tuple[Sentence, ...]]:
    if failed := against(claim, findings):
        return Result.FAIL, (_with_places("claim.fails", failed),)
    if unsure := _weighing(claim, findings, EvidenceWeight.UNSIGNED):
        return Result.MISSING, (_with_places("claim.unsigned", unsure),)
    if _is_partly_read(findings):
        seen = _any_passed(claim, findings)
        code = "claim.nothing.readable" if seen else "claim.unverified"
        return Result.MISSING, (Sentence(code=code),)
    lacking = [f.check for f in findings if f.check in _NEEDED[claim] and _is_missing(f)]
    if lacking:
        waiting = Sentence(code="claim.unchecked", values={"checks": tuple(lacking)})
        return Result.MISSING, (Sentence(code="claim.nothing.so_far"), waiting)
    doubts = _doubts(claim, findings, basis)
    if doubts:
        return Result.MISSING, tuple(doubts)
    return Result.PASS, (Sentence(code="claim.nothing"),)


def _doubts(claim: Claim, findings: Sequence[Finding], basis: Basis) -> list[Sentence]:
    """Return which part of an uncontradicted claim is not shown, nothing if all of it is."""
    if claim is Claim.HISTORY and not basis.backed:
        if not basis.unchecked:
            return [Sentence(code="claim.alone")]
        return [Sentence(code="claim.nothing"), *basis.unchecked]
    if claim is not Claim.DECK or not _any_passed(claim, findings):
        return []
    seed = unproven_of_seed(basis.entropy)
    doubts = [] if seed is None else [seed]
    if basis.unheld is not None and basis.unheld.unseen:
        unheld = basis.unheld
        played: Values = {"at": unheld.seq, "seat": unheld.seat, "card": unheld.card}
        doubts.insert(0, Sentence(code="unshown.order", values=played))
    return [Sentence(code="claim.fixed"), *doubts] if doubts else []


def following(sentences: Iterable[Sentence]) -> str:
    """Return sentences that follow a colon: each but the first begins with a capital letter."""
    first, *others = (one.text.removesuffix(".") for one in sentences)
    return ". ".join([first, *map(begun, others)])


def against(claim: Claim, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that contradict a claim."""
    return _weighing(claim, findings, EvidenceWeight.AGAINST)


def _weighing(claim: Claim, findings: Sequence[Finding], weight: EvidenceWeight) -> list[Finding]:
    """Return the failed checks of a claim whose gravest objection has this weight."""
    failed = [f for f in findings if f.result is Result.FAIL and f.check in _CHECKS[claim]]
    return [f for f in failed if min(map(_gravity, f.objections)) == _ORDER.index(weight)]


_ORDER: Final = tuple(EvidenceWeight)


def _gravity(objection: Objection) -> int:
    return _ORDER.index(objection.weight)


def _any_passed(claim: Claim, findings: Sequence[Finding]) -> bool:
    """Return whether any check of a claim passes."""
    return any(f.result is Result.PASS and f.check in _CHECKS[claim] for f in findings)


def _is_missing(finding: Finding) -> bool:
    return finding.result is Result.MISSING


def _with_places(code: str, findings: Sequence[Finding]) -> Sentence:
    """Return a sentence with the places at which checks fail."""
    places = tuple(
        Sentence(code="place.of", values={"check": one.check})
        if one.seq is None
        else Sentence(code="place.at", values={"check": one.check, "at": one.seq})
        for one in findings
    )
    return Sentence(code=code, values={"places": places})


def _is_partly_read(findings: Sequence[Finding]) -> bool:
    """Return whether only a part of the log could be read."""
    failed = [f for f in findings if f.check is Check.BYTES and f.result is Result.FAIL]
    return any(one.seq is not None for one in failed)


Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The event at which a claim first fails, and facts that explain the failure."""

    claim: Claim
    seq: int
    text: str
    move: bool  # a field of the API: whether `shithead audit --move` shows more
    check: Check  # the check that fails there
    code: str  # of the reason why the check fails
    values: Values = field(default_factory=dict)
    rule: str | None = None
    happened: Sentence | None = None  # what the event states
    kind: str = ""  # the type of the event
    turn: int | None = None  # number of the turn in the hand, from 1; None outside of play
    due: int | None = None  # the seat on turn before the event
    by_seat: int | None = None  # the seat whose unsigned move it is
    by_bot: bool = False  # whether a bot sits there
    signer: int | None = None  # the seat whose signature is missing or invalid
    signed_move: Data | None = None  # the move that the signer did sign, if it is another one
    on_top: str | None = None  # the last card played up to and including the event


def explanations_of(
    log: Log, findings: Sequence[Finding], authorship: Authorship
) -> tuple[Explanation, ...]:
    """Return an explanation of the first failing event for each claim that fails."""
    return tuple(_explanations(log, findings, authorship))


def _explanations(
    log: Log, findings: Sequence[Finding], authorship: Authorship
) -> Iterator[Explanation]:
    for claim in Claim:
        failed = [f for f in against(claim, findings) if f.seq is not None]
        if not failed:
            continue
        # A seed other than the committed one comes first: it changes deck, dealer and deal.
        first = min(failed, key=lambda f: (f.check is not Check.COMMITMENTS, f.seq or 0))
        seq = first.seq or 0
        event = log.events[seq] if seq < len(log.events) else None
        stated = None if event is None else describe(event)
        authors = () if _names_authors(first) else authorship.authors(seq, _by_server(claim, event))
        stated_only = claim is Claim.HISTORY or seq not in authorship.signed
        texts = (_states(stated, only=stated_only), *(one.text for one in authors))
        actions = event is not None and event["type"] in ACTIONS
        seat = event["by"] if actions and event is not None and "auth" not in event else None
        yield Explanation(
            claim=claim,
            seq=seq,
            text=" ".join(filter(None, (*texts, first.reason, first.cited))),
            move=actions or (event is not None and event["by"] is not None),
            check=first.check,
            happened=stated,
            code=first.code or "",
            values=first.values,
            rule=first.rule,
            kind="" if event is None else event["type"],
            turn=_turn_at(log, seq),
            due=_due_at(log, seq),
            by_seat=seat,
            by_bot=seat is not None and _is_bot(log, seat),
            signer=event["by"] if event is not None and first.check is Check.SIGNATURES else None,
            signed_move=_signed_move(event, first),
            on_top=_on_top_at(log, seq),
        )


def _turn_at(log: Log, seq: int) -> int | None:
    """Return the number of the turn that an event is in, from 1; None before and after play."""
    plays = [move for move in log.moves if move.kind is MoveKind.PLAY]
    ends = seq < len(log.events) and log.events[seq]["type"] in (*SEALS, "game_ended")
    if ends or not plays or not plays[0].first <= seq <= plays[-1].last:
        return None
    return sum(move.first <= seq for move in plays)


def _due_at(log: Log, seq: int) -> int | None:
    """Return the seat on turn before an event, None if there is none."""
    for event in reversed(log.events[:seq]):
        if "turn" in event["data"]:
            due: int | None = event["data"]["turn"]
            return due
    return None


def _signed_move(event: Data | None, failed: Finding) -> Data | None:
    """Return the move that a player signed, if the event is another one and the key is right."""
    if event is None or failed.code != OTHER_MOVE:
        return None
    signed: Data = event["auth"]["intent"]["move"]
    return signed


def _on_top_at(log: Log, seq: int) -> str | None:
    """Return the last card played up to and including an event, None if none was."""
    for event in reversed(log.events[: seq + 1]):
        if event["type"] == "cards_played":
            return str(event["data"]["cards"][-1])
    return None


def _is_bot(log: Log, seat: int) -> bool:
    seats = log.created["seats"] if log.begins else []
    return seat < len(seats) and seats[seat]["kind"] == "bot"


def _names_authors(failed: Finding) -> bool:
    """Return whether a finding itself states which party can have written its event."""
    families = {note.code.partition(".")[0] for note in failed.notes}
    return failed.check is Check.RECEIPTS or not families.isdisjoint({"author", "substitution"})


def _states(stated: Sentence | None, *, only: bool) -> str | None:
    """Return what an event states, as a sentence; `only` if no signature of the server shows it."""
    if stated is None:
        return None
    code = "explanation.states" if only else "explanation.happened"
    text = sentence(code, {"what": in_brief(stated)})
    return text if only else begun(text)


def _by_server(claim: Claim, event: Data | None) -> Sentence:
    """Return which party is responsible for an event, if the server wrote it."""
    match claim:
        case Claim.DECK:
            return Sentence(code="by_server.deck")
        case Claim.HISTORY:
            return Sentence(code="by_server.history")
        case Claim.ACTIONS if event is None or event["type"] not in ACTIONS:
            return Sentence(code="by_server.outcome")
        case Claim.ACTIONS:
            return Sentence(code="by_server.move")
        case _:
            assert_never(claim)


def describe(event: Data) -> Sentence:
    """
    Return what an event states: which seat did what, with which cards.

    >>> describe({"type": "pile_burned", "by": None, "data": {
    ...     "seat": 1, "cause": "rank", "count": 5, "cleared_by": 1}}).text
    'Seat 2 burned the pile: 5 cards'
    """
    data, kind = event["data"], event["type"]
    try:
        said = caption(event_of(kind, data, read_ruleset))
    except (ValueError, LookupError, TypeError):
        if kind == "game_created":  # its rules are unknown, or not those of their id
            return Sentence(code="stated.begun", values={"n": len(data["seats"])})
        return Sentence(code="stated.other", values={"kind": kind})
    if event["by"] is None and kind in ACTIONS:
        return Sentence(code="stated.for_seat", values={"seat": data["seat"], "what": said})
    return said


MAX_CARDS: Final = 4
"""The most cards that a sentence names in words; of more it has the codes."""


def in_brief(stated: Sentence) -> Sentence | str:
    """Return a sentence as a part of another one: many cards as codes, so that it is short."""
    if sum(len(one) for one in stated.values.values() if isinstance(one, tuple)) <= MAX_CARDS:
        return stated
    return sentence(stated.code, stated.values, Voice(codes=True))
