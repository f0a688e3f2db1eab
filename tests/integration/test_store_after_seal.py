"""The database refuses what no honest service does after the end of a stream, or with a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID, uuid4

import psycopg
import pytest

from service.store.database import Database
from service.store.events import SealedSecret, StoreError, StreamAppend, StreamKind
from service.store.postgres_events import PostgresStore
from tests.contract.conftest import address_of_service
from tests.streams import SEAL, append, commit, game_summary, lines_of, table_summary

BEGINNING = game_summary()
GOING_ON = {name: value for name, value in BEGINNING.items() if name != "seats"}
"""The summary of a later append: seats are named by the first one only."""

OVER = {**GOING_ON, "status": "ended", "ended_at": "2026-03-01T12:00:00Z", "reason": "finished"}


@pytest.fixture
def store(database_url: str) -> Iterator[PostgresStore]:
    """Return the store with the privileges of the service's role."""
    database = Database(address_of_service(database_url), size=1)
    yield PostgresStore(database)
    database.close()


@pytest.fixture
def game(store: PostgresStore) -> UUID:
    """Return a game of one event, with its seed."""
    made = uuid4()
    secret = SealedSecret(game=made, key_id="1", ciphertext=b"seed")
    created = append(made, b'{"seq":0,"v":1}', summary=BEGINNING)
    store.commit(commit(created, secret=secret))
    return made


def refused(store: PostgresStore, *appends: object, **rest: object) -> bool:
    """Return whether the database refuses a commit, with SH400."""
    try:
        store.commit(commit(*appends, **rest))  # type: ignore[arg-type] # as its callers pass them
    except StoreError as error:
        assert isinstance(error.__cause__, psycopg.Error) and error.__cause__.sqlstate == "SH400"
        return True
    return False


TABLE, DISPUTE = StreamKind.TABLE, StreamKind.DISPUTE
ABORTED = b'{"seq":1,"type":"game_aborted","v":1}'


@pytest.mark.parametrize("end", [SEAL, ABORTED])
def test_nothing_follows_the_end_of_a_game(store: PostgresStore, game: UUID, end: bytes) -> None:
    """A game that is aborted before the deal ends without a seal, and its seed goes as well."""
    store.commit(
        commit(
            append(game, end, expected=1, after=store, summary=OVER), forget_secret=game, refused=0
        )
    )
    assert store.secret(game) is None
    before = lines_of(store, game)
    for summary in (None, GOING_ON, OVER):
        assert refused(store, append(game, b'{"seq":2}', expected=2, after=store, summary=summary))
    assert lines_of(store, game) == before


def test_a_seal_is_the_last_event_of_its_append_and_sets_the_end(
    store: PostgresStore, game: UUID
) -> None:
    assert refused(store, append(game, SEAL, b'{"seq":2}', expected=1, after=store, summary=OVER))
    assert refused(store, append(game, SEAL, SEAL, expected=1, after=store, summary=OVER))
    for end in (SEAL, ABORTED):
        assert refused(store, append(game, end, expected=1, after=store, summary=GOING_ON))
    assert len(lines_of(store, game)) == 1


def line(
    store: PostgresStore,
    stream: UUID,
    kind: StreamKind,
    type_: str,
    *,
    expected: int,
    summary: Mapping[str, object],
) -> StreamAppend:
    """Return the append of one event of a type."""
    text = f'{{"seq":{expected},"type":"{type_}"}}'.encode()
    return append(
        stream,
        text,
        expected=expected,
        after=store if expected else None,
        summary=dict(summary),
        kind=kind,
    )


def test_only_a_dispute_follows_the_end_of_a_table(store: PostgresStore) -> None:
    """A dispute about a hand can be opened later; it does not open the table again."""
    table, open_, closed = uuid4(), table_summary(), table_summary(status="closed")

    store.commit(commit(line(store, table, TABLE, "table_opened", expected=0, summary=open_)))
    store.commit(commit(line(store, table, TABLE, "table_closed", expected=1, summary=closed)))
    assert refused(store, line(store, table, TABLE, "hand_dealt", expected=2, summary=closed))
    assert refused(store, line(store, table, TABLE, "dispute_opened", expected=2, summary=open_))
    store.commit(commit(line(store, table, TABLE, "dispute_opened", expected=2, summary=closed)))
    assert refused(store, line(store, table, TABLE, "hand_dealt", expected=3, summary=closed))
    assert len(lines_of(store, table)) == 3


def test_only_findings_follow_the_end_of_a_dispute(store: PostgresStore) -> None:
    dispute = uuid4()
    running = {
        "game_id": uuid4(),
        "state": "open",
        "accuser": uuid4(),
        "charge": "other",
        "move": 0,
        "opened_at": "2026-03-01T12:00:00Z",
    }
    final = {**running, "state": "final"}

    store.commit(
        commit(line(store, dispute, DISPUTE, "dispute_opened", expected=0, summary=running))
    )
    store.commit(commit(line(store, dispute, DISPUTE, "dispute_closed", expected=1, summary=final)))
    assert refused(store, line(store, dispute, DISPUTE, "dispute_ruled", expected=2, summary=final))
    assert refused(
        store, line(store, dispute, DISPUTE, "findings_made", expected=2, summary=running)
    )
    store.commit(commit(line(store, dispute, DISPUTE, "findings_made", expected=2, summary=final)))
    assert len(lines_of(store, dispute)) == 3


def test_a_seed_is_deleted_by_the_seal_of_its_game_only(store: PostgresStore, game: UUID) -> None:
    other = uuid4()
    store.commit(commit(append(other, b'{"seq":0,"v":1}', summary=BEGINNING)))
    going_on = append(game, b'{"seq":1}', expected=1, after=store, summary=GOING_ON)
    assert refused(store, going_on, forget_secret=game, refused=0)
    sealed = append(other, SEAL, expected=1, after=store, summary=OVER)
    assert refused(store, sealed, forget_secret=game, refused=0)
    assert store.secret(game) is not None


def test_the_role_of_the_service_cannot_create_large_objects(database_url: str) -> None:
    with psycopg.connect(address_of_service(database_url), autocommit=True) as service:
        for call in ("lo_create(0)", "lo_creat(-1)", "lo_from_bytea(0, 'x')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                service.execute(f"SELECT {call}".encode())
