"""Players: returning after a bot stood in, being erased, and invitations that end meanwhile."""

from __future__ import annotations

from uuid import UUID

import orjson
import pytest

from service.application.calls import Caller, Idempotency, RegisteredPlayer
from service.application.errors import Refusal
from service.application.tables.record import TableRequest
from service.bootstrap import Services
from service.domain.events import Clock, Entropy
from service.store.games import GameFilter
from tests.unit.application.conftest import SharedStore
from tests.worlds.fake_world import (
    assert_sound,
    entry_of,
    legal,
    lines_of,
    one_move,
    open_game,
    person,
    post,
    types_of,
    version_of,
)

CLOCK = Clock(turn_seconds=5, swap_seconds=8)
KEY = Idempotency(key="k", path="/back", body_hash=b"a" * 32)


@pytest.fixture
def silent(deployment: SharedStore, services: Services, ada: RegisteredPlayer) -> UUID:
    """Return a game in which a bot stands in for Ada after two time-outs."""
    seats = ("me", {"bot": "lowest"})
    game = open_game(services, ada, seats, ruleset="leeds", clock=CLOCK, window_seconds=0)
    post(services, ada, game, {"type": "ready"})
    while entry_of(services, game).record.game.seats[0].time_outs < 2:
        if entry_of(services, game).record.game.turn == 0:
            deployment.world.wait(CLOCK.turn_seconds)
        one_move(services, game)
    return game


def stands_in(services: Services, game: UUID) -> bool:
    found: bool = orjson.loads(services.games.view(Caller(), game)[0])["seats"][0]["stand_in"]
    return found


def back(
    services: Services, player: RegisteredPlayer, game: UUID, key: Idempotency | None = None
) -> bool:
    """Return to the game, and return whether the request was a repetition."""
    return services.stand_ins.back(Caller(player=player.id), game, key).replayed


def test_a_returned_player_plays_again_without_an_event(
    services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    before = lines_of(services, silent)
    assert stands_in(services, silent)
    back(services, ada, silent)
    assert not stands_in(services, silent)
    assert lines_of(services, silent) == before


def test_a_repeated_return_gets_the_first_answer(
    deployment: SharedStore, services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    first = services.stand_ins.back(Caller(player=ada.id), silent, KEY)
    again = deployment.process().stand_ins.back(Caller(player=ada.id), silent, KEY)
    assert (again.body, again.replayed) == (first.body, True)


def test_without_a_key_no_answer_is_stored(
    deployment: SharedStore, services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    commits = deployment.store.commits
    assert not back(services, ada, silent)
    assert not back(services, ada, silent)
    assert deployment.store.commits == commits


def test_any_move_of_the_player_ends_the_stand_in(
    services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    while entry_of(services, silent).record.game.turn != 0:
        one_move(services, silent)
    post(services, ada, silent, legal(services, silent, 0)[0])
    assert not stands_in(services, silent)
    assert_sound(services, silent)


def test_the_name_of_an_erased_player_is_gone_and_every_log_is_unchanged(
    deployment: SharedStore, services: Services, ada: RegisteredPlayer
) -> None:
    answer = services.players.register("Grace")
    grace = RegisteredPlayer(id=UUID(answer["id"]), name="Grace")
    game = open_game(services, ada, ("me", "open"), guests=(grace,))
    post(services, grace, game, {"type": "forfeit"})
    before = lines_of(services, game)
    services.players.erase(grace, answer["token"])
    for process in (services, deployment.process()):
        assert process.players.by_token(answer["token"]) is None
        assert lines_of(process, game) == before
        view = orjson.loads(process.games.view(Caller(player=ada.id), game)[0])
        assert view["seats"][1]["name"] is None
        [item] = process.lists.games(Caller(), which=GameFilter(), limit=9, cursor=None)[0]
        assert item["seats"][1]["name"] is None
    assert b"Grace" not in b"".join(before)
    assert_sound(services, game)


def test_an_erased_player_leaves_seats_between_hands(
    services: Services, ada: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    post(services, ada, game, {"type": "forfeit"})
    services.players.erase(ada, None)
    view = orjson.loads(services.games.view(Caller(), game)[0])
    table = services.tables.view(Caller(), UUID(view["table"]))[0]
    assert (table["seats"][0]["kind"], table["status"]) == ("open", "open")
    assert version_of(services, game) == len(types_of(services, game))


def invite_to_private_table(
    services: Services, host: RegisteredPlayer, *invited: RegisteredPlayer
) -> UUID:
    """Open a private table with two open seats for some players; return it."""
    wanted = TableRequest(
        ruleset="shithead",
        seats=("me", "open", "open"),
        options={},
        clock=None,
        window_seconds=0,
        public=False,
        entropy=Entropy.NONE,
        key=None,
        turn_limit=None,
        deal=True,
        invited=tuple(player.id for player in invited),
    )
    return UUID(orjson.loads(services.tables.open(host, wanted).body)["id"])


def test_the_streams_of_a_player_look_again_when_an_invitation_begins_or_ends(
    deployment: SharedStore,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
) -> None:
    """An invitation is no event of its table."""
    table, host = invite_to_private_table(services, ada, bob), Caller(player=ada.id)
    assert deployment.notifier.changed == [bob.id]
    cy = person(services, "Cy")
    services.invitations.invite(host, table, cy.id)
    services.invitations.end(host, table, bob.id)
    assert deployment.notifier.changed == [bob.id, cy.id, bob.id]


def test_an_invitation_that_ends_while_its_player_sits_down_gives_no_seat(
    deployment: SharedStore,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
) -> None:
    """Cy takes a seat at the same moment, so Bob's request is decided again."""
    cy = person(services, "Cy")
    table = invite_to_private_table(services, ada, bob, cy)

    def sit(player: RegisteredPlayer) -> None:
        services.tables.sit(player, table, seat=None, entropy=Entropy.NONE, key=None, invite=None)

    def rival() -> None:
        sit(cy)
        services.invitations.end(Caller(player=ada.id), table, bob.id)

    deployment.store.rivals.append(rival)
    with pytest.raises(Refusal) as refused:
        sit(bob)
    assert refused.value.code == "not-found"
