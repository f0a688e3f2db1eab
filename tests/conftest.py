"""Fixtures for every test: a migrated database, an empty Redis, and command-line switches."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pytest
import redis

from service.local.forked_programs import PRELOADED
from tests import examples, servers
from tests.compiled import compile_tests
from tests.databases import Databases
from tests.durations import Recorder
from tests.servers import DatabaseServer

_MEMORY_NEEDED = 4 << 30
"""Free bytes that /dev/shm needs to hold the servers: each process of the tests has two."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switches for long tests and for tests on several machines."""
    parser.addoption(
        "--long", action="store_true", help="run long tests, and properties with more examples"
    )
    parser.addoption(
        "--scale", action="store_true", help="run the service on several machines; needs root"
    )
    parser.addoption("--durations-page", type=Path, help="write what each test took to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Use more examples for properties in a long run."""
    examples.choose_profile("long" if config.getoption("--long") else "ci")
    if (page := config.getoption("--durations-page")) is not None:
        config.pluginmanager.register(Recorder(page), "durations of the tests")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the tests once, before the parallel processes start and import them."""
    config = session.config
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        compile_tests(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests for parallel processes, and skip tests whose switch is not set."""
    for switch in ("long", "scale"):
        if not config.getoption(f"--{switch}"):
            left_out = [item for item in items if item.get_closest_marker(switch)]
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item not in left_out]
    processes = int(getattr(config, "workerinput", {}).get("workercount", 1))
    items[:] = heavy_first(items, processes)


def pytest_collection_finish() -> None:
    """Exclude modules and tests from garbage collection: each full run would visit all of them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _fork_server_of_programs() -> Iterator[None]:
    """
    End a fork server that is not the one of the service's programs.

    A process has one, with the modules that its first user named. `shithead verify` and `up` are
    processes of their own, but tests call both in this one.
    """
    yield
    server: Any = forkserver._forkserver
    if server._forkserver_pid is not None and set(PRELOADED) - set(server._preload_modules):
        server._stop()


def heavy_first(items: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """
    Return the tests in an order in which each process begins with its share of the heavy ones.

    `--dist worksteal` gives each process one part of the list, all of the same length. An idle
    process takes over quick tests from the end of another part, so all processes end together.
    """
    heavy = [item for item in items if item.get_closest_marker("heavy")]
    quick = [item for item in items if not item.get_closest_marker("heavy")]
    ordered: list[pytest.Item] = []
    for part in range(processes):
        mine = _part(heavy, part, processes)
        length = len(_part(items, part, processes))
        ordered += mine
        ordered += quick[: length - len(mine)]
        del quick[: length - len(mine)]
    return ordered


def _part(items: Sequence[pytest.Item], part: int, parts: int) -> Sequence[pytest.Item]:
    """Return one of the parts into which xdist divides a list."""
    start = 0
    for number in range(part):
        start += (len(items) - start) // (parts - number)
    return items[start : start + (len(items) - start) // (parts - part)]


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """Return a folder for the data of embedded servers, with a short name."""
    folder = Path(tempfile.mkdtemp(prefix="shithead-test-", dir=_memory_folder()))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _memory_folder() -> Path | None:
    """Return a folder in memory with enough space for a PostgreSQL; None if there is none."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < _MEMORY_NEEDED:
        return None
    return memory


@pytest.fixture(scope="session")
def database_server(server_folder: Path) -> Iterator[DatabaseServer]:
    """Return a running PostgreSQL; its databases are made by the fixtures below."""
    with servers.postgres(server_folder / "postgres") as server:
        yield server


@pytest.fixture(scope="session")
def redis_server(server_folder: Path) -> Iterator[str]:
    """Return the address of a running Redis; the fixture `redis_url` empties it for each test."""
    with servers.valkey(server_folder / "valkey") as url:
        yield url


@pytest.fixture(scope="session")
def migrated_template(database_server: DatabaseServer) -> Iterator[str]:
    """Return the name of a migrated database without connections, to copy from."""
    from service.store.migrate import migrate

    url = database_server.create()
    migrate(url)
    yield servers.database_name(url)
    database_server.drop(url)


@pytest.fixture
def empty_database_url(database_server: DatabaseServer) -> Iterator[str]:
    """Return the address of a new database with nothing in it, as its owner."""
    url = database_server.create()
    yield url
    database_server.drop(url)


@pytest.fixture(scope="session")
def databases(database_server: DatabaseServer, migrated_template: str) -> Iterator[Databases]:
    """Return the migrated databases, for fixtures that need one for a module or a second one."""
    made = Databases(server=database_server, template=migrated_template)
    yield made
    made.drop_all()


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """Return the address of a new migrated database, as its owner."""
    with databases.lent() as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(databases: Databases) -> Iterator[str]:
    """Return the address of a migrated database for all tests of a module, as its owner."""
    with databases.lent() as url:
        yield url


@pytest.fixture
def redis_url(redis_server: str) -> Iterator[str]:
    """Return the address of an empty Redis; fails if a worker of an earlier test still runs."""
    client = redis.Redis.from_url(redis_server)
    client.flushdb()
    waiting = [one["name"] for one in client.client_list() if one["cmd"] == "blmove"]
    assert not waiting, "workers of an earlier test would take the jobs of this test"
    yield redis_server
    client.flushdb()
    client.close()
