"""PostgreSQL and Redis for the tests: supplied addresses, containers, or embedded servers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import conninfo, sql

from service.local.servers import EmbeddedPostgres, EmbeddedValkey

_POSTGRES_IMAGES = ("postgres:18", "postgres:18-alpine", "postgres:17", "postgres:16")
_REDIS_IMAGES = ("valkey/valkey:9", "valkey/valkey:8", "redis:8", "redis:7")
_ENGINE_TIMEOUT = 2  # seconds

# Settings of testcontainers: no helper container from a registry, addresses of the engine's
# host, a minute for a server to start.
_WITHOUT_REGISTRY = {
    "TESTCONTAINERS_RYUK_DISABLED": "true",
    "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
    "TC_POOLING_INTERVAL": "0.1",  # seconds
    "TC_MAX_TRIES": "600",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseServer:
    """A PostgreSQL for one session of tests; the owner in `url` may create databases."""

    url: str
    source: str

    def create(self, *, template: str | None = None) -> str:
        """Return the address of a new database, empty or a copy of the database `template`."""
        name = f"test_{uuid4().hex[:16]}"
        # The strategy WAL_LOG logs each page of the template: 1.2 to 5.6 times as slow on disk.
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
            sql.Identifier(name), sql.Identifier(template or "template0")
        )
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)
        return url_with_database(self.url, name)

    def drop(self, url: str) -> None:
        """Drop the database at `url` and end its connections."""
        statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(
            sql.Identifier(database_name(url))
        )
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)


def database_name(url: str) -> str:
    """Return the name of the database at `url`."""
    return str(conninfo.conninfo_to_dict(url)["dbname"])


def url_with_database(url: str, name: str) -> str:
    """Return `url` with another database."""
    scheme, _, rest = url.partition("://")
    head, mark, query = rest.partition("?")
    authority = head.split("/", 1)[0]
    return f"{scheme}://{authority}/{name}{mark}{query}"


@contextmanager
def postgres(folder: Path, environment: Mapping[str, str] = os.environ) -> Iterator[DatabaseServer]:
    """Run a PostgreSQL while the context lasts, or use the one in the environment."""
    url = environment.get("SHITHEAD_TEST_DATABASE_URL")
    with ExitStack() as stack:
        if url:
            yield DatabaseServer(url=url, source="SHITHEAD_TEST_DATABASE_URL")
            return
        image = local_image(_POSTGRES_IMAGES)
        if image is not None:
            from testcontainers.community.postgres import PostgresContainer

            container = stack.enter_context(PostgresContainer(image, driver=None))
            yield DatabaseServer(url=container.get_connection_url(), source=f"container {image}")
            return
        server = EmbeddedPostgres(folder, durable=False)
        stack.callback(server.stop)
        yield DatabaseServer(url=server.start(), source="embedded PostgreSQL")


@contextmanager
def valkey(folder: Path, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Run a Redis or Valkey while the context lasts, or use the one in the environment."""
    url = environment.get("SHITHEAD_TEST_REDIS_URL")
    with ExitStack() as stack:
        if url:
            yield url
            return
        image = local_image(_REDIS_IMAGES)
        if image is not None:
            from testcontainers.community.redis import RedisContainer

            container = stack.enter_context(RedisContainer(image))
            host, port = container.get_container_host_ip(), container.get_exposed_port(6379)
            yield f"redis://{host}:{port}/0"
            return
        server = EmbeddedValkey(folder)
        stack.callback(server.stop)
        yield server.start()


def local_image(wanted: tuple[str, ...]) -> str | None:
    """
    Return the first of the images `wanted` that a container engine here has, or None.

    An image is never pulled: a test run must not wait for a registry that may not answer.
    """
    import docker
    from docker.errors import DockerException, ImageNotFound

    for name, value in _WITHOUT_REGISTRY.items():
        os.environ.setdefault(name, value)
    try:
        engine = docker.from_env(timeout=_ENGINE_TIMEOUT)
    except DockerException:
        return None  # no engine
    try:
        for image in wanted:
            try:
                engine.images.get(image)
            except ImageNotFound:
                continue
            return image
        print(f"\nA container engine answers but has none of {', '.join(wanted)}: embedded instead")
    except (DockerException, OSError) as error:
        print(f"\nA container engine does not answer ({error}): embedded instead")
    finally:
        engine.close()
    return None
