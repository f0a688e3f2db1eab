"""Default moves for seats whose time is up, and games that wait for people."""

from __future__ import annotations

from service.domain.cards import Rank, rank_of
from service.domain.commands import Move, PickUp, Play, PlayBlind, Ready, Seat
from service.domain.events import AbortCause, GameAborted
from service.domain.first_play import qualifying
from service.domain.game import Game, Status
from service.domain.legal import first_lay, legal_moves, may_act
from service.domain.ruleset import Layout


def default_moves(game: Game, seat: Seat) -> tuple[Move, ...]:
    """
    Return the default moves of a seat whose time is up; together they are one move of the log.

    In the exchange the seat counts as ready, in a layout deal with its first cards laid.
    On turn it plays the fewest cards that are legal, lowest first, jokers last; else it
    takes the pile or turns its first face-down card; else it makes its first legal move, if any.
    """
    if game.status is Status.SWAPPING:
        ready = Ready(seat=seat)
        if game.ruleset.deal.layout is not Layout.NONE and not game.seats[seat].laid:
            return first_lay(game, seat), ready
        return (ready,)
    moves = legal_moves(game, seat)
    plays = [move for move in moves if isinstance(move, Play)]
    if plays:
        return (min(plays, key=lambda play: _preference(game, play)),)
    others = [move for move in moves if isinstance(move, PickUp | PlayBlind)]
    return (others[0],) if others else moves[:1]


def default_opener(game: Game) -> Seat:
    """Return the seat that opens if no seat has: the first qualified one left of the dealer."""
    seats, count = qualifying(game)[0], len(game.seats)
    dealer = game.dealer or 0
    return min(seats, key=lambda seat: (seat - dealer - 1) % count)


def _preference(game: Game, play: Play) -> tuple[int, list[int], tuple[str, ...]]:
    """Return the sort key of default plays: number of cards, then heights, then codes."""
    order = game.ruleset.order

    def height(rank: Rank) -> int:
        return order.index(rank) if rank in order else len(order)

    heights = sorted((height(rank_of(card)) for card in play.cards), reverse=True)
    return len(play.cards), heights, play.cards


def waits_for_people(game: Game) -> bool:
    """
    Return whether this game cannot continue until a person acts.

    A game with a clock goes on by itself: time-outs, then stand-in bots. So does a
    game before the deal, because entropy has a deadline, and one in which a bot may act.
    """
    if game.setup.clock is not None or game.status not in (Status.SWAPPING, Status.PLAYING):
        return False
    bots = (seat for seat, setup in enumerate(game.setup.seats) if setup.kind == "bot")
    return not any(may_act(game, seat) for seat in bots)


def idle_end(game: Game) -> GameAborted:
    """Return the event that aborts an idle game, naming the seat that it waited for."""
    return GameAborted(cause=AbortCause.IDLE, seat=awaited(game))


def awaited(game: Game) -> Seat | None:
    """
    Return the seat that the game publicly waits for; None if it is not exactly one.

    At a first-come opening it is None: naming the seat would reveal which hand holds the
    qualifying card. A seat that may follow up is not waited for.
    """
    if game.status is not Status.SWAPPING:
        return game.turn
    unready = [seat for seat, state in enumerate(game.seats) if not state.ready]
    return unready[0] if len(unready) == 1 else None
