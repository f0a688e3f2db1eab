"""What has happened; past tense, one class an event type of SHX/1."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.domain.cards import Card, Rank
from service.domain.commands import Seat
from service.domain.ruleset import Ruleset

Direction = int  # +1 clockwise, -1 against it


class Zone(StrEnum):
    """Where a played card came from."""

    HAND = "hand"
    UP = "up"
    DOWN = "down"
    STOCK = "stock"


class Entropy(StrEnum):
    """How a seat contributes to the shuffle."""

    NONE = "none"
    VALUE = "value"
    COMMIT = "commit"


class BurnCause(StrEnum):
    """Why a pile burned."""

    RANK = "rank"
    SET = "set"


class EndReason(StrEnum):
    """Why a hand ended."""

    SHITHEAD = "shithead"
    WINNER = "winner"
    STALEMATE = "stalemate"
    FORFEIT = "forfeit"


class AbortCause(StrEnum):
    """Why a game was given up unfinished."""

    NO_ENTROPY = "no_entropy"
    LEFT = "left"
    IDLE = "idle"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A card with the position of the deck that it came from."""

    p: int
    card: Card


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatSetup:
    """Who sits at a seat, as far as the world may know."""

    kind: str  # human or bot
    bot: str | None
    key: str | None  # Ed25519 public key, standard base64
    entropy: Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Seconds for a turn and for the exchange."""

    turn_seconds: int
    swap_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GameCreated:
    """A hand of a table begins; everything that is fixed about it stands here."""

    table: str
    hand: int
    ruleset: Ruleset
    decks: int
    jokers: int
    partial: tuple[Rank, ...]
    seats: tuple[SeatSetup, ...]
    dealer: Seat | None
    prev_game: str | None
    commit: str
    clock: Clock | None
    turn_limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyCommitted:
    """A seat has bound itself to its entropy."""

    seat: Seat
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyRevealed:
    """A seat's entropy is known."""

    seat: Seat
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeckCommitted:
    """The deck is fixed: one commitment a card, in order."""

    cards: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsDealt:
    """The deal, with what lies open afterwards."""

    dealer: Seat
    down: int
    up: int
    hand: int
    stock: int
    face_up: tuple[tuple[Opening, ...], ...]
    starter: Opening | None
    returned: tuple[Opening, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsThrown:
    """A seat threw these cards onto the pile and drew `count` in their place."""

    seat: Seat
    cards: tuple[Card, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsSwapped:
    """A seat laid hand cards `up` and took face-up cards for them, pair by pair."""

    seat: Seat
    up: tuple[Card, ...]
    hand: tuple[Card, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLaid:
    """A seat laid cards face-up, for each slot those added, and drew `count`."""

    seat: Seat
    stacks: tuple[tuple[Card, ...], ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatReady:
    """A seat is done with the exchange."""

    seat: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayStarted:
    """All are ready; `turn` opens, or whoever comes first."""

    turn: Seat | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsPlayed:
    """A seat laid cards on the pile; `turn` acts next."""

    seat: Seat
    zone: Zone
    cards: tuple[Card, ...]
    slot: int | None
    opening: Opening | None
    turn: Seat | None
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsDrawn:
    """A seat filled up its hand from the stock."""

    seat: Seat
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PileBurned:
    """The pile left the game, the cards just played included."""

    seat: Seat
    cause: BurnCause
    count: int
    cleared_by: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class PilePickedUp:
    """The pile went to the hand of `taker`; `along` are face-up cards that went with it."""

    seat: Seat
    taker: Seat
    count: int
    along: tuple[Card, ...]
    turn: Seat | None
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindFailed:
    """A face-down card did not fit; `opening` is None where it stays hidden."""

    seat: Seat
    taker: Seat
    slot: int
    opening: Opening | None
    count: int
    turn: Seat | None
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class StockFailed:
    """The top card of the stock was tried and did not fit."""

    seat: Seat
    taker: Seat
    opening: Opening
    count: int
    turn: Seat | None
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPassed:
    """Nothing could be played on an empty pile."""

    seat: Seat
    turn: Seat | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTimedOut:
    """The seat's time was up; what follows in this move was done for it."""

    seat: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatOut:
    """A seat has no card left."""

    seat: Seat
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GameEnded:
    """The hand is over."""

    reason: EndReason
    shithead: Seat | None
    places: tuple[Seat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GameSealed:
    """The seed and the deck are published; the record adds them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameAborted:
    """The game cannot be finished; the seed is published all the same."""

    cause: AbortCause
    seat: Seat | None


SetupEvent = GameCreated | EntropyCommitted | EntropyRevealed | DeckCommitted
ExchangeEvent = CardsDealt | CardsThrown | CardsSwapped | TableLaid | SeatReady | PlayStarted
PlayEvent = (
    CardsPlayed
    | CardsDrawn
    | PileBurned
    | PilePickedUp
    | BlindFailed
    | StockFailed
    | TurnPassed
    | TurnTimedOut
)
EndEvent = SeatOut | GameEnded | GameSealed | GameAborted
Event = SetupEvent | ExchangeEvent | PlayEvent | EndEvent
