"""Traces: the variables that enable them, the sampler, and no cost when disabled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask, Response
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, Sampler

from service.api import observability, problems
from service.runtime import tracing
from service.runtime.config import Settings
from service.runtime.tracing import Attribute, SpanName

ROOT = Path(__file__).resolve().parents[3]
COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
SENT = f"00-{'ab' * 16}-{'cd' * 8}-01"


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Trace in this process, to memory."""
    yield _traced(monkeypatch, None)


def _traced(monkeypatch: pytest.MonkeyPatch, sampler: Sampler | None) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_tracer", provider.get_tracer("tests"))
    return exporter


@pytest.mark.parametrize(
    ("variables", "on"),
    [
        ({}, False),
        (COLLECTOR, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        (COLLECTOR | {"OTEL_TRACES_EXPORTER": "none"}, False),
        (COLLECTOR | {"OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_SERVICE_NAME": "shithead", "OTEL_TRACES_SAMPLER": "always_on"}, False),
    ],
)
def test_the_standard_variables_switch_traces_on_or_off(
    variables: dict[str, str], *, on: bool
) -> None:
    assert tracing.are_requested(variables) is on


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"OTEL_TRACES_EXPORTER": "console"}, "OTEL_TRACES_EXPORTER"),
        (COLLECTOR | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL"),
    ],
)
def test_the_variable_of_an_unsupported_exporter_or_protocol_is_named(
    variables: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert reason in (tracing.switch_on("api", "0") or "")
    assert not tracing.is_on()


def test_without_the_extra_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*next(iter(COLLECTOR.items())))
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter", None)
    assert "the extra `telemetry` is not installed" in (tracing.switch_on("api", "0") or "")
    assert not tracing.is_on()


@pytest.mark.heavy
def test_without_the_variables_nothing_is_loaded() -> None:
    """All programs are imported and one span is made: there is no exporter and no thread."""
    code = (
        "import sys, threading, workers.main, service.wsgi, service.runtime.telemetry as t;"
        "from service.runtime import tracing; t.configure_traces('api');"
        "assert tracing.span(tracing.SpanName.COMMIT) is tracing.NOTHING;"
        "assert tracing.context_for_job() is None and not tracing.is_traced();"
        "print('opentelemetry.exporter' in sys.modules, threading.active_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "1"]


def test_only_requests_and_jobs_begin_a_trace(exported: InMemorySpanExporter) -> None:
    """Maintenance of the sweeper, commands and tests commit too, and are not traced."""
    assert tracing.span(SpanName.COMMIT) is tracing.NOTHING
    assert tracing.continued(SpanName.RELAY, []) is tracing.NOTHING
    with tracing.job_span("take_turn", "bots", None, unit=0), tracing.span(SpanName.COMMIT):
        pass
    commit, job = exported.get_finished_spans()
    assert parent_of(commit) == job.context.span_id
    assert job.parent is None


def parent_of(span: ReadableSpan) -> int:
    assert span.parent is not None
    return int(span.parent.span_id)


def test_a_job_continues_the_trace_that_it_carries(exported: InMemorySpanExporter) -> None:
    with tracing.request_span("GET", "/v1/games", None):
        carried = tracing.context_for_job()
    with tracing.job_span("take_turn", "bots", carried, unit=0.02) as span:
        span.fail("failed")
    request, job = exported.get_finished_spans()
    assert parent_of(job) == request.context.span_id
    assert (job.end_time - job.start_time) % 20_000_000 == 0
    assert job.end_time > job.start_time


@pytest.mark.parametrize("stored", [None, 7, "", "x", SENT.replace("00-", "01-"), f"{SENT}\n"])
def test_a_job_with_an_invalid_context_begins_a_new_trace(
    stored: object, exported: InMemorySpanExporter
) -> None:
    """Every client of Redis can write such a context."""
    with tracing.job_span("take_turn", "bots", stored, unit=0):
        pass
    [job] = exported.get_finished_spans()
    assert job.parent is None


def test_a_discarded_span_is_not_exported(exported: InMemorySpanExporter) -> None:
    with tracing.job_span("take_turn", "bots", None, unit=0):
        with tracing.span(SpanName.DUE_MOVE) as span:
            span.discard()
        tracing.note(Attribute.DUE, "bot")
    [job] = exported.get_finished_spans()
    assert job.attributes["shithead.due"] == "bot"


def test_an_exception_is_not_in_a_span(exported: InMemorySpanExporter) -> None:
    """Its text can name cards."""
    with (
        pytest.raises(ValueError, match="Th"),
        tracing.job_span("take_turn", "bots", None, unit=0),
        tracing.span(SpanName.DUE_MOVE),
    ):
        raise ValueError("the Th is hidden")
    spans = exported.get_finished_spans()
    assert [(*span.events,) for span in spans] == [(), ()]
    assert "Th" not in "".join(span.to_json() for span in spans)


def test_a_caller_cannot_force_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's sampler drops the trace, though the caller's context is marked as sampled."""
    exporter = _traced(monkeypatch, ParentBased(root=ALWAYS_OFF))
    with tracing.request_span("GET", "/v1/games", SENT):
        assert tracing.span(SpanName.COMMIT) is tracing.NOTHING
        carried = tracing.context_for_job()
        assert tracing.trace_id() is None
    with tracing.job_span("take_turn", "bots", carried, unit=0), tracing.span(SpanName.COMMIT):
        pass
    assert exporter.get_finished_spans() == ()


@pytest.mark.parametrize("problem", ["rule-refused", "not-your-turn", "unknown-card"])
def test_a_trace_does_not_show_why_a_move_was_refused(
    problem: str, exported: InMemorySpanExporter
) -> None:
    """These refusals depend on hidden cards; out of turn, their status does not."""
    app = Flask(__name__)
    observability.register(app, Settings(database_url=""))

    @app.post("/v1/games/<uuid:game_id>/moves")
    def refuse(game_id: str) -> Response:
        return problems.problem(problem, "", {"out_of_turn": True, "code": "", "values": {}})

    path = "/v1/games/0d8b2c9a-0000-4000-8000-000000000000/moves"
    app.test_client().post(path, headers={"traceparent": SENT, "tracestate": "a=secret"})
    [span] = exported.get_finished_spans()
    assert span.name == "POST /v1/games/<uuid:game_id>/moves"
    assert dict(span.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/v1/games/<uuid:game_id>/moves",
        "http.response.status_code": 409,
    }
    [link] = span.links
    assert link.context.trace_id == int("ab" * 16, 16) != span.context.trace_id
    assert "secret" not in span.to_json()
    assert not tracing.is_traced()  # the next request of this thread begins without a trace
