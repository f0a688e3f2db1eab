"""The service on several machines and in containers; `ops/test --scale` runs this."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from rq import Queue
from rq.serializers import JSONSerializer

from ops.bench.scale.composed import missing_for_containers
from ops.bench.scale.fleet import FEW
from ops.bench.scale.report import Size, page
from ops.bench.scale.run import scale_run
from ops.bench.scale.scenarios import SCENARIOS, missing
from ops.recovery import drill_in_containers
from service.application.ports import MAIN_QUEUE
from service.job_queue import FORGET_SECONDS, TAKE_TURN

pytestmark = pytest.mark.scale

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_lost_or_doubled_in_a_short_run(name: str) -> None:
    """
    Skipped with the reason if this machine lacks what the scenario needs.

    SCALE_PAGES names a folder for the pages, such as ops/bench/results.
    """
    if (reason := missing(name)) is not None:
        pytest.skip(reason)
    report = SCENARIOS[name](Size(seconds=40, tables=4, readers=3), None)
    if pages := os.environ.get("SCALE_PAGES"):
        command = f"SCALE_PAGES={pages} ops/test --scale -k {name}"
        (Path(pages) / f"scale-{name}.md").write_text(page(report, command))
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


def test_a_failed_job_and_a_process_that_exits_fail_a_run() -> None:
    """Nothing is lost by either, so a run with them passed once."""
    if (reason := missing("restore")) is not None:
        pytest.skip(reason)
    with scale_run("A fault that no check of moves finds", Size(seconds=5, tables=2)) as run:
        primary, valkey = run.primary(), run.valkey("valkey")
        valkey.start()
        fleet = run.fleet(
            SHITHEAD_DATABASE_URL=primary.url_of("shithead_service"),
            SHITHEAD_REDIS_URL=valkey.url,
        )
        run.start(fleet, FEW)
        load = run.begin_load(fleet)
        jobs = Queue(MAIN_QUEUE, connection=valkey.client(), serializer=JSONSerializer)
        jobs.enqueue(TAKE_TURN.name, "no game", 1, failure_ttl=FORGET_SECONDS)
        [relay] = fleet.of("relay")
        for pid in relay.machine.processes():
            os.kill(pid, signal.SIGTERM)
        time.sleep(run.size.seconds)
        run.end_load(load)
        run.check(primary.url, fleet, load)
        job, ended = run.report.checked.wrong
        assert "badly formed hexadecimal UUID string" in job
        assert ended.startswith("relay-1 ended by itself with status 0")
        assert "failed jobs, not expected | 1" in page(run.report, "a test")


def test_promtool_reads_every_query_of_the_dashboard(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("not installed: promtool, of Debian's package prometheus")
    board = json.loads((ROOT / "ops" / "monitoring" / "dashboard.json").read_text("utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    rules = [{"record": f"query:{n}", "expr": query} for n, query in enumerate(queries)]
    file = tmp_path / "queries.yaml"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    subprocess.run(["promtool", "check", "rules", str(file)], check=True)
