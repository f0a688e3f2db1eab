"""Fixtures: one running service for all tests of this folder that do not change its settings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from service.local.programs import programs
from service.local.servers import EmbeddedValkey
from tests.databases import Databases
from tests.running import READY_SECONDS, Running, is_ready, running, wait_for

AT_ONCE = {"referee_hands": 0, "referee_account_seconds": 0, "referee_seated_seconds": 0}
"""Settings with which every player may be a referee."""


@pytest.fixture(scope="package")
def shared_database_url(databases: Databases) -> Iterator[str]:
    """Return the address of the database of the shared service, as its owner."""
    with databases.lent() as url:
        yield url


@pytest.fixture(scope="package")
def shared_service(
    shared_database_url: str, server_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Return the whole service; its Redis is not the one that tests of other folders empty."""
    valkey, logs = EmbeddedValkey(server_folder / "acceptance"), tmp_path_factory.mktemp("logs")
    url = valkey.start()
    try:
        with running(shared_database_url, url, logs, rate_limits=False, **AT_ONCE) as started:
            yield started
    finally:
        valkey.stop()


@pytest.fixture
def service(shared_service: Running) -> Running:
    """Return the shared service with all its programs, of which earlier tests killed some."""
    for program in programs(shared_service.settings):
        if program.name not in shared_service.children:
            shared_service.start(program.name)
    wait_for(partial(is_ready, shared_service.port), seconds=READY_SECONDS)
    return shared_service
