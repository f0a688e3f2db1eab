"""Cached histories: a process with a cache answers like one without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any
from uuid import UUID

import orjson
import pytest

from service.application.calls import Caller, Idempotency
from service.application.errors import Refusal
from service.application.quotas import limited_by
from service.bootstrap import Services
from service.replay.sentences import said
from service.store.games import GameFilter
from tests.worlds.fake_world import Deployment, entry_of, legal, lines_of, open_game, person, post


@pytest.fixture
def deployment(database_url: str) -> Iterator[Deployment]:
    """Return a service over a new database."""
    made = Deployment(url=database_url)
    yield made
    made.close()


def all_readings(services: Services, callers: list[Caller], game: UUID) -> list[object]:
    """Return the answers of all reads of a game's past for these callers."""
    version = entry_of(services, game).record.version
    found: list[object] = []
    for caller in callers:
        for at in range(max(1, version - 3), version + 1):
            found.append(services.games.view_at(caller, game, at, None))
            found.append(services.auditing.move(caller, game, at - 1))
        found.append(services.games.transcript(caller, game, None))
        found.append(services.games.frames(caller, game, None, max(1, version - 2), None))
        found.append(services.games.openings(caller, game))
        found += [services.auditing.card(caller, game, card) for card in ("2h", "Th", "8s", "3c")]
        if caller.player is not None:
            for at in {1, version // 2 + 1, version}:
                found.append(services.auditing.knowledge(caller, game, None, at))
    return found


@pytest.mark.parametrize("ruleset", ["shithead", "leeds", "smeghead", "covered-queen"])
@pytest.mark.heavy
def test_a_process_with_a_cached_history_answers_like_a_new_one(
    deployment: Deployment, ruleset: str
) -> None:
    """At intervals from the deal to the seal, by every seat and by a caller without a token."""
    cached = deployment.process()
    ada, bob = person(cached, "Ada"), person(cached, "Bob")
    seats = ("me", "open")
    game = open_game(cached, ada, seats, ruleset=ruleset, window_seconds=0, guests=(bob,))
    callers = [Caller(player=ada.id), Caller(player=bob.id), Caller()]
    for round_ in range(60):
        if entry_of(cached, game).record.sealed:
            break
        for seat, player in enumerate((ada, bob)):
            listed = legal(cached, game, seat)
            if listed:
                move = next((m for m in listed if m["type"] == "ready"), listed[0])
                post(cached, player, game, move)
                break
        if round_ % 20 == 5:
            new = deployment.process()
            assert all_readings(cached, callers, game) == all_readings(new, callers, game)
            deployment.end(new)
    if not entry_of(cached, game).record.sealed:
        post(cached, ada, game, {"type": "forfeit"})
    new = deployment.process()
    assert all_readings(cached, callers, game) == all_readings(new, callers, game)
    assert len(lines_of(cached, game)) == entry_of(cached, game).record.version


def test_a_cached_history_is_not_folded_again(deployment: Deployment) -> None:
    """A caller is charged only for events that are not in the cache."""
    services = deployment.process()
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game = open_game(services, ada, ("me", "open"), window_seconds=0, guests=(bob,))
    charged: list[int] = []

    def counted(events: int) -> AbstractContextManager[None]:
        charged.append(events)
        return nullcontext()

    caller = Caller(player=ada.id)
    version = entry_of(services, game).record.version
    with limited_by(counted):
        services.games.view_at(caller, game, version, None)
        assert charged == [version]
        for at in range(1, version + 1):
            services.games.view_at(caller, game, at, None)
        assert charged == [version]
        post(services, ada, game, {"type": "ready"})
        services.games.view_at(caller, game, version + 1, None)
        assert charged == [version, 1]


def too_much(events: int) -> AbstractContextManager[None]:
    """Refuse all work, as if no slot were free."""
    raise Refusal("unavailable", said("limit.long_games", n=events))


def test_a_caller_over_the_limit_is_refused_before_any_event_is_folded(
    deployment: Deployment,
) -> None:
    services = deployment.process()
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game = open_game(services, ada, ("me", "open"), window_seconds=0, guests=(bob,))

    caller = Caller(player=ada.id)
    entry_of(services, game)
    for read in (
        lambda: services.games.view_at(caller, game, 1, None),
        lambda: services.games.transcript(caller, game, None),
        lambda: services.auditing.card(caller, game, "Th"),
        lambda: services.auditing.knowledge(caller, game, 0, 1),
        lambda: services.auditing.move(caller, game, 1),
        lambda: services.verifying.audit(caller, game),
    ):
        with pytest.raises(Refusal, match="too many"), limited_by(too_much):
            read()
    with limited_by(too_much):
        assert orjson.loads(services.games.view(caller, game)[0])["version"]


@pytest.mark.attack(
    "WITHOUT_BOUND", "the first call on a long hand in each process", check="slots and a count"
)
def test_the_first_read_of_a_stream_in_a_process_is_charged_to_the_request(
    deployment: Deployment,
) -> None:
    """A process that has not read a log yet folds it for a move, a list or a repeated request."""
    services = deployment.process()
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game = open_game(services, ada, ("me", "open"), window_seconds=0, guests=(bob,))
    caller = Caller(player=ada.id)
    ready, request = {"type": "ready"}, Idempotency(key="1", path="/", body_hash=b"1")
    services.moves.move(caller, game, ready, request=request)
    table = entry_of(services, game).table
    page: dict[str, Any] = {"limit": 50, "cursor": None}
    of_ada = GameFilter(player=ada.id)
    calls: dict[str, Callable[[Services], object]] = {
        "view": lambda new: new.games.view(caller, game),
        "move": lambda new: new.moves.move(caller, game, {"type": "pass"}),
        "repetition": lambda new: new.answers.first_answer(ada.id, request),
        "events": lambda new: new.games.lines(caller, game, after=0, limit=1),
        "bundle": lambda new: new.evidence.bundle(caller, game, "public"),
        "list": lambda new: new.lists.games(caller, which=of_ada, **page),
        "table": lambda new: new.tables.view(caller, table),
        "tables": lambda new: new.lists.tables(
            caller, status=None, ruleset=None, mine=True, **page
        ),
    }
    version = entry_of(services, game).record.version
    seated = services.game_cache.table(table)
    assert seated is not None
    for name, call in calls.items():
        new, counted = deployment.process(), list[int]()

        def count(events: int, counted: list[int] = counted) -> AbstractContextManager[None]:
            counted.append(events)
            return nullcontext()

        with limited_by(count), suppress(Refusal):
            call(new)
        whole = seated.version if name.startswith("table") else version
        assert whole in counted, f"{name}: a log was folded without being counted"
        again = len(counted)
        with limited_by(count), suppress(Refusal):
            call(new)
        assert counted[again:] == [], f"{name}: counted again"
        deployment.end(new)


@pytest.mark.attack(
    "WITHOUT_BOUND", "a table at which thousands of hands were played", check="a cache"
)
def test_a_cached_table_is_folded_from_its_last_version(deployment: Deployment) -> None:
    services = deployment.process()
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game = open_game(services, ada, ("me", "open"), window_seconds=0, guests=(bob,))
    table = entry_of(services, game).table
    other = deployment.process()
    before = other.game_cache.table(table)
    post(services, ada, game, {"type": "forfeit"})
    charged: list[int] = []

    def counted(events: int) -> AbstractContextManager[None]:
        charged.append(events)
        return nullcontext()

    with limited_by(counted):
        after = other.game_cache.table(table)
        assert other.game_cache.table(table) == after
    assert before is not None
    assert after is not None
    assert charged == [after.version - before.version]
    new = deployment.process()
    assert new.game_cache.table(table) == after
    deployment.end(new)
    deployment.end(other)
