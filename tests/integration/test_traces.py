"""Traces of real processes at a collector: their spans and attributes."""

from __future__ import annotations

import http.client
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from service.application.games.schedule import INTERVAL_SECONDS
from service.cli.run import ROLES
from service.runtime.tracing import Attribute, SpanName
from tests.client import Client, play_on, register
from tests.collector import Collector, Exported, collecting
from tests.running import Running, free_port, running, wait_for

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
    processes: set[str] = field(repr=False)
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
            *(module_database_url, redis_server, logs),
            api_processes=1,
            stream_port=free_port(),
        ) as service:
            secrets, events = _hand(service, collector)
            log = service.written()
            until = time.time_ns()
            _use_other_programs(service.port)
            wait_for(lambda: _processes(collector) >= ROLES_OF_JOBS, seconds=60)
        return Played(
            collector=collector,
            spans=[one for one in collector.spans() if one.begun < until],
            processes=_processes(collector),
            secrets=secrets,
            events=events,
            log=log,
        )


ROLES_OF_JOBS = {"searches", "trials"}
"""The programs that the hand does not need."""


def _processes(collector: Collector) -> set[str]:
    """Return the processes that have exported spans."""
    return {one.process for one in collector.spans()}


def _use_other_programs(port: int) -> None:
    """Let a job of each of the other queues run."""
    bob = register(port, "Bob")
    rules = {"name": "To four", "base": "shithead", "changes": {"refill": {"size": 4}}}
    assert bob.call("POST", "/v1/rulesets", rules).status in (201, 503)  # 503: a busy machine
    bob.post("/v1/tables", {"ruleset": "shithead", "seats": ["me", {"bot": "careful"}]})


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


def test_every_program_of_a_request_exports_traces(played: Played) -> None:
    """The sweeper, the sequencer and the program of webhooks take no part in requests."""
    assert played.processes == {*ROLES} - {"sweeper", "sequencer", "webhooks"}


def test_an_unresponsive_collector_delays_no_request_and_no_stop(
    database_url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The queue is smaller than the spans of the hand, and an export waits for 30 seconds.

    A collector that refuses connections holds up the thread of the exporter for less time.
    """
    with ExitStack() as stack:
        collector = stack.enter_context(collecting(answers=False))
        variables = collector.environment | {
            "OTEL_BSP_MAX_QUEUE_SIZE": "8",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "8",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "30",
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with running(database_url, redis_url, tmp_path, workers=1, api_processes=1) as service:
            ada = register(service.port, "Ada")
            body = {"ruleset": "shithead", "seats": ["me", {"bot": "greedy"}], "window_seconds": 0}
            view = play_on([ada], ada.post("/v1/tables", body)["game"], random.Random(3))
            assert view["status"] == "ended"
            assert collector.requested.is_set()
            children = list(service.children.values())
            began = time.monotonic()
        stopped = time.monotonic() - began
    assert ada.slowest < 15  # half of the export's time: a long poll takes two seconds
    assert stopped < 10  # then `running` would have killed the processes
    assert [child.returncode for child in children] == [0] * len(children)
    assert "Traceback" not in service.written()
