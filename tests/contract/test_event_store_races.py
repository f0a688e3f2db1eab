"""Contract tests of every event store with concurrent writers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from service.store.events import AnswerConflict, EventStore, OutboxRow, StreamConflict
from tests.streams import answer, append, commit, head_of, lines_of, passed_on, unlinked

LATER = datetime.now(UTC) + timedelta(days=1)


def test_one_of_many_writers_at_the_same_version_wins(store: EventStore) -> None:
    stream, start = uuid4(), threading.Barrier(8)
    store.commit(commit(append(stream, b"begin")))

    def write(number: int) -> bool:
        start.wait()
        try:
            store.commit(commit(append(stream, b"%d" % number, expected=1, after=store)))
        except StreamConflict as conflict:
            assert conflict.version == 2
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = [number for number, done in enumerate(pool.map(write, range(8))) if done]
    assert len(won) == 1
    assert lines_of(store, stream) == (b"begin", b"%d" % won[0])


def test_one_of_many_writers_that_create_a_stream_wins(store: EventStore) -> None:
    stream, start = uuid4(), threading.Barrier(8)

    def open_it(number: int) -> bool:
        start.wait()
        try:
            store.commit(commit(append(stream, b"%d" % number)))
        except StreamConflict as conflict:
            assert conflict.version == 1
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(open_it, range(8))) == 1
    assert len(lines_of(store, stream)) == 1


def test_racing_writers_that_retry_lose_no_event_and_leave_no_gap(store: EventStore) -> None:
    """Every acknowledged event is in the stream exactly once, in its writer's order."""
    stream, writers, each = uuid4(), 8, 12
    store.commit(commit(append(stream, b"begin")))

    def write(writer: int) -> None:
        version = 1
        for number in range(each):
            pair = (b"%d.%d" % (writer, number), b"%d.%d'" % (writer, number))
            while True:
                try:
                    store.commit(commit(append(stream, *pair, expected=version, after=store)))
                except StreamConflict as conflict:
                    assert conflict.version > version
                    version = conflict.version
                    continue
                version += 2
                break

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    found = store.read(stream)
    assert found is not None
    assert found.version == len(found.events) == 1 + writers * each * 2
    assert found.head == head_of(found.events[-1])
    lines = unlinked(*found.events)
    for writer in range(writers):
        own = [line for line in lines[1::2] if line.startswith(b"%d." % writer)]
        assert own == [b"%d.%d" % (writer, number) for number in range(each)]
    assert [line + b"'" for line in lines[1::2]] == list(lines[2::2])


def test_concurrent_repetitions_of_a_request_take_effect_once(store: EventStore) -> None:
    stream, kept, start = uuid4(), answer(), threading.Barrier(6)
    store.commit(commit(append(stream, b"begin")))

    def ask(_: int) -> str:
        start.wait()
        try:
            store.commit(commit(append(stream, b"move", expected=1, after=store), answer=kept))
        except AnswerConflict:
            return "answered"
        return "done"

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(ask, range(6))) == ["answered"] * 5 + ["done"]
    assert lines_of(store, stream) == (b"begin", b"move")


def test_commits_to_the_same_streams_in_different_orders_do_not_deadlock(
    store: EventStore,
) -> None:
    streams = (uuid4(), uuid4())
    store.commit(commit(*(append(stream, b"begin") for stream in streams)))

    def write(number: int) -> None:
        order = streams if number % 2 else streams[::-1]
        version, done = 1, 0
        while done < 10:
            try:
                line = b"%d.%d" % (number, done)
                store.commit(
                    commit(*(append(s, line, expected=version, after=store) for s in order))
                )
                version, done = version + 1, done + 1
            except StreamConflict as conflict:
                version = conflict.version

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert lines_of(store, streams[0]) == lines_of(store, streams[1])
    assert len(lines_of(store, streams[0])) == 41


def test_relays_at_the_same_time_pass_on_every_row_and_leave_none(store: EventStore) -> None:
    rows = [OutboxRow(stream=uuid4(), version=1, topic="game") for _ in range(60)]
    for row in rows:
        store.commit(commit(append(row.stream, b"a"), outbox=(row,)))

    def relay(_: int) -> list[OutboxRow]:
        got: list[OutboxRow] = []
        while part := passed_on(store, topic="game", limit=5, older_than=LATER):
            got += part
        return got

    with ThreadPoolExecutor(4) as pool:
        got = [row for part in pool.map(relay, range(4)) for row in part]
    assert set(got) == set(rows)
    assert not store.outbox(topic="game", limit=9, older_than=LATER)
