"""Which alerts fire on the metrics of a service: its readings, given to promtool as series."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

RULES = Path(__file__).resolve().parents[1] / "ops" / "monitoring" / "alerts.yaml"
MINUTES = 20

Readings = dict[str, tuple[str, float]]
"""The kind of metric and the value of each series."""


def need_promtool() -> None:
    """Skip a test on a machine without promtool; .ci/run installs it, so CI never skips."""
    if shutil.which("promtool") is None:
        # promtool alone evaluates the rules of alerts as Prometheus does.
        pytest.skip("not installed: promtool, of Debian's package prometheus")


def readings(registry: CollectorRegistry) -> Readings:
    """Return what Prometheus would read now."""
    return {
        f"{sample.name}{{{_labels(sample.labels)}}}": (metric.type, float(sample.value))
        for metric in registry.collect()
        for sample in metric.samples
        if metric.name.startswith("shithead_")
        and metric.type in ("counter", "gauge")
        and not sample.name.endswith("_created")
    }


def firing(before: Readings, after: Readings, alert: str, folder: Path) -> bool:
    """
    Return whether the alert fires if the service goes on as between two readings for 20 minutes.

    `alert` is a regular expression. Skips the test without promtool. Counters go on with their
    increase per minute, and a time that was set again is set again each minute.
    """
    need_promtool()
    now = time.time()
    series = []
    for name, (kind, value) in after.items():
        step = value - before.get(name, (kind, 0.0))[1]
        if "_timestamp_seconds" in name:
            value, step = value - now, 60.0 if step and value else 0.0
        elif kind == "gauge":
            step = 0.0
        series.append({"series": name, "values": f"{value!r}{step:+}x{MINUTES}"})
    expression = f'count(ALERTS{{alertname=~"{alert}", alertstate="firing"}}) > bool 0'
    wanted = {"expr": expression, "eval_time": f"{MINUTES}m"}
    test = {
        "rule_files": [str(RULES)],
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [{**wanted, "exp_samples": [{"labels": "{}", "value": 1}]}],
            }
        ],
    }
    file = folder / "alerts.json"  # JSON is YAML
    file.write_text(json.dumps(test))
    found = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True)
    output = found.stdout + found.stderr
    assert found.returncode == 0 or "got: nil" in output, output
    return found.returncode == 0


def _labels(labels: dict[str, str]) -> str:
    return ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items()))
