"""Seeks: from the request to the table, with several processes."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest

from service.application.calls import Caller, Idempotency, RegisteredPlayer
from service.application.errors import Refusal
from service.application.games.schedule import ENTROPY_SECONDS, stands_in
from service.application.quotas import QUOTAS, Slice
from service.application.tables.matching import PRESENT, TERM
from service.application.tables.seeks import SeekRequest
from service.bootstrap import Services
from service.domain.events import Clock, Entropy
from service.domain.game import Status
from service.domain.table import SeatKind, TableStatus
from service.store.events import PlayerErased, QuotaKind
from service.store.seeks import Seek, SeekConditions
from tests.streams import numbered
from tests.unit.application.conftest import SharedStore
from tests.worlds.fake_world import entry_of, legal, open_game, person, version_of
from tests.worlds.fake_world import post as post_move

CLOCK = Clock(turn_seconds=5, swap_seconds=5, reserve_seconds=5)


def post(
    services: Services,
    player: RegisteredPlayer,
    *rulesets: str,
    seats: int = 2,
    fill: int | None = None,
    key: str | None = None,
    entropy: Entropy = Entropy.NONE,
    only_stayers: bool = False,
    request: Idempotency | None = None,
) -> dict[str, Any]:
    conditions = SeekConditions(
        rulesets=rulesets or ("leeds",),
        seats=seats,
        clock=Clock(turn_seconds=20, swap_seconds=60),
        entropy=entropy,
        only_stayers=only_stayers,
    )
    wanted = SeekRequest(conditions=conditions, key=key, fill_after=fill)
    answer: dict[str, Any] = orjson.loads(services.seeks.post(player, wanted, request).body)
    return answer


def sweep(services: Services, *, tables: int = 20) -> int:
    """Match the open seeks, as the sweeper does; return the number of tables."""
    return services.matchmaker.sweep(Slice(rows=tables, seconds=60))


def met(
    services: Services, player: RegisteredPlayer, *rulesets: str, **more: Any
) -> dict[str, Any]:
    """Post a seek, and return it as it is after the next round."""
    seek = post(services, player, *rulesets, **more)
    sweep(services)
    return services.seeks.get(player, UUID(seek["id"]))


def status(services: Services, player: RegisteredPlayer, seek: dict[str, Any]) -> str:
    found: str = services.seeks.get(player, UUID(seek["id"]))["status"]
    return found


def test_only_a_seek_whose_player_is_there_is_matched(
    deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """For 30 s after it was posted or renewed, and while its player has a stream."""
    streams = set[UUID]()
    services = deployment.process(following=lambda players: streams & set(players))
    first = post(services, ada)
    deployment.world.wait(PRESENT.total_seconds() + 1)
    assert services.seeks.waiting(after=0, limit=9) == ([], None)
    second = met(services, bob)
    assert (status(services, ada, first), second["status"]) == ("open", "open")
    streams.add(ada.id)
    assert sweep(services) == 1
    assert status(services, ada, first) == "matched"
    third, fourth = post(services, ada), post(services, bob)
    deployment.world.wait(PRESENT.total_seconds() + 1)
    services.seeks.renew(bob, UUID(fourth["id"]))
    streams.clear()
    assert sweep(services) == 0
    services.seeks.renew(ada, UUID(third["id"]))
    assert sweep(services) == 1


def test_two_seeks_become_a_table_with_a_hand(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    first = post(services, ada, "threes", "leeds", key="A" * 43 + "=")
    assert (first["status"], first["table"]) == ("open", None)
    second = met(services, bob)
    assert second["status"] == "matched"
    assert services.seeks.get(ada, UUID(first["id"]))["table"] == second["table"]
    table = services.tables.changes.record(UUID(second["table"])).table
    assert table.status is TableStatus.PLAYING
    assert UUID(table.game or "") in {game for game, _ in deployment.notifier.announced}
    assert table.host == str(ada.id)
    assert [(seat.player, seat.key) for seat in table.seats] == [
        (str(ada.id), "A" * 43 + "="),
        (str(bob.id), None),
    ]
    assert table.conditions.ruleset["id"] == "leeds"
    assert table.conditions.clock == Clock(turn_seconds=20, swap_seconds=60)
    assert table.conditions.public


def test_the_seats_of_a_match_contribute_the_entropy_that_they_agreed_on(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    post(services, ada, entropy=Entropy.COMMIT)
    found = met(services, bob, entropy=Entropy.COMMIT)
    table = services.tables.changes.record(UUID(found["table"])).table
    assert [seat.entropy for seat in table.seats] == [Entropy.COMMIT] * 2


def test_a_round_of_the_sweeper_opens_as_many_tables_as_it_may(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    post(services, ada, "leeds", fill=20)
    post(services, bob, "threes", fill=20)
    deployment.world.wait(20)
    assert [sweep(services, tables=1) for _ in range(3)] == [1, 1, 0]


@pytest.mark.parametrize(("ruleset", "seats"), [("of-a-later-release", 2), ("leeds", 40)])
def test_seeks_that_this_release_cannot_match_hold_up_no_other(
    services: Services,
    deployment: SharedStore,
    ada: RegisteredPlayer,
    ruleset: str,
    seats: int,
) -> None:
    """A process of a later release stored them, with a ruleset or a number of seats of its own."""
    of_later = [
        SeekConditions(rulesets=(ruleset,), seats=seats + n, clock=None, entropy=Entropy.NONE)
        for n in range(3)
    ]
    later = [_stored(services, deployment, conditions) for conditions in of_later]
    post(services, ada, fill=20)
    deployment.world.wait(20)
    assert sweep(services, tables=2) == 1
    assert [services.directory.seek(seek.id) for seek in later] == later


def test_of_several_rulesets_those_are_matched_that_this_release_knows(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer
) -> None:
    both = ("of-a-later-release", "leeds")
    clock = Clock(turn_seconds=20, swap_seconds=60)
    of_later = SeekConditions(rulesets=both, seats=2, clock=clock, entropy=Entropy.NONE)
    for _ in range(2):
        _stored(services, deployment, of_later)
    assert sweep(services, tables=9) == 1
    _stored(services, deployment, of_later)
    assert met(services, ada)["status"] == "matched"


def _stored(services: Services, deployment: SharedStore, conditions: SeekConditions) -> Seek:
    """Store a seek as another process does, for a player of its own; return it."""
    now = deployment.world.now()
    seek = Seek(
        id=uuid4(),
        player=person(services, "Cy").id,
        conditions=conditions,
        key=None,
        fill_after=0,
        created_at=now,
        expires_at=now + TERM,
    )
    services.directory.add_seek(seek)
    return seek


def test_a_player_with_as_many_hands_as_allowed_posts_no_seek(
    services: Services, ada: RegisteredPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind.GAMES, 1))
    open_game(services, ada, ("me", {"bot": "lowest"}))
    with pytest.raises(Refusal) as refused:
        post(services, ada)
    assert refused.value.code == "limit-reached"


def test_a_player_has_ten_open_seeks_at_most(services: Services, ada: RegisteredPlayer) -> None:
    for seats in range(2, 12):
        post(services, ada, seats=seats)
    with pytest.raises(Refusal) as refused:
        post(services, ada, seats=12)
    assert (refused.value.code, refused.value.extra["limit"]) == ("limit-reached", "seeks")


def test_bots_take_the_empty_seats_in_time(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer
) -> None:
    seek = post(services, ada, seats=3, fill=20)
    assert sweep(services) == 0
    deployment.world.wait(20)
    assert sweep(services) == 1
    found = services.seeks.get(ada, UUID(seek["id"]))
    table = services.tables.changes.record(UUID(found["table"])).table
    assert [seat.kind for seat in table.seats] == [SeatKind.HUMAN, SeatKind.BOT, SeatKind.BOT]
    assert table.game is not None
    assert sweep(services) == 0


def test_without_waiting_for_people_the_hand_begins_at_once(
    services: Services, ada: RegisteredPlayer
) -> None:
    assert met(services, ada, fill=0)["status"] == "matched"


def test_a_seek_expires_unless_it_is_renewed(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    seek = post(services, ada)
    deployment.world.wait(599)
    services.seeks.renew(ada, UUID(seek["id"]))
    deployment.world.wait(599)
    assert status(services, ada, seek) == "open"
    deployment.world.wait(1)
    assert status(services, ada, seek) == "expired"
    with pytest.raises(Refusal, match="the seek is over") as over:
        services.seeks.renew(ada, UUID(seek["id"]))
    assert over.value.extra["seek"]["status"] == "expired"
    assert met(services, bob)["status"] == "open"
    assert services.seeks.waiting(after=0, limit=9)[0][0]["players"] == 1


def test_a_repeated_request_posts_one_seek(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """Even if the process ended before it stored the answer."""
    request = Idempotency(key="k", path="/v1/seeks", body_hash=b"b" * 32)
    first = post(services, ada, request=request)
    assert met(services, bob)["status"] == "matched"
    assert post(services, ada, request=request) == first
    with psycopg.connect(deployment.url) as owner:
        owner.execute("DELETE FROM answers")
    again = post(services, ada, request=request)
    assert (again["id"], again["status"]) == (first["id"], "matched")
    assert len(services.seeks.of_player(ada.id)) == 1


def test_players_who_use_the_same_key_of_a_request_have_seeks_of_their_own(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    request = Idempotency(key="1", path="/v1/seeks", body_hash=b"b" * 32)
    first, second = (post(services, one, seats=5, request=request) for one in (ada, bob))
    assert first["id"] != second["id"]
    assert [one["id"] for one in services.seeks.of_player(bob.id)] == [second["id"]]


def test_a_rival_process_that_is_quicker_seats_no_player_twice(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """Between the search and the commit another sweeper finds the same match."""
    first, second, rival = post(services, ada), post(services, bob), deployment.process()
    deployment.store.rivals.append(lambda: sweep(rival))
    assert sweep(services) == 0
    tables = {services.seeks.get(ada, UUID(first["id"]))["table"]}
    assert tables == {services.seeks.get(bob, UUID(second["id"]))["table"]} != {None}
    assert len(deployment.directory.own_tables(ada.id)) == 1


def test_a_seek_that_is_withdrawn_meanwhile_leaves_the_other_open(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """Ada, who waits longest, withdraws at this moment; the next round seats Bob with Cy."""
    first, second = post(services, ada), post(services, bob)
    deployment.store.rivals.append(lambda: services.seeks.withdraw(ada, UUID(first["id"])))
    assert sweep(services) == 0
    assert status(services, bob, second) == "open"
    assert status(services, ada, first) == "withdrawn"
    assert not deployment.directory.own_tables(bob.id)
    assert met(services, person(services, "Cy"))["status"] == "matched"
    assert status(services, bob, second) == "matched"


def test_a_player_who_is_erased_meanwhile_leaves_the_other_open(
    services: Services, deployment: SharedStore, bob: RegisteredPlayer
) -> None:
    made = services.players.register("Gone")
    post(services, RegisteredPlayer(id=UUID(made["id"]), name="Gone"))

    def erased() -> None:
        """As the database answers a commit that waited for the erasure."""
        services.directory.erase(made["token"], services.world.now())
        raise PlayerErased

    deployment.store.rivals.append(erased)
    assert met(services, bob)["status"] == "open"


def test_a_round_that_ends_early_is_continued_by_the_next(
    services: Services,
    deployment: SharedStore,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seeks before those of Ada and Bob find nobody, and take all the time of each round."""
    monkeypatch.setattr("service.application.tables.matching.SERVED", 1)
    for number in range(4):
        post(services, person(services, f"P{number}"), seats=5 + number)
        deployment.world.wait(1)
    seeks = [post(services, player) for player in (ada, bob)]
    opened = [services.matchmaker.sweep(Slice(rows=20, seconds=0)) for _ in range(5)]
    assert opened == [0, 0, 0, 0, 1]
    assert status(services, bob, seeks[1]) == "matched"


@pytest.mark.parametrize("mine", [True, False])
def test_players_of_whom_one_blocks_the_other_are_not_seated_together(
    services: Services,
    deployment: SharedStore,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    *,
    mine: bool,
) -> None:
    pair = (ada, bob) if mine else (bob, ada)
    services.players.block(pair[0], pair[1].id)
    first, second = post(services, ada), post(services, bob)
    assert sweep(services) == 0
    deployment.world.wait(1)
    assert met(services, person(services, "Cy"))["status"] == "matched"
    assert sorted((status(services, ada, first), status(services, bob, second))) == [
        "matched",
        "open",
    ]


@pytest.mark.parametrize(
    ("rulesets", "seats", "code"),
    [
        (("nothing",), 2, "invalid-body"),
        (("leeds", "guarducci"), 9, "cannot-deal"),
        (("mukava",), 2, "ruleset-refused"),
    ],
)
def test_a_seek_that_no_table_could_satisfy_is_refused(
    services: Services, ada: RegisteredPlayer, rulesets: tuple[str, ...], seats: int, code: str
) -> None:
    with pytest.raises(Refusal) as refused:
        post(services, ada, *rulesets, seats=seats)
    assert refused.value.code == code
    assert services.seeks.of_player(ada.id) == []


def test_seeks_of_others_are_counted_and_not_shown(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    seek = post(services, ada)
    with pytest.raises(Refusal) as refused:
        services.seeks.get(bob, UUID(seek["id"]))
    assert refused.value.code == "not-found"
    for change in (services.seeks.renew, services.seeks.withdraw):
        with pytest.raises(Refusal):
            change(bob, UUID(seek["id"]))
    assert status(services, ada, seek) == "open"
    [waiting], following = services.seeks.waiting(after=0, limit=9)
    assert following is None
    assert waiting == {
        "rulesets": ["leeds"],
        "seats": 2,
        "clock": {"turn_seconds": 20, "swap_seconds": 60, "reserve_seconds": 0},
        "entropy": "none",
        "only_stayers": False,
        "players": 1,
        "standings": {"stays": 0, "mixed": 1, "leaves": 0},
    }
    assert services.seeks.of_player(bob.id) == services.seeks.of_player(None) == []


def test_conditions_with_most_players_are_listed_first_and_all_on_further_pages(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """Many conditions of one player hide none on which more players wait."""
    for seats in (2, 3, 4):
        post(services, ada, seats=seats)
        deployment.world.wait(1)
    post(services, bob, seats=4)
    first, after = services.seeks.waiting(after=0, limit=2)
    assert after == 2
    rest, end = services.seeks.waiting(after=after, limit=2)
    assert end is None
    assert [(one["seats"], one["players"]) for one in first + rest] == [(4, 2), (2, 1), (3, 1)]


def test_a_long_list_of_conditions_is_read_once_in_a_while(
    services: Services, ada: RegisteredPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An anonymous call would else read all open seeks."""
    monkeypatch.setattr("service.application.tables.seeks.MANY", 1)
    post(services, ada)
    assert len(services.seeks.waiting(after=0, limit=9)[0]) == 1
    post(services, ada, seats=3)
    assert len(services.seeks.waiting(after=0, limit=9)[0]) == 1
    services.seeks.known.clear()
    assert len(services.seeks.waiting(after=0, limit=9)[0]) == 2


def end_hand(services: Services, host: RegisteredPlayer, guest: RegisteredPlayer) -> None:
    """Let the host give up a hand of two people, in which both are there."""
    game = open_game(services, host, ("me", "open"), guests=(guest,))
    post_move(services, host, game, {"type": "forfeit"})


def walk_away(
    services: Services, deployment: SharedStore, host: RegisteredPlayer, guest: RegisteredPlayer
) -> None:
    """Let the guest of a hand of two people stay away until a bot has stood in to its end."""
    game = open_game(services, host, ("me", "open"), clock=CLOCK, guests=(guest,), turn_limit=20)
    while not entry_of(services, game).record.sealed:
        moves = legal(services, game, 0)
        if moves:
            ready = {"type": "ready"}
            post_move(services, host, game, ready if ready in moves else moves[0])
        else:
            deployment.world.wait(10)
        services.turns.play_due_moves(game, version_of(services, game))


def test_a_seek_shows_how_often_its_player_left_hands_with_other_people(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """Who gives up has not left; hands against bots do not count; newcomers are `mixed`."""
    assert [post(services, one)["standing"] for one in (ada, bob)] == ["mixed", "mixed"]
    for _ in range(5):
        end_hand(services, ada, bob)
    alone = open_game(services, bob, ("me", {"bot": "lowest"}), entropy=Entropy.VALUE)
    deployment.world.wait(ENTROPY_SECONDS)
    services.turns.play_due_moves(alone, version_of(services, alone))
    assert entry_of(services, alone).record.game.status is Status.ABORTED
    assert services.directory.hands_left(bob.id, newest=9) == (5, 0)
    assert [post(services, one)["standing"] for one in (ada, bob)] == ["stays", "stays"]
    for _ in range(3):
        walk_away(services, deployment, ada, bob)
    assert services.directory.hands_left(ada.id, newest=9) == (8, 0)
    assert services.directory.hands_left(bob.id, newest=9) == (8, 3)
    assert [post(services, one)["standing"] for one in (ada, bob)] == ["stays", "leaves"]
    [waiting], _ = services.seeks.waiting(after=0, limit=9)
    assert waiting["standings"] == {"stays": 1, "mixed": 0, "leaves": 1}


@pytest.mark.parametrize(("returns", "left"), [(True, 0), (False, 1)])
def test_a_player_who_is_back_at_the_end_has_not_left_the_hand(
    *,
    services: Services,
    deployment: SharedStore,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    returns: bool,
    left: int,
) -> None:
    """Also before the player's next move: the record has no event of a return."""
    game = open_game(services, ada, ("me", "open"), clock=CLOCK, guests=(bob,))
    while not stands_in(entry_of(services, game).record.game, 1, back=frozenset()):
        moves = legal(services, game, 0)
        if moves:
            post_move(services, ada, game, moves[0])
        else:
            deployment.world.wait(10)
            services.turns.play_due_moves(game, version_of(services, game))
    if returns:
        services.stand_ins.back(Caller(player=bob.id), game)
    post_move(services, ada, game, {"type": "forfeit"})
    assert services.directory.hands_left(bob.id, newest=9) == (1, left)


def test_the_standing_follows_from_the_newest_hands_alone(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """The work of a seek is bounded, and what is long ago is forgotten."""
    walk_away(services, deployment, ada, bob)
    for _ in range(3):
        end_hand(services, ada, bob)
    assert services.directory.hands_left(bob.id, newest=4) == (4, 1)
    assert services.directory.hands_left(bob.id, newest=3) == (3, 0)


def test_a_hand_that_was_aborted_after_a_wait_for_a_player_was_left_by_that_player(
    services: Services, deployment: SharedStore, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", "open"), entropy=Entropy.VALUE, guests=(bob,))
    services.entropy.give(Caller(player=ada.id), game, commit=None, value="01" * 32)
    deployment.world.wait(ENTROPY_SECONDS)
    services.turns.play_due_moves(game, version_of(services, game))
    assert services.directory.hands_left(ada.id, newest=9) == (1, 0)
    assert services.directory.hands_left(bob.id, newest=9) == (1, 1)


def test_who_wants_players_who_stay_waits_for_them(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    first = post(services, ada, only_stayers=True)
    assert met(services, bob)["status"] == "open"
    for _ in range(5):
        end_hand(services, ada, bob)
    assert met(services, bob)["status"] == "matched", "an equal seek has the newest standing"
    assert status(services, ada, first) == "matched"
