"""The kinds of faults injected from outside, each with its frequency."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from resource import RLIM_INFINITY, RLIMIT_FSIZE, prlimit

import psycopg
import redis

from ops.bench.faults.disk import filled
from ops.bench.faults.limits import memory_limit, no_descriptors, slow_fsync
from ops.bench.faults.system import SystemUnderTest, below

_OF_A_SMALL_DISK = ("disk full", "slow fsync")
_BACKGROUND = ("workers.main relay", "workers.main sweeper", "workers.main sequencer")

Act = Callable[[SystemUnderTest, random.Random], bool]
"""Injects a fault; returns false if its target was not running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of fault."""

    name: str
    share: float  # of all faults from outside
    act: Act
    grave: bool = False  # long, or with a long recovery: injected one at a time

    def possible(self, system: SystemUnderTest) -> bool:
        """Return whether this fault can be injected on this machine."""
        return not self.name.startswith(_OF_A_SMALL_DISK) or system.disk is not None


def _forked(kind: str) -> Act:
    return lambda system, rng: system.kill_forked(kind, rng)


def _of_up(*words: str) -> Act:
    def act(system: SystemUnderTest, rng: random.Random) -> bool:
        found = system.below_up(*words)
        return bool(found) and _signalled(rng.choice(found), signal.SIGKILL)

    return act


def _signalled(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _sql(system: SystemUnderTest, statement: str) -> bool:
    """Run a statement as the owner; return false if the database is down already."""
    try:
        with psycopg.connect(system.owner_url, autocommit=True, connect_timeout=3) as connection:
            row = connection.execute(statement.encode()).fetchone()
    except psycopg.Error:
        return False
    return row is None or bool(row[0])


_OTHERS = (
    "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


def _cut_one(system: SystemUnderTest, _rng: random.Random) -> bool:
    return _sql(
        system,
        "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"
        f" WHERE {_OTHERS} ORDER BY random() LIMIT 1) one",
    )


def _cut_all(system: SystemUnderTest, _rng: random.Random) -> bool:
    return _sql(
        system, f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {_OTHERS}"
    )


def _postmaster(system: SystemUnderTest) -> int | None:
    return next(iter(system.below_up("bin/postgres")), None)


def _backends(system: SystemUnderTest, *, clients: bool) -> list[int]:
    """Return the processes of PostgreSQL below its postmaster."""
    postmaster = _postmaster(system)
    if postmaster is None:
        return []
    found = below(postmaster)
    return [pid for pid, command in found if not clients or "shithead_service" in command]


def _kill_backend(system: SystemUnderTest, rng: random.Random) -> bool:
    found = _backends(system, clients=True)
    return bool(found) and _signalled(rng.choice(found), signal.SIGKILL)


def _end_postgres(number: signal.Signals) -> Act:
    def act(system: SystemUnderTest, _rng: random.Random) -> bool:
        postmaster = _postmaster(system)
        return postmaster is not None and _signalled(postmaster, number)

    return act


@contextlib.contextmanager
def _stopped(pids: list[int]) -> Iterator[bool]:
    stopped = [pid for pid in pids if _signalled(pid, signal.SIGSTOP)]
    try:
        yield bool(stopped)
    finally:
        for pid in stopped:
            _signalled(pid, signal.SIGCONT)


def _slow_disk(system: SystemUnderTest, rng: random.Random) -> bool:
    with _stopped(_backends(system, clients=False)) as done:
        time.sleep(rng.uniform(0.2, 1.5))
    return done


def _locked(system: SystemUnderTest, rng: random.Random) -> bool:
    locked = False
    with (
        contextlib.suppress(psycopg.Error),  # another fault may end this session
        psycopg.connect(system.owner_url, connect_timeout=3) as connection,
    ):
        connection.execute("SET lock_timeout = '2s'")
        connection.execute("LOCK TABLE streams IN ACCESS EXCLUSIVE MODE")
        locked = True
        time.sleep(rng.choice((0.3, 1.0, 5.0)))
    return locked


def _disk_full(*, new_segment: bool) -> Act:
    def act(system: SystemUnderTest, rng: random.Random) -> bool:
        if system.disk is None:
            return False
        with filled(system.disk):
            if new_segment:
                _sql(system, "SELECT pg_switch_wal()::text")
                _sql(system, "SELECT pg_switch_wal()::text")
            time.sleep(rng.uniform(0.5, 2.0))
        return True

    return act


def _short_files(system: SystemUnderTest, rng: random.Random) -> bool:
    found = _backends(system, clients=True)
    for pid in found:
        with contextlib.suppress(OSError):
            prlimit(pid, RLIMIT_FSIZE, (16 * 1024, RLIM_INFINITY))
    time.sleep(rng.uniform(0.2, 0.6))
    for pid in found:
        with contextlib.suppress(OSError):
            prlimit(pid, RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))
    return bool(found)


def _redis(act: Callable[[redis.Redis], object]) -> Act:
    def done(system: SystemUnderTest, _rng: random.Random) -> bool:
        try:
            with redis.Redis.from_url(system.redis_url, socket_timeout=3) as client:
                act(client)
        except redis.RedisError:
            return False
        return True

    return done


def _full_memory(policy: str) -> Callable[[redis.Redis], object]:
    """Return a function that lets Redis use no more memory than now: it refuses, or evicts keys."""

    def act(client: redis.Redis) -> None:
        used = client.info("memory")["used_memory"]
        client.config_set("maxmemory-policy", policy)
        client.config_set("maxmemory", "1" if policy == "noeviction" else str(used))
        time.sleep(0.8)
        client.config_set("maxmemory", "0")

    return act


def _hang_redis(system: SystemUnderTest, rng: random.Random) -> bool:
    with _stopped(system.below_up("valkey-server")) as done:
        time.sleep(rng.uniform(0.3, 2.5))
    return done


def _hang(*words: str) -> Act:
    """Return a fault that suspends a process for ever: its parent has to replace it."""

    def act(system: SystemUnderTest, rng: random.Random) -> bool:
        found = system.below_up(*words)
        return bool(found) and _signalled(rng.choice(found), signal.SIGSTOP)

    return act


def _killed_in_recovery(system: SystemUnderTest, rng: random.Random) -> bool:
    """Kill the postmaster, and then the one that recovers from that, up to three times."""
    for n in range(rng.randint(2, 4)):
        end = time.monotonic() + 20
        while (postmaster := _postmaster(system)) is None:
            if time.monotonic() > end:
                return n > 1
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.15) if n else 0.0)
        if not _signalled(postmaster, signal.SIGKILL):
            return n > 1
        while postmaster in system.below_up("bin/postgres"):
            time.sleep(0.002)
    return True


def _slow_fsync(system: SystemUnderTest, rng: random.Random) -> bool:
    return system.disk is not None and slow_fsync(system.disk, rng)


def _no_memory(system: SystemUnderTest, rng: random.Random) -> bool:
    found = system.below_up("granian", "workers.main")
    if not found:
        return False
    with memory_limit(rng.choice(found)) as limited:
        time.sleep(rng.uniform(0.5, 2.0))
    return limited


def _few_descriptors(system: SystemUnderTest, rng: random.Random) -> bool:
    return no_descriptors(system.below_up("granian", "workers.main"), rng)


def _end_up(number: signal.Signals) -> Act:
    def act(system: SystemUnderTest, _rng: random.Random) -> bool:
        if system.up is None or system.up.poll() is not None:
            return False
        system.restart_up(number)
        return True

    return act


KINDS = (
    Kind(name="API process, SIGKILL", share=15, act=_forked("API")),
    Kind(name="worker, SIGKILL", share=12, act=_forked("worker")),
    Kind(name="relay, SIGKILL", share=4, act=_forked("relay")),
    Kind(name="sweeper, SIGKILL", share=4, act=_forked("sweeper")),
    Kind(name="sequencer, SIGKILL", share=5, act=_forked("sequencer")),
    Kind(name="connection cut, one", share=14, act=_cut_one),
    Kind(name="connections cut, all", share=8, act=_cut_all),
    Kind(name="Valkey, FLUSHALL", share=12, act=_redis(lambda client: client.flushall())),
    *(
        Kind(name=name, share=share, act=act, grave=True)
        for name, share, act in (
            ("Valkey, memory full, noeviction", 1.5, _redis(_full_memory("noeviction"))),
            ("Valkey, memory full, allkeys-lru", 1.5, _redis(_full_memory("allkeys-lru"))),
            ("Valkey, SIGKILL", 2, _of_up("valkey-server")),
            ("Valkey, hangs (SIGSTOP)", 1, _hang_redis),
            ("granian or a process of it, SIGKILL", 1, _of_up("granian")),
            ("stream process of up, SIGKILL", 1, _of_up("granian asginl")),
            ("fork server of up, SIGKILL", 0.4, _of_up("shithead fork server")),
            ("worker of up, SIGKILL", 0.6, _of_up("workers.main worker")),
            ("relay, sweeper or sequencer of up, SIGKILL", 0.6, _of_up(*_BACKGROUND)),
            ("process of the API of up hangs (SIGSTOP)", 0.5, _hang("granian")),
            ("a program or the fork server of up hangs", 0.7, _hang("workers.main", "fork server")),
            ("clock of the fork server's programs jumps", 1, lambda s, rng: s.clock.jump(rng)),
            ("no memory for a program of up (cgroup)", 0.6, _no_memory),
            ("no file descriptors for the programs of up", 0.8, _few_descriptors),
            ("slow fsync (file system frozen again and again)", 1, _slow_fsync),
            ("PostgreSQL, killed in its recovery", 0.7, _killed_in_recovery),
            ("PostgreSQL backend, SIGKILL", 2, _kill_backend),
            ("PostgreSQL, SIGKILL of the postmaster", 1.5, _end_postgres(signal.SIGKILL)),
            ("PostgreSQL, immediate shutdown", 1.5, _end_postgres(signal.SIGQUIT)),
            ("PostgreSQL, fast shutdown", 1, _end_postgres(signal.SIGINT)),
            ("slow disk (PostgreSQL's children stopped)", 1, _slow_disk),
            ("slow database (streams locked)", 0.8, _locked),
            ("disk full", 1, _disk_full(new_segment=False)),
            ("disk full, and new WAL segments asked for", 0.8, _disk_full(new_segment=True)),
            ("PostgreSQL may not lengthen files (RLIMIT_FSIZE)", 0.6, _short_files),
            ("everything of up, SIGKILL", 0.25, _end_up(signal.SIGKILL)),
            ("SIGTERM to up", 0.25, _end_up(signal.SIGTERM)),
        )
    ),
)
