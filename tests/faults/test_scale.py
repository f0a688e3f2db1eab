"""The service on several machines and in containers; `ops/test --scale` runs this."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ops.bench.scale.composed import missing_for_containers
from ops.bench.scale.report import Size
from ops.bench.scale.scenarios import SCENARIOS, missing
from ops.recovery import drill_in_containers

pytestmark = pytest.mark.scale

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_lost_or_doubled_in_a_short_run(name: str) -> None:
    """Skipped with the reason if this machine lacks what the scenario needs."""
    if (reason := missing(name)) is not None:
        pytest.skip(reason)
    report = SCENARIOS[name](Size(seconds=40, tables=4, readers=3), None)
    assert report.checked.wrong == []
    assert sum(request.status == 201 for request in report.notes.requests) > 50


def test_games_go_on_in_containers_after_pgbackrest_restored_the_database() -> None:
    """The loss is declared; games that lost moves end, all others and the public log go on."""
    if (reason := missing_for_containers()) is not None:
        pytest.skip(reason)
    done = drill_in_containers(tables=4, seconds=10)
    assert done.checked.wrong == []
    assert done.running > 0
    assert 0 < done.lost < done.acknowledged
    assert done.checked.counts["monitor and witness agree, after"] > 0


def test_promtool_reads_every_query_of_the_dashboard(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("not installed: promtool, of Debian's package prometheus")
    board = json.loads((ROOT / "ops" / "monitoring" / "dashboard.json").read_text("utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    rules = [{"record": f"query:{n}", "expr": query} for n, query in enumerate(queries)]
    file = tmp_path / "queries.yaml"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    subprocess.run(["promtool", "check", "rules", str(file)], check=True)
