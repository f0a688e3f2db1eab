"""Which open seeks get a table together."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.seeks import Standing
from service.application.tables.matching import Match, Pool, players_of
from service.domain.events import Clock, Entropy
from service.store.seeks import Seek, SeekConditions

THEN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def seek(
    number: int,
    rulesets: str = "a",
    seats: int = 2,
    fill: int | None = None,
    *,
    player: int | None = None,
    clock: Clock | None = None,
    entropy: Entropy = Entropy.NONE,
    standing: Standing = Standing.MIXED,
    only_stayers: bool = False,
) -> Seek:
    """Return a seek posted at second `number`, by default by the player of this number."""
    at = THEN + timedelta(seconds=number)
    return Seek(
        id=UUID(int=number),
        player=UUID(int=number if player is None else player),
        conditions=SeekConditions(
            rulesets=tuple(rulesets),
            seats=seats,
            clock=clock,
            entropy=entropy,
            only_stayers=only_stayers,
        ),
        standing=standing,
        key=None,
        fill_after=fill,
        created_at=at,
        expires_at=at + timedelta(minutes=10),
    )


def matched(*seeks: Seek, at: int = 10, apart: Sequence[frozenset[int]] = ()) -> list[str]:
    """Return each match as its ruleset, its seeks and its bots, such as "a 1 2 +1"."""
    return [text_of(match) for match in matches(seeks, at=at, apart=apart)]


def matches(
    seeks: Sequence[Seek], *, at: int = 10, apart: Sequence[frozenset[int]] = ()
) -> list[Match]:
    """Return the matches of a round at second `at`."""
    players = [player.int for player in players_of(seeks)]
    pairs = [[players.index(player) for player in pair] for pair in apart]
    pool, found = Pool(seeks, [(one, [other]) for one, other in pairs]), []
    for number in range(len(seeks)):
        match = pool.take(number, THEN + timedelta(seconds=at))
        if match is not None:
            found.append(match)
    return found


def text_of(match: Match) -> str:
    bots = [f"+{match.bots}"] if match.bots else []
    return " ".join([match.ruleset, *(str(one.id.int) for one in match.seeks), *bots])


def test_the_oldest_seeks_of_a_ruleset_are_seated_together() -> None:
    assert matched(seek(1), seek(2), seek(3), seek(4), seek(5)) == ["a 1 2", "a 3 4"]
    assert matched(seek(1, seats=3), seek(2, seats=3), seek(3, seats=3)) == ["a 1 2 3"]


@pytest.mark.parametrize(
    "other",
    [
        seek(2, "b"),
        seek(2, seats=3),
        seek(2, clock=Clock(turn_seconds=20, swap_seconds=60)),
        seek(2, entropy=Entropy.COMMIT),
        seek(2, player=1),
    ],
    ids=["ruleset", "seats", "clock", "entropy", "same player"],
)
def test_seeks_that_differ_are_not_seated_together(other: Seek) -> None:
    assert matched(seek(1), other) == []
    assert matched(seek(1), other, seek(3)) == ["a 1 3"]


def test_a_table_has_one_ruleset_that_all_its_seeks_name() -> None:
    """Pairs may share a ruleset while all three do not."""
    assert matched(seek(1, "ab", 3), seek(2, "bc", 3), seek(3, "ca", 3)) == []
    assert matched(seek(1, "ab", 3), seek(2, "bc", 3), seek(3, "cb", 3)) == ["b 1 2 3"]


def test_the_oldest_seek_chooses_among_the_rulesets_that_are_possible() -> None:
    assert matched(seek(1, "ab"), seek(2, "ba")) == ["a 1 2"]
    assert matched(seek(1, "ab"), seek(2, "b"), seek(3, "a")) == ["a 1 3"]
    assert matched(seek(1, "ab"), seek(2, "b")) == ["b 1 2"]


def test_who_wants_players_who_stay_is_seated_with_them_alone() -> None:
    """The condition is about the others: who states it may be new, or leave hands."""
    stays, leaves = Standing.STAYS, Standing.LEAVES
    choosy = seek(1, only_stayers=True)
    assert matched(choosy, seek(2), seek(3, standing=leaves)) == ["a 2 3"]
    assert matched(choosy, seek(2), seek(3, standing=stays)) == ["a 1 3"]
    assert matched(seek(1), seek(2, only_stayers=True, standing=stays)) == []
    assert matched(seek(1, standing=stays), seek(2, only_stayers=True)) == ["a 1 2"]
    both = [seek(n, only_stayers=True) for n in (1, 2)]
    assert matched(*both) == []
    assert matched(both[0], replace(both[1], standing=stays)) == [], "the other one is new"


def test_each_of_three_who_want_players_who_stay_gets_them() -> None:
    stays = Standing.STAYS
    kind = [seek(n, seats=3, standing=stays) for n in (1, 2, 3)]
    late = seek(4, seats=3, standing=stays, only_stayers=True)
    assert matched(kind[0], seek(2, seats=3), kind[2], late) == ["a 1 2 3"]
    assert matched(kind[0], late, seek(5, seats=3), seek(6, seats=3, standing=stays)) == ["a 1 4 6"]


def test_bots_fill_the_seats_beside_who_wants_players_who_stay() -> None:
    assert matched(seek(1, fill=5, only_stayers=True), seek(2, fill=5)) == ["a 1 +1", "a 2 +1"]


def test_players_who_are_apart_are_not_seated_together() -> None:
    blocks = [frozenset((1, 2))]
    assert matched(seek(1), seek(2), apart=blocks) == []
    assert matched(seek(1), seek(2), seek(3), seek(4), apart=blocks) == ["a 1 3", "a 2 4"]
    three = [seek(n, seats=3) for n in (1, 2, 3, 4)]
    assert matched(*three, apart=[frozenset((2, 3)), frozenset((2, 4))]) == ["a 1 3 4"]


def test_a_match_ends_the_other_seeks_of_its_players_but_those_to_keep() -> None:
    ada = [seek(1, "a", player=1), seek(2, "b", player=1), seek(3, "c", player=1)]
    others = [seek(4, "a"), seek(5, "b"), seek(6, "c")]
    assert matched(*ada, *others) == ["a 1 4"]
    ada[2] = replace(ada[2], keep=True)
    assert matched(*ada, *others) == ["a 1 4", "c 3 6"]


def test_bots_take_the_empty_seats_once_the_time_has_come() -> None:
    assert matched(seek(1, fill=10), at=10) == []
    assert matched(seek(1, fill=10), at=11) == ["a 1 +1"]
    assert matched(seek(1, seats=4, fill=0), at=1) == ["a 1 +3"]


def test_a_seek_that_never_accepts_bots_is_not_seated_with_them() -> None:
    seeks = [seek(1, seats=4, fill=5), seek(2, seats=4), seek(3, seats=4, fill=600)]
    assert matched(*seeks) == ["a 1 3 +2"]


def test_bots_are_seated_where_most_people_are() -> None:
    seeks = [seek(1, "ab", seats=3, fill=60), seek(2, "b", seats=3, fill=60)]
    assert matched(*seeks, at=70) == ["b 1 2 +1"]


def test_people_are_preferred_to_bots() -> None:
    assert matched(seek(1, fill=0), seek(2)) == ["a 1 2"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "ab", "ba", "abc", "c"]),
            st.integers(2, 4),
            st.sampled_from([None, 0, 5, 600]),
            st.integers(1, 9),
        ),
        max_size=30,
    )
)
def test_every_match_is_valid_and_none_is_left_out(
    drawn: list[tuple[str, int, int | None, int]],
) -> None:
    """Whatever is open: no seek in two matches, and no two of those that are left match."""
    seeks = [
        seek(n, rulesets, seats, fill, player=player)
        for n, (rulesets, seats, fill, player) in enumerate(drawn)
    ]
    found = matches(seeks, at=60)
    used = [one.id for match in found for one in match.seeks]
    assert len(used) == len(set(used))
    for match in found:
        assert len({one.player for one in match.seeks}) == len(match.seeks)
        assert all(match.ruleset in one.conditions.rulesets for one in match.seeks)
        assert {one.conditions.seats for one in match.seeks} == {len(match.seeks) + match.bots}
        assert not match.bots or all(one.fill_after is not None for one in match.seeks)
    seated = {one.player for match in found for one in match.seeks}
    rest = [one for one in seeks if one.player not in seated]
    assert matches(rest, at=60) == []
    pairs = {
        (one.conditions.seats, name, one.player) for one in rest for name in one.conditions.rulesets
    }
    two = [name for seats, name, _ in pairs if seats == 2]
    assert len(two) == len(set(two)), "two players wait for the same table of two"


def test_a_full_pool_of_players_who_block_each_other_takes_little_work() -> None:
    """2,000 seeks of 200 accounts, 21 rulesets each; the search of before took minutes."""
    names, rng = [f"r{n}" for n in range(22)], random.Random(1)
    seeks = [
        replace(one, conditions=replace(one.conditions, rulesets=tuple(rng.sample(names, 21))))
        for one in (seek(n, player=n % 200) for n in range(2000))
    ]
    began = time.process_time()
    pool = Pool(seeks, [(n, range(n)) for n in range(200)])
    assert not any(pool.take(number, THEN) for number in range(2000))
    assert time.process_time() - began < 5
