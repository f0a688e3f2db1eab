"""Windows: bots wait after a play that may be followed up, and at a first-come opening."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import orjson
import pytest

from service.application.calls import Caller, RegisteredPlayer
from service.application.games.entry import GameEntry
from service.application.games.schedule import next_wake
from service.bootstrap import Services
from service.domain.cards import Card
from service.domain.game import Status
from service.domain.legal import may_be_followed_up
from tests.changed import replace
from tests.worlds.fake_world import (
    Deployment,
    SetWorld,
    assert_sound,
    entry_of,
    legal,
    open_game,
    person,
    play_out,
    post,
    types_of,
    version_of,
)

WINDOW = 3


def wake_time(services: Services, game: UUID) -> datetime | None:
    """Return the stored time at which the sweeper will wake a worker."""
    far = entry_of(services, game).record.at[:10]
    due = services.directory.due_games(now=datetime.fromisoformat(f"{far}T23:59:59+00:00"), limit=9)
    return next((row.at for row in due if row.id == game), None)


def drew_a_card(entry: GameEntry) -> bool:
    """Return whether the last play drew cards and is still on top, by public facts."""
    game = entry.record.game
    last = game.last_play
    drawn = last is not None and bool(last.drawn) and game.turn != last.seat and bool(game.pile)
    return drawn and may_be_followed_up(game)


def until_a_play_that_draws(services: Services, ada: RegisteredPlayer, game: UUID) -> GameEntry:
    """Play for Ada until a play of hers has drawn cards and a bot is on turn."""
    for _ in range(60):
        entry = entry_of(services, game)
        services.turns.play_due_moves(game, entry.record.version)
        entry = entry_of(services, game)
        mine = legal(services, game, 0)
        plays = [move for move in mine if move["type"] == "play"]
        others = [move for move in mine if move["type"] != "swap"]
        for chosen in (plays or others)[:1]:
            post(services, ada, game, chosen)
        entry = entry_of(services, game)
        if entry.record.game.status is Status.PLAYING and drew_a_card(entry):
            return entry
        services.world.wait(60)  # type: ignore[attr-defined] # a SetWorld
    raise AssertionError("no play drew cards")


@pytest.fixture
def followed(services: Services, ada: RegisteredPlayer) -> GameEntry:
    """Return a covered-queen game: the last play of Ada drew cards, and a bot is on turn."""
    seats = ("me", {"bot": "lowest"}, {"bot": "lowest"})
    game = open_game(services, ada, seats, ruleset="covered-queen", window_seconds=WINDOW)
    return until_a_play_that_draws(services, ada, game)


def test_a_bot_waits_the_window_after_a_play_that_may_be_continued(
    deployment: Deployment, services: Services, followed: GameEntry
) -> None:
    game, version = followed.record.identity, followed.record.version
    played_at = datetime.fromisoformat(followed.record.at)
    assert services.turns.play_due_moves(game, version) == "waits"
    deployment.world.wait(WINDOW - 0.001)
    assert services.turns.play_due_moves(game, version) == "waits"
    assert version_of(services, game) == version
    assert wake_time(services, game) == played_at + timedelta(seconds=WINDOW)
    deployment.world.wait(0.001)
    services.turns.play_due_moves(game, version)
    assert version_of(services, game) > version


def test_no_worker_is_woken_before_the_end_of_the_window(
    deployment: Deployment, services: Services, followed: GameEntry
) -> None:
    """The sweeper finds the game at the end of the window and not before."""
    game, version = followed.record.identity, followed.record.version
    assert (game, version) not in deployment.notifier.woken
    directory = services.directory
    assert not directory.due_games(now=deployment.world.now(), limit=9)
    deployment.world.wait(WINDOW)
    assert [row.id for row in directory.due_games(now=deployment.world.now(), limit=9)] == [game]


def test_the_view_shows_until_when_bots_wait(
    services: Services, ada: RegisteredPlayer, followed: GameEntry
) -> None:
    due = datetime.fromisoformat(followed.record.at) + timedelta(seconds=WINDOW)
    for caller in (Caller(), Caller(player=ada.id)):
        body, _ = services.games.view(caller, followed.record.identity)
        assert datetime.fromisoformat(orjson.loads(body)["window_until"]) == due


@pytest.mark.attack("BOT_TIMING", "the time that a bot waits", check="windows")
def test_the_window_depends_on_public_facts_only(services: Services, followed: GameEntry) -> None:
    """The wait of a bot does not reveal whether the drawn card fits."""
    record = followed.record
    last = record.game.last_play
    assert last is not None
    waits = set()
    for drawn in ("2c", f"{last.rank}h", f"{last.rank}s", "Ad"):
        cards = (Card(drawn),) * len(last.drawn)
        game = replace(record.game, last_play=replace(last, drawn=cards))
        waits.add(next_wake(replace(record, game=game), window_seconds=WINDOW, back=frozenset()))
    assert len(waits) == 1


@pytest.mark.parametrize("window", [0, 60])
def test_a_person_never_waits_for_a_window(deployment: Deployment, window: int) -> None:
    """Ada may play at once after a play of Bob's that he could continue."""
    services = deployment.process()
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game = open_game(
        services, ada, ("me", "open"), ruleset="covered-queen", window_seconds=window, guests=(bob,)
    )
    people = (ada, bob)
    for _ in range(30):
        entry = entry_of(services, game)
        if drew_a_card(entry):
            seat = entry.record.game.turn
            assert seat is not None
            moves = legal(services, game, seat)
            post(services, people[seat], game, moves[0])
            assert entry_of(services, game).record.at == entry.record.at, "at the same instant"
            return
        seat = entry.record.game.turn
        if seat is None:
            for each in people:
                post(services, each, game, {"type": "ready"})
            continue
        post(services, people[seat], game, legal(services, game, seat)[0])
    raise AssertionError("no play drew cards")


@pytest.mark.parametrize("ruleset", ["threes", "morehead"])
def test_at_a_first_come_opening_bots_wait_the_window_first(
    deployment: Deployment, ruleset: str
) -> None:
    """With any deal, no bot opens before the end of the window."""
    opened = 0
    for seed in range(6):
        deployment.world = SetWorld(seed=100 + seed)
        services = deployment.process()
        host = person(services)
        game = open_game(
            services,
            host,
            ("me", {"bot": "lowest"}, {"bot": "lowest"}),
            ruleset=ruleset,
            window_seconds=WINDOW,
        )
        while services.turns.play_due_moves(game, version_of(services, game)) != "waits":
            pass
        if entry_of(services, game).record.game.status is Status.SWAPPING:
            post(services, host, game, {"type": "ready"})
        entry = entry_of(services, game)
        if entry.record.game.turn is not None:
            continue
        version = entry.record.version
        deployment.world.wait(WINDOW - 0.001)
        assert services.turns.play_due_moves(game, version) == "waits"
        assert version_of(services, game) == version
        deployment.world.wait(0.001)
        services.turns.play_due_moves(game, version)
        opened += version_of(services, game) > version
    assert opened, "a bot must have opened at least once"


@pytest.mark.parametrize("ruleset", ["shithead", "leeds", "covered-queen", "threes", "morehead"])
def test_a_table_of_bots_runs_to_its_end_without_waiting(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, ruleset: str
) -> None:
    """No window, no clock: time stands still from the deal to the seal."""
    bots = ({"bot": "greedy"}, {"bot": "lowest"}, {"bot": "random"})
    game = open_game(services, ada, bots, ruleset=ruleset, window_seconds=60)
    play_out(services, game)
    assert types_of(services, game)[-2:] == ["game_ended", "game_sealed"]
    assert_sound(services, game)
