"""Game views as JSON, built from a game in which hidden cards are masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schemas.moves import move_json
from service.domain.cards import JOKER, in_code_order
from service.domain.commands import Move, Seat
from service.domain.demand import ANYTHING, demand_of, fitting_ranks
from service.domain.game import Game, Result, SeatState, Status
from service.domain.view import ALL, Viewer

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """
    What a view shows that is not in the state of the game.

    Views of the past leave out what is true only now: names, stand-ins, times.
    Times are text as SHX/1 writes them.
    """

    id: str
    head: str  # of the last event seen, in hex
    ruleset_hash: str
    names: Sequence[str | None] = ()
    stand_ins: frozenset[Seat] = frozenset()
    deadline: str | None = None
    window_until: str | None = None


def view_json(game: Game, viewer: Viewer, facts: Facts, moves: Sequence[Move] = ()) -> Json:
    """
    Return the view of `game`, which `seen_by(…, viewer)` has masked.

    `moves` are the legal moves of the viewer, worked out by the game as it is:
    a masked one cannot tell them all.
    """
    setup, clock = game.setup, game.setup.clock
    return {
        "id": facts.id,
        "table": setup.table,
        "hand": setup.hand,
        "ruleset": {
            "id": setup.ruleset.id,
            "hash": facts.ruleset_hash,
            "options": dict(setup.ruleset.options),
        },
        "status": game.status.value,
        "version": game.version,
        "head": facts.head,
        "as": "public" if viewer is None else viewer,
        "dealer": game.dealer,
        "turn": game.turn,
        "direction": game.direction,
        "deadline": facts.deadline,
        "window_until": facts.window_until,
        "clock": None
        if clock is None
        else {"turn_seconds": clock.turn_seconds, "swap_seconds": clock.swap_seconds},
        "commit": setup.commit,
        "prev_game": setup.prev_game,
        "setup": _setup(game),
        "stock": len(game.stock),
        "pile": list(game.pile),
        "demand": _demand(game),
        "burned": list(game.burned),
        "seats": [_seat(game, seat, viewer, facts) for seat in range(len(game.seats))],
        "moves": [move_json(move) for move in moves],
        "result": _result(game.result),
    }


def _setup(game: Game) -> list[Json] | None:
    """Return how far each seat's entropy is, None once that is over."""
    if game.status is not Status.SHUFFLING:
        return None
    both = zip(game.setup.seats, game.seats, strict=True)
    return [
        {"seat": number, "entropy": seat.entropy.value, "state": state.entropy.value}
        for number, (seat, state) in enumerate(both)
    ]


def _demand(game: Game) -> Json:
    """
    Return what the pile asks of the next play.

    A card that has to be covered asks nothing of its cover. Ranks that need a
    companion count as fitting: they never need to fit themselves.
    """
    ruleset = game.ruleset
    demand = ANYTHING if game.covering else demand_of(ruleset, game.pile)
    ranks = fitting_ranks(ruleset, demand)
    return {
        "kind": demand.kind.value,
        "rank": demand.rank,
        "ranks": [rank for rank in ranks if rank != JOKER or game.setup.jokers],
    }


def _seat(game: Game, number: Seat, viewer: Viewer, facts: Facts) -> Json:
    setup, state = game.setup.seats[number], game.seats[number]
    return {
        "seat": number,
        "name": facts.names[number] if facts.names else None,
        "kind": setup.kind,
        "bot": setup.bot,
        "stand_in": number in facts.stand_ins,
        "key": setup.key is not None,
        "entropy": setup.entropy.value,
        "ready": state.ready,
        "out": state.place,
        "hand": _hand(state, own=viewer in (number, ALL)),
        "up": [list(stack) for stack in state.up],
        "down": [position is not None for position in state.down],
    }


def _hand(state: SeatState, *, own: bool) -> Json:
    return {
        "count": len(state.hand),
        "cards": list(in_code_order(state.hand)) if own else None,
        "known": list(in_code_order(state.known)),
    }


def _result(result: Result | None) -> Json | None:
    """Return how the hand ended; an aborted game has no result, its status says so."""
    if result is None or result.reason is None:
        return None
    return {
        "reason": result.reason.value,
        "shithead": result.shithead,
        "places": list(result.places),
    }
