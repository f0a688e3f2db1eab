"""Each process serves the sum of the metrics of all processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from service.local.programs import shared_metrics
from service.runtime.telemetry import SHARED_FOLDER

COUNT = """
from service.runtime.telemetry import CONFLICTS, JOBS, MOVES, SWEEPER_LAG, TURNS
MOVES.labels("player").inc(2)
MOVES.labels("server").inc(3)
CONFLICTS.labels("player").inc()
TURNS.labels("bot").inc(3)
JOBS.labels("waits").inc()
SWEEPER_LAG.set(1.5)
"""

PRINT = """
import prometheus_client
from service.api.observability import _public_metrics, _registry
print(prometheus_client.generate_latest(_registry()).decode())
print("PUBLIC")
print(_public_metrics().get_data(as_text=True))
"""


def run(program: str, shared: dict[str, str]) -> str:
    """Run a program in a new process and return its output."""
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **shared},
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout


@pytest.mark.heavy
def test_metrics_of_all_processes_are_summed_until_the_next_start(tmp_path: Path) -> None:
    """The processes have ended. The public address has their gauges, and no counter."""
    shared = shared_metrics(tmp_path, memory=tmp_path)
    for _ in range(2):
        run(COUNT, shared)
    own, _, public = run(PRINT, shared).partition("PUBLIC")
    lines = own.splitlines()
    assert 'shithead_moves_total{by="player"} 4.0' in lines
    assert 'shithead_moves_total{by="server"} 6.0' in lines
    assert 'shithead_conflicts_total{by="player"} 2.0' in lines
    assert 'shithead_due_moves_total{kind="bot"} 6.0' in lines
    assert 'shithead_turn_jobs_total{outcome="waits"} 2.0' in lines
    assert "shithead_sweeper_lag_seconds 1.5" in lines
    lines = public.splitlines()
    assert "shithead_sweeper_lag_seconds 1.5" in lines
    assert any(line.startswith("shithead_build_info{version=") for line in lines)
    assert any(line.startswith("process_start_time_seconds ") for line in lines)
    assert not [line for line in lines if "_total" in line or "shithead_moves" in line]
    shared = shared_metrics(tmp_path, memory=tmp_path)
    assert list(Path(shared[SHARED_FOLDER]).iterdir()) == []


def test_metric_files_are_in_shared_memory_if_it_exists(tmp_path: Path) -> None:
    """A full disk kills a process whose memory-mapped file must grow; only calls should fail."""
    data, memory = tmp_path / "data", tmp_path / "memory"
    memory.mkdir()
    [folder] = map(Path, shared_metrics(data, memory=memory).values())
    assert folder.parent == memory
    assert folder.stat().st_mode & 0o077 == 0
    [folder] = map(Path, shared_metrics(data, memory=tmp_path / "none").values())
    assert folder == data / "measures"
