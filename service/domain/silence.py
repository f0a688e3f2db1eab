"""What is done for a seat whose time is up (rules.md, Time-outs)."""

from __future__ import annotations

from service.domain.cards import Rank, rank_of
from service.domain.commands import Move, PickUp, Play, PlayBlind, Ready, Seat
from service.domain.game import Game, Status
from service.domain.legal import first_lay, legal_moves
from service.domain.opening import qualifying
from service.domain.ruleset import Layout


def move_for_silent(game: Game, seat: Seat) -> tuple[Move, ...]:
    """
    Return the moves made for a silent seat, in order; all belong to one move of the log.

    In the exchange the seat counts as ready, its first cards laid in a layout
    deal. On turn it plays the fewest cards that are legal, lowest first, jokers
    last; else it takes the pile, or turns its first face-down card.
    """
    if game.status is Status.SWAPPING:
        ready = Ready(seat=seat)
        if game.ruleset.deal.layout is not Layout.NONE and not game.seats[seat].laid:
            return first_lay(game, seat), ready
        return (ready,)
    moves = legal_moves(game, seat)
    plays = [move for move in moves if isinstance(move, Play)]
    if plays:
        return (min(plays, key=lambda play: _reluctance(game, play)),)
    others = [move for move in moves if isinstance(move, PickUp | PlayBlind)]
    return (others[0],) if others else moves[:1]


def silent_opener(game: Game) -> Seat:
    """Return the seat that opens when nobody came: the first that qualifies, left of the dealer."""
    seats, count = qualifying(game)[0], len(game.seats)
    dealer = game.dealer or 0
    return min(seats, key=lambda seat: (seat - dealer - 1) % count)


def _reluctance(game: Game, play: Play) -> tuple[int, list[int], tuple[str, ...]]:
    order = game.ruleset.order

    def height(rank: Rank) -> int:
        return order.index(rank) if rank in order else len(order)

    heights = sorted((height(rank_of(card)) for card in play.cards), reverse=True)
    return len(play.cards), heights, play.cards
