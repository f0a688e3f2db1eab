"""Servers for benchmarks: a durable PostgreSQL, and a service that refuses no call."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from service.local.servers import EmbeddedPostgres
from service.runtime.telemetry import SHARED_FOLDER
from service.store.migrate import migrate
from tests.running import Running, running


@contextmanager
def durable_postgres(folder: Path) -> Iterator[EmbeddedPostgres]:
    """Run a migrated PostgreSQL that flushes every commit, with its data below `folder`."""
    postgres = EmbeddedPostgres(folder / "postgres")
    try:
        migrate(postgres.start())
        yield postgres
    finally:
        postgres.stop()


def settings_of_eventsourcing(url: str) -> dict[str, str]:
    """Return the environment with which the library `eventsourcing` uses a database."""
    parts = conninfo_to_dict(url)
    return {
        **os.environ,
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": str(parts["dbname"]),
        "POSTGRES_HOST": str(parts["host"]),
        "POSTGRES_PORT": "5432",
        "POSTGRES_USER": str(parts["user"]),
        "POSTGRES_PASSWORD": str(parts["password"]),
    }


@contextmanager
def unlimited_service(
    database_url: str, redis_url: str, folder: Path, **more: Any
) -> Iterator[Running]:
    """Run the service with rate limits that count every call and refuse none."""
    os.environ[SHARED_FOLDER] = tempfile.mkdtemp(dir=folder)
    limits = {"calls_per_token": 10**9, "calls_per_address": 10**9}
    logs = Path(tempfile.mkdtemp(dir=folder))
    with running(database_url, redis_url, logs, **limits, **more) as service:
        yield service
