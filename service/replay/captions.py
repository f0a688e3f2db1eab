"""One English sentence for an event, with nothing in it that its viewer may not know."""

from __future__ import annotations

from typing import assert_never

from service.domain.cards import HIDDEN, Card, in_code_order
from service.domain.commands import Seat
from service.domain.events import (
    AbortCause,
    BlindFailed,
    BurnCause,
    CardsDealt,
    CardsDrawn,
    CardsPlayed,
    CardsSwapped,
    CardsThrown,
    DeckCommitted,
    EndEvent,
    EndReason,
    EntropyCommitted,
    EntropyRevealed,
    Event,
    ExchangeEvent,
    GameAborted,
    GameCreated,
    GameEnded,
    GameSealed,
    PileBurned,
    PilePickedUp,
    PlayEvent,
    PlayStarted,
    SeatOut,
    SeatReady,
    SetupEvent,
    StockFailed,
    TableLaid,
    TurnPassed,
    TurnTimedOut,
    Zone,
)
from service.domain.evolve import is_follow_up
from service.domain.game import Game
from service.replay.wording import and_then, counted, drawn, listed, pile_of


def caption(event: Event, before: Game, after: Game) -> str:
    """
    Return the sentence for `event`, which led from `before` to `after`.

    Both games are masked for the viewer; whatever the sentence adds to the
    public event is read from them, so it cannot tell more than the view does.
    """
    match event:
        case GameCreated() | EntropyCommitted() | EntropyRevealed() | DeckCommitted():
            return _setup(event)
        case (
            CardsDealt()
            | CardsThrown()
            | CardsSwapped()
            | TableLaid()
            | SeatReady()
            | PlayStarted()
        ):
            return _exchange(event, before, after)
        case SeatOut() | GameEnded() | GameSealed() | GameAborted():
            return _end(event)
        case (
            CardsPlayed()
            | CardsDrawn()
            | PileBurned()
            | PilePickedUp()
            | BlindFailed()
            | StockFailed()
            | TurnPassed()
            | TurnTimedOut()
        ):
            return _play(event, before, after)
        case _:
            assert_never(event)


def _setup(event: SetupEvent) -> str:
    match event:
        case GameCreated():
            seats = counted(len(event.seats), "seat")
            return f"Hand {event.hand} of the table begins by {event.ruleset.id}, with {seats}."
        case EntropyCommitted(seat=seat):
            return f"Seat {seat} binds itself to its share of the shuffle."
        case EntropyRevealed(seat=seat):
            return f"Seat {seat} shows its share of the shuffle."
        case DeckCommitted(cards=cards):
            return f"The order of the {counted(len(cards), 'card')} is fixed."
        case _:
            assert_never(event)


def _exchange(event: ExchangeEvent, before: Game, after: Game) -> str:
    match event:
        case CardsDealt():
            return _dealt(event)
        case CardsThrown(seat=seat, cards=cards, count=count):
            new = _new_in_hand(before, after, seat)
            text = f"Seat {seat} throws {listed(cards)} onto the pile"
            return f"{text} and draws {drawn(count, new)}." if count else f"{text}."
        case CardsSwapped(seat=seat, up=up, hand=hand):
            return f"Seat {seat} lays {listed(up)} face up and takes {listed(hand)} for it."
        case TableLaid(seat=seat, stacks=stacks, count=count):
            new = _new_in_hand(before, after, seat)
            laid = listed("+".join(stack) for stack in stacks if stack)
            text = f"Seat {seat} lays {laid} face up"
            return f"{text} and draws {drawn(count, new)}." if count else f"{text}."
        case SeatReady(seat=seat):
            return f"Seat {seat} is ready."
        case PlayStarted(turn=None):
            return "Play begins: the first to come with the right card opens."
        case PlayStarted(turn=turn):
            return f"Play begins: seat {turn} opens."
        case _:
            assert_never(event)


def _dealt(event: CardsDealt) -> str:
    parts = [f"{event.down} face down", f"{event.up} face up", f"{event.hand} to the hand"]
    given = listed(part for part in parts if not part.startswith("0 "))
    text = f"Seat {event.dealer} deals each seat {given}"
    if event.returned:
        under = listed(opening.card for opening in event.returned)
        text += f", puts {under} under the stock"
    if event.starter is not None:
        text += f", turns {event.starter.card} to start the pile"
    return f"{text} and leaves {counted(event.stock, 'card')} in the stock."


def _play(event: PlayEvent, before: Game, after: Game) -> str:
    match event:
        case CardsPlayed(seat=seat, turn=turn):
            return _played(event, before) + and_then(seat, turn)
        case CardsDrawn(seat=seat, count=count):
            return f"Seat {seat} draws {drawn(count, _new_in_hand(before, after, seat))}."
        case PileBurned():
            return _burned(event)
        case PilePickedUp(seat=seat, taker=taker, count=count, along=along, turn=turn):
            taken = pile_of(count) + (f" with {listed(along)}" if along else "")
            if taker == seat:
                return f"Seat {seat} takes {taken}{and_then(seat, turn)}"
            return f"Seat {seat} cannot play, and seat {taker} takes {taken}{and_then(seat, turn)}"
        case BlindFailed() | StockFailed():
            return _failed(event, before, after)
        case TurnPassed(seat=seat, turn=turn):
            return f"Seat {seat} cannot play on the empty pile and passes{and_then(seat, turn)}"
        case TurnTimedOut(seat=seat):
            return f"The time of seat {seat} is up; what follows is done for it."
        case _:
            assert_never(event)


def _played(event: CardsPlayed, before: Game) -> str:
    seat, cards = event.seat, listed(event.cards)
    turned = ", turning the direction" if event.direction != before.direction else ""
    match event.zone:
        case Zone.HAND if is_follow_up(before, seat, event.cards):
            return f"Seat {seat} goes on with {cards} that it drew{turned}"
        case Zone.HAND:
            return f"Seat {seat} plays {cards} from its hand{turned}"
        case Zone.UP:
            return f"Seat {seat} plays {cards} from its face-up cards{turned}"
        case Zone.DOWN:
            return f"Seat {seat} turns {cards} in slot {event.slot}, and it is played{turned}"
        case Zone.STOCK:
            return f"Seat {seat} tries the stock, turns {cards}, and it is played{turned}"
        case _:
            assert_never(event.zone)


def _burned(event: PileBurned) -> str:
    why = {BurnCause.RANK: "by its top card", BurnCause.SET: "by a set of one rank"}[event.cause]
    by = "" if event.cleared_by == event.seat else f"; seat {event.cleared_by} clears it"
    return f"The pile of {counted(event.count, 'card')} burns {why}{by}."


def _failed(event: BlindFailed | StockFailed, before: Game, after: Game) -> str:
    """A turned card that did not fit; where it stays hidden only its seat reads which."""
    seat, taker = event.seat, event.taker
    if isinstance(event, BlindFailed):
        new = () if event.opening else _new_in_hand(before, after, seat)
        # The cards of the pile are known; whatever else came to the hand is the turned card.
        secret = [card for card in new if card not in before.pile]
        card = event.opening.card if event.opening else next(iter(secret), "a card unseen")
        text = f"Seat {seat} turns {card} in slot {event.slot}, which does not fit"
    else:
        text = f"Seat {seat} tries the stock and turns {event.opening.card}, which does not fit"
    text += ", and takes it"
    if taker == seat:
        text += f" with {pile_of(event.count)}" if event.count else ""
    else:
        text += f", while seat {taker} takes {pile_of(event.count)}"
    return text + and_then(seat, event.turn)


def _end(event: EndEvent) -> str:
    match event:
        case SeatOut(seat=seat, place=place):
            return f"Seat {seat} has no card left and is out, in place {place}."
        case GameEnded():
            return _ended(event)
        case GameSealed():
            return "The seed and the deck are published."
        case GameAborted(cause=AbortCause.IDLE, seat=int(seat)):
            return f"The game is given up unfinished: seat {seat} did not come to go on."
        case GameAborted(cause=cause, seat=seat):
            return f"The game is given up unfinished: {_ABORTED[cause].format(seat=seat)}."
        case _:
            assert_never(event)


def _ended(event: GameEnded) -> str:
    match event.reason:
        case EndReason.SHITHEAD:
            return f"The hand is over: seat {event.shithead} is the shithead."
        case EndReason.WINNER:
            return f"The hand is over: seat {event.places[0]} wins."
        case EndReason.STALEMATE:
            return "The hand ends as a stalemate, without a shithead."
        case EndReason.FORFEIT:
            return f"Seat {event.shithead} gives up the hand and is its shithead."
        case _:
            assert_never(event.reason)


_ABORTED = {
    AbortCause.NO_ENTROPY: "seat {seat} did not give its share of the shuffle",
    AbortCause.LEFT: "seat {seat} left",
    AbortCause.IDLE: "nobody came to go on",
    AbortCause.OPERATOR: "the operator ended it",
}


def _new_in_hand(before: Game, after: Game, seat: Seat) -> tuple[Card, ...]:
    """Return the cards that came to a hand, as far as the viewer sees them."""
    old = before.seats[seat].hand
    return in_code_order(c for c in after.seats[seat].hand if c not in old and c != HIDDEN)
