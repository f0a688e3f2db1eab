"""The reserve of a clock: what turns take of it, and when a time-out is due and is right."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest

from service.application.calls import Caller, RegisteredPlayer
from service.bootstrap import Services
from service.domain.events import Clock
from service.shx.canonical import parse_time
from service.verify.finding import Check
from tests.conformance.reserve_cases import EARLY, waited
from tests.examples import repeated
from tests.tamper import Forgery, failing, report_on
from tests.worlds.fake_world import (
    Deployment,
    assert_sound,
    entry_of,
    legal,
    lines_of,
    open_game,
    person,
    post,
    types_of,
    version_of,
)

CLOCK = Clock(turn_seconds=5, swap_seconds=8, reserve_seconds=7)
RESERVE = timedelta(seconds=CLOCK.reserve_seconds)
PLAYS = {"cards_played", "pile_picked_up", "blind_failed", "stock_failed", "turn_passed"}


def play_due(services: Services, game: UUID) -> str:
    """Let a worker make all due moves."""
    outcome = "again"
    while outcome == "again":
        outcome = services.turns.play_due_moves(game, version_of(services, game))
    return outcome


def view(services: Services, game: UUID) -> dict[str, Any]:
    """Return the public view of a game."""
    seen: dict[str, Any] = orjson.loads(services.games.view(Caller(), game)[0])
    return seen


def taken(lines: tuple[bytes, ...]) -> dict[int, timedelta]:
    """Return what each seat's turns took beyond their own seconds, counted from the log alone."""
    used = {0: timedelta(), 1: timedelta()}
    turn, since = None, ""
    for event in map(orjson.loads, lines):
        data = event["data"]
        if event["type"] == "play_started":
            turn, since = data["turn"], event["at"]
        elif event["type"] in PLAYS and (data["turn"] != turn or data["seat"] == turn):
            if turn is not None:
                took = parse_time(event["at"]) - parse_time(since)
                used[turn] += max(timedelta(), took - timedelta(seconds=CLOCK.turn_seconds))
            turn, since = data["turn"], event["at"]
    return used


@pytest.fixture
def bob(services: Services) -> RegisteredPlayer:
    """Return a second player."""
    return person(services, "Bob")


def opened(services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer, ruleset: str) -> UUID:
    """Return a game of two people by a clock with a reserve, with the first event dealt."""
    return open_game(
        services, ada, ("me", "open"), ruleset=ruleset, clock=CLOCK, window_seconds=0, guests=(bob,)
    )


def wait_for_time_out(deployment: Deployment, services: Services, game: UUID) -> None:
    """Let the deadline pass; nothing happens a microsecond before it."""
    deadline = view(services, game)["deadline"]
    left = parse_time(deadline) - deployment.world.now()
    deployment.world.wait((left - EARLY).total_seconds())
    assert play_due(services, game) == "waits"
    assert not services.directory.due_games(now=deployment.world.now(), limit=9)
    deployment.world.wait(EARLY.total_seconds())
    [due] = services.directory.due_games(now=deployment.world.now(), limit=9)
    assert (due.id, due.kind) == (game, "time_out")
    assert play_due(services, game) in ("waits", "over")


def played(
    deployment: Deployment, services: Services, game: UUID, seats: tuple[RegisteredPlayer, ...]
) -> Iterator[None]:
    """Play a hand with turns of random length and time-outs; yield after each step."""
    chance = random.Random(str(game))
    while not entry_of(services, game).record.sealed:
        able = [seat for seat in (0, 1) if legal(services, game, seat)]
        seen, seat = view(services, game), chance.choice(able)
        left = parse_time(seen["deadline"]) - deployment.world.now()
        if chance.random() < 0.15:
            wait_for_time_out(deployment, services, game)
        else:
            deployment.world.wait(min(chance.choice((0, 1, 6, 8.5)), left.total_seconds() - 0.001))
            post(services, seats[seat], game, chance.choice(legal(services, game, seat)))
            play_due(services, game)  # a stand-in moves at once
        yield


@pytest.mark.heavy
@pytest.mark.parametrize("ruleset", ["leeds", "shithead", "threes"])
@pytest.mark.parametrize("n", range(repeated(1)))
def test_no_seat_uses_more_than_its_reserve(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    ruleset: str,
    n: int,
) -> None:
    """What the service keeps and shows is what the log alone says, and never above the reserve."""
    for _ in range(n):
        services.world.identity()  # another game
    game = opened(services, ada, bob, ruleset)
    play_due(services, game)
    for step, _ in enumerate(played(deployment, services, game, (ada, bob))):
        record = entry_of(services, game).record
        if step % 8 == 0 and not record.sealed:
            used = taken(lines_of(services, game))
            kept = record.reserve_used
            assert {s: timedelta(microseconds=kept.get(s, 0)) for s in used} == used
            seats = view(services, game)["seats"]
            left = {s: int((RESERVE - used[s]).total_seconds()) for s in used}
            assert {s: seats[s]["reserve_seconds"] for s in used} == left
    used = taken(lines_of(services, game))
    assert all(amount <= RESERVE for amount in used.values())
    assert_sound(services, game)


def forged(lines: tuple[bytes, ...]) -> Iterator[tuple[Forgery, int]]:
    """Yield a log with a time-out in play a microsecond early, for each that had to wait."""
    honest = Forgery(lines)
    start = honest.find("play_started")
    in_row = {0: 0, 1: 0}
    for seq, event in enumerate(honest.events):
        seat = event["data"].get("seat")
        if event["type"] == "turn_timed_out":
            in_row[seat] += 1
            if seq > start and in_row[seat] <= 2:
                forgery = Forgery(lines)
                took = parse_time(event["at"]) - parse_time(forgery.events[seq - 1]["at"])
                waited(forgery, seq, took.total_seconds(), less=EARLY)
                yield forgery, seq
        elif event["by"] is not None and event["type"] in PLAYS | {"seat_ready", "cards_swapped"}:
            in_row[seat] = 0


def test_a_time_out_a_microsecond_before_the_end_of_the_reserve_fails_legality(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """Every time-out of the service is as early as the verifier allows, also after used turns."""
    game = opened(services, ada, bob, "leeds")
    for _ in played(deployment, services, game, (ada, bob)):
        pass
    lines = lines_of(services, game)
    assert not failing(report_on(lines))
    found = list(forged(lines))
    assert found
    for forgery, seq in found:
        assert failing(report_on(forgery.lines())) == {Check.LEGALITY: seq}


def test_the_turn_comes_first_then_the_reserve_and_then_the_time_out(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """A turn has 5 seconds and then the 7 in reserve; the next turn of the seat has 5 alone."""
    game = opened(services, ada, bob, "leeds")
    for player in (ada, bob):
        post(services, player, game, {"type": "ready"})
    seen = view(services, game)
    first = seen["turn"]
    began = deployment.world.now()
    assert [seat["reserve_seconds"] for seat in seen["seats"]] == [7, 7]
    assert parse_time(seen["reserve_from"]) - began == timedelta(seconds=5)
    assert parse_time(seen["deadline"]) - began == timedelta(seconds=12)
    deployment.world.wait(6)
    assert play_due(services, game) == "waits"
    wait_for_time_out(deployment, services, game)
    assert types_of(services, game).count("turn_timed_out") == 1
    seen = view(services, game)
    assert seen["seats"][first]["reserve_seconds"] == 0
    if seen["turn"] == first:
        assert seen["reserve_from"] is None
