"""The three things that SHX/1 proves apart: the deck, the history, the actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from service.verify.finding import Check, Finding, Result


class Claim(StrEnum):
    """What can be proved of a game, each by itself: (a), (b) and (c) of the protocol."""

    DECK = "deck"
    HISTORY = "history"
    ACTIONS = "actions"


CLAIMS: Final[Mapping[Claim, str]] = {
    Claim.DECK: "the deck was fixed before play, and nobody steered it",
    Claim.HISTORY: "this is the history that was played",
    Claim.ACTIONS: "every action was legal, and every card is accounted for",
}
"""What each claim says, in words for people."""

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


def claim_of(check: Check) -> Claim:
    """Return the claim that a check speaks for or against."""
    if check in _DECK:
        return Claim.DECK
    return Claim.ACTIONS if check in _ACTIONS else Claim.HISTORY


def standings(findings: Sequence[Finding], outside: Sequence[str]) -> tuple[Standing, ...]:
    """
    Return how the three claims stand, `outside` being what there was from outside.

    The history is only as good as what speaks for it that the operator does not hold:
    a log by itself may be that of another game, made up as a whole.
    """
    return tuple(_standing(claim, findings, outside) for claim in Claim)


def claims_against(findings: Sequence[Finding]) -> str:
    """
    Return which claims do not hold, by which checks, and which nothing speaks against.

    A rule broken in the open leaves the deck and the history as they are: whoever
    settles a case has to see that nobody forged the log.
    """
    said, rest = [], []
    for claim in Claim:
        failed = ", ".join(map(_where, _failed(claim, findings)))
        if failed:
            does_not = "do not" if claim is Claim.ACTIONS else "does not"
            said.append(f"the {claim} {does_not} hold: {failed}")
        elif _was_seen(claim, findings):
            rest.append(f"the {claim}")
    if rest:
        said.append(f"nothing against {' or '.join(rest)}{_as_far(findings)}")
    return "; ".join(said)


def _standing(claim: Claim, findings: Sequence[Finding], outside: Sequence[str]) -> Standing:
    failed = ", ".join(map(_where, _failed(claim, findings)))
    if failed:
        return Standing(claim=claim, result=Result.FAIL, said=f"does not hold: {failed}")
    if far := _as_far(findings):
        seen = _was_seen(claim, findings)
        said = f"nothing against it{far}" if seen else "nothing was seen of it"
        return Standing(claim=claim, result=Result.MISSING, said=said)
    lacking = [f.check for f in findings if f.check in _NEEDED[claim] and _is_missing(f)]
    if lacking:
        said = f"nothing against it so far; not to be told yet: {', '.join(lacking)}"
        return Standing(claim=claim, result=Result.MISSING, said=said)
    if claim is Claim.HISTORY and not outside:
        said = "nothing against it, and nothing from outside for it"
        return Standing(claim=claim, result=Result.MISSING, said=said)
    return Standing(claim=claim, result=Result.PASS, said="nothing against it")


def _failed(claim: Claim, findings: Sequence[Finding]) -> list[Finding]:
    return [f for f in findings if f.result is Result.FAIL and f.check in _SPEAKING[claim]]


def _was_seen(claim: Claim, findings: Sequence[Finding]) -> bool:
    """Return whether any check that speaks for a claim had something to look at."""
    return any(f.result is Result.PASS and f.check in _SPEAKING[claim] for f in findings)


def _is_missing(finding: Finding) -> bool:
    return finding.result is Result.MISSING


def _where(finding: Finding) -> str:
    return f"{finding.check} fails" + ("" if finding.seq is None else f" at seq {finding.seq}")


def _as_far(findings: Sequence[Finding]) -> str:
    """Return in words that a log was read in part, nothing where it was read whole."""
    unread = any(f.check is Check.BYTES and f.result is Result.FAIL for f in findings)
    return " as far as the log can be read" if unread else ""
