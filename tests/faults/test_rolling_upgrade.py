"""Rolling upgrade: processes of this release and of a generated next one play on one database."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.keys import load_or_create
from service.shx.bundle import read_bundle
from service.store.database import SQL
from service.verify.finding import Result
from service.verify.verify import verify_bundle
from tests.client import Answer, Client, chosen, open_table, register
from tests.integration.test_distributed import CITUS, Shards
from tests.running import READY_SECONDS, free_port, is_ready, wait_for
from tests.servers import DatabaseServer

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.heavy

GROWN = ("games", "game_seats", "tables", "table_seats", "players", "tokens", "seeks", "disputes")
"""Tables to which the next release adds a column."""


def changed(file: Path, *changes: tuple[str, str]) -> None:
    """Replace texts of a file, each of which it must have."""
    text = file.read_text()
    for old, new in changes:
        assert old in text, (file, old)
        text = text.replace(old, new)
    file.write_text(text)


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Return the checkout of a generated next release.

    It has a column more; a function that is replaced, one that is dropped, and one with more
    arguments and therefore another name; and it writes the end of a forfeited hand as version 2.
    """
    root = tmp_path_factory.mktemp("next")
    for name in ("service", "schemas", "workers", "sql", "ops/spec"):
        shutil.copytree(
            ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True
        )
    for path in ROOT.glob("ops/*.md"):
        shutil.copy(path, root / "ops")
    sql, functions = root / "sql", root / "sql" / "functions"
    column = "ALTER TABLE {} ADD COLUMN stakes integer NOT NULL DEFAULT 0;\n"
    migration = "".join(column.format(table) for table in GROWN)
    (sql / "migrations" / "0002_stakes.sql").write_text(migration)
    move = (functions / "append_game_move.sql").rename(functions / "append_game_move_2.sql")
    changed(
        move,
        ("append_game_move", "append_game_move_2"),
        ("its_content bytea\n", "its_content bytea,\n    its_stakes integer\n"),
        ("        version = reached,", "        version = reached,\n        stakes = its_stakes,"),
    )
    (functions / "note_token_use.sql").unlink()
    changed(functions / "come_back.sql", ("AS $$", "AS $$ -- of the next release"))
    changed(
        sql / "queries" / "events.sql", ("SELECT append_game_move(", "SELECT append_game_move_2(")
    )
    changed(
        sql / "queries" / "events.sql",
        ("$10::bytea, $11::bytea\n)", "$10::bytea, $11::bytea, 7\n)"),
        ("m.its_body, m.its_content\n", "m.its_body, m.its_content, 7\n"),
    )
    changed(
        sql / "queries" / "directory.sql", ("SELECT note_token_use($1::bytea)", "SELECT $1::bytea")
    )
    changed(
        sql / "privileges.sql",
        ("append_game_move", "append_game_move_2"),
        ("note_token_use, add_token", "add_token"),
        ("end_token, note_token_use TO", "end_token TO"),
    )
    changed(root / "service" / "runtime" / "version.py", ("0.1.0", "0.2.0"))
    changed(
        root / "service" / "shx" / "event_shapes.py",
        ("or version != VERSION:", "or version not in (VERSION, 2):"),
        ("return version == 2 and", "return version == 0 and"),
    )
    changed(
        root / "service" / "application" / "streams.py",
        ('envelope["v"] != VERSION', 'envelope["v"] not in (VERSION, 2)'),
    )
    changed(
        root / "service" / "shx" / "chain.py",
        ('"v": v,', '"v": 2 if data.get("reason") == "forfeit" else v,'),
    )
    return root


@dataclass(kw_only=True)
class Release:
    """`shithead up` of one release, with servers that it does not own."""

    root: Path
    data: Path
    owner: str
    redis: str
    keys: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def environment(self) -> dict[str, str]:
        """Return the environment of its commands."""
        own = {"PYTHONPATH": str(self.root), "SHITHEAD_KEY_FILE": str(self.keys)}
        own |= {"SHITHEAD_RATE_LIMITS": "off", "SHITHEAD_API_PROCESSES": "1"}
        own |= {"SHITHEAD_LOG_CHECKPOINT": str(self.data / "log.checkpoint")}
        return {**os.environ, **own}

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        self.data.mkdir(mode=0o700, exist_ok=True)
        with (self.data / "up.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "service.cli", "up", "--port", str(self.port)),
                    *("--data", str(self.data), "--workers", "1"),
                    *("--database-url", self.owner, "--redis-url", self.redis),
                ],
                cwd=self.root,
                env=self.environment(),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        wait_for(partial(is_ready, self.port), seconds=READY_SECONDS)

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)
            self.process = None

    def command(self, *words: str) -> str:
        """Return what a command of this release writes; it must succeed."""
        done = subprocess.run(
            [sys.executable, "-m", "service.cli", *words],
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@dataclass(kw_only=True)
class Load:
    """Tables of people who play without a pause, each call at any release that runs."""

    ports: list[int]
    statuses: dict[int, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    acknowledged: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    made: dict[int, int] = field(default_factory=dict)  # moves by port
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def begin(self, tables: int) -> None:
        """Open the tables, and play in a thread for each."""
        for number in range(tables):
            players = [register(self.ports[0], f"P{number}{seat}") for seat in range(2)]
            game = open_table(players, ruleset="leeds", bots=("greedy",), window_seconds=0)
            thread = threading.Thread(target=self._play, args=(players, game, number))
            self._threads.append(thread)
            thread.start()

    def more(self, count: int, *, at: int) -> None:
        """Wait until so many more moves have been made at a port."""
        before = self.made.get(at, 0)
        wait_for(lambda: self.wrong or self.made.get(at, 0) >= before + count, seconds=90)
        assert self.wrong == []

    def end(self) -> None:
        """Stop after the moves that are being made."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def call(self, player: Client, method: str, path: str, *rest: Any) -> Answer:
        """Return an answer of some release; a release that ends is asked no more."""
        while True:
            port = random.choice(self.ports)
            try:
                found = Client(port=port, token=player.token).call(method, path, *rest)
            except OSError:
                continue
            self.statuses[found.status] = self.statuses.get(found.status, 0) + 1
            if found.status == 503:
                continue
            if found.status == 201 and path.endswith("/moves"):
                self.made[port] = self.made.get(port, 0) + 1
            return found

    def _play(self, players: list[Client], game: str, number: int) -> None:
        rng = random.Random(number)
        try:
            while not self._over.is_set():
                for player in players:
                    self._move(player, f"/v1/games/{game}", rng)
                view = self.call(players[0], "GET", f"/v1/games/{game}").json
                if view["status"] == "ended":
                    dealt = self._post(players[0], f"/v1/tables/{view['table']}/games", {})
                    assert dealt.status == 201, (dealt.status, dealt.body)
                    game = dealt.json["game"]["id"]
        except Exception as error:  # noqa: BLE001 - reported by the test, which waits in another thread
            self.wrong.append(f"{type(error).__name__}: {error}")

    def _move(self, player: Client, path: str, rng: random.Random) -> None:
        view = self.call(player, "GET", path)
        assert view.status == 200, (view.status, view.body)
        if not view.json["moves"]:
            return
        move = chosen(view.json["moves"], rng)
        answer = self._post(player, f"{path}/moves", move, f'"v{view.json["version"]}"')
        if answer.status == 201:
            events = [(one["seq"], one["type"]) for one in answer.json["events"]]
            self.acknowledged.setdefault(path, []).extend(events)
        else:
            assert answer.status in (409, 412), (answer.status, answer.body)

    def _post(self, player: Client, path: str, body: Any, version: str | None = None) -> Answer:
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        if version is not None:
            headers["If-Match"] = version
        return self.call(player, "POST", path, body, headers)


def check_record(load: Load, port: int) -> None:
    """Check that each acknowledged event is in its log once, and that the log verifies."""
    assert len(load.acknowledged) >= 2
    for path, events in load.acknowledged.items():
        seqs = [seq for seq, _ in events]
        assert len(seqs) == len(set(seqs)), path
        reader = Client(port=port)
        log = reader.get(f"{path}/events?limit=1000")["items"]
        assert {(one["seq"], one["type"]) for one in log} >= set(events)
        evidence = reader.call("GET", f"{path}/evidence")
        assert evidence.status == 200, evidence.body
        report = verify_bundle(read_bundle(evidence.body))
        assert [found for found in report.findings if found.result is Result.FAIL] == []


@pytest.fixture
def releases(
    owner_url: str, redis_url: str, tmp_path: Path, following: Path
) -> Iterator[tuple[Release, Release]]:
    """Return this release and the next, over one database; neither runs."""
    keys = tmp_path / "keys.json"
    load_or_create(keys)
    known = {"owner": owner_url, "redis": redis_url, "keys": keys}
    old = Release(root=ROOT, data=tmp_path / "old", **known)  # type: ignore[arg-type] # by name
    new = Release(root=following, data=tmp_path / "new", **known)  # type: ignore[arg-type] # as above
    yield old, new
    for release in (old, new):
        release.stop()


def distribute(url: str) -> None:
    """Replace the functions that `ops/citus.sql` replaces, as after every migration."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(CITUS[CITUS.index("COMMIT;") + len("COMMIT;") :].encode())


@pytest.fixture(params=["one server", pytest.param("distributed", marks=pytest.mark.long)])
def owner_url(request: pytest.FixtureRequest, database_server: DatabaseServer) -> Iterator[str]:
    """Return a database of this release; streams and events are on two servers, or on one."""
    if request.param == "one server":
        yield request.getfixturevalue("database_url")
        return
    shards = Shards(database_server)
    with psycopg.connect(shards.url, autocommit=True) as owner:
        found = owner.execute(
            "SELECT umoptions FROM pg_user_mappings WHERE usename = current_user"
        ).fetchone()
        assert found is not None
        options = ", ".join("{} '{}'".format(*one.split("=", 1)) for one in found[0] or ())
        owner.execute(
            f"CREATE USER MAPPING FOR shithead_service SERVER shard OPTIONS ({options})".encode()
        )
    with psycopg.connect(shards.url, autocommit=True) as owner:
        owner.execute((SQL / "privileges.sql").read_bytes())
    distribute(shards.url)
    yield shards.url
    for url in (shards.url, shards.shard_url):
        database_server.drop(url)


def functions_of(url: str) -> set[str]:
    """Return the names of the functions of a database."""
    with psycopg.connect(url) as owner:
        found = owner.execute(
            "SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        ).fetchall()
    return {name for (name,) in found}


def forfeited(old: Release, new: Release) -> None:
    """
    End a hand with an event of a later version, and read it through both releases.

    The earlier one answers 503 until it is upgraded, never 500, and goes on with other games.
    """
    player = register(new.port, "Forfeiter")
    game = open_table([player], ruleset="leeds", bots=("greedy",), window_seconds=0)
    answer = player.call("POST", f"/v1/games/{game}/moves", {"type": "forfeit"})
    assert answer.status == 201, answer.body
    assert player.get(f"/v1/games/{game}")["status"] == "ended"
    earlier = Client(port=old.port, token=player.token)
    for path in ("", "/events", "/evidence", "/replay", "/audit"):
        found = earlier.call("GET", f"/v1/games/{game}{path}")
        assert found.status in (200, 503), (path, found.status, found.body)
    assert earlier.call("GET", f"/v1/games/{game}").status == 503
    assert earlier.call("GET", "/v1/players/me").status == 200
    assert player.get(f"/v1/games/{game}/events?limit=1000")["items"]


def test_two_releases_play_on_one_database_in_both_directions(
    releases: tuple[Release, Release], owner_url: str, request: pytest.FixtureRequest
) -> None:
    """Upgrade under load, downgrade, upgrade again, finish: nothing is lost or doubled, no 500."""
    old, new = releases
    is_distributed = request.node.callspec.params["owner_url"] == "distributed"
    after_migration: Callable[[str], None] = distribute if is_distributed else lambda _url: None
    old.start()
    load = Load(ports=[old.port])
    load.begin(tables=2)
    try:
        load.more(10, at=old.port)
        assert "applied migration 0002_stakes" in new.command(
            "migrate", "--database-url", owner_url
        )
        after_migration(owner_url)
        load.more(10, at=old.port)
        new.start()
        load.ports.append(new.port)
        for release in releases:
            load.more(10, at=release.port)
        forfeited(old, new)
        for remaining, other in ((new, old), (old, new)):
            load.ports.remove(other.port)
            other.stop()
            load.more(10, at=remaining.port)
            other.start()
            load.ports.append(other.port)
            load.more(10, at=other.port)
        load.ports.remove(old.port)
        old.stop()
        assert {"append_game_move", "note_token_use"} <= functions_of(owner_url)
        new.command("migrate", "--database-url", owner_url, "--finish")
        assert not {"append_game_move", "note_token_use"} & functions_of(owner_url)
        load.more(10, at=new.port)
    finally:
        load.end()
    assert load.wrong == []
    assert 500 not in load.statuses
    check_record(load, new.port)
    log = (old.data / "up.log").read_text()
    assert re.search(r"not migrated: .*0002_stakes", log)
    with psycopg.connect(owner_url) as owner:
        assert owner.execute("SELECT max(stakes) FROM games").fetchone() == (7,)
