"""Traces of real processes at a collector: their spans and attributes."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from service.application.games.schedule import INTERVAL_SECONDS
from service.cli.run import ROLES
from service.local.processes import Child
from service.local.programs import program_of
from service.runtime.config import settings_from
from service.runtime.tracing import Attribute, SpanName
from tests.client import Client, play_on, register
from tests.collector import Collector, Exported, collecting
from tests.contract.conftest import address_of_service
from tests.running import READY_SECONDS, Running, free_port, is_ready, running, wait_for

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]
BEAT = int(INTERVAL_SECONDS * 1e9)
ENTROPY = "ab" * 32
THEIRS = ("c0ffee00" * 4, "dec0de00" * 2)
"""The trace and the span that a client names."""

CARD = re.compile(r"(?<![0-9A-Za-z-])(?:[2-9TJQKA][cdhs])(?![0-9A-Za-z-])")
TEMPLATE = re.compile(r"(?:/[a-z]+|/v1|/<(?:[a-z]+:)?[a-z_]+>)+")
"""The template of a path: an id contains a digit or a hyphen."""

IN_RESOURCE = {
    "service.name",
    "service.version",
    "service.instance.id",
    "shithead.process",
    "telemetry.sdk.language",
    "telemetry.sdk.name",
    "telemetry.sdk.version",
}


@dataclass(frozen=True, kw_only=True)
class Played:
    """A hand that was played, its secrets, and the exported spans."""

    collector: Collector = field(repr=False)
    spans: list[Exported] = field(repr=False)
    secrets: dict[str, str] = field(repr=False)
    events: list[dict[str, Any]] = field(repr=False)
    log: str = field(repr=False)


@pytest.fixture(scope="module")
def played(
    module_database_url: str, redis_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Played:
    """Play a private hand against two bots, with a reader of its stream."""
    logs = tmp_path_factory.mktemp("logs")
    with collecting() as collector, pytest.MonkeyPatch.context() as patched:
        for name, value in collector.environment.items():
            patched.setenv(name, value)
        with running(
            module_database_url, redis_server, logs, workers=1, stream_port=free_port()
        ) as service:
            secrets, events = _hand(service, collector)
            log = service.written()
        return Played(
            collector=collector, spans=collector.spans(), secrets=secrets, events=events, log=log
        )


def _hand(service: Running, collector: Collector) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Play a hand to its end; return its secrets and its events."""
    ada = register(service.port, "Ada Lovelace")
    table = ada.post(
        "/v1/tables",
        {
            "ruleset": "shithead",
            "seats": ["me", {"bot": "greedy"}, {"bot": "lowest"}],
            "visibility": "private",
            "entropy": "value",
            "window_seconds": 0,
        },
    )
    path = f"/v1/games/{table['game']}"
    ada.get(path, traceparent=f"00-{THEIRS[0]}-{THEIRS[1]}-01")
    assert ada.call("GET", f"{path}?as=Kd&token=secret").status == 400
    reading = threading.Thread(target=_read, args=(service, ada, path), daemon=True)
    reading.start()
    ada.post(f"{path}/entropy", {"value": ENTROPY})
    assert ada.call("POST", f"{path}/moves", {"type": "play", "cards": ["Th/9"]}).status >= 400
    play_on([ada], table["game"], random.Random(3))
    reading.join(30)
    assert not reading.is_alive()
    wait_for(lambda: _whole_moves(collector.spans()), seconds=30)
    body = ada.call("GET", f"{path}/events", headers={"Accept": "application/x-ndjson"}).body
    events = [json.loads(line) for line in body.splitlines()]
    secrets = {
        "token": str(ada.token),
        "name": "Ada Lovelace",
        "own entropy": ENTROPY,
        "seed": next(e["data"]["seed"] for e in events if "seed" in e["data"]),
        "game": table["game"],
        "table": table["id"],
        "query": "secret",
        "address": "127.0.0.1",
    }
    for opening in ada.get(f"{path}/openings")["items"]:
        secrets[f"salt of {opening['p']}"] = opening["salt"]
    return secrets, events


def _read(service: Running, ada: Client, path: str) -> None:
    """Read the stream of a game from the process for streams, to its end."""
    connection = http.client.HTTPConnection("127.0.0.1", service.settings.stream_port, timeout=60)
    headers = {"Authorization": f"Bearer {ada.token}"}
    connection.request("GET", f"{path}/stream", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200
    while answer.readline() != b"event: end\n":
        pass
    connection.close()


def _whole_moves(spans: list[Exported]) -> list[bytes]:
    """Return the complete traces of a person's moves, each with all spans that it caused."""
    found = []
    for move in spans:
        if move.name != "POST /v1/games/<uuid:game_id>/moves":
            continue
        names = Counter((one.process, one.name) for one in spans if one.trace == move.trace)
        wanted = {
            ("api", SpanName.COMMIT),
            ("api", SpanName.PUBLISH),
            ("worker", SpanName.JOB),
            ("worker", SpanName.DUE_MOVE),
            ("worker", SpanName.DECISION),
            ("worker", SpanName.COMMIT),
            ("worker", SpanName.PUBLISH),
            ("relay", SpanName.RELAY),
            ("streams", SpanName.DELIVERY),
        }
        if wanted <= names.keys():
            found.append(move.trace)
    return found


def _children(spans: list[Exported], parent: Exported) -> list[Exported]:
    return [one for one in spans if one.parent == parent.identity]


def test_a_trace_links_a_move_to_its_commit_job_bot_moves_and_stream(
    played: Played,
) -> None:
    """Each step is a child of the step that led to it, in one trace."""
    spans = played.spans
    for trace in _whole_moves(spans):
        inside = [one for one in spans if one.trace == trace]
        [request] = [one for one in inside if one.name.startswith("POST")]
        assert not request.parent
        below = {one.name: one for one in _children(inside, request)}
        assert below.keys() == {SpanName.COMMIT, SpanName.PUBLISH}
        assert below[SpanName.COMMIT].values[Attribute.STREAMS] == ("game",)
        after = _children(inside, below[SpanName.PUBLISH])
        assert {one.name for one in after} <= {SpanName.JOB, SpanName.DELIVERY, SpanName.RELAY}
        [job] = [one for one in after if one.name == SpanName.JOB]
        assert job.process == "worker"
        due = _children(inside, job)
        assert {one.name for one in due} == {SpanName.DUE_MOVE}
        for move in due:
            names = [one.name for one in sorted(_children(inside, move), key=lambda s: s.begun)]
            assert names == [SpanName.DECISION, SpanName.COMMIT, SpanName.PUBLISH]
    assert _whole_moves(spans)


def test_every_move_of_the_hand_is_traced_once(played: Played) -> None:
    """Each event belongs to a traced commit; the table has three: opened, begun, finished."""
    commits = [one for one in played.spans if one.name == SpanName.COMMIT]
    written = [one for one in commits if not one.values[Attribute.CONFLICT] and not one.failed]
    assert sum(one.values[Attribute.EVENTS] for one in written) == len(played.events) + 3


def test_every_span_has_its_parent(played: Played) -> None:
    known = {(one.trace, one.identity) for one in played.spans}
    lost = [one for one in played.spans if one.parent and (one.trace, one.parent) not in known]
    assert lost == []


def test_only_listed_attributes_are_exported(played: Played) -> None:
    """Their values are numbers or from closed sets: no id, card, name, token or address."""
    words: Mapping[Attribute, set[Any]] = {
        Attribute.METHOD: {"GET", "POST"},
        Attribute.DATABASE: {"postgresql"},
        Attribute.FUNCTION: {"append_game_move", "try_append_events"},
        Attribute.STREAMS: {("game",), ("table",), ("table", "game"), ("game", "table")},
        Attribute.CONFLICT: {False, True},
        Attribute.MESSAGING: {"redis"},
        Attribute.QUEUE: {"bots"},
        Attribute.JOB: {"take_turn"},
        Attribute.DUE: {"bot"},
    }
    numbers = {Attribute.STATUS, Attribute.EVENTS}
    for span in played.spans:
        assert span.name in set(SpanName) or TEMPLATE.fullmatch(span.name.partition(" ")[2])
        for key, value in span.values.items():
            if key in numbers:
                assert isinstance(value, int)
            elif key == Attribute.ROUTE:
                assert TEMPLATE.fullmatch(value)
            else:
                assert value in words[Attribute(key)], (key, value)
    for request in played.collector.requests:
        for one in request.resource_spans:
            assert {value.key for value in one.resource.attributes} <= IN_RESOURCE


def test_no_hidden_value_is_in_the_exported_bytes(played: Played) -> None:
    raw = b"".join(played.collector.raw)
    texts = [*played.secrets.items()]
    for name, secret in texts:
        assert secret.encode() not in raw, name
        if re.fullmatch(r"(?:[0-9a-f]{2}){8,}", secret):
            assert bytes.fromhex(secret) not in raw, name
    # As text only: two bytes of an identity can look like a card.
    written = "".join(map(str, played.collector.requests))
    shown = re.sub(r"(trace_id|span_id): \".*\"", "", written)
    assert CARD.findall(shown) == []


def test_the_duration_of_a_bot_span_is_its_interval(played: Played) -> None:
    """A shorter span would reveal the thinking time of a bot, which depends on its cards."""
    decisions = [one for one in played.spans if one.name == SpanName.DECISION]
    jobs = [one for one in played.spans if one.name == SpanName.JOB]
    assert decisions
    assert jobs
    assert all(one.ended - one.begun >= BEAT * 0.99 for one in decisions)
    assert {(one.ended - one.begun) % BEAT for one in jobs} == {0}


def test_the_trace_of_a_caller_is_linked_and_not_continued(played: Played) -> None:
    theirs = (bytes.fromhex(THEIRS[0]), bytes.fromhex(THEIRS[1]))
    [linked] = [one for one in played.spans if one.links and one.process == "api"]
    assert linked.links == (theirs,)
    assert not linked.parent
    assert theirs[0] not in {one.trace for one in played.spans}


def test_the_log_names_the_trace_of_a_request(played: Played) -> None:
    lines = [json.loads(line) for line in played.log.splitlines() if line.startswith("{")]
    named = {line["trace"] for line in lines if line.get("path", "").endswith("/moves")}
    moves = {one.trace.hex() for one in played.spans if one.name.endswith("/moves")}
    assert named == moves


@pytest.mark.parametrize("answers", [False, None], ids=["hangs", "down"])
def test_an_unresponsive_collector_delays_no_request_and_no_stop(
    database_url: str,
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    answers: bool | None,
) -> None:
    """The queue is smaller than the spans of the hand, and an export waits for 30 seconds."""
    with ExitStack() as stack:
        collector = Collector(port=free_port())
        if answers is not None:
            collector = stack.enter_context(collecting(answers=answers))
        variables = collector.environment | {
            "OTEL_BSP_MAX_QUEUE_SIZE": "8",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "8",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "30",
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with running(database_url, redis_url, tmp_path, workers=1) as service:
            ada = register(service.port, "Ada")
            body = {"ruleset": "shithead", "seats": ["me", {"bot": "greedy"}], "window_seconds": 0}
            view = play_on([ada], ada.post("/v1/tables", body)["game"], random.Random(3))
            assert view["status"] == "ended"
            if answers is not None:
                assert collector.requested.is_set()
            children = list(service.children.values())
            began = time.monotonic()
        stopped = time.monotonic() - began
    assert ada.slowest < 15  # half of the export's time: a long poll takes two seconds
    assert stopped < 10  # then `running` would have killed the processes
    assert [child.returncode for child in children] == [0] * len(children)
    assert "Traceback" not in service.written()


def test_the_programs_of_a_request_export_traces_when_started_alone(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """
    All programs of `shithead run` take part in a request, except the sweeper, the sequencer
    and that of webhooks.

    The command itself starts the API. The others are forked, because eight new Python processes
    with OpenTelemetry take ten seconds of processor time.
    """
    with collecting() as collector:
        known = {
            **os.environ,
            **collector.environment,
            "SHITHEAD_DATABASE_URL": address_of_service(database_url),
            "SHITHEAD_REDIS_URL": redis_url,
            "SHITHEAD_KEY_FILE": str(tmp_path / "keys.json"),
            "SHITHEAD_API_PROCESSES": "1",
            "SHITHEAD_PORT": str(free_port()),
            "SHITHEAD_STREAM_PORT": str(free_port()),
            "TMPDIR": str(tmp_path),
        }
        servers = {role: int(known[f"SHITHEAD_{name}"]) for role, name in SERVERS.items()}
        children: dict[str, Child] = {}
        try:
            for role in ROLES:
                environment = known | {"SHITHEAD_METRICS_PORT": str(free_port())}
                if role == "api":
                    command = [sys.executable, "-m", "service.cli", "run", role]
                    children[role] = subprocess.Popen(command, env=environment, cwd=ROOT)
                else:
                    program = program_of(settings_from(environment), role)
                    log = tmp_path / f"{role}.log"
                    children[role] = program.start(log=log, environment=environment, folder=ROOT)
                if role in servers:
                    wait_for(partial(is_ready, servers[role]), seconds=READY_SECONDS)
            _use_all(**servers)
            expected = {*ROLES} - {"sweeper", "sequencer", "webhooks"}
            wait_for(lambda: {one.process for one in collector.spans()} == expected, seconds=60)
        finally:
            for child in children.values():
                child.terminate()
            statuses = {role: child.wait(timeout=20) for role, child in children.items()}
    assert statuses == dict.fromkeys(ROLES, 0)


SERVERS = {"api": "PORT", "streams": "STREAM_PORT"}


def _use_all(*, api: int, streams: int) -> None:
    """Make a request to each server, and let each kind of job run."""
    Client(port=streams).get("/v1/rulesets")
    ada = register(api, "Ada")
    rules = {"name": "To four", "base": "shithead", "changes": {"refill": {"size": 4}}}
    assert ada.call("POST", "/v1/rulesets", rules).status in (201, 503)  # 503: a busy machine
    for bot in ("lowest", "careful"):
        ada.post("/v1/tables", {"ruleset": "shithead", "seats": ["me", {"bot": bot}]})
