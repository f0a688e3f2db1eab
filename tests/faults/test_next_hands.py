"""Tables that deal by themselves: one next hand for each hand, whatever dies or runs twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from service.application.calls import Caller, RegisteredPlayer
from service.application.errors import Refusal
from service.application.tables.record import NEXT_HAND, TableRecord, deals_at
from service.bootstrap import Services
from service.domain.events import Clock, Entropy
from service.domain.table import TableStatus
from service.features.sweeping import AGAIN_AFTER
from service.features.tables import ready_tables
from service.store.events import Commit
from tests.worlds.fake_world import (
    Deployment,
    Stopped,
    assert_sound,
    entry_of,
    open_game,
    person,
    play_out,
    post,
    sliced,
)

WAIT = NEXT_HAND.total_seconds()


class Series:
    """A table of Ada and Bob that deals by itself."""

    def __init__(self, deployment: Deployment, services: Services, ada: RegisteredPlayer) -> None:
        self.deployment, self.services, self.ada = deployment, services, ada
        self.bob = person(services, "Bob")
        game = open_game(services, ada, ("me", "open"), deal="always", guests=(self.bob,))
        self.table = entry_of(services, game).table

    @property
    def record(self) -> TableRecord:
        return self.services.tables.changes.record(self.table)

    def end_hand(self) -> None:
        """Let Ada give up the hand being played."""
        game = self.record.table.game
        assert game is not None
        post(self.services, self.ada, UUID(game), {"type": "forfeit"})

    def deal(self, services: Services | None = None) -> bool:
        """Carry out the job of a worker."""
        return (services or self.services).tables.deal_next(self.table, self.record.version)

    def pause(self, player: RegisteredPlayer, *, paused: bool) -> None:
        self.services.tables.change_seat(player, self.table, changes={"paused": paused})

    def wait(self, seconds: float = WAIT) -> None:
        self.deployment.world.wait(seconds)

    def is_ready(self) -> bool:
        """Return whether the table waits to deal, by its events and by its row."""
        since = self.deployment.world.now()
        rows = self.services.directory.ready_tables(since=since, limit=9)
        ready = [row.id for row in rows] == [self.table]
        assert ready == (deals_at(self.record) is not None)
        return ready


@pytest.fixture
def series(deployment: Deployment, services: Services, ada: RegisteredPlayer) -> Series:
    return Series(deployment, services, ada)


def test_the_next_hand_is_dealt_once_and_not_before_its_time(series: Series) -> None:
    assert not series.is_ready()
    series.end_hand()
    assert series.is_ready()
    series.wait(WAIT - 0.1)
    assert not series.deal()
    series.wait(0.1)
    version = series.record.version
    late = series.services.tables.deal_next(series.table, version - 1)
    assert not late, "the job of an earlier version"
    assert series.deal()
    assert not series.services.tables.deal_next(series.table, version)
    assert not series.deal()
    table = series.record.table
    assert (table.hand, table.status.value) == (2, "playing")
    assert table.game is not None
    assert UUID(table.game) in {game for game, _ in series.deployment.notifier.woken}
    assert_sound(series.services, UUID(table.game))


def test_workers_at_once_deal_one_hand(series: Series) -> None:
    others = [series.deployment.process() for _ in range(2)]
    for hand in range(2, 5):
        series.end_hand()
        series.wait()
        version = series.record.version
        with ThreadPoolExecutor(8) as pool:
            jobs = [
                pool.submit(others[n % 2].tables.deal_next, series.table, version) for n in range(8)
            ]
        assert [job.result() for job in jobs].count(True) == 1
        assert series.record.table.hand == hand


@pytest.mark.parametrize("written", [False, True])
def test_a_worker_that_dies_leaves_neither_two_hands_nor_none(
    series: Series, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """It dies before its commit, or after it and before it notified anybody."""
    series.end_hand()
    series.wait()
    store = series.services.tables.changes.store
    commit: Callable[[Commit], None] = store.commit

    def dying(changes: Commit) -> None:
        if written:
            commit(changes)
        raise Stopped

    with monkeypatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(store, "commit", dying)
        series.deal()
    other = series.deployment.process()
    assert sliced(ready_tables, other)() == (0 if written else 1)
    assert series.deal(other) is not written
    assert series.record.table.hand == 2
    assert sliced(ready_tables, other)() == 0


def test_the_sweeper_repeats_a_lost_job(series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    series.end_hand()
    wake, clock = sliced(ready_tables, series.services), [1000.0]
    monkeypatch.setattr("service.features.sweeping.time.monotonic", lambda: clock[0])
    assert wake() == 0
    series.wait()
    for woken in (1, 0):
        clock[0] += 1
        assert wake() == woken
    clock[0] += AGAIN_AFTER.total_seconds() + 1
    assert wake() == 1
    assert series.deployment.notifier.woken[-1] == (series.table, series.record.version)


def test_a_pause_holds_the_next_hand_back_until_the_seat_resumes(series: Series) -> None:
    series.pause(series.bob, paused=True)  # also during a hand
    series.pause(series.bob, paused=True)
    series.end_hand()
    assert not series.is_ready()
    version = series.record.version
    series.pause(series.bob, paused=False)
    assert series.record.version == version + 1
    series.wait()
    before = series.record.version
    series.pause(series.ada, paused=True)
    assert not series.services.tables.deal_next(series.table, before), "the pause came first"
    assert not series.deal()
    series.pause(series.ada, paused=False)
    assert not series.deal(), "it waits again"
    series.wait()
    assert series.deal()


def test_a_free_seat_holds_the_next_hand_back_until_it_is_taken(series: Series) -> None:
    series.end_hand()
    series.pause(series.bob, paused=True)
    series.services.tables.leave(series.bob, series.table)
    series.wait()
    assert not series.is_ready()
    series.services.tables.sit(
        series.bob, series.table, seat=None, entropy=Entropy.NONE, key=None, invite=None
    )
    assert not series.deal()
    series.wait()
    assert series.deal()


def test_a_seat_whose_player_was_erased_is_opened_instead_of_a_deal(series: Series) -> None:
    """The process that erased the player ended before it left the seat."""
    services = series.services
    made = services.players.register("Gone")
    gone = RegisteredPlayer(id=UUID(made["id"]), name="Gone")
    series.end_hand()
    services.tables.leave(series.bob, series.table)
    services.tables.sit(gone, series.table, seat=None, entropy=Entropy.NONE, key=None, invite=None)
    series.wait()
    assert services.directory.erase(made["token"], series.deployment.world.now())
    assert not series.deal()
    assert series.record.table.status is TableStatus.OPEN
    assert not series.is_ready(), "no worker tries again"


def test_a_hand_in_which_no_person_moved_is_the_last_until_one_asks(
    deployment: Deployment, services: Services, ada: RegisteredPlayer
) -> None:
    seats: tuple[Any, ...] = ("me", {"bot": "lowest"})
    clock = Clock(turn_seconds=5, swap_seconds=5)
    game = open_game(services, ada, seats, deal="always", clock=clock, window_seconds=0)
    table = entry_of(services, game).table
    play_out(services, game, after=lambda: deployment.world.wait(6))
    deployment.world.wait(WAIT)
    record = services.tables.changes.record(table)
    assert not services.tables.deal_next(table, record.version)
    assert deals_at(record) is None
    services.tables.change_seat(ada, table, changes={"paused": False})
    record = services.tables.changes.record(table)
    deployment.world.wait(WAIT)
    assert services.tables.deal_next(table, record.version)


def test_bots_among_themselves_play_one_hand(
    deployment: Deployment, services: Services, ada: RegisteredPlayer
) -> None:
    seats: tuple[Any, ...] = ({"bot": "lowest"}, {"bot": "greedy"})
    game = open_game(services, ada, seats, deal="always")
    play_out(services, game)
    assert deals_at(services.tables.changes.record(entry_of(services, game).table)) is None
    deployment.world.wait(WAIT)
    assert sliced(ready_tables, services)() == 0


def test_an_aborted_hand_is_not_dealt_again_by_itself(series: Series) -> None:
    game = series.record.table.game
    assert game is not None
    series.pause(series.ada, paused=True)
    series.pause(series.ada, paused=False)  # during the hand, so it asks for nothing more
    series.services.moves.abort(UUID(game))
    series.wait()
    assert not series.is_ready()
    series.pause(series.ada, paused=False)
    series.wait()
    assert series.is_ready()


def test_a_table_without_always_deals_no_next_hand_and_knows_no_pause(
    deployment: Deployment, services: Services, ada: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    table = entry_of(services, game).table
    with pytest.raises(Refusal, match="does not deal by itself"):
        services.tables.change_seat(ada, table, changes={"paused": True})
    post(services, ada, game, {"type": "forfeit"})
    deployment.world.wait(WAIT)
    assert not services.directory.ready_tables(since=deployment.world.now(), limit=9)
    view, _ = services.tables.view(Caller(player=ada.id), table)
    assert (view["deal"], view["next_deal_at"]) == (True, None)
