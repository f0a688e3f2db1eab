"""The example bot at all its tables: two processes with one token, and a restart of the service."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from service.client import Player
from tests.running import Running, is_ready, wait_for

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def bot(url: str, home: Path, output: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the example with its files in a folder of its own."""
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "ops/examples/tables.py"), url]
    with output.open("ab") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file, cwd=home)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def test_the_example_bot_plays_all_tables_across_a_restart_and_beside_itself(
    service: Running, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{service.port}"
    meet(url, tmp_path)
    homes = [tmp_path / name for name in ("first", "second")]
    player = Player.at(url, home=homes[0] / ".shithead")
    shutil.copytree(homes[0], homes[1])  # a second process with the same token
    tables = [
        UUID(player.open_table("shithead", [{"bot": "lowest"}], turn_limit=60)["id"])
        for _ in range(2)
    ]
    outputs = [tmp_path / f"{home.name}.txt" for home in homes]
    with bot(url, homes[0], outputs[0]), bot(url, homes[1], outputs[1]):
        wait_for(lambda: hands(player, tables) >= 2, seconds=120)
        service.kill("API")
        service.start("API")
        wait_for(lambda: is_ready(service.port), seconds=60)
        before = hands(player, tables)
        wait_for(lambda: hands(player, tables) >= before + 2, seconds=120)
    for output in outputs:
        assert "Traceback" not in output.read_text(), output.read_text()


def meet(url: str, folder: Path) -> None:
    """Two players meet by a seek, and a third gets a table with bots."""
    ada, bob, cy = (Player.at(url, name=name, home=folder / name) for name in ("Ada", "Bob", "Cy"))
    with ThreadPoolExecutor() as threads:
        first = threads.submit(ada.seek_table, ["threes", "leeds"], 2)
        second = bob.seek_table(["leeds"], 2)
        table = first.result(timeout=60)
    assert table is not None and second is not None
    assert (table["id"], table["ruleset"]["id"]) == (second["id"], "leeds")
    assert {table["as"], second["as"]} == {0, 1}
    alone = cy.seek_table(["leeds"], 3, fill_with_bots_after=1)
    assert alone is not None
    assert [seat["kind"] for seat in alone["seats"]] == ["human", "bot", "bot"]


def hands(player: Player, tables: list[UUID]) -> int:
    """Return the number of hands that have begun at all tables."""
    return sum(player.table(table)["hand"] for table in tables)
