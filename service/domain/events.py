"""Events of a game, one class for each event type of SHX/1."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from msgspec import Struct

from service.domain.cards import Card, Rank
from service.domain.commands import AfterAbsence, Seat
from service.domain.ruleset import Ruleset

Direction = int  # +1 clockwise, -1 counterclockwise


class Zone(StrEnum):
    """Where a played card came from."""

    HAND = "hand"
    UP = "up"
    DOWN = "down"
    STOCK = "stock"


class Entropy(StrEnum):
    """How a seat contributes randomness to the shuffle."""

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
    """Why a game was aborted."""

    NO_ENTROPY = "no_entropy"
    LEFT = "left"
    IDLE = "idle"
    OPERATOR = "operator"
    AGREED = "agreed"


class Opening(Struct, frozen=True, kw_only=True, gc=False):
    """A card with its position in the deck, so that its commitment can be checked."""

    p: int
    card: Card


class SeatSetup(Struct, frozen=True, kw_only=True, gc=False):
    """The public description of a seat: person or bot, key, kind of entropy."""

    kind: str  # human or bot
    bot: str | None
    key: str | None  # Ed25519 public key, standard base64
    entropy: Entropy


MICROSECONDS: Final = 1_000_000
"""In a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """
    Seconds for a turn, for the exchange, and in reserve: once for each seat in a hand.

    A turn takes from the reserve of its seat when its own seconds are over. What a seat has used
    is counted in microseconds, as times of events are.
    """

    turn_seconds: int
    swap_seconds: int
    reserve_seconds: int = 0

    def used_after(self, used: int, took: int) -> int:
        """
        Return what a seat has used of its reserve after a turn that took so many microseconds.

        >>> Clock(turn_seconds=5, swap_seconds=5, reserve_seconds=9).used_after(0, 7_500_000)
        2500000
        """
        over = took - self.turn_seconds * MICROSECONDS
        return min(self.reserve_seconds * MICROSECONDS, used + max(0, over))

    def turn_time(self, used: int) -> int:
        """Return after how many microseconds a turn times out, with `used` of the reserve gone."""
        return (self.turn_seconds + self.reserve_seconds) * MICROSECONDS - used


class GameCreated(Struct, frozen=True, kw_only=True, gc=False):
    """A hand of a table began; the fields have everything that is fixed for the whole hand."""

    table: str
    hand: int
    ruleset: Ruleset
    decks: int
    jokers: int
    partial: tuple[Rank, ...]
    seats: tuple[SeatSetup, ...]
    dealer: Seat | None  # None: drawn with the deck
    prev_game: str | None  # id of the table's last game
    commit: str  # commitment to the server's seed
    clock: Clock | None
    turn_limit: int


class EntropyCommitted(Struct, frozen=True, kw_only=True, gc=False):
    """A seat committed itself to its entropy."""

    seat: Seat
    commit: str


class EntropyRevealed(Struct, frozen=True, kw_only=True, gc=False):
    """A seat revealed its entropy."""

    seat: Seat
    value: str


class DeckCommitted(Struct, frozen=True, kw_only=True, gc=False):
    """The deck is fixed: one commitment for each card, in order."""

    cards: tuple[str, ...]


class CardsDealt(Struct, frozen=True, kw_only=True, gc=False):
    """The cards were dealt: the number of cards of each zone, and the cards that lie open."""

    dealer: Seat
    down: int  # of each seat
    up: int  # of each seat
    hand: int  # of each seat
    stock: int  # cards left after the deal
    face_up: tuple[tuple[Opening, ...], ...]  # of each seat, by slot
    starter: Opening | None
    returned: tuple[Opening, ...]  # turned before the starter and put under the stock


class CardsThrown(Struct, frozen=True, kw_only=True, gc=False):
    """A seat threw these cards onto the pile and drew `count` in their place."""

    seat: Seat
    cards: tuple[Card, ...]
    count: int


class CardsSwapped(Struct, frozen=True, kw_only=True, gc=False):
    """A seat laid the hand cards `up` face up and took the face-up cards `hand`, pair by pair."""

    seat: Seat
    up: tuple[Card, ...]
    hand: tuple[Card, ...]


class TableLaid(Struct, frozen=True, kw_only=True, gc=False):
    """A seat laid cards face-up (`stacks`: those added to each slot) and drew `count`."""

    seat: Seat
    stacks: tuple[tuple[Card, ...], ...]
    count: int


class SeatReady(Struct, frozen=True, kw_only=True, gc=False):
    """A seat finished the exchange or the laying of face-up cards."""

    seat: Seat


class PlayStarted(Struct, frozen=True, kw_only=True, gc=False):
    """All seats are ready; `turn` plays first; if it is None, the first qualified seat to act."""

    turn: Seat | None


class CardsPlayed(Struct, frozen=True, kw_only=True, gc=False):
    """A seat laid cards on the pile; `turn` acts next, or is None if the hand is over."""

    seat: Seat
    zone: Zone
    cards: tuple[Card, ...]
    slot: int | None  # of a face-down card; None for other zones
    opening: Opening | None  # of a card from DOWN or STOCK; None for other zones
    turn: Seat | None
    direction: Direction


class CardsDrawn(Struct, frozen=True, kw_only=True, gc=False):
    """A seat drew `count` cards from the stock after its play."""

    seat: Seat
    count: int


class PileBurned(Struct, frozen=True, kw_only=True, gc=False):
    """The pile left the game, the cards just played included."""

    seat: Seat  # whose play burned the pile
    cause: BurnCause
    count: int
    cleared_by: Seat  # the flusher if there is one (P32), else `seat`


class PilePickedUp(Struct, frozen=True, kw_only=True, gc=False):
    """The pile went to the hand of `taker`; `along` are face-up cards that went with it."""

    seat: Seat
    taker: Seat
    count: int
    along: tuple[Card, ...]
    turn: Seat | None
    direction: Direction


class BlindFailed(Struct, frozen=True, kw_only=True, gc=False):
    """A face-down card did not fit; `opening` is None if the card stays hidden."""

    seat: Seat
    taker: Seat
    slot: int
    opening: Opening | None
    count: int
    turn: Seat | None
    direction: Direction


class StockFailed(Struct, frozen=True, kw_only=True, gc=False):
    """The top card of the stock was tried and did not fit."""

    seat: Seat
    taker: Seat
    opening: Opening
    count: int
    turn: Seat | None
    direction: Direction


class TurnPassed(Struct, frozen=True, kw_only=True, gc=False):
    """A seat passed: it had no play on an empty pile."""

    seat: Seat
    turn: Seat | None


class TurnTimedOut(Struct, frozen=True, kw_only=True, gc=False):
    """The seat's time was up; the rest of this move was made for it."""

    seat: Seat


class SeatOut(Struct, frozen=True, kw_only=True, gc=False):
    """A seat has no card left."""

    seat: Seat
    place: int


class EndAgreed(Struct, frozen=True, kw_only=True, gc=False):
    """A person agreed that the hand ends without a result; it stands until the seat's next move."""

    seat: Seat


class AbsenceClaimed(Struct, frozen=True, kw_only=True, gc=False):
    """
    A person stated that the player at `absent` is away; no record shows whether that is so.

    Then a bot stands in until the absent player moves, or the hand ends once all others ask for it.
    """

    seat: Seat
    absent: Seat
    then: AfterAbsence


class GameEnded(Struct, frozen=True, kw_only=True, gc=False):
    """The hand is over."""

    reason: EndReason
    shithead: Seat | None
    places: tuple[Seat, ...]


class GameSealed(Struct, frozen=True, gc=False):
    """The seed and the deck were published; the log has them, this class does not."""


class GameAborted(Struct, frozen=True, kw_only=True, gc=False):
    """The game cannot be finished; its seed is published all the same."""

    cause: AbortCause
    seat: Seat | None  # that left, did not respond or was on turn; None if no seat did


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
EndEvent = SeatOut | EndAgreed | AbsenceClaimed | GameEnded | GameSealed | GameAborted
Event = SetupEvent | ExchangeEvent | PlayEvent | EndEvent
