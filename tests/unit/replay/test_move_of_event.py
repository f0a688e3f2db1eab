"""The move of a seat, derived from the event that records it."""

from __future__ import annotations

import pytest

from service.domain.commands import Move
from service.domain.decide import decide
from service.domain.events import EndReason, Event, GameEnded, GameSealed, SeatReady, TableLaid
from service.replay.history import move_behind
from tests.changed import replace
from tests.rules.phrases import (
    burned,
    drew,
    failed,
    forfeit,
    lay,
    out,
    pass_,
    passed,
    play,
    played,
    ready,
    swap,
    take,
    timed_out,
    took,
    tried,
    try_failed,
    try_stock,
    turn_over,
    turned,
)
from tests.rules.tables import cards, dealt, rules


@pytest.mark.parametrize(
    ("event", "move"),
    [
        (played(1, "7c 7d", turn=0), play(1, "7c 7d")),
        (played(1, "7c", turn=0, zone="up"), play(1, "7c")),
        (turned(1, 2, "7c", turn=0), turn_over(1, 2)),
        (failed(1, 2, "7c", 3, turn=0), turn_over(1, 2)),
        (tried(1, "7c", turn=0), try_stock(1)),
        (try_failed(1, "7c", 3, turn=0), try_stock(1)),
        (replace(turned(1, 2, "7c", turn=0), slot=None), play(1, "7c")),  # no log has these two
        (replace(played(1, "7c", turn=0), slot=2), play(1, "7c")),
        (took(1, 3, turn=0, along="Kd"), take(1, "Kd")),
        (passed(1, turn=0), pass_(1)),
        (SeatReady(seat=1), ready(1)),
        (TableLaid(seat=1, stacks=(cards("7c 7d"), cards("Kd")), count=1), lay(1, "7c 7d", "Kd")),
        (GameEnded(reason=EndReason.FORFEIT, shithead=1, places=()), forfeit(1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_move_is_derived_from_its_event(event: Event, move: Move) -> None:
    """An auditor derives a player's move from the log alone."""
    assert move_behind(event) == move


def test_a_swap_names_both_sides() -> None:
    """The cards laid face-up, and those taken to the hand."""
    game, _ = dealt(rules("shithead"), seats=2, up=["3c 4c 5c"], hands=["Kc Qc Jc"])
    command = swap(0, "Kc Qc", "4c 3c")
    (event,) = decide(command, game)
    assert move_behind(event) == command


@pytest.mark.parametrize(
    "event",
    [
        drew(0, 1),
        burned(0, cause="set", count=4),
        out(0, 1),
        timed_out(0),
        GameEnded(reason=EndReason.SHITHEAD, shithead=1, places=(0, 1)),
        GameEnded(reason=EndReason.STALEMATE, shithead=None, places=()),
        GameEnded(reason=EndReason.FORFEIT, shithead=None, places=()),
        GameSealed(),
    ],
    ids=lambda event: type(event).__name__,
)
def test_effects_of_a_move_are_not_moves(event: Event) -> None:
    """A draw, a burn and the end are effects; no command asks for them."""
    assert move_behind(event) is None
