"""Games that wait for people and for nothing else, and how they end where nobody comes."""

from __future__ import annotations

from service.domain.commands import Seat
from service.domain.events import AbortCause, GameAborted
from service.domain.game import Game, Status
from service.domain.legal import may_act


def waits_for_people(game: Game) -> bool:
    """
    Return whether this game stands still for ever unless a person acts.

    With a clock it goes on by itself: time-outs, then bots that stand in. So it does
    before the deal, where entropy has a deadline, and while a bot has something to do.
    """
    if game.setup.clock is not None or game.status not in (Status.SWAPPING, Status.PLAYING):
        return False
    bots = (seat for seat, setup in enumerate(game.setup.seats) if setup.kind == "bot")
    return not any(may_act(game, seat) for seat in bots)


def idle_end(game: Game) -> GameAborted:
    """Return the end of a game for which nobody came, naming the seat that it waited for."""
    return GameAborted(cause=AbortCause.IDLE, seat=awaited(game))


def awaited(game: Game) -> Seat | None:
    """
    Return the one seat that everybody sees the game wait for; None where it is not one.

    At a first-come opening that stays open: who holds a card that opens is nobody's
    business, least of all in a log. A seat that may follow up is not waited for.
    """
    if game.status is not Status.SWAPPING:
        return game.turn
    unready = [seat for seat, state in enumerate(game.seats) if not state.ready]
    return unready[0] if len(unready) == 1 else None
