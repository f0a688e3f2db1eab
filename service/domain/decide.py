"""The events that a command leads to, or its refusal: `decide(command, game)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from msgspec.structs import replace

from service.domain.cards import Card, rank_of
from service.domain.commands import (
    Command,
    Forfeit,
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Seat,
    Swap,
    TimeOut,
    TryStock,
)
from service.domain.effects import (
    Outcome,
    after_pick_up,
    limit_reached,
    outcome_of,
    refill_count,
    step,
)
from service.domain.errors import GameOver, NotYourTurn, RuleRefused
from service.domain.events import (
    AbortCause,
    BlindFailed,
    CardsDrawn,
    CardsPlayed,
    EndReason,
    Event,
    GameAborted,
    GameEnded,
    GameSealed,
    Opening,
    PileBurned,
    PilePickedUp,
    SeatOut,
    StockFailed,
    TurnPassed,
    TurnTimedOut,
    Zone,
)
from service.domain.evolve import evolve, is_follow_up, on_pile
from service.domain.exchange import lay, ready, swap
from service.domain.game import SWAPPING, Game, Status
from service.domain.legal import (
    follow_up_cards,
    may_act,
    refusal_along,
    refusal_of_pass,
    refusal_of_pick_up,
    refusal_of_try,
)
from service.domain.plays import check_cards, check_play, fitting_now
from service.domain.timeouts import default_moves

_ADD_ONLY = "out of turn a seat adds only cards of the same rank that it drew after its play"


def decide(command: Command, game: Game) -> tuple[Event, ...]:
    """
    Return the events of a command, in the order of SHX/1.

    Raises GameOver, NotYourTurn, UnknownCard or RuleRefused: the first reason in the
    order of api.md, section 1.
    """
    if game.over:
        raise GameOver("the game is over")
    if isinstance(command, TimeOut):
        return _time_out(command, game)
    if isinstance(command, Forfeit):
        return _forfeit(command, game)
    if not may_act(game, command.seat):
        raise NotYourTurn(f"seat {command.seat} may not act now")
    if game.status is SWAPPING:
        return _exchange(command, game)
    return _turn(command, game)


def _exchange(command: Move, game: Game) -> tuple[Event, ...]:
    match command:
        case Swap():
            return swap(command, game)
        case Lay():
            return lay(command, game)
        case Ready():
            return ready(command, game)
        case _:
            rule = game.ruleset.cite("deal.exchange", "deal.layout")
            raise RuleRefused(rule, "play begins when every seat is ready")


def _turn(command: Move, game: Game) -> tuple[Event, ...]:
    match command:
        case Play():
            return _play(command, game)
        case PlayBlind() | PickUp() | TryStock() | Pass() if game.turn not in (None, command.seat):
            raise RuleRefused(game.ruleset.cite("turn.follow_up"), _ADD_ONLY)
        case PlayBlind():
            return _play_blind(command, game)
        case PickUp():
            return _pick_up(command, game)
        case TryStock():
            return _try_stock(command, game)
        case Pass():
            return _pass(command, game)
        case Swap() | Lay() | Ready():
            rule = game.ruleset.cite("deal.exchange", "deal.layout")
            raise RuleRefused(rule, "face-up cards are settled before play")
        case Forfeit():
            return _forfeit(command, game)
        case _:
            assert_never(command)


def _play(command: Play, game: Game) -> tuple[Event, ...]:
    """The play, the refill, then what the play does to the pile and the turn."""
    seat = command.seat
    follow_up = game.turn is not None and game.turn != seat
    cards = _check_follow_up(command, game) if follow_up else check_play(game, seat, command.cards)
    zone = game.seats[seat].zone
    if zone is None:
        raise NotYourTurn(f"seat {seat} is out")
    return _laid(game, seat, cards, zone)


def _check_follow_up(command: Play, game: Game) -> tuple[Card, ...]:
    check_cards(game, command.cards, "turn.follow_up")
    eligible = follow_up_cards(game, command.seat)
    if not all(card in eligible for card in command.cards):
        raise RuleRefused(game.ruleset.cite("turn.follow_up"), _ADD_ONLY)
    return command.cards


def _play_blind(command: PlayBlind, game: Game) -> tuple[Event, ...]:
    """The turned card as a play if it fits; else it and the pile go to a hand."""
    seat, slot, ruleset = command.seat, command.slot, game.ruleset
    state = game.seats[seat]
    rule = ruleset.cite("model.blind")
    if state.zone is not Zone.DOWN:
        raise RuleRefused(rule, "face-down cards come last")
    position = state.down[slot] if 0 <= slot < len(state.down) else None
    if position is None:
        raise RuleRefused(rule, "there is no card in this slot")
    opening = Opening(p=position, card=game.deck[position])
    if _fits(game, opening.card):
        return _laid(game, seat, (opening.card,), Zone.DOWN, slot=slot, opening=opening)
    return _failed(
        game,
        seat,
        lambda taker, turn: BlindFailed(
            seat=seat,
            taker=taker,
            slot=slot,
            opening=opening if ruleset.pick_up.show_blind else None,
            count=len(game.pile),
            turn=turn,
            direction=game.direction,
        ),
    )


def _try_stock(command: TryStock, game: Game) -> tuple[Event, ...]:
    """The top card of the stock as a play if it fits; else it and the pile go to a hand."""
    seat = command.seat
    if refusal := refusal_of_try(game, seat):
        raise refusal.error(game.ruleset)
    position = game.stock[0]
    opening = Opening(p=position, card=game.deck[position])
    if _fits(game, opening.card):
        return _laid(game, seat, (opening.card,), Zone.STOCK, opening=opening)
    return _failed(
        game,
        seat,
        lambda taker, turn: StockFailed(
            seat=seat,
            taker=taker,
            opening=opening,
            count=len(game.pile),
            turn=turn,
            direction=game.direction,
        ),
    )


def _pick_up(command: PickUp, game: Game) -> tuple[Event, ...]:
    """The pile, and the cards that go along with it, to a hand."""
    seat = command.seat
    if refusal := refusal_of_pick_up(game, seat):
        raise refusal.error(game.ruleset)
    if command.along:
        check_cards(game, command.along, "pick_up.along")
    if refusal := refusal_along(game, seat, command.along):
        raise refusal.error(game.ruleset)
    return _failed(
        game,
        seat,
        lambda taker, turn: PilePickedUp(
            seat=seat,
            taker=taker,
            count=len(game.pile),
            along=command.along,
            turn=turn,
            direction=game.direction,
        ),
    )


def _pass(command: Pass, game: Game) -> tuple[Event, ...]:
    """The turn moves on; if all pass in a row, the hand is a stalemate."""
    seat = command.seat
    if refusal := refusal_of_pass(game, seat):
        raise refusal.error(game.ruleset)
    stale = game.passes + 1 >= len(game.in_play()) or limit_reached(game, more=1) is not None
    turn = None if stale else step(game, seat, game.direction)
    ended = _ended(game, EndReason.STALEMATE, None) if stale else ()
    return (TurnPassed(seat=seat, turn=turn), *ended)


def _forfeit(command: Forfeit, game: Game) -> tuple[Event, ...]:
    """The end of the hand; before the deal the game is aborted instead."""
    if game.status is Status.SHUFFLING:
        return (GameAborted(cause=AbortCause.LEFT, seat=command.seat),)
    if game.seats[command.seat].place is not None:
        raise RuleRefused(
            game.ruleset.cite("model.forfeit"), "the seat is out of this hand already"
        )
    return _ended(game, EndReason.FORFEIT, command.seat)


def _time_out(command: TimeOut, game: Game) -> tuple[Event, ...]:
    """The time-out, then the move made for the seat."""
    if game.turn not in (None, command.seat) or not may_act(game, command.seat):
        raise NotYourTurn(f"seat {command.seat} is not on the clock")
    timed_out = TurnTimedOut(seat=command.seat)
    after = evolve(game, timed_out)
    events: tuple[Event, ...] = (timed_out,)
    moves = (command.move,) if command.move else default_moves(after, command.seat)
    for move in moves:
        made = decide(move, after)
        events += made
        for event in made:
            after = evolve(after, event)
    return events


def _laid(
    game: Game,
    seat: Seat,
    cards: tuple[Card, ...],
    zone: Zone,
    *,
    slot: int | None = None,
    opening: Opening | None = None,
) -> tuple[Event, ...]:
    """Play, refill, burn, going out, end: the events of a play."""
    played = CardsPlayed(
        seat=seat,
        zone=zone,
        cards=cards,
        slot=slot,
        opening=opening,
        turn=game.turn,
        direction=game.direction,
    )
    after = on_pile(game, played)
    last = game.last_play
    effective, direction = cards, game.direction
    if last is not None and is_follow_up(game, seat, cards):
        effective, direction = last.cards + cards, last.direction
    drawn: tuple[Event, ...] = ()
    if count := refill_count(after, seat, len(cards)):
        drawn = (CardsDrawn(seat=seat, count=count),)
    # A seat that draws is not out; nothing else that follows depends on the refill.
    out = not drawn and after.seats[seat].empty
    outcome = outcome_of(after, seat, effective, direction=direction, out=out)
    played = replace(played, turn=outcome.turn, direction=outcome.direction)
    return (played, *drawn, *_consequences(after, seat, outcome))


def _consequences(game: Game, seat: Seat, outcome: Outcome) -> tuple[Event, ...]:
    events: tuple[Event, ...] = ()
    if outcome.burn is not None:
        cleared_by = seat if game.flusher is None else game.flusher
        burned = PileBurned(
            seat=seat, cause=outcome.burn, count=len(game.pile), cleared_by=cleared_by
        )
        events += (burned,)
    if outcome.out:
        out = SeatOut(seat=seat, place=len(game.places()) + 1)
        events, game = (*events, out), evolve(game, out)
    if outcome.ends is None:
        return events
    left = game.in_play()
    loser = left[0] if outcome.ends is EndReason.SHITHEAD else None
    return (*events, *_ended(game, outcome.ends, loser))


def _ended(game: Game, reason: EndReason, shithead: Seat | None) -> tuple[Event, ...]:
    places = game.places()
    if reason is EndReason.SHITHEAD and shithead is not None:
        places = (*places, shithead)
    return GameEnded(reason=reason, shithead=shithead, places=places), GameSealed()


def _failed(
    game: Game,
    seat: Seat,
    event: Callable[[Seat, Seat | None], Event],
) -> tuple[Event, ...]:
    """The pile to the seat that takes it; the turn limit may end the hand here."""
    taker, turn = after_pick_up(game, seat)
    if limit_reached(game, more=1) is not None:
        return (event(taker, None), *_ended(game, EndReason.STALEMATE, None))
    return (event(taker, turn),)


def _fits(game: Game, card: Card) -> bool:
    """Return whether a single card, turned unseen, is a legal play."""
    return rank_of(card) in fitting_now(game)
