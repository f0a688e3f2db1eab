"""A database that restarts or cuts connections costs no acknowledged event and doubles none."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from service.application.webhooks import SHARES
from service.store.database import Database, TooSlow
from service.store.directory import Directory
from service.store.events import OutboxRow, StoreUnavailable, StreamConflict
from service.store.postgres_events import PostgresStore
from tests.contract.conftest import address_of_service
from tests.integration.test_store_purging import NUMBER_OF_WAITING
from tests.running import wait_for
from tests.servers import url_with_database
from tests.streams import append, commit, lines_of

ROOT = Path(__file__).resolve().parents[2]

TERMINATE = (
    "SELECT count(pg_terminate_backend(pid, 2000)) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename <> current_user"
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Return a pool of the service's connections."""
    database = Database(address_of_service(database_url), size=4, connection_seconds=2.0)
    yield database
    database.close()


@pytest.fixture
def store(database: Database) -> PostgresStore:
    """Return a store over that pool."""
    return PostgresStore(database)


def close_connections(database_url: str) -> None:
    """Close all connections of the service from the server side."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(TERMINATE.encode())


def open_all_connections(store: PostgresStore, stream: UUID) -> None:
    """Make the pool open all its connections."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: store.read(stream), range(40)))


def test_after_a_cut_the_next_read_and_the_next_commit_succeed(
    database_url: str, store: PostgresStore
) -> None:
    """Closed idle connections are detected before a statement is sent over them."""
    stream = uuid4()
    store.commit(commit(append(stream, b"0")))
    for version in range(1, 4):
        open_all_connections(store, stream)
        close_connections(database_url)
        store.commit(commit(append(stream, b"%d" % version, expected=version, after=store)))
        close_connections(database_url)
        assert len(lines_of(store, stream)) == version + 1


def test_a_commit_whose_answer_was_lost_is_recognized_as_committed(
    database_url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = uuid4()
    change = Database.change

    def lose_answer(self: Database, name: str, *values: object) -> list[tuple[Any, ...]]:
        rows = change(self, name, *values)
        if name == "append_events":
            raise StoreUnavailable("the answer was lost")
        return rows

    monkeypatch.setattr(Database, "change", lose_answer)
    store.commit(commit(append(stream, b"a")))
    assert lines_of(store, stream) == (b"a",)


def test_a_commit_that_did_not_arrive_is_not_reported_as_committed(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = uuid4()
    store.commit(commit(append(stream, b"a")))
    change = Database.change

    def lose_request(self: Database, name: str, *values: object) -> list[tuple[Any, ...]]:
        if name == "append_events":
            raise StoreUnavailable("the request was lost")
        return change(self, name, *values)

    monkeypatch.setattr(Database, "change", lose_request)
    for lost in (
        append(stream, b"b", expected=1, after=store),
        append(stream, b"b"),
        append(uuid4(), b"b"),
    ):
        with pytest.raises(StoreUnavailable):
            store.commit(commit(lost))
    assert lines_of(store, stream) == (b"a",)


def test_no_acknowledged_event_is_lost_or_doubled_while_connections_are_cut(
    database_url: str, store: PostgresStore
) -> None:
    stream, stopped = uuid4(), threading.Event()
    store.commit(commit(append(stream, b"begin")))

    def write(writer: int) -> list[bytes]:
        done: list[bytes] = []
        version = 1
        for number in range(40):
            line = b"%d.%d" % (writer, number)
            while True:
                try:
                    store.commit(commit(append(stream, line, expected=version, after=store)))
                except StreamConflict as conflict:
                    version = conflict.version
                    continue
                except StoreUnavailable:
                    break
                done.append(line)
                version += 1
                break
        return done

    def cut_repeatedly() -> None:
        while not stopped.wait(0.05):
            close_connections(database_url)

    cutter = threading.Thread(target=cut_repeatedly)
    cutter.start()
    with ThreadPoolExecutor(3) as pool:
        acknowledged = [line for part in pool.map(write, range(3)) for line in part]
    stopped.set()
    cutter.join()
    stored = list(lines_of(store, stream))[1:]
    assert len(set(stored)) == len(stored)
    assert set(acknowledged) <= set(stored)
    assert len(acknowledged) > 60


def test_an_unreachable_database_is_unavailable_without_long_waits() -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/none", connection_seconds=0.3)
    stream = uuid4()
    store, directory = PostgresStore(database), Directory(database)
    with pytest.raises(StoreUnavailable):
        store.read(stream)
    with pytest.raises(StoreUnavailable):
        store.commit(commit(append(stream, b"a")))
    with pytest.raises(StoreUnavailable):
        directory.player(stream)
    database.close()


def test_a_database_that_returns_is_used_again(empty_database_url: str, database_url: str) -> None:
    """The store is unavailable while the database refuses connections, and works afterwards."""
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    admin = url_with_database(empty_database_url, "postgres")
    database = Database(address_of_service(database_url), size=2, connection_seconds=0.5)
    store, stream = PostgresStore(database), uuid4()
    store.commit(commit(append(stream, b"a")))
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
        connection.execute(
            "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE datname = %s",
            (name,),
        )
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                store.read(stream)
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())
    for _ in range(20):
        try:
            assert lines_of(store, stream) == (b"a",)
        except StoreUnavailable:
            continue
        break
    store.commit(commit(append(stream, b"b", expected=1, after=store)))
    assert lines_of(store, stream) == (b"a", b"b")
    database.close()


def let_deadlock(database_url: str, table: str, *, times: int) -> None:
    """Let a trigger raise the error of a deadlock for the first changes of a table."""
    with psycopg.connect(database_url, autocommit=True) as owner:
        for statement in (
            "CREATE SEQUENCE attempts",
            f"""CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('attempts') <= {times} THEN
                    RAISE EXCEPTION USING ERRCODE = '40P01';
                END IF;
                RETURN NULL;
            END $$""",
            f"""CREATE TRIGGER deadlocked AFTER INSERT OR UPDATE OR DELETE ON {table}
                EXECUTE FUNCTION deadlock()""",
        ):
            owner.execute(statement.encode())


@pytest.mark.parametrize("deadlocks", [1, 9])
def test_a_commit_rolled_back_by_a_deadlock_is_retried_and_then_unavailable(
    database_url: str, store: PostgresStore, deadlocks: int
) -> None:
    """Nothing is written by the attempts that fail."""
    stream = uuid4()
    let_deadlock(database_url, "streams", times=deadlocks)
    if deadlocks == 1:
        store.commit(commit(append(stream, b"a")))
        assert lines_of(store, stream) == (b"a",)
    else:
        with pytest.raises(StoreUnavailable):
            store.commit(commit(append(stream, b"a")))
        assert store.read(stream) is None


def shared_changes(
    store: PostgresStore, directory: Directory
) -> dict[str, tuple[str, Callable[[], object]]]:
    """Return the changes that loops make of what players share, each with a table it writes."""
    past, now = datetime.now(UTC) - timedelta(days=2), datetime.now(UTC)
    row = OutboxRow(stream=uuid4(), version=1, topic="game")
    return {
        "drop outbox": ("outbox", lambda: store.drop_outbox([row])),
        "purge answers": ("answers", lambda: store.purge_answers(older_than=past)),
        "purge seeks": ("seeks", lambda: directory.purge_seeks(ended_before=past)),
        "purge refusals": ("refusals", lambda: directory.purge_refusals(ended_before=past)),
        "wake webhooks": ("webhooks", lambda: directory.wake_webhooks([uuid4()], now)),
        "claim webhooks": (
            "webhooks",
            lambda: directory.claim_webhooks(now, until=now, most=9, shares=SHARES),
        ),
    }


@pytest.mark.parametrize("deadlocks", [1, 9])
@pytest.mark.parametrize("change", shared_changes(None, None))  # type: ignore[arg-type] # names
def test_a_change_of_a_loop_that_deadlocks_is_retried_and_then_unavailable(
    database_url: str, database: Database, store: PostgresStore, change: str, deadlocks: int
) -> None:
    """No loop sees another error than that of a database that does not answer."""
    table, call = shared_changes(store, Directory(database))[change]
    let_deadlock(database_url, table, times=deadlocks)
    if deadlocks == 1:
        call()
    else:
        with pytest.raises(StoreUnavailable):
            call()


def test_webhooks_are_woken_in_one_order(database_url: str, database: Database) -> None:
    """Two relays that wake the same ones in different orders would deadlock."""
    low, high = sorted((uuid4(), uuid4()))
    row = (
        "INSERT INTO webhooks (player_id, token_id, url, types, origin, key_id, secret, state,"
        " created_at, due_at) VALUES (%s, gen_random_uuid(), '', '{}', '', '', '', 'on', now(),"
        " 'infinity')"
    )
    lock = "SELECT FROM webhooks WHERE player_id = %s FOR UPDATE"
    with (
        psycopg.connect(database_url, autocommit=True) as owner,
        psycopg.connect(database_url) as other,
        ThreadPoolExecutor(1) as threads,
    ):
        owner.execute(row, [high])
        owner.execute(row, [low])
        other.execute(lock, [high])
        wake = threads.submit(Directory(database).wake_webhooks, [high, low], datetime.now(UTC))
        wait_for(lambda: owner.execute(NUMBER_OF_WAITING).fetchone() == (1,), seconds=20)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            owner.execute(f"{lock} NOWAIT", [low])
        other.rollback()
        assert wake.result(timeout=20) == 2


def test_a_statement_over_its_time_limit_is_cancelled_and_writes_nothing(database_url: str) -> None:
    """An abandoned statement is cancelled on the server, so it does not run late."""
    database = Database(address_of_service(database_url), size=2, statement_seconds=0.3)
    store, stream = PostgresStore(database), uuid4()
    store.commit(commit(append(stream, b"a")))
    with psycopg.connect(database_url) as connection:
        connection.execute("LOCK TABLE streams IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(TooSlow):
            store.commit(commit(append(stream, b"b", expected=1, after=store)))
        with pytest.raises(TooSlow):
            store.read(stream)
    assert lines_of(store, stream) == (b"a",)
    database.close()


def test_after_a_timeout_callers_beyond_the_queue_are_refused_at_once(
    database_url: str,
) -> None:
    """One call has the connection and one may wait; until a first timeout, all may wait."""
    database = Database(
        address_of_service(database_url),
        size=1,
        connection_seconds=1,
        statement_seconds=30,
        queue=1,
    )
    store, stream = PostgresStore(database), uuid4()
    store.commit(commit(append(stream, b"a")))
    with ThreadPoolExecutor(12) as pool:
        with psycopg.connect(database_url) as connection:
            connection.execute("LOCK TABLE streams IN ACCESS EXCLUSIVE MODE")
            first = [pool.submit(store.read, stream) for _ in range(6)]
            failed = list(islice(as_completed(first), 5))
            assert {str(one.exception()) for one in failed} == {"no connection to the database"}
            late = [pool.submit(store.read, stream) for _ in range(6)]
            answers = [str(one.exception()) for one in as_completed(late)]
            assert answers.count("too many calls wait for the database") == 5, answers
        assert [one.exception() for one in first].count(None) == 1
    assert lines_of(store, stream) == (b"a",)
    database.close()


def test_a_limited_number_of_calls_wait_for_a_connection(database_url: str) -> None:
    """One call has the connection, two may wait for it, and the rest are refused at once."""
    database = Database(
        address_of_service(database_url), size=1, statement_seconds=30, most_waiting=2
    )
    store, stream = PostgresStore(database), uuid4()
    store.commit(commit(append(stream, b"a")))
    with ThreadPoolExecutor(6) as pool:
        with psycopg.connect(database_url) as connection:
            connection.execute("LOCK TABLE streams IN ACCESS EXCLUSIVE MODE")
            calls = [pool.submit(store.read, stream)]
            wait_for(lambda: _lock_waits(connection), seconds=10)  # it has the connection
            calls += [pool.submit(store.read, stream) for _ in range(5)]
            refused = list(islice(as_completed(calls), 3))
            assert [str(one.exception()) for one in refused] == [
                "too many calls wait for the database"
            ] * 3
        assert [one.exception() for one in calls].count(None) == 3
    database.close()


def _lock_waits(connection: psycopg.Connection) -> bool:
    """Return whether a statement waits for a lock."""
    return connection.execute("SELECT FROM pg_locks WHERE NOT granted").fetchone() is not None


@pytest.mark.parametrize("code", ["XX000", "25006", "53100", "58030"])
def test_a_database_with_a_storage_error_is_unavailable(
    database_url: str, store: PostgresStore, code: str
) -> None:
    """An internal error, a read-only server, a full disk, an I/O error."""
    stream = uuid4()
    store.commit(commit(append(stream, b"a")))
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$".encode()
        )
        connection.execute("CREATE TRIGGER failing BEFORE INSERT ON events EXECUTE FUNCTION fail()")
        with pytest.raises(StoreUnavailable):
            store.commit(commit(append(stream, b"b", expected=1, after=store)))
        connection.execute("DROP TRIGGER failing ON events")
    assert lines_of(store, stream) == (b"a",)


def test_psycopg_types_are_loaded_at_import() -> None:
    """psycopg fails in one of two threads that look up a type for the first time at once."""
    script = (
        "import psycopg, service.store.database as _\n"
        "from datetime import datetime\n"
        "from uuid import UUID\n"
        "known = psycopg.adapters._dumpers.values()\n"
        "print(all(kind in each for each in known if 'uuid.UUID' in each or UUID in each"
        " for kind in (UUID,)), any(UUID in each for each in known),"
        " any(datetime in each for each in known))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert result.stdout.split() == ["True"] * 3, result
