"""The decision on a command, `decide(command, game)`: events or a refusal; effects of plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from service.domain.cards import Card, rank_of
from service.domain.commands import (
    AgreeEnd,
    ClaimAbsence,
    Command,
    Forfeit,
    GameOver,
    Lay,
    Move,
    NotYourTurn,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    RuleRefused,
    Seat,
    Swap,
    TimeOut,
    TryStock,
)
from service.domain.deal import lay, ready, swap
from service.domain.demand import burn_cause
from service.domain.events import (
    AbortCause,
    BlindFailed,
    BurnCause,
    CardsDrawn,
    CardsPlayed,
    Direction,
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
from service.domain.evolve import evolve, is_follow_up, must_cover, on_pile
from service.domain.game import SWAPPING, Game, Status
from service.domain.leaving import agree_end, claim_absence
from service.domain.legal import (
    default_moves,
    follow_up_cards,
    may_act,
    refusal_along,
    refusal_of_pass,
    refusal_of_pick_up,
    refusal_of_try,
)
from service.domain.plays import check_cards, check_play, fitting_now
from service.domain.ruleset import After, PlayedFor, RefillTo, Taker

_ADD_ONLY = "refused.add_only"


def decide(command: Command, game: Game) -> tuple[Event, ...]:
    """
    Return the events of a command, in the order of SHX/1.

    Raises GameOver, NotYourTurn, UnknownCard or RuleRefused: the first reason in the
    order of api.md, section 1.
    """
    if game.over:
        raise GameOver("refused.over")
    if isinstance(command, TimeOut):
        return _time_out(command, game)
    if isinstance(command, Forfeit):
        return _forfeit(command, game)
    if isinstance(command, AgreeEnd):
        return agree_end(command, game)
    if isinstance(command, ClaimAbsence):
        return claim_absence(command, game)
    if not may_act(game, command.seat):
        raise NotYourTurn("refused.not_now", seat=command.seat)
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
            raise RuleRefused(rule, "refused.not_all_ready")


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
            raise RuleRefused(rule, "refused.settled")
        case Forfeit():
            return _forfeit(command, game)
        case AgreeEnd():
            return agree_end(command, game)
        case ClaimAbsence():
            return claim_absence(command, game)
        case _:
            assert_never(command)


def _play(command: Play, game: Game) -> tuple[Event, ...]:
    """Return the events of a play from the zone the seat plays from, or of a follow-up."""
    seat = command.seat
    follow_up = game.turn is not None and game.turn != seat
    cards = _check_follow_up(command, game) if follow_up else check_play(game, seat, command.cards)
    zone = game.seats[seat].zone
    if zone is None:
        raise NotYourTurn("refused.is_out", seat=seat)
    return _laid(game, seat, cards, zone)


def _check_follow_up(command: Play, game: Game) -> tuple[Card, ...]:
    check_cards(game, command.cards, "turn.follow_up")
    eligible = follow_up_cards(game, command.seat)
    if not all(card in eligible for card in command.cards):
        raise RuleRefused(game.ruleset.cite("turn.follow_up"), _ADD_ONLY)
    return command.cards


def _play_blind(command: PlayBlind, game: Game) -> tuple[Event, ...]:
    """Return the events of turning a face-down card: a play if it fits, else a pick-up."""
    opening = _turned(command, game)
    if _fits(game, opening.card):
        seat, slot, cards = command.seat, command.slot, (opening.card,)
        return _laid(game, seat, cards, Zone.DOWN, slot=slot, opening=opening)
    return failed_blind(command, game)


def _turned(command: PlayBlind, game: Game) -> Opening:
    """Return the opening of the face-down card that a move turns."""
    slot, state = command.slot, game.seats[command.seat]
    rule = game.ruleset.cite("model.blind")
    if state.zone is not Zone.DOWN:
        raise RuleRefused(rule, "refused.face_down_last")
    position = state.down[slot] if 0 <= slot < len(state.down) else None
    if position is None:
        raise RuleRefused(rule, "refused.no_card_here")
    return Opening(p=position, card=game.deck[position])


def failed_blind(command: PlayBlind, game: Game) -> tuple[Event, ...]:
    """
    Return the events of turning a face-down card that goes to the hand, whether it fits or not.

    A verifier uses it to follow a game in which a card that fits was not revealed.

    Raises RuleRefused if the seat has no such card to turn.
    """
    opening, ruleset = _turned(command, game), game.ruleset
    seat, slot = command.seat, command.slot
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
    """Return the events of trying the stock's top card: a play if it fits, else a pick-up."""
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
    """Return the events of a pick-up: a hand takes the pile and the cards named with it."""
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
    """Return the events of a pass; the last of a round or at the turn limit ends the hand."""
    seat = command.seat
    if refusal := refusal_of_pass(game, seat):
        raise refusal.error(game.ruleset)
    stale = game.passes + 1 >= len(game.in_play()) or limit_reached(game, more=1) is not None
    turn = None if stale else step(game, seat, game.direction)
    ended = _ended(game, EndReason.STALEMATE, None) if stale else ()
    return (TurnPassed(seat=seat, turn=turn), *ended)


def _forfeit(command: Forfeit, game: Game) -> tuple[Event, ...]:
    """Return the events that end the hand; before the deal the game is aborted instead."""
    if game.status is Status.SHUFFLING:
        return (GameAborted(cause=AbortCause.LEFT, seat=command.seat),)
    if game.seats[command.seat].place is not None:
        raise RuleRefused(game.ruleset.cite("model.forfeit"), "refused.out_already")
    return _ended(game, EndReason.FORFEIT, command.seat)


def _time_out(command: TimeOut, game: Game) -> tuple[Event, ...]:
    """Return the time-out and the events of the moves made for the seat."""
    if game.turn not in (None, command.seat) or not may_act(game, command.seat):
        raise NotYourTurn("refused.not_on_clock", seat=command.seat)
    timed_out = TurnTimedOut(seat=command.seat)
    after = evolve(game, timed_out)
    events: tuple[Event, ...] = (timed_out,)
    chosen = command.move if game.status is not SWAPPING else None  # in the exchange no choice
    moves = (chosen,) if chosen else default_moves(after, command.seat)
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
    """Return the events of a play: play, refill, burn, a seat out, the end of the hand."""
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
    """Return the event of a taken pile, built by `event`; at the turn limit also the end."""
    taker, turn = after_pick_up(game, seat)
    if limit_reached(game, more=1) is not None:
        return (event(taker, None), *_ended(game, EndReason.STALEMATE, None))
    return (event(taker, turn),)


def _fits(game: Game, card: Card) -> bool:
    """Return whether a single card, turned unseen, is a legal play."""
    return rank_of(card) in fitting_now(game)


class Outcome(Struct, frozen=True, kw_only=True, gc=False):
    """The consequences of a play."""

    burn: BurnCause | None
    out: bool  # the seat has no card left
    ends: EndReason | None
    turn: Seat | None  # the seat that acts next, None if the hand is over
    direction: Direction


def outcome_of(
    game: Game, seat: Seat, cards: tuple[Card, ...], *, direction: Direction, out: bool
) -> Outcome:
    """
    Return the consequences of a play whose cards are on the pile.

    `cards` are those of the play and of the plays that it follows up; `direction` is the one
    before the first of them (rules.md, Resolution; S4). With `out` the seat has no card left
    after its refill. A burn replaces every other effect, and a card that has to be covered
    replaces reverses and skips. Reverses and skips count once for each card.
    """
    burn = burn_cause(game.ruleset, game.pile)
    ends = _ends(game, out=out)
    if burn is not None or _covering(game, cards, out=out):
        turn = step(game, seat, direction, out=True) if out else seat
    else:
        steps = 1
        for card in cards:
            rule = game.ruleset.rank(rank_of(card))
            steps += rule.skips
            direction = -direction if rule.reverses else direction
        turn = step(game, seat, direction, steps=steps, out=out)
    return Outcome(burn=burn, out=out, ends=ends, turn=None if ends else turn, direction=direction)


def refill_count(game: Game, seat: Seat, played: int) -> int:
    """Return how many cards a seat draws in `game`, after a play of `played` cards."""
    refill = game.ruleset.refill
    if refill.to is RefillTo.AS_MANY_AS_PLAYED:
        wanted = played
    else:
        wanted = max(0, refill.size - len(game.seats[seat].hand))
    return min(wanted, len(game.stock))


def after_pick_up(game: Game, seat: Seat) -> tuple[Seat, Seat]:
    """
    Return the seat that takes the pile, and the seat that plays next.

    `seat` is the seat that asked to pick up, or turned a card that did not fit.
    """
    pick_up, following = game.ruleset.pick_up, step(game, seat, game.direction)
    previous = None if game.last_play is None else game.last_play.seat
    if previous is not None and game.seats[previous].place is not None:
        previous = None
    if pick_up.taker is Taker.PREVIOUS:
        return (seat, following) if previous is None else (previous, seat)
    above_two = len(game.in_play()) > 2
    to_previous = pick_up.after is After.PREVIOUS or (
        pick_up.after is After.PREVIOUS_ABOVE_TWO and above_two
    )
    if to_previous and previous is not None:
        return seat, previous
    return seat, following


def step(
    game: Game, seat: Seat, direction: Direction, *, steps: int = 1, out: bool = False
) -> Seat:
    """
    Return the seat that comes `steps` seats after `seat` in a direction.

    Only seats in play are counted, including `seat` itself unless it has just gone `out`. A seat
    that goes out as the only seat in play is returned.
    """
    if out and game.in_play() == (seat,):
        return seat
    seats, at = game.seats, seat
    while steps:
        at = (at + direction) % len(seats)
        if seats[at].place is None and not (out and at == seat):
            steps -= 1
    return at


def _ends(game: Game, *, out: bool) -> EndReason | None:
    if out and game.ruleset.end.played_for is PlayedFor.WINNER:
        return EndReason.WINNER
    if len(game.in_play()) - out <= 1:
        return EndReason.SHITHEAD
    return limit_reached(game)


def limit_reached(game: Game, *, more: int = 0) -> EndReason | None:
    """Return STALEMATE if the actions so far and `more` reach the turn limit, else None."""
    return EndReason.STALEMATE if game.actions + more >= game.setup.turn_limit else None


def _covering(game: Game, cards: tuple[Card, ...], *, out: bool) -> bool:
    """
    Return whether the last card has to be covered, which replaces reverses and skips.

    If the seat is out, only `covers` counts: a seat that goes out on a joker skips the next
    seat as usual (P34).
    """
    if out:
        return game.ruleset.rank(rank_of(cards[-1])).covers
    return must_cover(game, cards)
