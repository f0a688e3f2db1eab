"""A dispute about a game: its events, and its state, which is folded from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from service.domain.commands import Seat


class Charge(StrEnum):
    """The offence that a seat or the server is accused of."""

    ILLEGAL_MOVE = "illegal_move"
    FALSE_PICK_UP = "false_pick_up"
    WRONG_DEAL = "wrong_deal"
    ALTERED_LOG = "altered_log"
    TIME = "time"
    COLLUSION = "collusion"
    OTHER = "other"


class Party(StrEnum):
    """The sides of a dispute; the partner is on that of the accused, but no ruling is about it."""

    ACCUSER = "accuser"
    ACCUSED = "accused"
    PARTNER = "partner"  # named in a charge of collusion


class Vote(StrEnum):
    """The opinion of a referee."""

    CHEATED = "cheated"
    NOT_PROVEN = "not_proven"


class Verdict(StrEnum):
    """The outcome of a panel's vote (L23)."""

    CAD = "cad"  # against a player, the word of L23 for a cheat
    CLEARED = "cleared"
    PROVEN = "proven"  # against the server, which is not called a cad


@dataclass(frozen=True, slots=True, kw_only=True)
class Periods:
    """Conditions for referees and periods in seconds, fixed when the dispute is opened."""

    referee_hands: int = 5  # finished hands that a referee needs
    referee_account_seconds: int = 259_200  # age of the account that a referee needs
    referee_seated_seconds: int = 86_400  # during which a new referee can be refused
    vote_seconds: int = 172_800  # to vote, and again to reveal the vote
    appeal_seconds: int = 604_800  # after a ruling
    dispute_seconds: int = 2_592_000  # for a panel, from the latest of seal, opening, appeal


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeOpened:
    """A seat of a game accused another seat or the server; ids of people are internal."""

    game: str
    accuser: str
    accuser_seat: Seat
    accused: str | None  # None: a bot, or the server
    accused_seat: Seat | None  # None: the server
    seq: int | None  # of the disputed event; None: collusion, which is about no move
    move: int | None  # the first event of the move with `seq`
    charge: Charge
    version: int  # of the game, when the evidence was frozen
    bundle: str  # SHA-256 of the frozen evidence, in hex
    barred: tuple[str, ...]  # players of the table and its host, who cannot be referees
    periods: Periods = Periods()
    partner: str | None = None  # collusion alone: the player with whom the accused colluded
    partner_seat: Seat | None = None

    @property
    def of_server(self) -> bool:
        """Return whether the server is accused."""
        return self.accused_seat is None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsMade:
    """The verifier judged the game at `version`; `digest` is the hash of its findings."""

    version: int
    digest: str
    anchored: bool = False  # whether the public log had a proof of this version
    allowed: bool = False  # whether a finding is that the rules allow the disputed move


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementMade:
    """A side made a statement; the stream has only the commitment to its text."""

    side: Party
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptGiven:
    """A side handed in a receipt of the game, which a key of the server signed."""

    side: Party
    receipt: str  # the signed note, without signatures of other keys


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeSeated:
    """A player joined the dispute as a referee."""

    player: str
    registered_at: str | None = None  # when the account that was judged began


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeRefused:
    """A side refused a referee."""

    referee: int
    side: Party


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeReplaced:
    """A referee who did not vote, or did not reveal the vote, in time leaves the panel."""

    referee: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VotingOpened:
    """The panel is complete: these referees vote, and sides can no longer refuse them."""

    referees: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteCommitted:
    """A referee committed to a vote."""

    referee: int
    commit: str
    by_server: bool = False  # the server drew the salt and stores the vote, encrypted


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRevealed:
    """A referee revealed the vote."""

    referee: int
    vote: Vote
    salt: str
    reason: str | None = None  # the commitment to its text, as of a statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """All votes of a panel are revealed; this is the verdict."""

    verdict: Verdict
    referees: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Appealed:
    """A side appealed to other referees, which is possible once."""

    side: Party


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeWithdrawn:
    """The accuser withdrew the dispute before anybody answered it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeClosed:
    """The period for an appeal, or for completing a panel, ended."""


DisputeEvent = (
    DisputeOpened
    | FindingsMade
    | StatementMade
    | ReceiptGiven
    | RefereeSeated
    | RefereeRefused
    | RefereeReplaced
    | VotingOpened
    | VoteCommitted
    | VoteRevealed
    | Ruled
    | Appealed
    | DisputeWithdrawn
    | DisputeClosed
)


Moment = int
"""Microseconds since 1970 in UTC. Callers supply all times: the domain has no clock."""

FEWEST_REFEREES = 3


class DisputeState(StrEnum):
    """The phase of a dispute."""

    OPEN = "open"  # waiting for a panel
    VOTING = "voting"  # referees commit to their votes
    REVEALING = "revealing"
    RULED = "ruled"  # can be appealed
    APPEALED = "appealed"  # waiting for a panel of other referees
    FINAL = "final"


class RefereeState(StrEnum):
    """The progress of a referee."""

    SEATED = "seated"
    COMMITTED = "committed"
    REVEALED = "revealed"
    RECUSED = "recused"  # refused by a side, or out of time


class SealedBy(StrEnum):
    """The party that drew the salt of a vote, and knows the vote before it is revealed."""

    REFEREE = "referee"
    SERVER = "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Referee:
    """A referee; the referee's number is the index in `Dispute.referees` and never changes."""

    player: str
    panel: int  # 0, and 1 on appeal
    seated_at: Moment
    commit: str | None = None
    by_server: bool = False
    voted_at: Moment | None = None  # when the vote was committed
    voted_seq: int | None = None  # of that event in the stream of the dispute
    vote: Vote | None = None
    reason: str | None = None  # the commitment to the reason of the vote
    revealed_at: Moment | None = None
    refused_by: Party | None = None
    recused: bool = False

    @property
    def state(self) -> RefereeState:
        """Return the progress of the referee."""
        if self.recused:
            return RefereeState.RECUSED
        if self.vote is not None:
            return RefereeState.REVEALED
        return RefereeState.SEATED if self.commit is None else RefereeState.COMMITTED

    @property
    def sealed_by(self) -> SealedBy | None:
        """Return the party that sealed the vote, None before the referee votes."""
        if self.commit is None:
            return None
        return SealedBy.SERVER if self.by_server else SealedBy.REFEREE


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyStatement:
    """A statement of a side: its time, event and commitment."""

    side: Party
    seq: int  # of its event in the stream of the dispute
    at: Moment
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeReceipt:
    """A receipt that a side handed in, as a signed note."""

    side: Party
    at: Moment
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The verdict of a panel; it never changes, but a later one may supersede it."""

    verdict: Verdict
    at: Moment
    referees: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """The state of a dispute after `version` events."""

    opened: DisputeOpened
    opened_at: Moment
    at: Moment  # of the last event
    version: int = 1
    statements: tuple[PartyStatement, ...] = ()
    receipts: tuple[DisputeReceipt, ...] = ()
    referees: tuple[Referee, ...] = ()
    found_at: int = 0  # the version of the game that the findings judge; 0: none yet
    found_with: int = 0  # the number of receipts that the findings judge
    anchored: bool = False  # whether the findings used a proof of the public log
    allowed: bool = False  # whether a finding is that the rules allow the disputed move
    panel: int = 0
    judges: tuple[int, ...] = ()  # numbers of the referees in the newest VotingOpened
    voting_from: Moment | None = None
    appealed_at: Moment | None = None
    rulings: tuple[Ruling, ...] = ()
    settled: bool = False  # the last ruling is in force, and no panel is judging
    closed: bool = False
    withdrawn: bool = False
    stage_since: Moment = 0  # when the present state began

    @property
    def seated(self) -> dict[int, Referee]:
        """Return the referees of the present panel by number, without those recused."""
        numbered = enumerate(self.referees)
        return {n: r for n, r in numbered if r.panel == self.panel and not r.recused}

    @property
    def active(self) -> dict[int, Referee]:
        """Return the voting referees of the present panel by number; empty before voting."""
        return {n: r for n, r in self.seated.items() if n in self.judges}

    @property
    def state(self) -> DisputeState:
        """Return the phase of the dispute."""
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
    def answered(self) -> bool:
        """Return whether the other side has acted, or a referee was seated at any time."""
        sides = {one.side for one in self.statements} | {one.side for one in self.receipts}
        return bool(self.referees) or not sides <= {Party.ACCUSER}

    @property
    def ruling(self) -> Ruling | None:
        """Return the newest ruling, None before the first."""
        return self.rulings[-1] if self.rulings else None

    @property
    def refusable(self) -> dict[int, Referee]:
        """Return the referees by number whom a side may refuse now."""
        waiting = self.state in (DisputeState.OPEN, DisputeState.APPEALED)
        return {n: r for n, r in self.seated.items() if waiting and r.commit is None}

    def side_of(self, player: str) -> Party | None:
        """Return the side of a player, None for others."""
        if player == self.opened.accuser:
            return Party.ACCUSER
        if player == self.opened.accused:
            return Party.ACCUSED
        return Party.PARTNER if player == self.opened.partner else None

    def referee_of(self, player: str) -> int | None:
        """Return the number of a player who votes on the present panel, None for others."""
        return next((n for n, r in self.active.items() if r.player == player), None)


def fold_dispute(events: Iterable[tuple[DisputeEvent, Moment]]) -> Dispute:
    """
    Return the dispute after `events` with their times, the first of which opens it.

    Raises ValueError if `events` is empty, or if another event than the first opens the dispute.
    """
    steps = iter(events)
    opened, at = next(steps, (None, 0))
    if not isinstance(opened, DisputeOpened):
        raise ValueError("a dispute begins with dispute_opened")
    dispute = Dispute(opened=opened, opened_at=at, at=at, stage_since=at)
    for event, moment in steps:
        dispute = evolve_dispute(dispute, event, moment)
    return dispute


def evolve_dispute(dispute: Dispute, event: DisputeEvent, at: Moment) -> Dispute:
    """
    Return `dispute` after `event`, which happened at the time `at`.

    Raises ValueError for a second `DisputeOpened`.
    """
    before = dispute.state
    after = replace(_changed(dispute, event, at), version=dispute.version + 1, at=at)
    return replace(after, stage_since=at) if after.state is not before else after


def _changed(dispute: Dispute, event: DisputeEvent, at: Moment) -> Dispute:
    match event:
        case DisputeOpened():
            raise ValueError("a dispute is opened once")
        case FindingsMade(version=version, anchored=anchored, allowed=allowed):
            judged = len(dispute.receipts)
            found = replace(dispute, found_at=version, found_with=judged, anchored=anchored)
            return replace(found, allowed=allowed)
        case StatementMade(side=side, commit=commit):
            statement = PartyStatement(side=side, seq=dispute.version, at=at, commit=commit)
            return replace(dispute, statements=(*dispute.statements, statement))
        case ReceiptGiven(side=side, receipt=note):
            handed_in = DisputeReceipt(side=side, at=at, note=note)
            return replace(dispute, receipts=(*dispute.receipts, handed_in))
        case Ruled(verdict=verdict, referees=referees):
            ruling = Ruling(verdict=verdict, at=at, referees=referees)
            return replace(dispute, rulings=(*dispute.rulings, ruling), settled=True)
        case Appealed():
            panel = dispute.panel + 1
            return replace(dispute, panel=panel, settled=False, judges=(), appealed_at=at)
        case DisputeClosed():
            return replace(dispute, closed=True)
        case DisputeWithdrawn():
            return replace(dispute, closed=True, withdrawn=True)
        case _:
            return _referees_changed(dispute, event, at)


def _referees_changed(
    dispute: Dispute,
    event: RefereeSeated
    | RefereeRefused
    | RefereeReplaced
    | VotingOpened
    | VoteCommitted
    | VoteRevealed,
    at: Moment,
) -> Dispute:
    """Return the dispute after an event about referees or their votes."""
    match event:
        case RefereeSeated(player=player):
            judge = Referee(player=player, panel=dispute.panel, seated_at=at)
            return replace(dispute, referees=(*dispute.referees, judge))
        case RefereeRefused(referee=number, side=side):
            return _with(dispute, number, recused=True, refused_by=side)
        case RefereeReplaced(referee=number):
            return _with(dispute, number, recused=True)
        case VotingOpened(referees=referees):
            return replace(dispute, judges=referees, voting_from=at)
        case VoteCommitted(referee=number, commit=commit, by_server=by_server):
            voted = _with(dispute, number, commit=commit, by_server=by_server, voted_at=at)
            return _with(voted, number, voted_seq=dispute.version)
        case VoteRevealed(referee=number, vote=vote, reason=reason):
            return _with(dispute, number, vote=vote, revealed_at=at, reason=reason)
        case _:
            assert_never(event)


def _with(dispute: Dispute, number: int, **changes: object) -> Dispute:
    judges = list(dispute.referees)
    judges[number] = replace(judges[number], **changes)  # type: ignore[arg-type] # fields by name
    return replace(dispute, referees=tuple(judges))
