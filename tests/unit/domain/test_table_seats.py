"""The seats of a table: changes of one seat, and the results of finished hands."""

from __future__ import annotations

import pytest

from service.domain.events import AbortCause, EndReason, Entropy
from service.domain.game import GameResult, new_game
from service.domain.ruleset import NextDealer
from service.domain.table import (
    Conditions,
    HandDealt,
    HandFinished,
    SeatChanged,
    SeatKind,
    SeatLeft,
    SeatTaken,
    TableEvent,
    TableOpened,
    TableSeat,
    dealer_after,
    fold_table,
    hand_finished,
)
from tests.changed import replace
from tests.rules.tables import created, rules

SEATS = tuple(TableSeat(kind=SeatKind.HUMAN, player=name, hands=4) for name in "abcd")
CONDITIONS = Conditions(
    ruleset={},
    next_dealer=NextDealer.LOSER,
    paper_bag=False,
    public=True,
    clock=None,
    window_seconds=3,
    turn_limit=400,
    deal=True,
)
OPENED = TableOpened(host="a", conditions=CONDITIONS, seats=SEATS)


@pytest.mark.parametrize("seat", range(4))
def test_only_the_named_seat_changes(seat: int) -> None:
    """Changes of seats: leaving, sitting down, another key."""
    events: list[tuple[TableEvent, TableSeat]] = [
        (SeatLeft(seat=seat), TableSeat()),
        (
            SeatTaken(seat=seat, player="e", entropy=Entropy.NONE, key=None),
            TableSeat(kind=SeatKind.HUMAN, player="e"),
        ),
        (
            SeatChanged(seat=seat, entropy=Entropy.VALUE, key="k", sig="s"),
            replace(SEATS[seat], entropy=Entropy.VALUE, key="k", key_sig="s"),
        ),
    ]
    for event, state in events:
        expected = list(SEATS)
        expected[seat] = state
        assert fold_table([OPENED, event]).seats == tuple(expected)


@pytest.mark.parametrize("reason", list(EndReason))
def test_without_a_dealer_the_next_one_is_drawn(reason: EndReason) -> None:
    """L3, P2: the first dealer of a session is drawn at random."""
    finished = HandFinished(
        game="g", dealer=None, reason=reason, cause=None, shithead=1, places=(0,)
    )
    assert dealer_after(fold_table([OPENED]), finished) is None


@pytest.mark.parametrize(
    ("settings", "hand", "counted"),
    [
        ({}, 1, True),
        ({}, 2, True),
        ({"second_hand": {}}, 1, False),
        ({"second_hand": {}}, 2, True),
        ({"second_hand": {}}, 3, False),
        ({"second_hand": {}}, 4, True),
    ],
)
def test_the_second_hand_of_a_match_decides_who_is_the_shithead(
    settings: dict[str, object], hand: int, *, counted: bool
) -> None:
    """R: a match is two hands; the ruleset has settings for the second one."""
    conditions = replace(CONDITIONS, ruleset={"settings": settings})
    finished = HandFinished(
        game="g", dealer=0, reason=EndReason.SHITHEAD, cause=None, shithead=1, places=(0, 2, 3)
    )
    seats = fold_table(
        [replace(OPENED, conditions=conditions), HandDealt(game="g", hand=hand), finished]
    ).seats
    assert [seat.shithead for seat in seats] == [0, int(counted), 0, 0]
    assert [seat.hands for seat in seats] == [5] * 4


def test_the_event_of_a_finished_hand_states_its_result() -> None:
    running = replace(new_game(created(rules("shithead"), 2)), dealer=1)
    with pytest.raises(ValueError, match="not over"):
        hand_finished("g", running)
    result = GameResult(reason=EndReason.FORFEIT, cause=AbortCause.IDLE, shithead=0, places=(1, 0))
    assert hand_finished("g", replace(running, result=result)) == HandFinished(
        game="g",
        dealer=1,
        reason=EndReason.FORFEIT,
        cause=AbortCause.IDLE,
        shithead=0,
        places=(1, 0),
    )
