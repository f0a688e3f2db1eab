"""Moves: decided again after a conflict, and refused only by the current version."""

from __future__ import annotations

from uuid import UUID

import orjson
import pytest

from service.application.calls import Caller, Idempotency, RegisteredPlayer
from service.application.errors import Refusal
from service.application.handler import ATTEMPTS
from service.bootstrap import Services
from tests.streams import cut_back
from tests.unit.application.conftest import SharedStore
from tests.worlds.fake_world import (
    assert_sound,
    entry_of,
    legal,
    lines_of,
    open_game,
    post,
    types_of,
    version_of,
)

READY = {"type": "ready"}


@pytest.fixture
def game(services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer) -> UUID:
    """Return a game of two people, in its exchange phase."""
    return open_game(services, ada, ("me", "open"), ruleset="leeds", guests=(bob,))


def request(body: bytes = b"{}", key: str = "k") -> Idempotency:
    return Idempotency(key=key, path="/moves", body_hash=body.ljust(32, b"."))


def swap_of(services: Services, game: UUID, seat: int) -> dict[str, object]:
    return next(move for move in legal(services, game, seat) if move["type"] == "swap")


def on_turn(services: Services, game: UUID) -> int:
    entry = services.game_cache.fresh(game)
    assert entry is not None and entry.record.game.turn is not None
    return entry.record.game.turn


def test_a_move_that_loses_the_race_is_decided_again(
    deployment: SharedStore,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
) -> None:
    other = deployment.process()
    deployment.store.rivals = [lambda: post(other, bob, game, READY)]
    post(services, ada, game, READY)
    assert types_of(services, game).count("seat_ready") == 2
    assert_sound(services, game)


def test_a_move_that_loses_the_race_too_often_is_answered_with_retry(
    deployment: SharedStore,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
) -> None:
    other = deployment.process()

    def rival() -> None:
        post(other, bob, game, swap_of(other, game, 1))

    # The commit of a rival also runs the next function of the list: every second one does nothing.
    deployment.store.rivals = [step for _ in range(ATTEMPTS) for step in (rival, lambda: None)]
    with pytest.raises(Refusal) as refused:
        post(services, ada, game, READY)
    assert refused.value.code == "unavailable"
    assert types_of(services, game).count("seat_ready") == 0


def test_a_process_with_an_outdated_cache_decides_on_the_current_version(
    deployment: SharedStore,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
) -> None:
    """The cached version forbids the move and the current one allows it: the move is made."""
    old = deployment.process()
    version_of(old, game)
    for player in (ada, bob):
        post(services, player, game, READY)
    seat = on_turn(services, game)
    answer = orjson.loads(post(old, (ada, bob)[seat], game, legal(services, game, seat)[0]).body)
    assert answer["version"] == version_of(services, game)
    assert refused_moves(services, game) == []


def refused_moves(services: Services, game: UUID) -> list[int]:
    return [refusal.seat for refusal in services.directory.refusals(game)]


def test_a_refusal_by_a_rule_is_recorded_once_and_changes_nothing(
    services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    before = lines_of(services, game)
    with pytest.raises(Refusal) as refused:
        post(services, ada, game, {"type": "pass"})
    assert refused.value.code == "rule-refused"
    assert refused.value.extra["rule"] and refused.value.extra["rule_text"]
    assert refused.value.extra["legal"] == legal(services, game, 0)
    assert refused_moves(services, game) == [0]
    assert lines_of(services, game) == before


def test_a_game_cites_a_rule_only_if_its_options_include_it(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """P34: without its switch an eight is an ordinary card."""
    for switches, rule in (([], None), ([2], "P34")):
        game = open_game(
            services,
            ada,
            ("me", "open"),
            ruleset="guarducci",
            options={"switches": switches},
            guests=(bob,),
        )
        cites = entry_of(services, game).record.game.ruleset.cites
        assert cites.get("ranks.8.asks") == rule
        assert cites["ranks.T.burns"] == "P34"


def test_refusals_without_a_rule_are_not_recorded(
    services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    """For example a card that is not in the deck, or a move out of turn."""
    unknown = {"type": "swap", "up": ["X1"], "hand": ["X1"]}
    with pytest.raises(Refusal) as refused:
        post(services, ada, game, unknown)
    assert refused.value.code == "unknown-card"
    with pytest.raises(Refusal) as refused:
        post(services, ada, game, READY, expected=0)
    assert refused.value.code == "stale-version"
    assert refused_moves(services, game) == []


def test_a_seat_exchanges_cards_a_limited_number_of_times(
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("service.application.games.moves.MAX_SWAPS", 2)
    for _ in range(2):
        post(services, ada, game, swap_of(services, game, 0))
    with pytest.raises(Refusal, match="2 times in a hand") as refused:
        post(services, ada, game, swap_of(services, game, 0))
    assert refused.value.code == "limit-reached"
    post(services, bob, game, swap_of(services, game, 1))
    post(services, ada, game, READY)
    assert_sound(services, game)


def test_concurrent_duplicates_get_one_answer(
    deployment: SharedStore, services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    other = deployment.process()
    deployment.store.rivals = [lambda: post(other, ada, game, READY, request=request())]
    answer = post(services, ada, game, READY, request=request())
    assert answer.replayed
    assert types_of(services, game).count("seat_ready") == 1


def test_in_the_exchange_only_own_actions_make_a_version_stale(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer, game: UUID
) -> None:
    """If-Match is refused where a signed intent would be (SHX/1, section 5)."""
    seen = version_of(services, game)
    post(services, bob, game, swap_of(services, game, 1))
    post(services, ada, game, swap_of(services, game, 0), expected=seen)
    with pytest.raises(Refusal) as refused:
        post(services, ada, game, READY, expected=seen)
    assert refused.value.code == "stale-version"
    assert refused.value.extra["version"] == version_of(services, game)
    post(services, ada, game, READY, expected=version_of(services, game))


def test_in_play_any_action_makes_a_version_stale_but_not_for_a_forfeit(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer, game: UUID
) -> None:
    for player in (ada, bob):
        post(services, player, game, READY)
    seen, seat = version_of(services, game), on_turn(services, game)
    post(services, (ada, bob)[seat], game, legal(services, game, seat)[0])
    for seat, player in enumerate((ada, bob)):
        moves = legal(services, game, seat)
        if moves:
            with pytest.raises(Refusal) as refused:
                post(services, player, game, moves[0], expected=seen)
            assert refused.value.code == "stale-version"
    post(services, ada, game, {"type": "forfeit"}, expected=seen)
    assert types_of(services, game)[-1] == "game_sealed"


@pytest.mark.parametrize("expected", [0, 99])
def test_a_version_that_never_existed_is_stale(
    services: Services, ada: RegisteredPlayer, game: UUID, expected: int
) -> None:
    with pytest.raises(Refusal) as refused:
        post(services, ada, game, READY, expected=expected)
    assert refused.value.code == "stale-version"


def test_a_store_restored_to_an_older_version_overrides_the_cache(
    deployment: SharedStore,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
) -> None:
    """After a restore of the database the cache of this process is outdated."""
    kept = lines_of(services, game)
    post(services, ada, game, READY)
    cut_back(deployment.url, game, len(kept))
    entry = services.game_cache.fresh(game)
    assert entry is not None and entry.record.version == len(kept)
    body = services.games.view(Caller(player=bob.id), game)[0]
    assert not orjson.loads(body)["seats"][0]["ready"]
