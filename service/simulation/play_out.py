"""Play a hand to its end with moves from a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from service.domain.commands import Command
from service.domain.decide import decide
from service.domain.events import Event
from service.domain.evolve import evolve
from service.domain.game import Game

Choose = Callable[[Game], Command]
"""Returns the next command of a game in which at least one seat may act."""


def play_out(game: Game, choose: Choose) -> Iterator[tuple[tuple[Event, ...], Game]]:
    """
    Yield the events of each command and the game after it, until the hand is over.

    Raises CommandRefused if `choose` returns a command that the rules refuse.
    """
    while not game.over:
        events = decide(choose(game), game)
        for event in events:
            game = evolve(game, event)
        yield events, game
