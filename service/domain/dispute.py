"""A dispute: an accusation, what the sides say, and how referees settle it; pure, like a game."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from service.domain.dispute_events import (
    Appealed,
    DisputeClosed,
    DisputeEvent,
    DisputeOpened,
    FindingsMade,
    RefereeRefused,
    RefereeReplaced,
    RefereeSeated,
    Ruled,
    Side,
    StatementMade,
    Verdict,
    Vote,
    VoteCommitted,
    VoteRevealed,
)
from service.domain.replacing import replace

Moment = int
"""Microseconds since 1970 in UTC; the times of the events, for there is no clock in here."""

FEWEST_REFEREES = 3


class DisputeState(StrEnum):
    """Where a dispute stands."""

    OPEN = "open"  # waits for referees
    VOTING = "voting"  # sealed votes come in
    REVEALING = "revealing"
    RULED = "ruled"
    APPEALED = "appealed"  # waits for other referees
    FINAL = "final"


class RefereeState(StrEnum):
    """How far a referee has got."""

    SEATED = "seated"
    COMMITTED = "committed"
    REVEALED = "revealed"
    RECUSED = "recused"  # refused by a side, or replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Referee:
    """One who judges; the number is the place in the list, and stays."""

    player: str
    panel: int  # 0, and 1 on appeal
    seated_at: Moment
    commit: str | None = None
    vote: Vote | None = None
    refused_by: Side | None = None
    recused: bool = False

    @property
    def state(self) -> RefereeState:
        """Return how far the referee has got."""
        if self.recused:
            return RefereeState.RECUSED
        if self.vote is not None:
            return RefereeState.REVEALED
        return RefereeState.SEATED if self.commit is None else RefereeState.COMMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """That a side said something: when, and as which event."""

    side: Side
    seq: int
    at: Moment
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a panel found; it never changes, a later one may supersede it."""

    verdict: Verdict
    at: Moment
    referees: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """The state of a dispute after `version` events."""

    opened: DisputeOpened
    opened_at: Moment
    version: int = 1
    statements: tuple[Statement, ...] = ()
    referees: tuple[Referee, ...] = ()
    found_at: int = 0  # the version of the game that the findings are about; 0: none yet
    panel: int = 0
    rulings: tuple[Ruling, ...] = ()
    settled: bool = False  # the last ruling stands, and no panel sits
    closed: bool = False
    stage_since: Moment = 0  # when voting or revealing began

    @property
    def active(self) -> dict[int, Referee]:
        """Return the referees of the present panel by their number, without those recused."""
        numbered = enumerate(self.referees)
        return {n: r for n, r in numbered if r.panel == self.panel and not r.recused}

    @property
    def state(self) -> DisputeState:
        """Return where the dispute stands."""
        if self.closed or (self.settled and self.panel):
            return DisputeState.FINAL
        if self.settled:
            return DisputeState.RULED
        judges = self.active.values()
        if len(judges) < FEWEST_REFEREES:
            return DisputeState.APPEALED if self.panel else DisputeState.OPEN
        if any(referee.commit is None for referee in judges):
            return DisputeState.VOTING
        return DisputeState.REVEALING

    @property
    def ruling(self) -> Ruling | None:
        """Return the newest ruling."""
        return self.rulings[-1] if self.rulings else None

    def side_of(self, player: str) -> Side | None:
        """Return on which side a player stands."""
        if player == self.opened.accuser:
            return Side.ACCUSER
        return Side.ACCUSED if player == self.opened.accused else None

    def referee_of(self, player: str) -> int | None:
        """Return the number of a player who judges now."""
        return next((n for n, r in self.active.items() if r.player == player), None)


def fold_dispute(events: Iterable[tuple[DisputeEvent, Moment]]) -> Dispute:
    """Return the dispute after `events` with their times, the first of which opens it."""
    steps = iter(events)
    opened, at = next(steps)
    if not isinstance(opened, DisputeOpened):
        raise ValueError("a dispute begins with dispute_opened")
    dispute = Dispute(opened=opened, opened_at=at)
    for event, moment in steps:
        dispute = evolve_dispute(dispute, event, moment)
    return dispute


def evolve_dispute(dispute: Dispute, event: DisputeEvent, at: Moment) -> Dispute:
    """Return `dispute` after `event`, which happened `at`."""
    before = dispute.state
    after = replace(_changed(dispute, event, at), version=dispute.version + 1)
    return replace(after, stage_since=at) if after.state is not before else after


def _changed(dispute: Dispute, event: DisputeEvent, at: Moment) -> Dispute:
    match event:
        case DisputeOpened():
            raise ValueError("a dispute is opened once")
        case FindingsMade(version=version):
            return replace(dispute, found_at=version)
        case StatementMade(side=side, commit=commit):
            said = Statement(side=side, seq=dispute.version, at=at, commit=commit)
            return replace(dispute, statements=(*dispute.statements, said))
        case RefereeSeated(player=player):
            judge = Referee(player=player, panel=dispute.panel, seated_at=at)
            return replace(dispute, referees=(*dispute.referees, judge))
        case RefereeRefused(referee=number, side=side):
            return replace(
                _with(dispute, number, recused=True, refused_by=side), settled=False
            )
        case RefereeReplaced(referee=number):
            return _with(dispute, number, recused=True)
        case VoteCommitted(referee=number, commit=commit):
            return _with(dispute, number, commit=commit)
        case VoteRevealed(referee=number, vote=vote):
            return _with(dispute, number, vote=vote)
        case Ruled(verdict=verdict, referees=referees):
            ruling = Ruling(verdict=verdict, at=at, referees=referees)
            return replace(dispute, rulings=(*dispute.rulings, ruling), settled=True)
        case Appealed():
            return replace(dispute, panel=dispute.panel + 1, settled=False)
        case DisputeClosed():
            return replace(dispute, closed=True)
        case _:
            assert_never(event)


def _with(dispute: Dispute, number: int, **changes: object) -> Dispute:
    judges = list(dispute.referees)
    judges[number] = replace(judges[number], **changes)  # type: ignore[arg-type] # fields by name
    return replace(dispute, referees=tuple(judges))
