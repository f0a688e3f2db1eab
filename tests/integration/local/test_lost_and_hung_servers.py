"""What `up` notices beside an end: servers that hang, and files that somebody deletes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
import redis

from service.local import probes
from service.local.probes import Probe
from service.local.processes import LogRotation
from service.local.programs import Servers, StartError
from service.local.servers import EmbeddedPostgres, EmbeddedValkey
from service.local.up import DataLock

pytestmark = pytest.mark.heavy


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """Return running embedded servers, probed each half second."""
    monkeypatch.setattr(probes, "PROBE_SECONDS", 0.5)
    with ExitStack() as stack:
        servers = Servers(tmp_path, stack)
        servers._start(EmbeddedPostgres(tmp_path))
        servers._start(EmbeddedValkey(tmp_path))
        yield servers


def postgres_and_valkey(servers: Servers) -> tuple[EmbeddedPostgres, EmbeddedValkey]:
    postgres, valkey = servers._embedded
    assert isinstance(postgres, EmbeddedPostgres)
    assert isinstance(valkey, EmbeddedValkey)
    return postgres, valkey


def count(url: str) -> object:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT count(*) FROM t").fetchone()


def test_servers_that_hang_are_replaced_and_nothing_committed_is_lost(servers: Servers) -> None:
    """A stopped process accepts connections for ever, and never ends by itself."""
    postgres, valkey = postgres_and_valkey(servers)
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1")
    end = time.monotonic() + 4
    while time.monotonic() < end:
        assert servers.supervise() == [], "they answer"
        time.sleep(0.05)
    for server in (postgres, valkey):
        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)
    replaced: list[str] = []
    end = time.monotonic() + 60
    while len(replaced) < 2 and time.monotonic() < end:
        replaced += servers.supervise()
        time.sleep(0.05)
    assert sorted(replaced) == ["PostgreSQL", "Valkey"]
    assert count(postgres.url) == (1,)
    with redis.Redis.from_url(valkey.url) as client:
        assert client.ping()


def test_a_socket_folder_or_a_log_folder_that_was_deleted_is_made_again(
    servers: Servers, tmp_path: Path
) -> None:
    """The servers still run, but nothing can connect to them."""
    postgres, valkey = postgres_and_valkey(servers)
    addresses = postgres.url, valkey.url
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1")
    for server in (postgres, valkey):
        shutil.rmtree(server.probe.path.parent)
    shutil.rmtree(tmp_path / "logs")
    assert sorted(servers.supervise()) == ["PostgreSQL", "Valkey"]
    assert count(postgres.url) == (1,)
    assert (postgres.url, valkey.url) == addresses
    assert servers.supervise() == []
    assert "database system is ready" in (tmp_path / "logs" / "postgres.log").read_text()
    shutil.rmtree(tmp_path / "logs")
    LogRotation(tmp_path / "logs").rotate_due()
    assert (tmp_path / "logs").is_dir()


class Clock:
    """A clock that a test sets forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def looks_until_it_hangs(probe: Probe, clock: Clock, *, most: int = 2000) -> float:
    """Return the seconds after which a server hangs, with a look each second."""
    began = clock.now
    for _ in range(most):
        clock.now += 1
        if probe.hangs(os.getpid()):
            return clock.now - began
    return float("inf")


def test_the_patience_with_a_server_grows_each_time_it_hangs_again(tmp_path: Path) -> None:
    """Thirty seconds at first; a machine that is too slow does not make it recover for ever."""
    clock = Clock()
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen(1)  # the queue is full at the second connection
        probe = Probe(tmp_path / "s", b"?", disk=tmp_path, monotonic=clock)
        times = []
        for _ in range(3):
            times.append(looks_until_it_hangs(probe, clock))
            probe.ended(hung=True)
        clock.now += 4000.0
        probe.ended(hung=False)
        times.append(looks_until_it_hangs(probe, clock))
    assert times == [40.0, 70.0, 130.0, 40.0]


def test_a_full_disk_is_no_reason_to_end_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    probe = Probe(tmp_path / "nothing", b"?", disk=tmp_path, monotonic=clock)
    monkeypatch.setattr(probes, "_FULL_BYTES", 1 << 62)
    assert looks_until_it_hangs(probe, clock) == float("inf")


HOLD = """
import sys, time
from pathlib import Path
from service.local.up import DataLock
lock = DataLock(Path(sys.argv[1]))
lock.take()
print("locked", flush=True)
for line in sys.stdin:
    lock.renew()
    print("renewed", flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it needs /proc")
def test_a_folder_whose_lock_was_deleted_is_still_in_use(tmp_path: Path) -> None:
    """A second `up` would end the servers of the first as predecessors."""
    lock = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == "locked\n"
        for renewed in (False, True):
            lock.unlink()
            if renewed:
                print(file=first.stdin, flush=True)
                assert first.stdout.readline() == "renewed\n"
                assert lock.read_text() == f"{first.pid}\n"
            with pytest.raises(StartError, match=f"in use by process {first.pid}"):
                DataLock(tmp_path).take()
            lock.touch()
        first.stdin.close()
        first.wait(timeout=20)
    ours = DataLock(tmp_path)
    ours.take()
    assert lock.read_text() == f"{os.getpid()}\n"
    ours.release()
