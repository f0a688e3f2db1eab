"""The Grafana dashboard: valid fields, a clean layout, and a panel for each alert."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.unit.test_runbook import TEXT, known_metrics

MONITORING = Path(__file__).resolve().parents[2] / "ops" / "monitoring"
BOARD = json.loads((MONITORING / "dashboard.json").read_text("utf-8"))
ALERTS = yaml.safe_load((MONITORING / "alerts.yaml").read_text("utf-8"))["groups"][0]["rules"]
QUERIES = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]


def lost(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield the fields of a document that another one lacks, or has with another value."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            yield from lost(value, theirs.get(name), f"{path}/{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from lost(mine, other, f"{path}/{number}")
    elif ours != theirs:
        yield path


def read_by_grafana(board: Any) -> Any:
    """Return a dashboard as Grafana's types read it and write it again."""
    register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(board)))


def test_grafana_knows_every_field() -> None:
    """Grafana's types drop unknown fields."""
    assert list(lost(BOARD, read_by_grafana(BOARD))) == []
    misspelt = {**BOARD, "panels": [{**BOARD["panels"][0], "tilte": "x"}]}
    assert list(lost(misspelt, read_by_grafana(misspelt))) == ["/panels/0/tilte"]


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_uses_only_existing_metrics(query: str) -> None:
    names = set(re.findall(r"\b(?:shithead|process)_[a-z_]+", query))
    assert names
    assert names <= known_metrics()


def test_every_metric_of_an_alert_has_a_panel() -> None:
    watched = set(re.findall(r"\bshithead_[a-z_]+", " ".join(one["expr"] for one in ALERTS)))
    assert watched - set(re.findall(r"\bshithead_[a-z_]+", " ".join(QUERIES))) == set()


def test_every_panel_links_to_a_section_of_the_runbook() -> None:
    sections = set(re.findall(r"^## ([0-9]+) ", TEXT, re.MULTILINE))
    for panel in BOARD["panels"]:
        named = set(re.findall(r"§ ([0-9]+)", panel["description"]))
        assert named, panel["title"]
        assert named <= sections


def test_panels_have_unique_ids_and_do_not_overlap() -> None:
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    for one, other in combinations((panel["gridPos"] for panel in BOARD["panels"]), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or apart, (one, other)
