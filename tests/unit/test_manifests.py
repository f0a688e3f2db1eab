"""Manifests of containers, Kubernetes and Prometheus fit their schemas and this service."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from service.cli.run import ROLES, settings_page
from service.feature import settings_of
from service.features import FEATURES
from service.runtime.config import shared_settings, variable
from tests.unit.test_runbook import TEXT, known_metrics

OPS = Path(__file__).resolve().parents[2] / "ops"
BASE = OPS / "kubernetes" / "base"
FILES = sorted(
    path for path in (OPS / "kubernetes").rglob("*.yaml") if path.name != "kustomization.yaml"
)
KUBERNETES = "1.30"
"""The oldest version that the manifests are checked against; the newest is checked too."""

ALERTS = yaml.safe_load((OPS / "monitoring/alerts.yaml").read_text())["groups"][0]["rules"]
COMPOSED = yaml.safe_load((OPS / "compose.yaml").read_text())["services"]
SETTINGS = {variable(one.name) for one in shared_settings()}
SETTINGS |= {variable(one.name) for one in settings_of(FEATURES)}
SETTINGS |= {
    row.variable
    for section in settings_page()
    for row in section.rows
    if row.variable.startswith("OTEL_")
}


@cache
def documents() -> tuple[dict[str, Any], ...]:
    """Return every Kubernetes object of the base and the overlay."""
    texts = [path.read_text() for path in FILES if path.name != "metrics.yaml"]
    return tuple(one for text in texts for one in yaml.load_all(text, yaml.CSafeLoader))


@cache
def pods() -> dict[str, dict[str, Any]]:
    """Return the pod of every workload by its name."""
    workloads = ("Deployment", "StatefulSet", "Job")
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in documents()
        if one["kind"] in workloads
    }


@pytest.mark.heavy
@pytest.mark.parametrize("version", [KUBERNETES, kubernetes_validate.latest_version()])
@pytest.mark.parametrize("one", documents(), ids=lambda d: f"{d['kind']}/{d['metadata']['name']}")
def test_every_object_fits_the_schema_of_kubernetes(one: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(one, version, strict=True)


def test_the_kustomization_has_every_file_and_settings_that_exist() -> None:
    base = yaml.safe_load((BASE / "kustomization.yaml").read_text())
    assert set(base["resources"]) == {path.name for path in FILES if path.parent == BASE}
    overlay = yaml.safe_load((OPS / "kubernetes/overlays/example/kustomization.yaml").read_text())
    for generator in (*base["configMapGenerator"], *overlay["configMapGenerator"]):
        assert {one.partition("=")[0] for one in generator["literals"]} <= SETTINGS


@pytest.mark.parametrize("name", pods())
def test_every_pod_is_confined_and_has_probes_and_requests(name: str) -> None:
    pod = pods()[name]
    assert pod["securityContext"]["runAsNonRoot"]
    # The cluster would add variables named after its services, which are not settings.
    assert pod["enableServiceLinks"] is False
    [container] = pod["containers"]
    confined = container["securityContext"]
    assert confined["readOnlyRootFilesystem"]
    assert not confined["allowPrivilegeEscalation"]
    assert confined["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    if container["args"] != ["migrate"]:
        assert container["args"][0] == "run"
        assert container["args"][1] in ROLES
        assert {"livenessProbe", "startupProbe"} <= container.keys()


def test_a_pod_behind_a_service_answers_until_the_proxies_know_that_it_ends() -> None:
    """A pod that stops at once refuses the requests that are still sent to it."""
    services = {one["metadata"]["name"] for one in documents() if one["kind"] == "Service"}
    assert len(services) > 1
    for name in services:
        pod = pods()[name]
        word, seconds = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
        assert word == "sleep"
        assert pod["terminationGracePeriodSeconds"] >= int(seconds) + 20


@pytest.mark.parametrize(("made_by", "status"), [("17", 0), ("15", 1)])
def test_postgresql_in_a_container_refuses_the_volume_of_another_major_version(
    tmp_path: Path, made_by: str, status: int
) -> None:
    data, programs = tmp_path / "data", tmp_path / "lib/17/bin"
    for folder in (data, programs):
        folder.mkdir(parents=True)
    (data / "PG_VERSION").write_text(f"{made_by}\n")
    server = programs / "postgres"
    server.write_text("#!/bin/sh\necho started\n")
    server.chmod(0o700)
    script = (OPS / "containers/postgres.sh").read_text()
    script = script.replace("/var/lib/postgresql/data", str(data))
    script = script.replace("/usr/lib/postgresql", str(tmp_path / "lib"))
    done = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=20
    )
    assert (done.returncode, done.stdout) == (status, "" if status else "started\n")
    assert ("was created by PostgreSQL 15, but 17 is installed" in done.stderr) == bool(status)


def test_every_role_runs_in_the_cluster_and_in_compose() -> None:
    roles = {pod["containers"][0]["args"][-1] for pod in pods().values()}
    assert roles == {*ROLES, "migrate"}
    commands = {service["command"][-1] for service in COMPOSED.values() if "command" in service}
    assert commands == {*ROLES, "migrate"}


def test_every_role_has_a_disruption_budget_and_pods_refuse_connections_by_default() -> None:
    """One network policy closes all pods; each other policy opens the connections of a role."""
    budgets = {
        one["spec"]["selector"]["matchLabels"]["role"]
        for one in documents()
        if one["kind"] == "PodDisruptionBudget"
    }
    assert budgets == set(ROLES)
    policies = [one["spec"] for one in documents() if one["kind"] == "NetworkPolicy"]
    [closed] = [one for one in policies if {"Ingress", "Egress"} == set(one["policyTypes"])]
    assert closed["podSelector"] == {"matchLabels": {"app": "shithead"}}
    assert "ingress" not in closed
    labels = [
        one["spec"]["template"]["metadata"]["labels"]
        for one in documents()
        if one["kind"] in ("Deployment", "StatefulSet", "Job")
    ]
    assert {one["role"] for one in labels} == {*ROLES, "migrate"}
    assert all(one["app"] == "shithead" for one in labels)


def test_autoscalers_and_budgets_name_workloads_that_exist() -> None:
    names = set(pods())
    for one in documents():
        if one["kind"] == "HorizontalPodAutoscaler":
            assert one["spec"]["scaleTargetRef"]["name"] in names
        if one["kind"] == "PodDisruptionBudget":
            role = one["spec"]["selector"]["matchLabels"]["role"]
            assert f"shithead-{role}" in names


@pytest.mark.parametrize("name", COMPOSED)
def test_every_composed_container_is_confined(name: str) -> None:
    service = COMPOSED[name]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    known = SETTINGS | {"SERVERS_PASSWORD", "ARCHIVE_TIMEOUT"}
    known |= {"PGBACKREST_STANZA", "PGBACKREST_REPO1_PATH"}
    named = {name for name in service["environment"] if not name.startswith("AWS_")}
    assert named <= known


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_every_alert_links_to_its_section_of_the_runbook(alert: dict[str, Any]) -> None:
    headings = re.findall(r"^##+ (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
    page, _, anchor = alert["annotations"]["runbook"].partition("#")
    assert page == "ops/runbook.md"
    assert anchor in anchors


def test_every_expression_in_the_runbooks_table_of_alarms_is_an_alert() -> None:
    table = TEXT[TEXT.index("## Alarms") : TEXT.index("## 1 ")]
    wanted = {one for one in re.findall(r"`([^`]+)`", table) if re.search(r"shithead_.* > ", one)}
    assert len(wanted) > 6
    assert wanted - {alert["expr"] for alert in ALERTS} == set()


def test_alerts_and_autoscalers_use_metrics_that_exist() -> None:
    rules = (OPS / "kubernetes/metrics.yaml").read_text()
    used = " ".join(alert["expr"] for alert in ALERTS)
    names = set(re.findall(r"\bshithead_[a-z_]+", used))
    names |= set(re.findall(r"\bshithead_[a-z_]+(?=[{])", rules))
    assert "shithead_queued_jobs" in names
    assert names - known_metrics() == set()


def test_external_metrics_of_the_autoscalers_have_a_rule() -> None:
    rules = yaml.safe_load((OPS / "kubernetes/metrics.yaml").read_text())["externalRules"]
    named = {rule["name"]["as"] for rule in rules}
    used = {
        metric["external"]["metric"]["name"]
        for one in documents()
        if one["kind"] == "HorizontalPodAutoscaler"
        for metric in one["spec"]["metrics"]
        if metric["type"] == "External"
    }
    assert used == named
