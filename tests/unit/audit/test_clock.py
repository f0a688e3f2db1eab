"""The time of a move counts from when the turn came to its seat."""

from __future__ import annotations

from itertools import pairwise

import pytest

from schemas.views import Json
from service.audit.decision import decision
from service.audit.story import Story
from service.domain.commands import Play, Ready
from service.domain.events import (
    CardsDealt,
    CardsPlayed,
    EntropyRevealed,
    PileBurned,
    PlayStarted,
)
from service.record.times import parse_time
from tests.unit.audit.stories import NAMES, sample


def between(story: Story, first: int, last: int) -> int:
    had = parse_time(story.log[last].at) - parse_time(story.log[first].at)
    return int(had.total_seconds() * 1_000_000) // 1000


def seqs(story: Story, kind: type) -> list[int]:
    return [record.seq for record in story.log if isinstance(record.event, kind)]


def taken(story: Story, seq: int) -> int | None:
    found: Json = decision(story, seq)
    milliseconds: int | None = found["milliseconds"]
    return milliseconds


def test_in_the_exchange_it_counts_from_the_deal() -> None:
    story = sample("leeds")
    [dealt] = seqs(story, CardsDealt)
    for done in story.done:
        if isinstance(done.move, Ready):
            assert taken(story, done.first) == between(story, dealt, done.first)


def test_the_first_play_counts_from_the_start_of_play() -> None:
    """Also where the first to come opens."""
    for name in ("leeds", "threes", "morehead"):
        story = sample(name)
        [started] = seqs(story, PlayStarted)
        first = next(seq for seq in range(started + 1, story.end) if story.done_at(seq).move)
        assert taken(story, first) == between(story, started, first)


def test_a_turn_after_a_burn_counts_from_the_burn() -> None:
    story = sample("leeds")
    for burned in seqs(story, PileBurned):
        own, following = story.done_at(burned), story.done_at(story.done_at(burned).last + 1)
        if own.seat == following.seat:
            assert taken(story, following.first) == between(story, burned, following.first)
            return
    pytest.fail("nobody played again after a burn")


def test_a_play_counts_from_the_play_before_it() -> None:
    story = sample("leeds")
    plays = seqs(story, CardsPlayed)
    turned = [(a, b) for a, b in pairwise(plays) if follows(story, a, b)]
    assert turned
    for before, seq in turned:
        assert taken(story, seq) == between(story, before, seq)


def follows(story: Story, before: int, seq: int) -> bool:
    first, second = story.done_at(before), story.done_at(seq)
    return first.last + 1 == second.first and first.seat != second.seat


def test_a_follow_up_has_no_clock_and_takes_none_of_the_next_seats_time() -> None:
    """S4: the seat that just played may go on with what it drew; the turn is not its own."""
    story = sample("covered-queen")
    followed = [
        done
        for done in story.done
        if isinstance(done.move, Play) and story.games[done.first - 1].turn not in (None, done.seat)
    ]
    assert followed
    for done in followed:
        assert taken(story, done.first) is None
        turn = story.games[done.first - 1].turn
        following = story.done_at(done.last + 1)
        if following.seat == turn == story.games[done.last].turn:
            came = max(d.first for d in story.done if d.last < done.first and d.move is not None)
            assert taken(story, following.first) == between(story, came, following.first)


def test_what_is_no_move_took_no_time() -> None:
    story = sample("leeds")
    for kind in (EntropyRevealed, CardsDealt):
        for seq in seqs(story, kind):
            assert taken(story, seq) is None


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("threes-time")])
def test_a_silent_seat_used_all_of_its_time(name: str) -> None:
    story = sample(name)
    clock = story.games[0].setup.clock
    assert clock is not None
    late = [done for done in story.done if done.timed_out]
    times = [taken(story, done.first) for done in late]
    assert times
    assert max(t for t in times if t is not None) >= 1000 * min(
        clock.turn_seconds, clock.swap_seconds
    )
