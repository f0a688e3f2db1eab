"""Every call, asked by everybody, over HTTP: the answers are those of `ops/authorization.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

import pytest

from tests.api_world import make_world
from tests.authorization.matrix import HANDS, TABLES, Cell, cells
from tests.authorization.people import Scene
from tests.client import Client
from tests.running import running, wait_for
from tests.servers import DatabaseServer

pytestmark = pytest.mark.heavy

CALLERS = (
    *("anonymous", "dead token", "invited", "outsider", "guest"),
    *("seat", "other seat", "host", "referee"),
)

ELSEWHERE = {"POST /v1/players", "POST /v1/tables", "POST /v1/verify"}
"""Calls that change nothing of the table at which everybody is asked."""


@pytest.fixture(scope="module")
def port(
    database_server: DatabaseServer,
    migrated_template: str,
    redis_server: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[int]:
    """Return where a whole service listens."""
    url = database_server.create(template=migrated_template)
    logs = tmp_path_factory.mktemp("logs")
    with running(url, redis_server, logs, rate_limits=False) as service:
        yield service.port
    database_server.drop(url)


@pytest.fixture(scope="module")
def published(port: int) -> str:
    """Return a game whose last leaf is in the public log."""
    scene, client = Scene(port=port, table="public", hand="sealed").set_up(), Client(port=port)
    path = f"/v1/log/proof?game={scene.ids['game_id']}"
    wait_for(lambda: client.call("GET", path).status == 200, seconds=20)
    return scene.ids["game_id"]


def _situations() -> dict[tuple[str, str], list[Cell]]:
    def by(cell: Cell) -> tuple[str, str]:
        return cell.table, cell.hand

    return {where: list(some) for where, some in groupby(sorted(cells(), key=by), by)}


@pytest.mark.parametrize(("table", "hand"), [(table, hand) for table in TABLES for hand in HANDS])
def test_every_caller_is_answered_as_the_page_says(
    port: int, published: str, table: str, hand: str
) -> None:
    scene, wrong = Scene(port=port, table=table, hand=hand).set_up(), []
    for cell in _situations()[table, hand]:
        status = scene.status(cell, published=published)
        if status != cell.status:
            wrong.append(f"{cell.operation}?{cell.query} by {cell.caller}: {status}")
        if status < 300 and cell.operation not in ELSEWHERE and cell.operation[:4] != "GET ":
            # It happened: whoever asks next finds everything as it was.
            scene = Scene(port=port, table=table, hand=hand).set_up()
    assert wrong == []


def test_the_page_has_every_call_and_no_other(database_url: str) -> None:
    world = make_world(database_url)
    routed = {
        f"{method} {_template(rule.rule)}"
        for rule in world.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    world.services.close()
    assert {cell.operation for cell in cells()} == routed


def test_the_page_asks_everybody_in_every_situation() -> None:
    """A caller that a table leaves out, or a hand, would be a door that nobody has tried."""
    asked: dict[str, set[tuple[str, str, str]]] = {}
    for cell in cells():
        asked.setdefault(cell.operation, set()).add((cell.table, cell.hand, cell.caller))
    usual = {(t, h, c) for t in TABLES for h in ("running", "sealed") for c in CALLERS}
    assert [operation for operation, found in asked.items() if not usual <= found] == []


def _template(rule: str) -> str:
    return re.sub(r"<(?:[a-z]+:)?([a-z_]+)>", r"{\1}", rule)
