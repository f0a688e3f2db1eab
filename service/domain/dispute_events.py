"""What can happen in a dispute."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.domain.commands import Seat


class Charge(StrEnum):
    """What somebody is accused of."""

    ILLEGAL_MOVE = "illegal_move"
    FALSE_PICK_UP = "false_pick_up"
    WRONG_DEAL = "wrong_deal"
    ALTERED_LOG = "altered_log"
    TIME = "time"
    COLLUSION = "collusion"
    OTHER = "other"


class Side(StrEnum):
    """The two sides of a dispute."""

    ACCUSER = "accuser"
    ACCUSED = "accused"


class Vote(StrEnum):
    """What a referee holds."""

    CHEATED = "cheated"
    NOT_PROVEN = "not_proven"


class Verdict(StrEnum):
    """What the referees found together (L23)."""

    CAD = "cad"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeOpened:
    """A seat of a game accused another; people are opaque numbers, as at a table."""

    game: str
    accuser: str
    accuser_seat: Seat
    accused: str | None  # None: a bot
    accused_seat: Seat
    seq: int  # the event that it is about
    charge: Charge
    version: int  # of the game, when the evidence was frozen
    bundle: str  # SHA-256 of the frozen evidence, in hex
    barred: tuple[str, ...]  # who sat at the table: no referees


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsMade:
    """The machine looked at the game as it was at `version`; `digest` is that of its findings."""

    version: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementMade:
    """A side said something; the words stand outside, and a commitment here ties them down."""

    side: Side
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeSeated:
    """Somebody offered to judge, and sits."""

    player: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeRefused:
    """A side refused a referee."""

    referee: int
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeReplaced:
    """A referee was silent for too long."""

    referee: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteCommitted:
    """A referee voted, sealed."""

    referee: int
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRevealed:
    """A referee opened the vote."""

    referee: int
    vote: Vote
    salt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """All votes of a panel are open, and say this."""

    verdict: Verdict
    referees: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Appealed:
    """A side asked for other referees; it can be done once."""

    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeClosed:
    """Nobody appealed in time."""


DisputeEvent = (
    DisputeOpened
    | FindingsMade
    | StatementMade
    | RefereeSeated
    | RefereeRefused
    | RefereeReplaced
    | VoteCommitted
    | VoteRevealed
    | Ruled
    | Appealed
    | DisputeClosed
)
