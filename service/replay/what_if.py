"""
Another line of a finished hand: moves made from one of its versions, carried out with its deck.

Nothing of such a line is recorded. `replay` shows what happened; this module what would have
happened after other moves. That the players would have acted so is an assumption of the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from schemas.what_if import MAX_LINE
from service.domain.commands import CommandRefused, Move, Seat
from service.domain.decide import decide
from service.domain.events import GameSealed
from service.domain.evolve import evolve
from service.domain.game import Game, Status
from service.domain.legal import may_act
from service.replay.history import Known, Step

Chosen = Callable[[Game, Seat], Move]
"""Returns a legal move of a seat in a game with all its cards."""


class LineMove(Struct, frozen=True, kw_only=True):
    """One move of a line, with the events that it causes and the game after each of them."""

    move: Move
    chosen: bool  # by the function that plays on, not given by the reader
    steps: tuple[Step, ...]


class IllegalMove(Exception):
    """The rules refuse a move of the line, which `number` counts from 0, in `game`."""

    def __init__(self, number: int, game: Game, move: Move, refused: CommandRefused) -> None:
        super().__init__(f"move {number} of the line: {refused}")
        self.number = number
        self.game = game
        self.move = move
        self.refused = refused


def line_from(
    game: Game, moves: Sequence[Move], choose: Chosen | None = None
) -> Iterator[LineMove]:
    """
    Yield the given moves carried out from `game`, then those that `choose` makes for all seats.

    It ends with the hand, after MAX_LINE moves, or after the given ones without `choose`. The
    hand is never sealed. Raises IllegalMove.
    """
    for number, move in enumerate(moves):
        try:
            steps = _carried_out(game, move)
        except CommandRefused as error:
            raise IllegalMove(number, game, move, error) from None
        yield LineMove(move=move, chosen=False, steps=steps)
        game = steps[-1].game
    if choose is None:
        return
    for _ in range(len(moves), MAX_LINE):
        seat = acting_seat(game)
        if seat is None:
            return
        move = choose(game, seat)
        steps = _carried_out(game, move)
        yield LineMove(move=move, chosen=True, steps=steps)
        game = steps[-1].game


def line_steps(before: Step, made: Sequence[LineMove]) -> Iterator[tuple[int, Step]]:
    """Yield the step before a line and those of its moves, each with its version."""
    for step in (before, *(step for one in made for step in one.steps)):
        yield step.game.version, step


def acting_seat(game: Game) -> Seat | None:
    """Return the seat that acts next: on turn, else the first left of the dealer that may act."""
    count, dealer = len(game.seats), game.dealer or 0
    for seat in ((dealer + n) % count for n in range(1, count + 1)):
        on_turn = game.turn in (None, seat) or game.status is Status.SWAPPING
        if on_turn and may_act(game, seat):
            return seat
    return None


def _carried_out(game: Game, move: Move) -> tuple[Step, ...]:
    steps = []
    for event in decide(move, game):
        if not isinstance(event, GameSealed):
            game = evolve(game, event)
            steps.append(Step(event=event, game=game, known=Known.DECK))
    return tuple(steps)
