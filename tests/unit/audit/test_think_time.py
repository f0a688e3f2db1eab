"""The time of a move counts from when the turn came to its seat."""

from __future__ import annotations

from itertools import pairwise

import pytest

from schemas.views import Json
from service.audit.decision import decision
from service.domain.commands import Play, Ready
from service.domain.events import (
    CardsDealt,
    CardsPlayed,
    EntropyRevealed,
    PileBurned,
    PlayStarted,
)
from service.replay.history import History
from service.shx.canonical import parse_time
from tests.unit.audit.histories import NAMES, sample


def between(history: History, first: int, last: int) -> int:
    time = parse_time(history.log[last].at) - parse_time(history.log[first].at)
    return int(time.total_seconds() * 1_000_000) // 1000


def seqs(history: History, kind: type) -> list[int]:
    return [record.seq for record in history.log if isinstance(record.event, kind)]


def milliseconds_of(history: History, seq: int) -> int | None:
    found: Json = decision(history, seq)
    milliseconds: int | None = found["milliseconds"]
    return milliseconds


def test_in_the_exchange_it_counts_from_the_deal() -> None:
    history = sample("leeds")
    [dealt] = seqs(history, CardsDealt)
    for move in history.moves:
        if isinstance(move.command, Ready):
            assert milliseconds_of(history, move.first) == between(history, dealt, move.first)


def test_the_first_play_counts_from_the_start_of_play() -> None:
    """Also at a first-come opening."""
    for name in ("leeds", "threes", "morehead"):
        history = sample(name)
        [started] = seqs(history, PlayStarted)
        first = next(seq for seq in range(started + 1, history.end) if history.move_at(seq).command)
        assert milliseconds_of(history, first) == between(history, started, first)


def test_a_turn_after_a_burn_counts_from_the_burn() -> None:
    history = sample("leeds")
    for burned in seqs(history, PileBurned):
        own, following = history.move_at(burned), history.move_at(history.move_at(burned).last + 1)
        if own.seat == following.seat:
            assert milliseconds_of(history, following.first) == between(
                history, burned, following.first
            )
            return
    pytest.fail("no seat played again after a burn")


def test_a_play_counts_from_the_play_before_it() -> None:
    history = sample("leeds")
    plays = seqs(history, CardsPlayed)
    turned = [(a, b) for a, b in pairwise(plays) if follows(history, a, b)]
    assert turned
    for before, seq in turned:
        assert milliseconds_of(history, seq) == between(history, before, seq)


def follows(history: History, before: int, seq: int) -> bool:
    first, second = history.move_at(before), history.move_at(seq)
    return first.last + 1 == second.first and first.seat != second.seat


def test_a_follow_up_has_no_clock_and_takes_none_of_the_next_seats_time() -> None:
    """S4: the seat that just played may go on with what it drew; the turn is not its own."""
    history = sample("covered-queen")
    followed = [
        move
        for move in history.moves
        if isinstance(move.command, Play)
        and history.games[move.first - 1].turn not in (None, move.seat)
    ]
    assert followed
    for move in followed:
        assert milliseconds_of(history, move.first) is None
        turn = history.games[move.first - 1].turn
        following = history.move_at(move.last + 1)
        if following.seat == turn == history.games[move.last].turn:
            turn_began = max(
                d.first for d in history.moves if d.last < move.first and d.command is not None
            )
            assert milliseconds_of(history, following.first) == between(
                history, turn_began, following.first
            )


def test_an_event_that_is_not_a_move_has_no_time() -> None:
    history = sample("leeds")
    for kind in (EntropyRevealed, CardsDealt):
        for seq in seqs(history, kind):
            assert milliseconds_of(history, seq) is None


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("threes-time")])
def test_a_silent_seat_used_all_of_its_time_in_every_move(name: str) -> None:
    history = sample(name)
    clock = history.games[0].setup.clock
    assert clock is not None
    late = [move for move in history.moves if move.timed_out]
    assert len(late) > 2
    for move in late:
        seconds = clock.swap_seconds if isinstance(move.command, Ready) else clock.turn_seconds
        time = milliseconds_of(history, move.first)
        assert time is not None and time >= 1000 * seconds
