"""A player's own stream: snapshot, notices, long poll, and what it never shows."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest

from service.api import own_stream
from service.api.audience import Mailbox
from service.api.context import context
from service.application.calls import Caller
from service.application.notices import is_news
from tests.running import wait_for
from tests.through_asgi import through_asgi
from tests.worlds.api_world import Answer, Person, World, make_world, problem_of

STREAM = "/v1/players/me/stream"
SSE, NDJSON = "text/event-stream", "application/x-ndjson"
PERIODS = {
    "referee_hands": 0,
    "referee_account_seconds": 0,
    "referee_seated_seconds": 0,
    "vote_seconds": 3600,
}
"""Every player can be a referee, and a period to vote ends within a day."""

PATIENCE = 90.0
"""Seconds for a notice; a stream looks at everything again after at most 36."""

OPEN = {"ruleset": "shithead", "seats": ["me", "open"]}
CLOCK = {"turn_seconds": 3600, "swap_seconds": 3600}


@pytest.fixture
def world(database_url: str, redis_url: str) -> Iterator[World]:
    made = make_world(database_url, redis_url=redis_url, **PERIODS)
    with through_asgi(made.app) as made.served:
        yield made
        made.served = None
    made.services.close()


@pytest.fixture
def ada(world: World) -> Person:
    return world.person("Ada")


@pytest.fixture
def bob(world: World) -> Person:
    return world.person("Bob")


def test_a_reader_of_changes_has_none_before_the_first_and_after_it_took_them() -> None:
    mailbox = Mailbox(uuid4(), ())
    assert mailbox.is_empty()
    mailbox.look()
    assert not mailbox.is_empty()
    assert mailbox.take() == (True, ())
    assert mailbox.is_empty()


class Reader:
    """One open stream of lines, and the notices that were read from it."""

    def __init__(self, person: Person, query: str = "", **headers: str) -> None:
        sent = {"Accept": NDJSON, **headers}
        self.answer: Answer = person.get(f"{STREAM}{query}", headers=sent, buffered=False)
        assert self.answer.status_code == 200, self.answer.text
        self._lines = self._read()
        self.snapshot = next(self._lines)
        assert self.snapshot["type"] == "snapshot"

    def _read(self) -> Iterator[dict[str, Any]]:
        rest = b""
        for part in self.answer.response:
            *lines, rest = (rest + part).split(b"\n")
            yield from (json.loads(line) for line in lines if line)

    def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Return the next notice of a type with these fields."""
        end = time.monotonic() + PATIENCE
        for notice in self._lines:
            if notice["type"] == kind and fields.items() <= notice.items():
                return notice
            assert time.monotonic() < end, f"no {kind} within {PATIENCE} s"
        raise AssertionError(f"the stream ended before {kind}")

    def all_of(self, *kinds: str) -> dict[str, dict[str, Any]]:
        """Return the next notice of each type, in whatever order they arrive."""
        found: dict[str, dict[str, Any]] = {}
        end = time.monotonic() + PATIENCE
        while not found.keys() >= set(kinds):
            notice = self.next()
            found.setdefault(notice["type"], notice)
            assert time.monotonic() < end, f"only {sorted(found)} within {PATIENCE} s"
        return found

    def next(self) -> dict[str, Any]:
        """Return the next notice."""
        return next(self._lines)

    def rest(self) -> list[dict[str, Any]]:
        """Return all further notices until the stream ends."""
        return list(self._lines)

    def close(self) -> None:
        self.answer.close()


def snapshot(person: Person, query: str = "") -> dict[str, Any]:
    answer = person.get(f"{STREAM}{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json
    return found


def kinds(items: list[dict[str, Any]]) -> list[str]:
    return [item["type"] for item in items]


def sit(person: Person, table: str, **more: Any) -> None:
    answer = person.post(f"/v1/tables/{table}/seats", more)
    assert answer.status_code == 201, answer.text


def test_a_stream_begins_with_all_that_is_open_and_continues_as_it_happens(
    ada: Person, bob: Person
) -> None:
    empty = Reader(ada)
    assert empty.snapshot["items"] == []
    table = ada.post("/v1/tables", OPEN).json["id"]
    sit(bob, table)
    begun = empty.all_of("seat_taken", "hand_dealt", "your_turn")
    assert begun["seat_taken"] == {
        "type": "seat_taken",
        "id": table,
        "version": 2,
        "table": None,
        "game": None,
        "ends_at": None,
    }
    dealt, turn = begun["hand_dealt"], begun["your_turn"]
    assert (dealt["table"], dealt["version"], turn["id"]) == (table, 1, dealt["id"])
    game = f"/v1/games/{dealt['id']}"
    assert turn["version"] == ada.get(game).json["version"]
    assert kinds(snapshot(bob)["items"]) == ["seat_taken", "hand_dealt", "your_turn"]
    bob.post(f"{game}/moves", {"type": "forfeit"})
    sealed = empty.until("hand_sealed", id=dealt["id"])
    assert sealed["version"] == ada.get(game).json["version"]
    assert ada.call("DELETE", f"/v1/tables/{table}").status_code == 204
    closed = empty.until("table_closed", id=table)
    assert closed["version"] == ada.get(f"/v1/tables/{table}").json["version"]
    empty.close()


def test_each_turn_is_announced_to_the_player_on_turn_alone(ada: Person, bob: Person) -> None:
    table = ada.post("/v1/tables", OPEN).json["id"]
    sit(bob, table)
    readers = {0: Reader(ada), 1: Reader(bob)}
    people = {0: ada, 1: bob}
    game = f"/v1/games/{ada.get(f'/v1/tables/{table}').json['game']}"
    for person in people.values():
        person.post(f"{game}/moves", {"type": "ready"})
    for _ in range(4):
        view = ada.get(game).json
        if view["turn"] is None:
            break
        turn = view["turn"]
        found = readers[turn].until("your_turn", version=view["version"])
        assert found["id"] == view["id"]
        moves = people[turn].get(game).json["moves"]
        assert people[turn].post(f"{game}/moves", moves[0]).status_code == 201
    for reader in readers.values():
        reader.close()


def test_the_end_of_a_turn_is_sent_to_the_streams_that_announced_it(
    ada: Person, bob: Person
) -> None:
    """With the version of that turn, also to a second stream; a turn by a clock has its end."""
    table = ada.post("/v1/tables", {**OPEN, "clock": CLOCK}).json["id"]
    sit(bob, table)
    path = f"/v1/games/{ada.get(f'/v1/tables/{table}').json['game']}"
    for person in (ada, bob):
        person.post(f"{path}/moves", {"type": "ready"})
    view = ada.get(path).json
    person = (ada, bob)[view["turn"]]
    readers = Reader(person), Reader(person)
    [turn] = [one for one in readers[0].snapshot["items"] if one["type"] == "your_turn"]
    assert (turn["version"], turn["ends_at"]) == (view["version"], view["deadline"])
    [item] = person.get("/v1/games?player=me").json["items"]
    assert (item["your_turn"], item["deadline"]) == (True, view["deadline"])
    assert ada.get("/v1/games").json["items"][0]["deadline"] == view["deadline"]
    assert ada.world.person("Cleo").get("/v1/games").json["items"][0]["deadline"] is None
    person.post(f"{path}/moves", {"type": "forfeit"})
    for reader in readers:
        over = reader.until("turn_over", id=turn["id"])
        assert (over["version"], over["table"]) == (turn["version"], table)
        reader.close()


def test_a_turn_that_ended_without_a_notification_is_over_at_the_next_look(
    world: World, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_stream, "LOOK_SECONDS", 1.0)
    table = ada.post("/v1/tables", OPEN).json["id"]
    sit(bob, table)
    game = ada.get(f"/v1/tables/{table}").json["game"]
    reader = Reader(ada)  # in the exchange everybody may act
    monkeypatch.setattr(world.services.notifier, "_publisher", _Silent())
    ada.post(f"/v1/games/{game}/moves", {"type": "ready"})
    assert reader.until("turn_over", id=game)["table"] == table
    reader.close()


def test_watched_games_announce_each_version(ada: Person, bob: Person) -> None:
    game = ada.game()
    identity = game.rpartition("/")[2]
    polled = snapshot(bob, f"?watch={identity}")
    reader = Reader(bob, f"?watch={identity}")
    [first] = reader.snapshot["items"]
    assert (first["type"], first["id"]) == ("game_moved", identity)
    ada.post(f"{game}/moves", {"type": "ready"})
    assert reader.until("game_moved")["version"] > first["version"]
    reader.close()
    again = snapshot(bob, f"?watch={identity}&after={polled['next']}")
    assert again["next"] != polled["next"], "a long poll would end"


def test_an_unknown_or_private_game_cannot_be_watched(ada: Person, bob: Person) -> None:
    private = ada.table(visibility="private")
    for game in (private["game"], str(uuid4())):
        assert problem_of(bob.get(f"{STREAM}?watch={game}")) == "not-found"
    answer = bob.get(
        f"{STREAM}?watch={private['game']}", headers={"Shithead-Invite": private["invite"]}
    )
    assert kinds(answer.json["items"]) == ["game_moved"]
    assert problem_of(bob.get(f"{STREAM}?watch=x")) == "malformed"


def test_a_long_poll_answers_as_soon_as_the_snapshot_differs(ada: Person, bob: Person) -> None:
    first = snapshot(ada)
    assert first["items"] == []
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(snapshot, ada, f"?wait=20&after={first['next']}")
        table = ada.post("/v1/tables", OPEN).json["id"]
        second = waiting.result(timeout=15)
        assert second["next"] != first["next"]
        waiting = pool.submit(snapshot, ada, f"?wait=20&after={second['next']}")
        sit(bob, table)
        assert "seat_taken" in kinds(waiting.result(timeout=15)["items"])
    assert snapshot(ada, f"?wait=1&after={(last := snapshot(ada))['next']}") == last


def test_a_long_poll_that_was_away_is_told_what_ended(ada: Person, bob: Person) -> None:
    table = ada.post("/v1/tables", OPEN).json["id"]
    sit(bob, table)
    before = snapshot(ada)
    [game] = [item["id"] for item in before["items"] if item["type"] == "hand_dealt"]
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    between = snapshot(ada, f"?after={before['next']}")
    assert ("hand_sealed", game) in {(i["type"], i["id"]) for i in between["items"]}
    assert ada.call("DELETE", f"/v1/tables/{table}").status_code == 204
    after = snapshot(ada, f"?after={between['next']}")
    assert ("table_closed", table) in {(i["type"], i["id"]) for i in after["items"]}
    repeated = {item["type"] for item in snapshot(ada, f"?after={after['next']}")["items"]}
    assert repeated <= {"hand_dealt", "hand_sealed", "table_closed"}, "for some seconds"


def test_what_begins_and_ends_between_two_looks_is_sent(
    world: World, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hands and two tables, without any notification: to a stream and to a long poll."""
    monkeypatch.setattr(own_stream, "LOOK_SECONDS", 2.0)
    monkeypatch.setattr(world.services.notifier, "_publisher", _Silent())
    reader, before = Reader(ada), snapshot(ada)
    ended = set[tuple[str, str]]()
    for hands in (2, 1):
        table = ada.post("/v1/tables", OPEN).json["id"]
        sit(bob, table)
        for hand in range(hands):
            if hand:
                assert ada.post(f"/v1/tables/{table}/games").status_code == 201
            game = ada.get(f"/v1/tables/{table}").json["game"]
            assert ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"}).status_code == 201
            ended |= {("hand_dealt", game), ("hand_sealed", game)}
        assert ada.call("DELETE", f"/v1/tables/{table}").status_code == 204
        ended.add(("table_closed", table))
    after = snapshot(ada, f"?after={before['next']}")
    assert {(item["type"], item["id"]) for item in after["items"]} >= ended
    end, sent = time.monotonic() + PATIENCE, set[tuple[str, str]]()
    while not sent >= ended:
        assert time.monotonic() < end, f"not sent: {ended - sent}"
        notice = reader.next()
        sent.add((notice["type"], notice["id"]))
    reader.close()


def test_a_made_up_position_reveals_nothing_of_others(ada: Person, bob: Person) -> None:
    """Twins: a position that names a private game or table is answered like one that names none."""
    private = ada.table(visibility="private")
    ended = ada.table(visibility="private")
    ada.post(f"/v1/games/{ended['game']}/moves", {"type": "forfeit"})
    ada.call("DELETE", f"/v1/tables/{ended['id']}")

    def position(tables: list[str], games: list[str]) -> str:
        named = b"".join(UUID(one).bytes for one in [*tables, *games])
        text = bytes([len(tables)]) + bytes(6) + bytes(8) + named
        return urlsafe_b64encode(text).rstrip(b"=").decode()

    real = [private["id"], ended["id"]], [private["game"], ended["game"]]
    twins = [str(uuid4()), str(uuid4())], [str(uuid4()), str(uuid4())]
    answers = [bob.get(f"{STREAM}?after={position(*ids)}") for ids in (real, twins)]
    assert not is_news(*(one.json["next"] for one in answers))
    assert answers[1].json["items"] == []
    assert answers[0].json["items"] == []
    for wrong in ("A" * 13, "zzzzzzzzzzzzzzzz"):
        assert problem_of(bob.get(f"{STREAM}?after={wrong}")) == "malformed"


def test_nothing_of_a_private_table_reaches_others(world: World, ada: Person, bob: Person) -> None:
    """Twins: a stranger's stream is the same whether a private hand is played or none."""
    stranger = world.person("Eve")
    reader = Reader(stranger, "?referee=true")
    assert reader.snapshot["items"] == []
    opened = ada.post("/v1/tables", {**OPEN, "visibility": "private"}).json
    sit(bob, opened["id"], invite=opened["invite"])
    game = ada.get(f"/v1/tables/{opened['id']}").json["game"]
    bob.post(f"/v1/games/{game}/moves", {"type": "ready"})
    accusation = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "It was not."}
    assert ada.post(f"/v1/games/{game}/disputes", accusation).status_code == 201
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    own = stranger.post("/v1/tables", OPEN).json["id"]
    sit(bob, own)
    first = reader.next()  # of the seat or of the hand: they are notices of two streams
    assert own in (first["id"], first["table"])
    reader.close()


def test_a_game_that_became_invisible_is_no_longer_announced(
    world: World, ada: Person, bob: Person
) -> None:
    """A player watches a hand of a private table, leaves, and hears of no later move."""
    opened = ada.post("/v1/tables", {**OPEN, "visibility": "private"}).json
    sit(bob, opened["id"], invite=opened["invite"])
    game = ada.get(f"/v1/tables/{opened['id']}").json["game"]
    services = world.services
    entry = services.game_cache.fresh(UUID(game))
    assert entry is not None
    stranger = Caller(player=UUID(world.person("Eve").id))
    assert list(services.notices.watched(entry, stranger)) == []
    assert len(list(services.notices.watched(entry, Caller(player=UUID(bob.id))))) == 1


def test_streams_end_at_once_when_their_token_ends(ada: Person) -> None:
    """Of a game and of the player; a stream of another token of the player goes on."""
    game = ada.game()
    issued = ada.post("/v1/players/me/tokens", {"name": "bot", "scopes": ["read"]}).json
    bot = Person(id=ada.id, token=issued["token"], recovery="", world=ada.world)
    own, kept = Reader(bot), Reader(ada)
    version = ada.get(game).json["version"]
    log = bot.get(f"{game}/stream?after={version}", buffered=False)
    parts = iter(log.response)
    assert next(parts).startswith(b"retry")
    assert ada.call("DELETE", f"/v1/players/me/tokens/{issued['id']}").status_code == 204
    assert own.rest() == []
    assert list(parts) == []
    again = ada.table()
    assert kept.until("hand_dealt", table=again["id"])["id"] == again["game"]
    kept.close()


def test_a_stream_repairs_what_no_notification_announced(
    world: World, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every notification is lost; the reader looks at everything again."""
    monkeypatch.setattr(own_stream, "LOOK_SECONDS", 0.5)
    reader = Reader(ada)
    monkeypatch.setattr(world.services.notifier, "_publisher", _Silent())
    table = ada.post("/v1/tables", OPEN).json["id"]
    sit(bob, table)
    assert reader.until("your_turn")["table"] == table
    reader.close()


class _Silent:
    """Publishes nothing."""

    def send(self, commands: Any) -> None:
        """Lose the commands."""


def test_sides_and_referees_of_a_dispute_are_notified(
    world: World, ada: Person, bob: Person
) -> None:
    judge = world.person("Cleo")
    wanted, plain = Reader(judge, "?referee=true"), Reader(bob)
    table = ada.post("/v1/tables", OPEN).json["id"]
    sit(bob, table)
    game = ada.get(f"/v1/tables/{table}").json["game"]
    ada.post(f"/v1/games/{game}/moves", {"type": "ready"})
    [event] = [
        one
        for one in ada.get(f"/v1/games/{game}/events").json["items"]
        if one["type"] == "seat_ready"
    ]
    accusation = {"accused": 0, "seq": event["seq"], "charge": "other", "statement": "No."}
    dispute = bob.post(f"/v1/games/{game}/disputes", accusation).json["id"]
    assert plain.until("dispute_opened", id=dispute)["game"] == game
    assert wanted.until("referee_wanted", id=dispute)["game"] == game
    assert ("dispute_opened", dispute) in {
        (item["type"], item["id"]) for item in snapshot(ada)["items"]
    }
    assert snapshot(judge)["items"] == []
    for reader in (wanted, plain):
        reader.close()


def test_referees_are_notified_when_they_may_vote_and_of_the_end_of_the_period(
    world: World, ada: Person, bob: Person
) -> None:
    """The panel is full, and the period to vote is an hour; after its vote a referee has no act."""
    table = ada.post("/v1/tables", OPEN).json["id"]
    sit(bob, table)
    game = f"/v1/games/{ada.get(f'/v1/tables/{table}').json['game']}"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    accusation = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "No."}
    dispute = bob.post(f"{game}/disputes", accusation).json["id"]
    judges = [world.person(f"Judge {number}") for number in range(3)]
    reader = Reader(judges[0])
    for judge in judges:
        assert judge.post(f"/v1/disputes/{dispute}/referees").status_code == 201
    opened = reader.until("vote_opened", id=dispute)
    ending = reader.until("period_ending", id=dispute)
    reader.close()
    assert opened["ends_at"] is None
    assert ending["ends_at"] == ada.get(f"/v1/disputes/{dispute}").json["deadline"]
    assert set(kinds(snapshot(judges[1])["items"])) == {"vote_opened", "period_ending"}
    answer = judges[1].post(f"/v1/disputes/{dispute}/votes", {"commit": "00" * 32})
    assert answer.status_code == 201, answer.text
    assert snapshot(judges[1])["items"] == []


def test_events_are_sent_as_server_sent_events_too(ada: Person) -> None:
    ada.game()
    answer = ada.get(STREAM, headers={"Accept": SSE}, buffered=False)
    assert answer.content_type == SSE
    parts = iter(answer.response)
    assert next(parts) == b"retry: 2000\n\n"
    name, data = next(parts).decode().strip().split("\n")
    assert name == "event: snapshot"
    assert json.loads(data.removeprefix("data: "))["type"] == "snapshot"
    answer.close()


def test_a_stream_needs_a_token_and_waits_only_as_json(world: World, ada: Person) -> None:
    assert problem_of(world.get(STREAM)) == "unauthorized"
    waits = ada.get(f"{STREAM}?wait=1", headers={"Accept": SSE})
    assert problem_of(waits) == "malformed"


def test_the_slot_of_a_reader_that_leaves_is_free_and_the_audience_forgets_it(
    world: World, ada: Person
) -> None:
    with world.app.app_context():
        parts = context()
    reader = Reader(ada)
    assert parts.waiting.slots.held("127.0.0.1") == 1
    reader.close()
    wait_for(lambda: parts.waiting.slots.held("127.0.0.1") == 0, seconds=5)
    wait_for(lambda: not parts.audience._readers, seconds=5)
