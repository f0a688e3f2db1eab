"""A change of one seat of a table does not change the others."""

from __future__ import annotations

import pytest

from service.domain.events import EndReason, Entropy
from service.domain.ruleset import NextDealer
from service.domain.table import (
    Conditions,
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
)
from tests.changed import replace

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
