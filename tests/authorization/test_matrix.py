"""Every call by every caller, over HTTP: the answers are those in `ops/authorization.md`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from itertools import groupby

import pytest

from tests.authorization.matrix import HANDS, TABLES, Cell, cells
from tests.authorization.people import Scene
from tests.client import Client
from tests.examples import stride
from tests.running import running, wait_for

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def port(
    module_database_url: str,
    redis_server: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[int]:
    """Return the port of a running service."""
    logs = tmp_path_factory.mktemp("logs")
    anyone_judges = {"referee_hands": 0, "referee_account_seconds": 0, "referee_seated_seconds": 0}
    options = {"rate_limits": False, **anyone_judges}
    # A disconnected reader of a stream occupies a thread until the server writes to it.
    with running(module_database_url, redis_server, logs, api_threads=128, **options) as service:
        yield service.port


@pytest.fixture(scope="module")
def published(port: int) -> str:
    """Return a game whose last leaf is in the public log."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        scene = Scene(connection=connection, table="public", hand="sealed").set_up()
    client = Client(port=port)
    path = f"/v1/log/proof?game={scene.ids['game_id']}"
    wait_for(lambda: client.call("GET", path).status == 200, seconds=20)
    return scene.ids["game_id"]


def _situations() -> dict[tuple[str, str], list[Cell]]:
    def by(cell: Cell) -> tuple[str, str]:
        return cell.table, cell.hand

    tried = sorted(cells(step=stride(4)), key=by)
    return {situation: list(group) for situation, group in groupby(tried, by)}


@pytest.mark.parametrize(("table", "hand"), [(table, hand) for table in TABLES for hand in HANDS])
def test_every_caller_gets_the_answer_that_the_page_states(
    port: int, published: str, table: str, hand: str
) -> None:
    wrong = []
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        scene = Scene(connection=connection, table=table, hand=hand).set_up()
        for cell in _situations()[table, hand]:
            status = scene.status(cell, published=published)
            if status != cell.status:
                wrong.append(f"{cell.operation}?{cell.query} by {cell.caller}: {status}")
            if status < 300:
                scene = scene.restored(cell)
    assert wrong == []
