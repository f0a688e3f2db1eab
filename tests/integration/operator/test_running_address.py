"""The operator's commands find the database that `shithead up` runs for a data folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.local.servers import EmbeddedPostgres, running_address
from service.store.migrate import migrate
from tests.worlds.operator_world import Operator


@pytest.mark.heavy
def test_commands_use_the_running_database_and_fail_without_one(operator: Operator) -> None:
    server = EmbeddedPostgres(operator.folder, durable=False)
    assert running_address(operator.folder) is None
    words: tuple[str | Path, ...] = ("admin", "--data", operator.folder, "trail")
    try:
        migrate(server.start())
        assert running_address(operator.folder) == server.url
        assert [operator.run(*words)[0] for _ in range(2)] == [0, 0]
        assert operator.run(*words)[1].count("trail") == 2, "the two earlier calls are recorded"
    finally:
        server.stop()
    assert running_address(operator.folder) is None
    assert operator.run(*words)[0] == 1
