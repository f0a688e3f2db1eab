"""The metrics, log lines and sections named in the runbook's alarms exist."""

from __future__ import annotations

import re
from pathlib import Path

import prometheus_client

from service.api import observability

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ops" / "runbook.md").read_text("utf-8")
SOURCES = ("service", "workers")


def known_metrics() -> set[str]:
    """Return the names under which Prometheus finds the metrics of this service."""
    known = set()
    for family in (*prometheus_client.REGISTRY.collect(), *observability.SECONDS.collect()):
        known |= {family.name, *(family.name + end for end in ("_total", "_bucket", "_count"))}
    return known


def test_every_named_metric_exists() -> None:
    known = known_metrics()
    named = set(re.findall(r"\bshithead_(?!service\b)[a-z_]+", TEXT))
    assert named >= {"shithead_sweeper_lag_seconds", "shithead_outbox_age_seconds"}
    assert named - known == set()


def test_every_named_log_line_is_written_by_the_code() -> None:
    source = "".join(
        path.read_text("utf-8") for place in SOURCES for path in (ROOT / place).rglob("*.py")
    )
    events = set(re.findall(r'event "([^"]+)"', " ".join(TEXT.split())))
    assert len(events) > 5
    assert {event for event in events if f'"{event}' not in source} == set()


def test_every_linked_section_exists() -> None:
    sections = set(re.findall(r"^## ([0-9]+) ", TEXT, re.MULTILINE))
    column = re.findall(r"\| ([0-9]+) \|$", TEXT, re.MULTILINE)
    assert {*re.findall(r"§ ([0-9]+)", TEXT), *column} - sections == set()
