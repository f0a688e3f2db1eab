"""Effects of a play: burn, cover, reverse, skip, and the next seat to act."""

from __future__ import annotations

from msgspec import Struct

from service.domain.cards import Card, rank_of
from service.domain.commands import Seat
from service.domain.demand import burn_cause
from service.domain.events import BurnCause, Direction, EndReason
from service.domain.evolve import must_cover
from service.domain.game import Game
from service.domain.ruleset import After, PlayedFor, RefillTo, Taker


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
    """Return how many cards a seat draws after playing `played`."""
    refill = game.ruleset.refill
    if refill.to is RefillTo.AS_MANY_AS_PLAYED:
        wanted = played
    else:
        wanted = max(0, refill.size - len(game.seats[seat].hand))
    return min(wanted, len(game.stock))


def after_pick_up(game: Game, seat: Seat) -> tuple[Seat, Seat]:
    """Return the seat that takes the pile which `seat` could not beat, and the next to play."""
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

    Only seats in play are counted, also `seat` itself unless it has just gone `out`. If it was
    the only seat in play, it is returned.
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
