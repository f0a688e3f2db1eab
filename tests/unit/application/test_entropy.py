"""Entropy: its form, its order, its uniqueness, and its deadline."""

from __future__ import annotations

from uuid import UUID

import orjson
import pytest

from schemas.notices import NoticeType
from service.application.calls import Caller, RegisteredPlayer
from service.application.errors import Refusal
from service.application.games.schedule import ENTROPY_SECONDS
from service.application.notices import Open, Wanted
from service.bootstrap import Services
from service.domain.events import Entropy
from service.shx.shuffle import client_commit
from service.store.games import GameFilter
from tests.unit.application.conftest import SharedStore
from tests.worlds.fake_world import assert_sound, open_game, person, types_of, version_of

VALUES = ("aa" * 32, "bb" * 32)


def opened(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer, entropy: Entropy
) -> UUID:
    return open_game(services, ada, ("me", "open"), entropy=entropy, guests=(bob,))


def give(
    services: Services,
    player: RegisteredPlayer,
    game: UUID,
    *,
    commit: str | None = None,
    value: str | None = None,
) -> None:
    services.entropy.give(Caller(player=player.id), game, commit=commit, value=value)


def refused(
    services: Services,
    player: RegisteredPlayer,
    game: UUID,
    *,
    commit: str | None = None,
    value: str | None = None,
) -> str:
    with pytest.raises(Refusal) as refusal:
        give(services, player, game, commit=commit, value=value)
    return refusal.value.code


def commit_of(game: UUID, seat: int) -> str:
    return client_commit(game, seat, bytes.fromhex(VALUES[seat])).hex()


def test_the_last_value_triggers_the_deal(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = opened(services, ada, bob, Entropy.VALUE)
    give(services, ada, game, value=VALUES[0])
    assert "cards_dealt" not in types_of(services, game)
    give(services, bob, game, value=VALUES[1])
    assert "cards_dealt" in types_of(services, game)
    assert_sound(services, game)


def test_a_seat_gives_its_value_once(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = opened(services, ada, bob, Entropy.VALUE)
    give(services, ada, game, value=VALUES[0])
    assert refused(services, ada, game, value=VALUES[0]) == "entropy-refused"


def test_a_seat_that_gives_values_does_not_commit(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = opened(services, ada, bob, Entropy.VALUE)
    assert refused(services, ada, game, commit="00" * 32) == "entropy-refused"


def test_a_value_is_refused_before_every_seat_has_committed(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = opened(services, ada, bob, Entropy.COMMIT)
    give(services, ada, game, commit=commit_of(game, 0))
    assert refused(services, ada, game, value=VALUES[0]) == "entropy-refused"
    assert refused(services, ada, game, commit=commit_of(game, 0)) == "entropy-refused"
    give(services, bob, game, commit=commit_of(game, 1))
    assert refused(services, ada, game, value=VALUES[1]) == "entropy-refused", "not committed to"
    for seat, player in enumerate((ada, bob)):
        give(services, player, game, value=VALUES[seat])
    assert "cards_dealt" in types_of(services, game)
    assert_sound(services, game)


def test_after_the_deal_no_entropy_is_accepted(services: Services, ada: RegisteredPlayer) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    assert refused(services, ada, game, value=VALUES[0]) == "entropy-refused"


def test_only_players_of_the_game_contribute_entropy(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = opened(services, ada, bob, Entropy.VALUE)
    eve = person(services, "Eve")
    assert refused(services, eve, game, value=VALUES[0]) == "not-seated"


def test_a_seat_without_entropy_at_the_deadline_aborts_the_set_up(
    deployment: SharedStore, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = opened(services, ada, bob, Entropy.VALUE)
    give(services, ada, game, value=VALUES[0])
    deployment.world.wait(ENTROPY_SECONDS - 0.001)
    assert services.turns.play_due_moves(game, version_of(services, game)) == "waits"
    deployment.world.wait(0.001)
    assert services.turns.play_due_moves(game, version_of(services, game)) == "over"
    last = orjson.loads(services.game_cache.lines(game)[-1])
    assert (last["type"], last["data"]["seat"]) == ("game_aborted", 1)
    assert refused(services, bob, game, value=VALUES[1]) == "game-over"


def test_a_seat_is_notified_while_the_deal_waits_for_its_entropy(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """Ada commits and has nothing to do until Bob has; then both have to reveal."""
    game = opened(services, ada, bob, Entropy.COMMIT)
    assert turns(services, ada, game) == turns(services, bob, game) == [1]
    give(services, ada, game, commit=commit_of(game, 0))
    assert (turns(services, ada, game), turns(services, bob, game)) == ([], [2])
    give(services, bob, game, commit=commit_of(game, 1))
    assert turns(services, ada, game) == turns(services, bob, game) == [3]
    give(services, ada, game, value=VALUES[0])
    assert (turns(services, ada, game), turns(services, bob, game)) == ([], [4])


def turns(services: Services, player: RegisteredPlayer, game: UUID) -> list[int]:
    """Return the versions of `your_turn`, if the list of games states the same."""
    caller = Caller(player=player.id)
    found = services.notices.look(player.id, caller, Wanted(), Open()).notices
    versions = [one.version for one in found if one.type is NoticeType.YOUR_TURN]
    page = services.lists.games(caller, which=GameFilter(player=player.id), limit=9, cursor=None)
    [shown] = [one for one in page[0] if one["id"] == str(game)]
    assert shown["your_turn"] is bool(versions)
    return versions
