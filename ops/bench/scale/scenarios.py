"""The runs: many processes, fail-over of PostgreSQL, Valkey and the sequencer, restore."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ops.bench.faults.calls import Calls, Notes
from ops.bench.faults.checks import Checked, holds, stored, times_of_bots
from ops.bench.scale.citus import missing_for_citus
from ops.bench.scale.composed import composed, missing_for_containers
from ops.bench.scale.fleet import DATABASE_DOWN, FAKETIME, FEW, QUEUES_LOST, Fleet, Process, Valkey
from ops.bench.scale.hung import LIMIT_SECONDS, hung
from ops.bench.scale.postgres import Postgres
from ops.bench.scale.report import Report, Size
from ops.bench.scale.run import ScaleRun, scale_run
from ops.bench.scale.shards import shards

COUNTS: Mapping[str, int] = {
    "API": 3,
    "streams": 2,
    "worker": 3,
    "relay": 2,
    "sweeper": 2,
    "sequencer": 2,
}
"""Processes of each kind, each on a machine of its own."""

CLOCKS: Mapping[str, float] = {
    "api-1": 2.5,
    "api-2": -2.5,
    "worker-1": 2.5,
    "worker-2": -2.5,
    "sweeper-1": -2.5,
    "sequencer-1": 2.5,
}
"""Errors of the clocks, in seconds; the largest difference is five seconds."""

POOLER = "PgBouncer 1.18, transaction mode, 20 connections, `SHITHEAD_PREPARED_STATEMENTS=off`"

AFTER_SECONDS = 15.0
"""After a crash: the time in which gaps are searched."""

OUTAGE_SECONDS = 3.0
"""From the crash of the primary to the promotion of its replica."""


def processes(size: Size, logs: Path | None = None) -> Report:
    """Return the report of a run in which each kind of process is killed and added under load."""
    with scale_run("Many processes behind PgBouncer", size, logs) as run:
        primary, valkey = run.primary(), run.valkey("valkey")
        valkey.start()
        pooler = run.pgbouncer(primary)
        fleet = run.fleet(
            SHITHEAD_DATABASE_URL=pooler.url,
            SHITHEAD_REDIS_URL=valkey.url,
            SHITHEAD_PREPARED_STATEMENTS="off",
        )
        run.start(fleet, COUNTS, CLOCKS)
        run.report.parts += [
            f"PostgreSQL {_version(primary.sql('SHOW server_version'))}, one server",
            POOLER,
            "Valkey, one server",
            *fleet.listed(COUNTS),
            "clocks: " + ", ".join(f"{name} {seconds:+.1f} s" for name, seconds in CLOCKS.items()),
        ]
        load = run.begin_load(fleet)
        _kill_and_add(run, fleet)
        run.end_load(load)
        run.check(primary.url, fleet, load)
        return run.report


def sentinel(size: Size, logs: Path | None = None) -> Report:
    """Return the report of a run in which Valkey's master crashes twice under load."""
    with scale_run("Fail-over of Valkey by Sentinel", size, logs) as run:
        primary = run.primary()
        servers = [run.valkey(f"valkey-{number}") for number in (1, 2, 3)]
        watching = [run.valkey(f"sentinel-{number}") for number in (1, 2, 3)]
        servers[0].start()
        for replica in servers[1:]:
            replica.start(of=servers[0])
        for one in watching:
            one.watch(servers[0], quorum=2)
        hosts = ",".join(f"{one.machine.address}:26379" for one in watching)
        fleet = run.fleet(
            SHITHEAD_DATABASE_URL=primary.url_of("shithead_service"),
            SHITHEAD_REDIS_URL=f"redis+sentinel://{hosts}/shithead",
        )
        run.start(fleet, FEW)
        run.report.parts += [
            f"PostgreSQL {_version(primary.sql('SHOW server_version'))}, one server",
            "Valkey: a master and two replicas without persistence; three Sentinels, quorum 2",
            *fleet.listed(FEW),
        ]
        load = run.begin_load(fleet, failing=QUEUES_LOST)
        crashes = []
        for _ in range(2):
            time.sleep(size.seconds / 3)
            crashes.append(_crash_master(run, servers, watching[0]))
        time.sleep(size.seconds / 3)
        run.end_load(load)
        run.check(primary.url, fleet, load)
        moves = sorted(times_of_bots(stored(primary.url, Checked())))
        for crash in crashes:
            gap = largest_gap(moves, crash, crash + AFTER_SECONDS)
            later = sum(crash < at < crash + 5 for at in moves)
            run.report.measured += [
                ("largest gap between moves of bots after a crash", f"{gap:.1f} s"),
                ("moves of bots in the first 5 s after it", str(later)),
            ]
        return run.report


def largest_gap(times: Sequence[float], since: float, until: float) -> float:
    """
    Return the longest time between two moments of a sorted list, of those that overlap a period.

    The first moment after a crash alone would be that of a move that was under way.

    >>> largest_gap([1.0, 1.9, 2.1, 6.0, 6.5, 99.0], 2.0, 10.0)
    92.5
    """
    inside = [(a, b) for a, b in pairwise(times) if b > since and a < until]
    return max((b - a for a, b in inside), default=0.0)


def sequencers(size: Size, logs: Path | None = None) -> Report:
    """Return the report of a run in which one of two sequencers hangs, and then the other ends."""
    with scale_run("Fail-over of the sequencer", size, logs) as run:
        primary, valkey = run.primary(), run.valkey("valkey")
        valkey.start()
        fleet = run.fleet(
            SHITHEAD_DATABASE_URL=primary.url_of("shithead_service"),
            SHITHEAD_REDIS_URL=valkey.url,
        )
        run.start(fleet, FEW)
        run.report.parts += [
            f"PostgreSQL {_version(primary.sql('SHOW server_version'))}, one server",
            *fleet.listed(FEW),
        ]
        load = run.begin_load(fleet)
        first, second = fleet.of("sequencer")
        time.sleep(size.seconds / 4)
        times = [time.time()]
        _signal_all(first, signal.SIGSTOP)
        run.record("the first sequencer hangs (SIGSTOP)")
        time.sleep(size.seconds / 4)
        times.append(time.time())
        _signal_all(first, signal.SIGCONT)
        second.kill()
        run.record("the first goes on, the second is killed")
        time.sleep(size.seconds / 4)
        second.start()
        run.record("the second is back")
        run.end_load(load)
        run.check(primary.url, fleet, load)
        rows = primary.sql(_WAITED)
        for moment, name in zip(times, ("hangs", "is killed"), strict=True):
            waits = [float(str(w)) for at, w in rows if moment < float(str(at)) < moment + 15]
            longest = f"{max(waits, default=0.0):.1f} s, of {len(waits)}"
            run.report.measured.append((f"longest wait for a head after one {name}", longest))
            if not waits or max(waits) > LIMIT_SECONDS:
                run.report.checked.wrong.append(f"no head in {LIMIT_SECONDS} s after one {name}")
        return run.report


_WAITED = """
    SELECT extract(epoch FROM game.created_at), extract(epoch FROM head.made_at - game.created_at)
    FROM games AS game, LATERAL (
        SELECT min(made_at) AS made_at FROM log_heads
        WHERE note IS NOT NULL AND size > (
            SELECT min(leaf_index) FROM log_leaves WHERE log_leaves.game_id = game.game_id
        )
    ) AS head
"""
"""When each game was created, and how long its first leaf waited for a signed head."""


def _signal_all(process: Process, number: signal.Signals) -> None:
    for pid in process.machine.processes():
        os.kill(pid, number)


def _crash_master(run: ScaleRun, servers: list[Valkey], watching: Valkey) -> float:
    """
    Crash the master, wait for the next one, and bring the old one back as a replica.

    Returns the time of the crash, in seconds since 1970.
    """
    before = _master(watching)
    [old] = [one for one in servers if one.machine.address == before]
    old.machine.crash()
    crashed = time.time()
    run.record(f"{old.machine.name}, the master, crashes")
    while (new := _master(watching)) == before:
        time.sleep(0.02)
    [master] = [one for one in servers if one.machine.address == new]
    seconds = time.time() - crashed
    run.record(f"{master.machine.name} is the master")
    run.report.measured.append((f"until Sentinel named {master.machine.name}", f"{seconds:.1f} s"))
    old.start(of=master)
    run.record(f"{old.machine.name} is back, as a replica")
    return crashed


def _master(watching: Valkey) -> str:
    found: Any = watching.client(26379).sentinel_get_master_addr_by_name("shithead")
    return str(found[0].decode() if isinstance(found[0], bytes) else found[0])


def failover(size: Size, logs: Path | None = None) -> Report:
    """Return the report of a run in which the primary crashes and its replica takes over."""
    with scale_run("Fail-over of PostgreSQL to its synchronous replica", size, logs) as run:
        primary, valkey = run.primary(), run.valkey("valkey")
        valkey.start()
        replica = run.postgres("replica")
        replica.copy_of(primary, replica=True)
        replica.start()
        primary.wait_for_replica(synchronous=True)
        pooler = run.pgbouncer(primary)
        both = f"{primary.machine.address},{replica.machine.address}"
        direct = f"postgresql://shithead_service@{both}/postgres?target_session_attrs=read-write"
        fleet = run.fleet(
            SHITHEAD_DATABASE_URL=pooler.url,
            SHITHEAD_READ_DATABASE_URL=replica.url_of("shithead_service"),
            SHITHEAD_REDIS_URL=valkey.url,
            SHITHEAD_PREPARED_STATEMENTS="off",
        )
        run.start(fleet, FEW)
        fleet.add("API", run.network.machine("api-direct"), SHITHEAD_DATABASE_URL=direct)
        fleet.wait_ready()
        run.report.parts += [
            f"PostgreSQL {_version(primary.sql('SHOW server_version'))}, primary and replica",
            "each commit is flushed on both servers (`synchronous_standby_names = '*'`)",
            POOLER,
            "replays, audits, evidence and lists from the replica (`SHITHEAD_READ_DATABASE_URL`)",
            *fleet.listed(FEW),
            "one more API without PgBouncer: `host1,host2` and `target_session_attrs=read-write`",
        ]
        load = run.begin_load(fleet, failing=DATABASE_DOWN)
        replays = ReplayReader(run.report.notes, load.calls(2))
        time.sleep(size.seconds / 2)
        refused = run.report.notes.statuses[503]
        primary.machine.crash()
        crashed = time.monotonic()
        run.record("the primary crashes")
        time.sleep(OUTAGE_SECONDS)
        replica.promote()
        pooler.point_to(replica.machine.address)
        run.record("the replica is the primary, PgBouncer points to it")
        run.measure_moves_after(crashed)
        time.sleep(size.seconds / 2)
        run.report.measured.append(
            ("answers 503 from the crash on", str(run.report.notes.statuses[503] - refused))
        )
        replays.end()
        run.end_load(load)
        run.check(replica.url, fleet, load)
        replays.report(run.report)
        return run.report


class ReplayReader:
    """Reads replays after acknowledged moves, and checks that they include the move."""

    def __init__(self, notes: Notes, calls: Calls) -> None:
        self._notes = notes
        self._calls = calls
        self._over = threading.Event()
        self._seen = Counter[str]()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop reading."""
        self._over.set()
        self._thread.join()

    def report(self, report: Report) -> None:
        """Add the counts to a report."""
        report.measured += [(name, str(count)) for name, count in sorted(self._seen.items())]

    def _look(self) -> None:
        while not self._over.wait(0.05):
            done = [one for one in self._notes.requests[-20:] if one.status == 201]
            if not done:
                continue
            request = done[-1]
            version = json.loads(request.body)["version"]
            token = self._notes.games[request.game]
            path = f"/v1/games/{request.game}/replay?from={version}&to={version}"
            answer = self._calls.once("GET", path, None, token, {})
            if answer is None or answer[0] == 503:
                self._seen["replays not answered, or with 503"] += 1
                continue
            self._seen["replays read after an acknowledged move"] += 1
            if answer[0] != 200:
                self._notes.wrong.append(f"stale: {path} answers {answer[0]}: {answer[1]!r}")


def restore(size: Size, logs: Path | None = None) -> Report:
    """Return the report of a restore to a point in time, in the middle of the load."""
    with scale_run("Point-in-time restore", size, logs) as run:
        primary, valkey = run.primary(), run.valkey("valkey")
        valkey.start()
        fleet = run.fleet(
            SHITHEAD_DATABASE_URL=primary.url_of("shithead_service"),
            SHITHEAD_REDIS_URL=valkey.url,
        )
        run.start(fleet, FEW)
        version = _version(primary.sql("SHOW server_version"))
        run.report.parts += [
            f"PostgreSQL {version}, base backup and WAL archive",
            *fleet.listed(FEW),
        ]
        load = run.begin_load(fleet)
        time.sleep(size.seconds / 3)
        sequencers = fleet.of("sequencer")
        sequencers[1].kill()
        run.record("one of two sequencers is lost, its checkpoint is older than the point")
        copy = run.postgres("restored")
        copy.copy_of(primary, replica=False)
        run.record("base backup taken")
        time.sleep(size.seconds / 3)
        [(point,)] = primary.sql("SELECT clock_timestamp()::text")
        point_at = time.time()
        run.record("the point in time")
        time.sleep(size.seconds / 3)
        run.end_load(load)
        primary.sql("SELECT pg_switch_wal()")
        time.sleep(2.0)
        primary.machine.crash()
        run.record("the server is lost; its archive of WAL is left")
        copy.recover_from(primary.archive, until=str(point))
        copy.start()
        copy.wait_promoted()
        run.record("restored to the point in time")
        _check_restored(run, copy, fleet, point_at)
        refused = run.sequencers_refuse(copy, sequencers)
        run.report.measured.append(("both sequencers refuse to sign the older log", refused))
        if refused != "yes":
            run.report.checked.wrong.append(f"the sequencers on the older log: {refused}")
        run.report.readers = load.readers
        return run.report


def _check_restored(run: ScaleRun, copy: Postgres, fleet: Fleet, point_at: float) -> None:
    """Run `shithead check`, and compare the moves acknowledged before the point with the copy."""
    checked, notes = run.report.checked, run.report.notes
    checked.wrong += [*notes.wrong, *fleet.ended()]
    status, text = run.command("check", "--database-url", copy.url, "--deep", *fleet.paths)
    run.report.measured.append(("exit status of `shithead check --deep`", str(status)))
    run.report.measured.append(("its last line", f"`{text.strip().splitlines()[-1]}`"))
    if status != 0:
        checked.wrong.append(
            f"`shithead check` of the restored database ends with {status}: {text}"
        )
    logs = stored(copy.url, checked)
    before = [one for one in notes.requests if one.status == 201 and one.answered <= point_at]
    after = [one for one in notes.requests if one.status == 201 and one.sent > point_at]
    for request in before:
        checked.counts["acknowledged before the point, each in the restored log"] += 1
        if not holds(logs, request):
            checked.wrong.append(f"lost: a move of {request.game} acknowledged before the point")
    for request in after:
        checked.counts["sent after the point, none in the restored log"] += 1
        if holds(logs, request):
            checked.wrong.append(f"a move of {request.game} sent after the point is restored")
    between = sum(one.status == 201 for one in notes.requests) - len(before) - len(after)
    run.report.measured.append(
        ("acknowledged moves under way at the point, not judged", str(between))
    )


def _kill_and_add(run: ScaleRun, fleet: Fleet) -> None:
    """Kill a process of each kind in turn and start it again; add one of each kind between."""
    rng = random.Random(run.size.seed)
    end = time.monotonic() + run.size.seconds
    kinds = list(COUNTS)
    turn = 0
    while time.monotonic() < end:
        time.sleep(rng.uniform(1.0, 3.0))
        kind = kinds[turn % len(kinds)]
        if turn // len(kinds) == 1:  # in the second round each kind grows by one
            added = fleet.add(kind, run.network.machine(f"{kind.lower()}-{COUNTS[kind] + 1}"))
            run.record(f"{added.name} added")
        else:
            found = fleet.of(kind)
            victim = rng.choice(found)
            victim.kill()
            run.record(f"{victim.name} killed, {len(found) - 1} {kind} left")
            time.sleep(rng.uniform(0.5, 2.0))
            victim.start()
        turn += 1
    fleet.wait_ready()


def _version(rows: list[tuple[object, ...]]) -> str:
    return str(rows[0][0])


def missing(name: str) -> str | None:
    """Return which requirement of a scenario this machine lacks, None if it can run."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces and the container engine"
    programs = {"composed": ("docker",), "failover": (*_NAMESPACES, "pgbouncer")}
    programs["processes"], programs["hung"] = programs["failover"], ()
    absent = [one for one in programs.get(name, _NAMESPACES) if shutil.which(one) is None]
    if absent:
        return f"not installed: {', '.join(absent)}"
    if name == "processes" and not FAKETIME.exists():
        return "not installed: libfaketime"
    if name == "composed":
        return missing_for_containers()
    if name == "shards":
        return missing_for_citus()
    return None


_NAMESPACES = ("ip", "setpriv")


SCENARIOS: Mapping[str, Callable[[Size, Path | None], Report]] = {
    "processes": processes,
    "composed": composed,
    "failover": failover,
    "sentinel": sentinel,
    "restore": restore,
    "sequencers": sequencers,
    "shards": shards,
    "hung": hung,
}
