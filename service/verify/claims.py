"""The three things that SHX/1 proves apart: the deck, the history, the actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from service.verify.entropy import doubt_on_the_seed
from service.verify.finding import Check, Finding, Objection, Result, Weight
from service.verify.unheld import Unheld


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What claims rest on beside the checks."""

    backed: bool  # something from outside speaks for the history
    entropy: Sequence[Mapping[str, Any]]  # what each seat added to the shuffle
    unheld: Unheld | None = None  # a card that was played by who does not hold it


def standings(findings: Sequence[Finding], basis: Basis) -> tuple[Standing, ...]:
    """
    Return how the three claims stand.

    The history is only as good as what speaks for it that the operator does not hold:
    a log by itself may be that of another game, made up as a whole.
    """
    return tuple(_standing(claim, findings, basis) for claim in Claim)


def claims_against(findings: Sequence[Finding], unheld: Unheld | None = None) -> str:
    """
    Return which claims do not hold, by which checks, and which nothing speaks against.

    A rule broken in the open leaves the deck and the history as they are: whoever
    settles a case has to see that nobody forged the log.
    """
    said, unshown, rest = [], [], []
    for claim in Claim:
        if failed := against(claim, findings):
            does_not = "do not" if claim is Claim.ACTIONS else "does not"
            said.append(f"the {claim} {does_not} hold: {_places(failed)}")
        elif unsure := _weighing(claim, findings, Weight.UNSIGNED):
            said.append(f"the {claim} {_if_signed(unsure)}")
        elif claim is Claim.DECK and unheld is not None and unheld.unseen:
            unshown.append(_UNSHOWN_DEAL)
        elif _was_seen(claim, findings):
            rest.append(f"the {claim}")
        if idle := _weighing(claim, findings, Weight.NOTHING):
            said.append(f"{_places(idle)}: {_IDLE}")
    if rest:
        unshown.append(f"nothing against {' or '.join(rest)}{_as_far(findings)}")
    return "; ".join([*said, *unshown])


_UNSHOWN_DEAL: Final = "not shown: that the cards were dealt as the deck lay"
_IDLE: Final = "what was brought proves nothing, for or against"


def _standing(claim: Claim, findings: Sequence[Finding], basis: Basis) -> Standing:
    result, said = _stands(claim, findings, basis)
    if idle := _weighing(claim, findings, Weight.NOTHING):
        said = f"{said}; {_places(idle)}: {_IDLE}"
    return Standing(claim=claim, result=result, said=said)


def _stands(claim: Claim, findings: Sequence[Finding], basis: Basis) -> tuple[Result, str]:
    if failed := against(claim, findings):
        return Result.FAIL, f"does not hold: {_places(failed)}"
    if unsure := _weighing(claim, findings, Weight.UNSIGNED):
        return Result.MISSING, _if_signed(unsure)
    if far := _as_far(findings):
        seen = _was_seen(claim, findings)
        return Result.MISSING, f"nothing against it{far}" if seen else "nothing was seen of it"
    lacking = [f.check for f in findings if f.check in _NEEDED[claim] and _is_missing(f)]
    if lacking:
        said = f"nothing against it so far; not to be told yet: {', '.join(lacking)}"
        return Result.MISSING, said
    doubt = _doubt(claim, findings, basis)
    if doubt is not None:
        return Result.MISSING, doubt
    return Result.PASS, "nothing against it"


def _doubt(claim: Claim, findings: Sequence[Finding], basis: Basis) -> str | None:
    """Return what is not shown of a claim against which nothing speaks."""
    if claim is Claim.HISTORY and not basis.backed:
        return "nothing against it, and nothing from outside for it"
    if claim is not Claim.DECK or not _was_seen(claim, findings):
        return None
    seed = doubt_on_the_seed(basis.entropy)
    doubts = [] if seed is None else [seed]
    if basis.unheld is not None and basis.unheld.unseen:
        played = f"seat {basis.unheld.seat} played {basis.unheld.card} without holding it"
        unshown = f"that the cards were dealt as it lay, for at seq {basis.unheld.seq}"
        doubts.insert(0, f"{unshown} {played}")
    if not doubts:
        return None
    return f"nothing against that it was fixed before play; not shown: {'; nor '.join(doubts)}"


def against(claim: Claim, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that speak against a claim."""
    return _weighing(claim, findings, Weight.AGAINST)


def _weighing(claim: Claim, findings: Sequence[Finding], weight: Weight) -> list[Finding]:
    """Return the failed checks of a claim whose gravest objection has this weight."""
    failed = [f for f in findings if f.result is Result.FAIL and f.check in _SPEAKING[claim]]
    return [f for f in failed if min(map(_gravity, f.objections)) == _ORDER.index(weight)]


_ORDER: Final = tuple(Weight)


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
