"""The run on several shards: the shipped schema distributed by Citus, with crashes of its nodes."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import psycopg

from ops.bench.faults.calls import Calls, Notes, new_key
from ops.bench.scale.citus import VERSION, Cluster, citus_binaries
from ops.bench.scale.fleet import DATABASE_DOWN, FEW, Fleet
from ops.bench.scale.postgres import Postgres
from ops.bench.scale.report import Report, Size
from ops.bench.scale.run import ScaleRun, scale_run

NODES = 2
OUTAGE_SECONDS = 3.0
"""From the crash of a server to its start."""

COUNTED_MOVES = 40
"""Moves whose statements are counted, each with a view before it."""

_FORBIDDEN = (
    "UPDATE events SET line = line",
    "DELETE FROM events",
    "TRUNCATE events",
    "DELETE FROM streams",
    "UPDATE streams SET version = version - 1",
)
"""Changes that the triggers refuse to the owner too."""


def shards(size: Size, logs: Path | None = None) -> Report:
    """
    Return the report of a run on a Citus cluster, in which a node and the coordinator crash.

    Raises CalledProcessError or OSError if Citus cannot be built.
    """
    binaries = citus_binaries()
    with scale_run("Streams distributed over shards by Citus", size, logs) as run:
        cluster = Cluster(
            run.postgres("coordinator", binaries),
            [run.postgres(f"node-{number + 1}", binaries) for number in range(NODES)],
        )
        cluster.start()
        coordinator, valkey = cluster.coordinator, run.valkey("valkey")
        valkey.start()
        fleet = run.fleet(
            SHITHEAD_DATABASE_URL=coordinator.url_of("shithead_service"),
            SHITHEAD_REDIS_URL=valkey.url,
            SHITHEAD_KEEP_UNUSED_PLAYERS_DAYS="0",
        )
        run.start(fleet, FEW)
        [(version,)] = coordinator.sql("SHOW server_version")
        [(spread,)] = coordinator.sql(
            "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'streams'::regclass"
        )
        run.report.parts += [
            f"PostgreSQL {version} with Citus {VERSION}: a coordinator and {NODES} nodes",
            f"{spread} shards, the schema distributed by `ops/citus.sql`",
            *fleet.listed(FEW),
        ]
        load = run.begin_load(fleet, failing=DATABASE_DOWN)
        for server in (cluster.nodes[0], coordinator):
            time.sleep(size.seconds / 3)
            _crash_and_restart(run, server)
        time.sleep(size.seconds / 3)
        run.end_load(load)
        run.check(coordinator.url, fleet, load)
        _check_shards(run, cluster, fleet)
        return run.report


def _crash_and_restart(run: ScaleRun, server: Postgres) -> None:
    server.machine.crash()
    crashed = time.monotonic()
    run.record(f"{server.machine.name} crashes")
    time.sleep(OUTAGE_SECONDS)
    server.start()
    run.record(f"{server.machine.name} is back")
    run.measure_moves_after(crashed)


def _check_shards(run: ScaleRun, cluster: Cluster, fleet: Fleet) -> None:
    """Add what the catalogue and the counters of the cluster show to the report."""
    checked, measured = run.report.checked, run.report.measured
    for table in ("streams", "events", "games"):
        rows = cluster.rows_of_nodes(table)
        measured.append((f"rows of `{table}` by node", " + ".join(map(str, rows))))
        if len(rows) != NODES or min(rows) == 0:
            checked.wrong.append(f"{table} is not distributed over all nodes: {rows}")
    for statement in _FORBIDDEN:
        checked.counts["attempts to change the record, refused by its shards"] += 1
        try:
            cluster.coordinator.sql(statement)
        except psycopg.Error as error:
            if "append-only" not in str(error):
                checked.wrong.append(f"{statement}: {error}")
        else:
            checked.wrong.append(f"a shard accepted {statement}")
    status, text = run.command(
        "check", "--database-url", cluster.coordinator.url, "--deep", *fleet.paths
    )
    measured.append(("last line of `shithead check --deep`", f"`{text.strip().splitlines()[-1]}`"))
    if status != 0:
        checked.wrong.append(f"`shithead check` ends with {status}: {text}")
    _count_queries(run, cluster, fleet)


def _count_queries(run: ScaleRun, cluster: Cluster, fleet: Fleet) -> None:
    """Count the statements of views and moves while nothing else uses the database."""
    api, *others = fleet.of("API")
    for process in (*others, *fleet.of("streams", "worker", "relay", "sweeper", "sequencer")):
        process.kill()
    hand = _Hand(Calls(Notes(), lambda: (api.address,), random.Random(run.size.seed)))
    cluster.queries()
    moves = sum(hand.move() for _ in range(COUNTED_MOVES))
    one, several = cluster.queries()
    run.report.measured += [
        ("moves, each with a view before it, on a quiet cluster", str(moves)),
        ("statements of these moves and views, on one shard", str(one)),
        ("statements of these moves and views, on several shards", str(several)),
    ]
    if several or not moves or one < 2 * moves:
        run.report.checked.wrong.append(f"{moves} moves: {one} + {several} statements")


class _Hand:
    """A hand of two people, up to the end of the exchange phase."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._tokens = [self._post("/v1/players", {"name": name}, None)["token"] for name in "AB"]
        wanted = {"ruleset": "shithead", "seats": ["me", "open"], "window_seconds": 0}
        table = self._post("/v1/tables", wanted, self._tokens[0])
        path = f"/v1/tables/{table['id']}/seats"
        self._game = str(self._post(path, {"seat": 1}, self._tokens[1])["game"])
        for token in self._tokens:
            self._post(f"/v1/games/{self._game}/moves", {"type": "ready"}, token)

    def move(self) -> bool:
        """Read the view of the seat on turn, and make its first legal move; False at the end."""
        path = f"/v1/games/{self._game}"
        for token in self._tokens:
            view = self._calls.get(path, token)
            if view["status"] == "playing" and view["moves"] and view["turn"] == view["as"]:
                self._post(f"{path}/moves", view["moves"][0], token)
                return True
        return False

    def _post(self, path: str, body: dict[str, Any], token: str | None) -> dict[str, Any]:
        key = new_key() if token else None
        status, answer = self._calls.until_answered("POST", path, body, token, key=key)
        if status != 201:
            raise AssertionError(f"{path} answers {status}: {answer!r}")
        made: dict[str, Any] = json.loads(answer)
        return made
