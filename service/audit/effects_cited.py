"""What followed from a move, event by event: in words, with the statements that decide it."""

from __future__ import annotations

from typing import Final, assert_never

from schemas.events import type_of
from schemas.views import Json
from service.audit.story import Done, Story
from service.audit.words import and_next, cards_of, count_of, seats_of, sets_up
from service.domain.burning import burn_cause
from service.domain.cards import rank_of
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
    EndReason,
    EntropyCommitted,
    EntropyRevealed,
    Event,
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
    StockFailed,
    TableLaid,
    TurnPassed,
    TurnTimedOut,
    Zone,
)
from service.domain.evolve import is_follow_up
from service.domain.following import Known
from service.domain.game import Game
from service.rulesets.citing import rules_behind


def effects(story: Story, done: Done) -> list[Json]:
    """
    Return every event of a move with its statements, and a sentence on what it did.

    It tells what the event says and what all can see, so it is the same for
    everybody, before the seal and after it.
    """
    action = story.log[min(done.first + done.timed_out, done.last)]
    found = []
    for record in story.log[done.first : done.last + 1]:
        # A consequence is judged by the game that its action met; the action by the one before it.
        seq = max(min(record.seq, action.seq) - 1, 0)
        before, known = story.games[seq], story.known[seq]
        rules = () if known is Known.NOTHING else rules_behind(before, record.event, action.event)
        found.append(
            {
                "seq": record.seq,
                "type": type_of(record.event),
                "rules": list(rules),
                "text": told(before, record.event),
            }
        )
    return found


def told(game: Game, event: Event) -> str:
    """Return in a sentence what an event of the log did to the game before its move."""
    match event:
        case GameCreated() | EntropyCommitted() | EntropyRevealed() | DeckCommitted():
            return sets_up(event)
        case CardsDealt(dealer=dealer, stock=stock):
            starter = "" if event.starter is None else f", and {event.starter.card} starts the pile"
            return f"Seat {dealer} deals{starter}; the stock has {count_of(stock)}."
        case CardsThrown(seat=seat, cards=cards, count=count):
            return f"Seat {seat} throws {cards_of(cards)} and draws {count_of(count)} instead."
        case CardsSwapped(seat=seat, up=up, hand=hand):
            return f"Seat {seat} lays {cards_of(up)} face up and takes {cards_of(hand)} for it."
        case TableLaid(seat=seat, stacks=stacks, count=count):
            laid = cards_of(card for stack in stacks for card in stack)
            more = f" and draws {count_of(count)}" if count else ""
            return f"Seat {seat} lays {laid} face up{more}."
        case SeatReady(seat=seat):
            return f"Seat {seat} is ready."
        case PlayStarted(turn=turn):
            return "The first to come opens." if turn is None else f"Seat {turn} opens."
        case SeatOut(seat=seat, place=place):
            return f"Seat {seat} has no card left and is out, in place {place}."
        case GameEnded() | GameSealed() | GameAborted():
            return _end(event)
        case _:
            return _play(game, event)


def _play(game: Game, event: PlayEvent) -> str:
    match event:
        case CardsPlayed():
            return f"{_laid(game, event)}{_why_next(game, event)}{and_next(event.seat, event.turn)}"
        case CardsDrawn(seat=seat, count=count):
            return f"Seat {seat} draws {count_of(count)} from the stock."
        case PileBurned(seat=seat, count=count, cleared_by=by):
            clearing = "" if by == seat else f"; seat {by} clears it away"
            why = "its top card burns" if event.cause is BurnCause.RANK else "a set lies on top"
            return f"The pile of {count_of(count)} leaves the game, for {why}{clearing}."
        case PilePickedUp(seat=seat, along=along):
            more = f", and {cards_of(along)} from the table of seat {seat} with it" if along else ""
            return f"{_taken(event)}{more}{and_next(seat, event.turn)}"
        case BlindFailed(seat=seat, slot=slot, opening=opening):
            card = "A card that stays hidden" if opening is None else opening.card
            text = f"{card} from slot {slot} does not fit and goes to the hand of seat {seat}"
            return f"{text}. {_taken(event)}{and_next(seat, event.turn)}"
        case StockFailed(seat=seat, opening=opening):
            text = f"{opening.card} from the stock does not fit and goes to the hand of seat {seat}"
            return f"{text}. {_taken(event)}{and_next(seat, event.turn)}"
        case TurnPassed(seat=seat, turn=turn):
            return f"Seat {seat} has nothing for the empty pile and passes{and_next(seat, turn)}"
        case TurnTimedOut(seat=seat):
            return f"The time of seat {seat} is up; what follows is done for it."
        case _:
            assert_never(event)


def _laid(game: Game, event: CardsPlayed) -> str:
    cards, seat = cards_of(event.cards), event.seat
    match event.zone:
        case Zone.HAND if is_follow_up(game, seat, event.cards):
            return f"Seat {seat} goes on with {cards}, drawn after its play"
        case Zone.HAND:
            return f"{cards} from the hand of seat {seat} on the pile"
        case Zone.UP:
            return f"{cards} from the table of seat {seat} on the pile"
        case Zone.DOWN:
            return f"{cards} from slot {event.slot} of seat {seat} fits and lies on the pile"
        case Zone.STOCK:
            return f"{cards} from the stock fits and lies on the pile"
        case _:
            assert_never(event.zone)


def _why_next(game: Game, event: CardsPlayed) -> str:
    """Return what of the play decides who is next, where it is not simply the next seat."""
    ruleset, last = game.ruleset, game.last_play
    laid = event.cards
    if last is not None and is_follow_up(game, event.seat, laid):
        laid = last.cards + laid
    rules = [ruleset.rank(rank_of(card)) for card in laid]
    top = rules[-1]
    if burn_cause(ruleset, game.pile + event.cards) is not None:
        return f", which burns{_gone(event)}"
    two = top.covers_with_two and event.turn == event.seat and len(game.in_play()) == 2
    if top.covers or two:
        return f", which asks to be covered{_gone(event)}"
    reverses, skips = sum(r.reverses for r in rules), sum(r.skips for r in rules)
    words = []
    if reverses:
        words.append("turns the direction" if reverses % 2 else "turns the direction and back")
    if skips:
        words.append(f"skips {seats_of(skips)}")
    return f", which {' and '.join(words)}" if words else ""


def _gone(event: CardsPlayed) -> str:
    """Return why the seat does not play again, where it went out by this play."""
    return "" if event.turn in (None, event.seat) else f", but seat {event.seat} is out"


def _taken(event: PilePickedUp | BlindFailed | StockFailed) -> str:
    if not event.count:
        return "There is no pile to take"
    return f"The pile of {count_of(event.count)} goes to the hand of seat {event.taker}"


def _end(event: GameEnded | GameSealed | GameAborted) -> str:
    match event:
        case GameEnded(reason=EndReason.SHITHEAD):
            return f"One seat is left with cards: seat {event.shithead} is the shithead."
        case GameEnded(reason=EndReason.WINNER):
            return f"Seat {event.places[0]} is out first and wins: the hand is over."
        case GameEnded(reason=EndReason.STALEMATE):
            return "The hand ends as a stalemate, without a shithead."
        case GameEnded():
            return f"Seat {event.shithead} gives up and is the shithead."
        case GameSealed():
            return "The seed and the deck are published."
        case GameAborted(cause=AbortCause.IDLE, seat=int(seat)):
            return f"The game is given up unfinished: seat {seat} did not come to go on."
        case GameAborted(cause=cause, seat=seat):
            return f"The game is given up unfinished: {_ABORTED[cause].format(seat=seat)}."
        case _:
            assert_never(event)


_ABORTED: Final = {
    AbortCause.NO_ENTROPY: "seat {seat} did not give its share of the shuffle",
    AbortCause.LEFT: "seat {seat} left",
    AbortCause.IDLE: "nobody came to go on",
    AbortCause.OPERATOR: "the operator ended it",
}
