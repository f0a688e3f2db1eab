"""The service on several machines and in containers; `ops/test --scale -m scale` runs this."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ops.bench.scale.report import Size
from ops.bench.scale.scenarios import SCENARIOS

pytestmark = pytest.mark.scale

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_lost_or_doubled_in_a_short_run(name: str) -> None:
    """`composed` needs the images of `ops/images.py`, the others network namespaces."""
    report = SCENARIOS[name](Size(seconds=40, tables=4, readers=3), None)
    assert report.checked.wrong == []
    assert sum(asked.status == 201 for asked in report.notes.asked) > 50


def test_alerts_fire_and_stay_silent_as_promtool_expects() -> None:
    folder = ROOT / "ops" / "monitoring"
    subprocess.run(["promtool", "check", "rules", "alerts.yaml"], cwd=folder, check=True)
    subprocess.run(["promtool", "test", "rules", "alerts-test.yaml"], cwd=folder, check=True)
