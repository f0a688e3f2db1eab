"""Streams in coroutines: they hold no thread, share reads, and free their slots at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
import structlog
from flask import Response

from service.api import events, following, long_poll, stream_server
from service.api.context import Context, context
from service.application.calls import Caller
from tests.running import wait_for
from tests.through_asgi import ThroughAsgi, through_asgi
from tests.worlds.api_world import Answer, Person, World, make_world, problem_of

OWN, SSE = "/v1/players/me/stream", "text/event-stream"


@pytest.fixture
def served(world: World) -> Iterator[ThroughAsgi]:
    """Serve the world as the stream process does, with two threads for calls."""
    with through_asgi(world.app, threads=2) as made:
        world.served = made
        yield made
        world.served = None


def parts_of(world: World) -> Context:
    with world.app.app_context():
        return context()


def follow(ada: Person, game: str, after: int) -> tuple[Answer, Iterator[bytes]]:
    """Open a stream, and read it up to the first event."""
    answer = ada.get(f"{game}/stream?after={after}", buffered=False)
    assert answer.status_code == 200
    parts = iter(answer.response)
    assert next(parts).startswith(b"retry:")
    return answer, parts


def follow_silent(ada: Person, of: str, media_type: str) -> tuple[Answer, Iterator[bytes]]:
    """Open the stream of a game, or the player's own, and read it up to the first heartbeat."""
    game = ada.game()
    if of == "game":
        return follow(ada, game, ada.get(game).json["version"])
    answer = ada.get(OWN, headers={"Accept": media_type}, buffered=False)
    parts = iter(answer.response)
    while b"snapshot" not in next(parts):
        pass
    return answer, parts


def test_streams_hold_no_thread(ada: Person, served: ThroughAsgi) -> None:
    """Two threads answer all calls while five streams are open."""
    game = ada.game()
    version = ada.get(game).json["version"]
    streams = [follow(ada, game, version) for _ in range(5)]
    ada.post(f"{game}/moves", {"type": "ready"})
    for answer, parts in streams:
        assert next(parts).startswith(f"id: {version}\nevent: seat_ready\n".encode())
        answer.close()


def test_many_readers_that_return_at_once_hold_few_threads(
    world: World, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a thousand readers would take a thousand threads after a restart."""
    monkeypatch.setattr(stream_server, "OPENINGS", 2)
    game = ada.game()
    running, at_once, first_seq = list[int](), list[int](), events._first_seq

    def slow(after: int) -> int:
        running.append(after)
        at_once.append(len(running))
        time.sleep(0.2)
        running.pop()
        return first_seq(after)

    monkeypatch.setattr(events, "_first_seq", slow)
    with through_asgi(world.app, threads=8) as world.served, ThreadPoolExecutor(6) as pool:
        for answer, _ in pool.map(lambda _: follow(ada, game, 0), range(6)):
            answer.close()
    assert len(at_once) == 6
    assert max(at_once) == 2


def test_streams_of_a_game_share_each_read(
    ada: Person, served: ThroughAsgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = ada.game()
    version = ada.get(game).json["version"]
    streams = [follow(ada, game, version) for _ in range(10)]
    reading, alone, read = threading.Lock(), list[bool](), events.Follower.read

    def slow(self: events.Follower, after: int) -> events.FrameBatch:
        alone.append(reading.acquire(blocking=False))
        time.sleep(0.1)
        if alone[-1]:
            reading.release()
        return read(self, after)

    monkeypatch.setattr(events.Follower, "read", slow)
    wait_for(lambda: len(alone) >= 3, seconds=10)  # streams that read alone begin within the first
    assert all(alone)
    for answer, _ in streams:
        answer.close()


def test_a_cancelled_stream_ends_no_other_stream_of_its_game(
    ada: Person, served: ThroughAsgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait for the same read when the server cancels one of them."""
    game = ada.game()
    version = ada.get(game).json["version"]
    read, reading, proceed = events.Follower.read, threading.Event(), threading.Event()

    def slow(self: events.Follower, after: int) -> events.FrameBatch:
        reading.set()
        proceed.wait(10)
        return read(self, after)

    monkeypatch.setattr(events.Follower, "read", slow)
    (first, _), (second, parts) = (follow(ada, game, version) for _ in range(2))
    assert reading.wait(10)
    time.sleep(0.2)  # until the second stream waits too
    served.tasks[-2].cancel()
    time.sleep(0.2)
    ada.post(f"{game}/moves", {"type": "ready"})
    proceed.set()
    assert next(parts).startswith(f"id: {version}\nevent: seat_ready\n".encode())
    first.close()
    second.close()


def test_a_notification_wakes_the_streams_of_its_game(
    database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_poll, "LOST_SECONDS", 60.0)
    world = make_world(database_url, redis_url=redis_url)
    ada = world.person("Ada")
    game, other = ada.game(), ada.game()
    version = ada.get(game).json["version"]
    with through_asgi(world.app) as world.served:
        streams = [follow(ada, game, version) for _ in range(3)]
        silent, _ = follow(ada, other, version)
        wait_for(lambda: parts_of(world).waiting.longest() == 60, seconds=10)
        time.sleep(0.5)  # for waits that began without Redis
        ada.post(f"{game}/moves", {"type": "ready"})
        began = time.monotonic()
        for answer, parts in streams:
            assert next(parts).startswith(f"id: {version}\nevent: seat_ready\n".encode())
            answer.close()
        assert time.monotonic() - began < 5
        silent.close()
    world.services.close()


def test_a_reader_that_disconnects_frees_its_slot_at_once(
    world: World, ada: Person, served: ThroughAsgi
) -> None:
    slots = parts_of(world).waiting.slots
    answer, _ = follow(ada, ada.game(), 0)
    assert slots.held("127.0.0.1") == 1
    answer.close()
    wait_for(lambda: slots.held("127.0.0.1") == 0, seconds=2)
    served.tasks[-1].result(timeout=2)


def test_a_stream_that_is_not_read_holds_one_batch(
    world: World, ada: Person, served: ThroughAsgi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing more is read from the store before the reader has received what was sent."""
    monkeypatch.setattr(events, "BATCH", 1)
    game = ada.game()
    ada.post(f"{game}/moves", {"type": "forfeit"})
    version = ada.get(game).json["version"]
    reads = list[int]()
    read = events.Follower.read

    def counted(self: events.Follower, after: int) -> events.FrameBatch:
        reads.append(after)
        return read(self, after)

    monkeypatch.setattr(events.Follower, "read", counted)
    served.ahead = 2
    answer = ada.get(f"{game}/stream", buffered=False)
    slots = parts_of(world).waiting.slots
    wait_for(lambda: len(reads) > served.ahead, seconds=10)
    time.sleep(0.2)  # in which it could read the next batches
    assert len(reads) == served.ahead + 1
    assert slots.held("127.0.0.1") == 1
    assert len(list(answer.response)) == 1 + version + 1
    assert reads == list(range(version))
    unread = ada.get(f"{game}/stream", buffered=False)
    unread.close()
    wait_for(lambda: slots.held("127.0.0.1") == 0, seconds=2)


def test_a_call_that_fails_after_the_hand_over_frees_the_slot(
    world: World, ada: Person, served: ThroughAsgi
) -> None:
    game = ada.game()

    def fail(_response: Response) -> Response:
        raise ValueError("no")

    world.app.after_request_funcs[None].insert(0, fail)
    answer = ada.get(f"{game}/stream")
    assert answer.status_code == 500
    wait_for(lambda: parts_of(world).waiting.slots.held("127.0.0.1") == 0, seconds=2)


@pytest.mark.parametrize("of", ["game", "own"])
def test_the_head_of_a_stream_takes_no_slot(world: World, ada: Person, way: str, of: str) -> None:
    path = f"{ada.game()}/stream" if of == "game" else OWN
    answer = ada.call("HEAD", path, headers={"Accept": SSE})
    assert (answer.status_code, answer.data) == (200, b"")
    assert answer.mimetype == "text/event-stream"
    assert parts_of(world).waiting.slots.held("127.0.0.1") == 0


@pytest.mark.parametrize("status", ["swapping", "ended"])
def test_a_version_beyond_the_head_is_refused_with_the_present_one(
    ada: Person, way: str, status: str
) -> None:
    """A restored backup makes honest clients ask for it; they would wait for ever."""
    game = ada.game()
    if status == "ended":
        ada.post(f"{game}/moves", {"type": "forfeit"})
    version = ada.get(game).json["version"]
    resumed = {"Last-Event-ID": str(version)}
    for path, headers in (
        (f"{game}/stream?after={version + 1}", {}),
        (f"{game}/stream?after=0", resumed),
        (f"{game}/events?after={version + 1}", {}),
        (f"{game}/events?after={version + 1}", {"Accept": "application/x-ndjson"}),
    ):
        answer = ada.get(path, headers=headers)
        assert problem_of(answer) == "unknown-version", path
        assert (answer.status_code, answer.json["version"]) == (409, version)
    assert ada.get(f"{game}/events?after={version}").json["items"] == []


def test_a_reader_of_the_seal_is_answered_with_204(ada: Person, way: str) -> None:
    """An EventSource reconnects two seconds after the end of a stream, and stops at 204."""
    game = ada.game()
    ada.post(f"{game}/moves", {"type": "forfeit"})
    version = ada.get(game).json["version"]
    ended = ada.get(f"{game}/stream?after={version}")
    assert ended.data.endswith(f"\n\nid: {version - 1}\nevent: end\ndata:\n\n".encode())
    again = ada.get(f"{game}/stream", headers={"Last-Event-ID": str(version - 1)})
    assert (again.status_code, again.data) == (204, b"")
    running = ada.game()
    head = ada.get(running).json["version"] - 1
    answer = ada.get(f"{running}/stream", headers={"Last-Event-ID": str(head)}, buffered=False)
    assert answer.status_code == 200
    answer.close()


def test_a_stream_ends_when_a_backup_was_restored(world: World, ada: Person) -> None:
    """The reader reconnects and is answered with `unknown-version`."""
    game = UUID(ada.game().rpartition("/")[2])
    parts = parts_of(world)
    entry = parts.services.games.entry(Caller(), game)
    steps = events.Follower(parts, Caller(), entry, entry.version, "127.0.0.1").steps()
    assert isinstance(next(steps), following.Send)
    assert isinstance(next(steps), following.Called)
    assert following.next_step(steps, events.batch_of((), entry.version - 1)) is None


def test_a_long_poll_beyond_the_version_is_answered_at_once(ada: Person) -> None:
    game = ada.game()
    for path in (game, f"/v1/tables/{ada.get(game).json['table']}"):
        version, began = ada.get(path).json["version"], time.monotonic()
        assert ada.get(f"{path}?after=9999&wait=30").json["version"] == version
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("of", ["game", "own"])
def test_a_stop_ends_streams_without_the_end_of_the_log(
    world: World, ada: Person, way: str, of: str
) -> None:
    answer, parts = follow_silent(ada, of, SSE)
    threading.Timer(0.3, parts_of(world).waiting.end).start()
    began = time.monotonic()
    assert list(parts) == []
    assert time.monotonic() - began < 3
    answer.close()


@pytest.mark.parametrize("of", ["game", "table", "own"])
def test_a_long_poll_that_was_not_waited_says_when_to_poll_again(
    world: World, ada: Person, of: str
) -> None:
    """A client that polls instead of following would else become a busy loop."""
    table = ada.table("open")
    game = ada.game()
    paths = {
        "game": (game, ada.get(game).json["version"]),
        "table": (
            f"/v1/tables/{table['id']}",
            ada.get(f"/v1/tables/{table['id']}").json["version"],
        ),
        "own": ("/v1/players/me/stream", ada.get("/v1/players/me/stream").json["next"]),
    }
    path, after = paths[of]
    slots = parts_of(world).waiting.slots
    while slots.acquire("127.0.0.1"):
        pass
    answer = ada.get(f"{path}?after={after}&wait=20")
    assert (answer.status_code, answer.headers["Retry-After"]) == (200, "2")
    slots.release("127.0.0.1")
    waited = ada.get(f"{path}?after={after}&wait=1")
    assert (waited.status_code, waited.headers.get("Retry-After")) == (200, None)


def test_a_stream_without_a_free_slot_is_refused(world: World, ada: Person, way: str) -> None:
    game = ada.game()
    slots = parts_of(world).waiting.slots
    while slots.acquire("127.0.0.1"):
        pass
    refused = ada.get(f"{game}/stream", buffered=False)
    assert (problem_of(refused), refused.json["limit"]) == ("rate-limited", "streams_of_address")
    while slots.acquire("127.0.0.2"):
        pass
    with structlog.testing.capture_logs() as lines:
        assert problem_of(ada.get(f"{game}/stream", buffered=False)) == "unavailable"
    assert [line["log_level"] for line in lines if line["event"] == "request"] == ["info"]
    slots.release("127.0.0.1")
    answer, _ = follow(ada, game, 0)
    answer.close()


def test_a_replaced_token_gets_no_further_event_of_a_private_game(ada: Person, way: str) -> None:
    """A stream of a public game continues: nobody needs a token for it."""
    games = [ada.game(visibility="private"), ada.game()]
    streams = [follow(ada, game, ada.get(game).json["version"]) for game in games]
    token = ada.post("/v1/players/me/tokens", {"name": "new", "replaces": True}).json["token"]
    for game in games:
        moved = replace(ada, token=token).post(f"{game}/moves", {"type": "ready"})
        assert moved.status_code == 201
    (private, parts), (public, public_parts) = streams
    assert next(parts, None) is None
    assert b"event: seat_ready" in next(public_parts)
    assert problem_of(ada.get(f"{games[0]}/stream", buffered=False)) == "unauthorized"
    private.close()
    public.close()


@pytest.mark.parametrize("way", ["thread", "coroutine"])
def test_a_stream_that_cannot_be_read_ends_with_one_line_in_the_log(
    database_url: str, way: str
) -> None:
    """Not with a trace of the call stack for each of a thousand streams."""
    world = make_world(database_url, statement_seconds=1)
    ada = world.person("Ada")
    game = ada.game()
    version = ada.get(game).json["version"]
    with through_asgi(world.app) if way == "coroutine" else nullcontext() as world.served:
        with structlog.testing.capture_logs() as lines, psycopg.connect(database_url) as other:
            answer, parts = follow(ada, game, version)
            other.execute("LOCK TABLE streams IN ACCESS EXCLUSIVE MODE")
            assert list(parts) == []
            other.rollback()
        ended = [line for line in lines if line["event"] == "stream ended"]
        assert [(line["game"], line["problem"]) for line in ended] == [(game[10:], "unavailable")]
        answer.close()
        again, _ = follow(ada, game, 0)
        again.close()
    world.services.close()


@pytest.mark.parametrize(
    ("of", "media_type", "heartbeat"),
    [
        ("game", SSE, b": nothing new\n\n"),
        ("own", SSE, b": nothing new\n\n"),
        ("own", "application/x-ndjson", b"\n"),
    ],
)
def test_a_silent_stream_sends_heartbeats(
    ada: Person,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
    of: str,
    media_type: str,
    heartbeat: bytes,
) -> None:
    monkeypatch.setattr(following, "COMMENT_SECONDS", 0.2)
    answer, parts = follow_silent(ada, of, media_type)
    began = time.monotonic()
    assert [next(parts) for _ in range(3)] == [heartbeat] * 3
    assert time.monotonic() - began > 0.3
    answer.close()


def test_a_follower_that_cannot_be_made_holds_no_slot(
    world: World, ada: Person, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slot is taken before the follower, whose topics need a subscription."""

    def fail(*_args: object, **_more: object) -> None:
        raise ValueError("no subscription")

    monkeypatch.setattr(parts_of(world).audience, "join", fail)
    assert ada.get(OWN, headers={"Accept": SSE}).status_code == 500
    assert parts_of(world).waiting.slots.held("127.0.0.1") == 0
