"""The time of a bot's move and its stored wake-up reveal nothing about its cards."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import orjson
import pytest

from service.application.calls import RegisteredPlayer
from service.application.games import due_moves, schedule
from service.application.games.entry import GameEntry
from service.application.games.schedule import ConstantTime, WakeKind, next_wake
from service.bootstrap import Services
from service.bots.registry import bots
from service.domain.commands import Move, Seat
from service.domain.events import Clock
from service.domain.game import Game, Status
from service.domain.legal import legal_moves, may_act
from service.shx.canonical import parse_time
from service.store.games import DueGame
from tests.small_budgets import small_budgets
from tests.unit.application.conftest import SharedStore
from tests.worlds.fake_world import BEGIN, entry_of, legal, lines_of, open_game, person, post

INTERVAL = 0.02
WINDOW = 3
BOTS = ({"bot": "lowest"}, {"bot": "greedy"})
SEARCHING = {"careful": ({"bot": "careful"}, {"bot": "lowest"}), "expert": ({"bot": "expert"},)}


def process_with_intervals(deployment: SharedStore) -> Services:
    """Return a process whose bots act at fixed intervals of the test clock."""
    world = deployment.world
    padded = ConstantTime(
        INTERVAL, clock=lambda: (world.now() - BEGIN).total_seconds(), sleep=world.wait
    )
    return deployment.process(begin_turn=padded.begin)


def thinking(deployment: SharedStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """
    Add 0.1 ms of thinking time for each legal move.

    Returns a list that receives the number of legal moves at each decision.
    """
    thought: list[int] = []

    def slowly(game: Game, seat: Seat) -> tuple[Move, ...]:
        moves = legal_moves(game, seat)
        thought.append(len(moves))
        deployment.world.wait(len(moves) / 10_000)
        return moves

    monkeypatch.setattr(due_moves, "legal_moves", slowly)
    monkeypatch.setattr(schedule, "CARDS_AN_INTERVAL", 1000)  # no hand is so large: equal intervals
    return thought


def times_of_bots(services: Services, game: UUID) -> list[tuple[str, str]]:
    """Return the time of each action of a bot, with that of the event before it."""
    events: list[dict[str, Any]] = [orjson.loads(line) for line in lines_of(services, game)]
    return [
        (before["at"], event["at"])
        for before, event in pairwise(events)
        if event["by"] not in (None, 0) and event["at"] != before["at"]
    ]


@pytest.mark.parametrize("ruleset", ["shithead", "covered-queen", "threes"])
def test_a_bot_answers_at_the_end_of_an_interval_regardless_of_its_choices(
    deployment: SharedStore, monkeypatch: pytest.MonkeyPatch, ruleset: str
) -> None:
    thought = thinking(deployment, monkeypatch)
    services = process_with_intervals(deployment)
    ada = person(services)
    game = open_game(services, ada, ("me", *BOTS), ruleset=ruleset, window_seconds=0)
    for _ in range(60):
        entry = entry_of(services, game)
        services.turns.play_due_moves(game, entry.record.version)
        if entry_of(services, game).record.sealed:
            break
        own = legal(services, game, 0)
        if own:
            post(services, ada, game, own[-1] if own[-1]["type"] == "ready" else own[0])
    waits = {
        round((parse_time(now) - parse_time(before)) / timedelta(seconds=INTERVAL), 9)
        for before, now in times_of_bots(services, game)
    }
    assert waits == {1.0}
    assert len(set(thought)) > 3, "the number of legal moves must vary"


@pytest.mark.parametrize("name", sorted(SEARCHING))
@pytest.mark.parametrize("ruleset", ["shithead", "threes"])
def test_at_a_table_with_a_searching_bot_all_bots_keep_to_its_interval(
    deployment: SharedStore, monkeypatch: pytest.MonkeyPatch, name: str, ruleset: str
) -> None:
    """At an opening the acting bot is not public, but the bots at the table are."""
    thought = thinking(deployment, monkeypatch)
    services = process_with_intervals(deployment)
    ada = person(services)
    seats = ("me", *SEARCHING[name])
    with small_budgets():
        game = open_game(services, ada, seats, ruleset=ruleset, window_seconds=0)
        for _ in range(30):
            services.turns.play_due_moves(game, entry_of(services, game).record.version)
            if entry_of(services, game).record.sealed:
                break
            own = legal(services, game, 0)
            if own:
                post(services, ada, game, own[-1] if own[-1]["type"] == "ready" else own[0])
    interval = timedelta(seconds=INTERVAL * bots()[name].turn_intervals)
    waits = {
        round((parse_time(now) - parse_time(before)) / interval, 9)
        for before, now in times_of_bots(services, game)
    }
    assert waits == {1.0}
    assert len(set(thought)) > 3, "the number of legal moves must vary"


def test_the_interval_is_longer_by_the_public_size_of_the_largest_hand(
    deployment: SharedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large hand can have a thousand legal moves; its size is public, its cards are not."""
    monkeypatch.setattr(schedule, "CARDS_AN_INTERVAL", 2)
    services = process_with_intervals(deployment)
    ada = person(services)
    game = open_game(services, ada, ("me", *BOTS), ruleset="shithead", window_seconds=0)
    services.turns.play_due_moves(game, entry_of(services, game).record.version)
    waits = [
        round((parse_time(now) - parse_time(before)) / timedelta(seconds=INTERVAL), 9)
        for before, now in times_of_bots(services, game)
    ]
    assert waits
    assert set(waits) == {2.0}, "one interval, and one for three cards"


def at_the_opening(
    services: Services, ada: RegisteredPlayer, ruleset: str, clock: Clock | None
) -> GameEntry:
    """Return a game of Ada and two bots whose exchange is over."""
    game = open_game(services, ada, ("me", *BOTS), ruleset=ruleset, clock=clock)
    services.turns.play_due_moves(game, entry_of(services, game).record.version)
    post(services, ada, game, {"type": "ready"})
    return entry_of(services, game)


def stored_wake_up(services: Services, game: UUID) -> DueGame | None:
    """Return the stored wake-up of a game."""
    far = BEGIN + timedelta(days=9)
    due = services.directory.due_games(now=far, limit=99)
    return next((row for row in due if row.id == game), None)


@pytest.mark.heavy
@pytest.mark.parametrize("ruleset", ["threes", "morehead"])
@pytest.mark.parametrize("clock", [None, Clock(turn_seconds=60, swap_seconds=60)])
def test_the_stored_wake_up_of_a_first_come_opening_does_not_reveal_who_may_open(
    deployment: SharedStore,
    services: Services,
    ada: RegisteredPlayer,
    ruleset: str,
    clock: Clock | None,
) -> None:
    """Only after all bots have tried is it public that none of them opened."""
    seen = set()
    for _ in range(30):
        entry = at_the_opening(services, ada, ruleset, clock)
        record, game = entry.record, entry.record.identity
        assert record.game.status is Status.PLAYING
        row, end = (
            stored_wake_up(services, game),
            deployment.world.now() + timedelta(seconds=WINDOW),
        )
        assert row is not None
        assert (row.kind, row.at) == ("bot", end)
        able = any(may_act(record.game, seat) for seat in (1, 2))
        deployment.world.wait(WINDOW)
        services.turns.play_due_moves(game, record.version)
        opened = entry_of(services, game).record.version > record.version
        assert opened is able
        if not opened:
            row = stored_wake_up(services, game)
            assert (row and row.kind) == (clock and "time_out")
        seen.add(able)
    assert seen == {False, True}, "both cases must occur"


def test_an_opening_is_made_by_the_time_out_if_no_player_opens(
    deployment: SharedStore, services: Services, ada: RegisteredPlayer
) -> None:
    clock = Clock(turn_seconds=60, swap_seconds=60)
    for _ in range(30):
        entry = at_the_opening(services, ada, "threes", clock)
        game, version = entry.record.identity, entry.record.version
        deployment.world.wait(60)
        services.turns.play_due_moves(game, version)
        line = orjson.loads(lines_of(services, game)[version])
        if line["type"] == "turn_timed_out":
            assert line["data"]["seat"] == 0
            return
    raise AssertionError("a bot has always opened")


def test_a_clock_shorter_than_the_window_comes_first(
    deployment: SharedStore, services: Services, ada: RegisteredPlayer
) -> None:
    clock = Clock(turn_seconds=1, swap_seconds=60)
    entry = at_the_opening(services, ada, "threes", clock)
    wake = next_wake(entry.record, window_seconds=WINDOW, back=frozenset())
    assert wake is not None
    assert (wake.kind, wake.at) == (
        WakeKind.TIME_OUT,
        deployment.world.now() + timedelta(seconds=1),
    )


def test_a_slow_bot_answers_at_the_end_of_a_later_interval() -> None:
    moments = iter((10.0, 10.045))
    slept: list[float] = []
    ConstantTime(INTERVAL, clock=lambda: next(moments), sleep=slept.append).begin()()
    assert slept == [pytest.approx(0.015)]
