"""A feature is declared once: the service takes it from there, and what operates it is tested."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
import redis
from prometheus_client import REGISTRY
from rq import Queue
from rq.serializers import JSONSerializer

from schemas.notices import NoticeType
from service.api.app import create_app
from service.application.ports import MAIN_QUEUE
from service.application.quotas import QUOTAS
from service.bootstrap import Services, services_from
from service.feature import Feature, settings_of, sweeps_of, weights_of
from service.features import FEATURES
from service.keys import Keyring
from service.runtime.config import ConfigError, Settings, settings_from, variable
from service.store import database
from service.store.migrate import migrate
from tests.authorization.matrix import cells
from tests.contract.conftest import address_of_service
from tests.running import wait_for
from tests.servers import DatabaseServer
from tests.worlds.api_world import World, problem_of
from tests.worlds.waves import WAVE_DAYS, WAVES, write_sql
from workers import jobs
from workers.main import Worker
from workers.sweeper import Sweeper

ROOT = Path(__file__).resolve().parents[2]
WITH_WAVES = (*FEATURES, WAVES)


@pytest.fixture
def owner_url(
    database_server: DatabaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Return the address of a database with the made-up feature, as its owner."""
    folder, url = tmp_path / "sql", database_server.create()
    shutil.copytree(database.SQL, folder)
    write_sql(folder)
    monkeypatch.setattr(database, "SQL", folder)
    database.queries.cache_clear()
    migrate(url, folder=folder)
    yield url
    database.queries.cache_clear()
    database_server.drop(url)


@pytest.fixture
def settings(owner_url: str, redis_url: str) -> Settings:
    """Return the settings of a process, one of them of the made-up feature."""
    texts = {
        "SHITHEAD_DATABASE_URL": address_of_service(owner_url),
        "SHITHEAD_REDIS_URL": redis_url,
        "SHITHEAD_KEYS": Keyring.generate().to_text(),
        variable(WAVE_DAYS.name): "5",
    }
    return settings_from(texts, settings_of(WITH_WAVES))


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    found = services_from(settings)
    yield found
    found.close()


@pytest.fixture
def world(services: Services, settings: Settings) -> World:
    return World(services=services, app=create_app(WITH_WAVES, services, settings))


def test_a_made_up_feature_is_added_by_its_module_and_its_sql_alone(
    world: World, owner_url: str
) -> None:
    """Its calls are answered, documented, limited, bounded by its quota, and need its scope."""
    ada, bob = world.person("Ada"), world.person("Bob")
    assert problem_of(world.client.post("/v1/waves")) == "unauthorized"
    assert ada.post("/v1/waves").json == {"waves": 1}
    assert ada.post("/v1/waves").json == {"waves": 2}
    refused = ada.post("/v1/waves")
    assert (problem_of(refused), refused.json["limit"]) == ("limit-reached", "waves")
    limited = bob.post("/v1/waves")
    assert (problem_of(limited), limited.status_code) == ("rate-limited", 429)
    assert world.get("/v1/waves").json == {"waves": 2}
    document = world.get("/v1/openapi.json").json
    described = document["paths"]["/v1/waves"]["post"]
    assert described["security"] == [{"bearer": ["play"]}]
    assert described["x-limits"]["weight"]["calls"] == 5
    assert [one["most"] for one in document["x-limits"]["quotas"] if one["name"] == "waves"] == [2]
    with psycopg.connect(owner_url) as owner:
        [(left,)] = owner.execute("SELECT max(ends_at) - now() FROM waves").fetchall()
    assert timedelta(days=4) < left <= timedelta(days=5), "the days of its setting"


def test_its_sweep_enqueues_its_job_which_sets_its_metric(
    world: World, services: Services, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "services", lambda: services)
    world.person("Ada").post("/v1/waves")
    first, others = sweeps_of(WITH_WAVES)
    sweeper = Sweeper(services, first=first, others=[one for one in others if one.name == "waves"])
    client = redis.Redis.from_url(redis_url)
    queue = Queue(MAIN_QUEUE, connection=client, serializer=JSONSerializer)

    def is_enqueued() -> bool:
        sweeper.round()
        return bool(queue.count)

    wait_for(is_enqueued, seconds=10)
    for features, waves in ((FEATURES, 0.0), (WITH_WAVES, 1.0)):
        services.notifier.enqueue(WAVES.jobs[0].kind, "all", key=f"waves-{waves:.0f}")
        worker = Worker([queue], connection=client, serializer=JSONSerializer, features=features)
        worker.work(burst=True, logging_level="CRITICAL")
        assert REGISTRY.get_sample_value("shithead_test_waves") == waves


def test_the_service_may_call_its_function_and_not_write_its_table(settings: Settings) -> None:
    with psycopg.connect(settings.database_url, autocommit=True) as service:
        assert service.execute("SELECT count(*) FROM waves").fetchall() == [(0,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            service.execute("DELETE FROM waves")


def test_its_setting_has_a_default_and_is_unknown_without_it(settings: Settings) -> None:
    assert settings.of(WAVE_DAYS) == 5
    assert Settings(database_url="").of(WAVE_DAYS) == 3
    with pytest.raises(ConfigError, match=f"{variable(WAVE_DAYS.name)} is not a setting"):
        settings_from({variable(WAVE_DAYS.name): "5"}, settings_of(FEATURES))


ROLES = {MAIN_QUEUE: "worker"}
"""The process of a queue, if its name is another."""


GLOSSARY = "ops/glossary.md"

PRIVILEGES = " ".join(f"sql/{path.name}" for path in sorted((ROOT / "sql").glob("privileges*.sql")))
"""Those of a feature may have a file of their own."""

WATCHED = "ops/runbook.md ops/monitoring/alerts.yaml ops/monitoring/dashboard.json"
"""What names a metric: a page of the runbook, an alert or a panel."""


def operated_by(feature: Feature) -> Iterator[tuple[str, str]]:
    """Yield the files written by hand that have to name a part of a feature, each with the text."""
    yield GLOSSARY, f"| {feature.name.removesuffix('s')} |"
    for operation in weights_of((feature,)):
        yield "service/api/examples.json", f'"{operation}"'
    for role in {ROLES.get(job.kind.queue, job.kind.queue) for job in feature.jobs}:
        yield "ops/compose.yaml", f'command: ["run", "{role}"'
        yield "ops/kubernetes/base/workers.yaml", f"args: [run, {role}]"
        unit = f"ops/systemd/shithead-{role}{'@' if role == 'worker' else ''}.service"
        yield unit, f"run {role}"
        yield "ops/runbook.md", role
    for metric in feature.metrics:
        [described] = metric.describe()
        yield WATCHED, described.name
    for setting in feature.settings:
        yield "ops/runbook.md", f"SHITHEAD_{setting.name.upper()}"
    for kind in feature.notices:
        yield "ops/spec/api.md", kind.value
    for table in {table for bound in feature.quotas.values() for table in bound.rows}:
        yield PRIVILEGES, table
        yield "sql/migrations/0001_schema.sql", f"COMMENT ON TABLE {table} IS"
        yield "ops/citus.sql", table


def test_what_is_written_by_hand_names_every_part_of_every_feature() -> None:
    """Also the glossary, Compose, Kubernetes, systemd, specification, privileges and Citus."""
    wanted = {one for feature in FEATURES for one in operated_by(feature)}
    files = {
        names: "".join((ROOT / name).read_text("utf-8") for name in names.split())
        for names, _ in wanted
    }
    files[GLOSSARY] = files[GLOSSARY].replace(", ", " | ")  # a row can have several words
    assert [one for one in sorted(wanted) if one[1] not in files[one[0]]] == []


def test_every_quota_and_notice_belongs_to_one_feature_and_every_call_to_the_page() -> None:
    notices = Counter(kind for feature in FEATURES for kind in feature.notices)
    assert notices == Counter(NoticeType)
    names = Counter(name for feature in FEATURES for name in feature.quotas)
    assert max(names.values()) == 1
    assert {kind.value for kind in QUOTAS} <= names.keys()
    assert len({cell.operation for cell in cells()}) >= len(weights_of(FEATURES))
