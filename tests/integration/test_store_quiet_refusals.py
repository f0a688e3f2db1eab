"""Expected refusals of a commit are not logged as errors by PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from service.local.servers import EmbeddedPostgres
from service.store.database import Database
from service.store.events import AnswerConflict, StreamConflict
from service.store.migrate import migrate
from service.store.postgres_events import PostgresStore
from tests.streams import answer, append, commit

pytestmark = pytest.mark.heavy


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    """Return a PostgreSQL server; the test reads its log."""
    made = EmbeddedPostgres(tmp_path, durable=False)
    migrate(made.start())
    yield made
    made.stop()


def test_expected_conflicts_are_not_logged_and_real_errors_are(
    server: EmbeddedPostgres, tmp_path: Path
) -> None:
    database = Database(server.url, size=2)
    store, stream, stored = PostgresStore(database), uuid4(), answer()
    store.commit(commit(append(stream, b"a"), answer=stored))
    for expected in (0, 7):
        with pytest.raises(StreamConflict) as caught:
            store.commit(commit(append(stream, b"b", expected=expected, after=store)))
        assert (caught.value.stream, caught.value.version) == (stream, 1)
    with pytest.raises(StreamConflict) as caught:
        store.commit(commit(append(uuid4(), b"b", expected=3)))
    assert caught.value.version == 0
    with pytest.raises(AnswerConflict):
        store.commit(commit(append(stream, b"b", expected=1, after=store), answer=stored))
    log = tmp_path / "logs" / "postgres.log"
    assert "ERROR" not in log.read_text()
    with pytest.raises(psycopg.Error):
        database.change("append_events", '{"appends": [{"lines": ["a"], "head": "AA=="}]}')
    assert "ERROR" in log.read_text()
    database.close()
