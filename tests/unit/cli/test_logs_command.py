"""`shithead logs`: the lines about one request, game or player."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from service.cli.logs import _found
from tests.unit.cli.conftest import CommandOutput

GAME, OTHER, ADA = (str(UUID(int=number)) for number in (1, 2, 3))


def line(second: int, event: str, **fields: Any) -> str:
    """Return a line as the service writes it."""
    fields |= {"event": event, "timestamp": f"2026-11-27T02:00:{second:02}.000001Z"}
    return json.dumps(fields, separators=(",", ":")) + "\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data folder with logs of two processes, one of them rotated."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "API.log.1").write_text(
        line(1, "request", request="r1", ids={"game_id": GAME}, player=ADA)
        + line(2, "request", request="r2", ids={"game_id": OTHER}, player=ADA)
    )
    (logs / "API.log").write_text(
        line(5, "a request failed", request="r5", exception="Traceback …")
        + line(6, "request", request="r5", ids={"game_id": GAME}, status=500)
        + line(7, "request", request="r7", ids={})
    )
    (logs / "sweeper.log").write_text(line(3, "maintenance failed", id=GAME))
    (logs / "postgres.log").write_text(f"2026-11-27 02:00:04.5 UTC [7] ERROR:  stream {GAME}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        (("--request", "r2"), [2]),
        (("--game", GAME), [1, 3, 4, 5, 6]),  # with the trace of the request that failed
        (("--game", GAME.upper()), [1, 3, 4, 5, 6]),
        (("--player", ADA), [1, 2]),
        (("--player", ADA, "--game", OTHER), [2]),
    ],
)
def test_the_lines_about_something_are_printed_in_the_order_of_time(
    shithead: Callable[..., CommandOutput], data: Path, words: tuple[str, ...], seconds: list[int]
) -> None:
    status, printed, _ = shithead("logs", *words, "--data", data)
    assert status == 0
    assert [int(one.partition("02:00:")[2][:2]) for one in printed.splitlines()] == seconds


def test_no_line_and_no_log_end_with_1(
    shithead: Callable[..., CommandOutput], data: Path, tmp_path: Path
) -> None:
    assert shithead("logs", "--request", "r", "--data", data) == (1, "", "")
    status, _, fault = shithead("logs", "--request", "r2", "--data", tmp_path / "none")
    assert (status, "has no logs" in fault) == (1, True)
    assert shithead("logs", "--data", data)[0] == 64


def test_named_files_are_read_instead_of_those_of_the_folder(
    shithead: Callable[..., CommandOutput], data: Path
) -> None:
    _, printed, _ = shithead("logs", "--game", GAME, data / "logs" / "sweeper.log")
    assert "maintenance failed" in printed
    assert len(printed.splitlines()) == 1


@pytest.mark.heavy
def test_lines_of_other_requests_are_not_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request of a line is known only later; a log of a busy month has millions of others."""
    monkeypatch.setattr("service.cli.logs.IN_MEMORY", 100_000)
    log = tmp_path / "API.log"
    with log.open("w") as file:
        file.write(line(1, "a request failed", request="r0", exception="Traceback …"))
        for number in range(1, 20_000):
            file.write(line(2, "a request failed", request=f"r{number}", exception="x" * 400))
        file.write(line(3, "request", request="r0", ids={"game_id": GAME}))
    tracemalloc.start()
    found = _found([log], [GAME])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sorted(one.at[17:19] for one in found) == ["01", "03"]
    assert peak < 2_000_000
