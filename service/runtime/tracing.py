"""
Traces: spans of requests, commits, jobs and deliveries, exported with OpenTelemetry.

Nothing is traced unless `switch_on` is called in a process whose OTEL_* variables request it.
Only requests and jobs begin a trace; a step outside of them is not traced. The attributes of
`Attribute` are the only exported ones: no id, name, path, move or card is exported.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, Final, Self


class SpanName(StrEnum):
    """The names of spans; that of a request is its method and the template of its path."""

    COMMIT = "append"
    PUBLISH = "publish"
    JOB = "job"
    DUE_MOVE = "due move"
    DECISION = "bot decision"
    RELAY = "relay"
    DELIVERY = "stream delivery"


class Attribute(StrEnum):
    """All attributes of spans."""

    METHOD = "http.request.method"
    ROUTE = "http.route"  # the template of the path
    STATUS = "http.response.status_code"
    DATABASE = "db.system.name"
    FUNCTION = "db.stored_procedure.name"
    STREAMS = "shithead.streams"  # kinds of the streams in a commit
    EVENTS = "shithead.events"  # number of events committed or delivered
    CONFLICT = "shithead.conflict"  # whether a commit came too late
    MESSAGING = "messaging.system"
    QUEUE = "messaging.destination.name"
    JOB = "shithead.job"
    DUE = "shithead.due"  # kind of a due move
    ERROR = "error.type"


Value = str | int | bool | Sequence[str]

_KINDS: Final[Mapping[SpanName, str]] = {
    SpanName.COMMIT: "CLIENT",
    SpanName.PUBLISH: "PRODUCER",
    SpanName.RELAY: "CONSUMER",
}
_SWITCHES: Final = (
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_TRACES_EXPORTER",
)
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_CONTEXT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_FLUSH_SECONDS: Final = 2.0
"""Maximum time that a stopping process waits for the collector."""


class Span:
    """
    A step of a trace, from its construction to `end`; usable as a context manager.

    Within its block, further spans are its children. Exceptions are not exported, because their
    text could contain hidden cards.
    """

    __slots__ = ("_exported", "_outer", "_unit", "wrapped")

    def __init__(self, wrapped: Any, *, unit: float = 0.0) -> None:
        """Wrap a span of OpenTelemetry; its length is rounded up to whole multiples of `unit`."""
        self.wrapped = wrapped
        self._exported = True
        self._unit = int(unit * 1e9)

    @property
    def recording(self) -> bool:
        """Return whether the span will be exported: false if its trace is not sampled."""
        return bool(self.wrapped.is_recording())

    @property
    def context(self) -> str:
        """Return the ids of the span in the form of the header `traceparent`."""
        known = self.wrapped.get_span_context()
        return f"00-{known.trace_id:032x}-{known.span_id:016x}-{known.trace_flags:02x}"

    def note(self, attribute: Attribute, value: Value) -> None:
        """Set an attribute."""
        self.wrapped.set_attribute(attribute.value, value)

    def fail(self, error: str) -> None:
        """Mark the span as failed; `error` is the name of a problem or of a class."""
        self.note(Attribute.ERROR, error)
        self.wrapped.set_status(_library().StatusCode.ERROR)

    def discard(self) -> None:
        """Do not export the span; exported children would have no parent."""
        self._exported = False

    def end(self) -> None:
        """End the span, which is exported unless it was discarded."""
        if not self._exported:
            return
        at = None
        if self._unit and self.recording:
            begun = self.wrapped.start_time
            at = begun + -(-(time.time_ns() - begun) // self._unit) * self._unit
        self.wrapped.end(at)

    def ends_after(self, act: Callable[[], None]) -> Callable[[], None]:
        """Return a function that calls `act` and then ends the span."""

        def ended() -> None:
            act()
            self.end()

        return ended

    def enter(self) -> None:
        """Make the following spans of this thread its children, until `leave`."""
        self._outer = _current.get()
        _current.set(self)

    def leave(self) -> None:
        """End the block of `enter`."""
        _current.set(self._outer)

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(self, *_error: object) -> None:
        self.leave()
        self.end()


class _Nothing(Span):
    """The span of a step that is not traced."""

    __slots__ = ()

    def __init__(self) -> None:
        """Wrap nothing."""

    @property
    def recording(self) -> bool:
        return False

    def note(self, attribute: Attribute, value: Value) -> None:
        pass

    def fail(self, error: str) -> None:
        pass

    def discard(self) -> None:
        pass

    def end(self) -> None:
        pass

    def ends_after(self, act: Callable[[], None]) -> Callable[[], None]:
        return act

    def enter(self) -> None:
        pass

    def leave(self) -> None:
        pass


NOTHING: Final = _Nothing()

_tracer: Any = None  # of OpenTelemetry; None while traces are off
_current: ContextVar[Span | None] = ContextVar("span", default=None)


def is_on() -> bool:
    """Return whether this process exports traces."""
    return _tracer is not None


def is_traced() -> bool:
    """Return whether this thread is within a span that will be exported."""
    if _tracer is None:
        return False
    outer = _current.get()
    return outer is not None and outer.recording


def span(step: SpanName, values: Mapping[Attribute, Value] | None = None) -> Span:
    """Return a child of the current span; NOTHING if there is none or it is not exported."""
    if _tracer is None:
        return NOTHING
    outer = _current.get()
    if outer is None or not outer.recording:
        return NOTHING
    return Span(_begin(step, _KINDS.get(step), values, parent=outer.wrapped))


def note(attribute: Attribute, value: Value) -> None:
    """Set an attribute of the current span, if there is one."""
    outer = None if _tracer is None else _current.get()
    if outer is not None:
        outer.note(attribute, value)


def request_span(method: str, route: str | None, sent: str | None) -> Span:
    """
    Begin the trace of a request; `sent` is its header `traceparent`.

    A caller is not trusted: its context only becomes a link of the new trace. It determines
    neither the id of that trace nor whether it is sampled.
    """
    values: dict[Attribute, Value] = {Attribute.METHOD: method}
    if route is not None:
        values[Attribute.ROUTE] = route
    name = method if route is None else f"{method} {route}"
    sent_context = _span_context(sent, sampled=False)
    links = [] if sent_context is None else [sent_context]
    return Span(_begin(name, "SERVER", values, links=links))


def job_span(kind: str, queue: str, carried: object, *, unit: float) -> Span:
    """
    Continue the trace that enqueued a job, or begin one; `carried` is the context in the job.

    The length of the span is rounded up to whole multiples of `unit` seconds, because the
    length of a job depends on hidden cards.
    """
    if _tracer is None:
        return NOTHING
    values = {Attribute.MESSAGING: "redis", Attribute.QUEUE: queue, Attribute.JOB: kind}
    parent = _span_context(carried)
    return Span(_begin(SpanName.JOB, "CONSUMER", values, parent=_remote(parent)), unit=unit)


def continued(step: SpanName, carried: Sequence[str]) -> Span:
    """
    Return a child of the last context in `carried`, with links to the others.

    Returns NOTHING without a context: the trace was not sampled, or Redis has lost its context.
    """
    known = [one for one in map(_span_context, carried) if one is not None]
    if _tracer is None or not known:
        return NOTHING
    *others, last = known
    return Span(_begin(step, _KINDS.get(step), None, parent=_remote(last), links=others))


def delivered(carried: str, *, events: int, since: int, until: int) -> None:
    """Export a delivery of events to a live reader; times in nanoseconds since 1970."""
    parent = _span_context(carried)
    if _tracer is not None and parent is not None:
        values = {Attribute.EVENTS: events}
        made = _begin(SpanName.DELIVERY, "PRODUCER", values, parent=_remote(parent), since=since)
        made.end(until)


def context_for_job() -> str | None:
    """Return the current context for a job of the same trace; None outside of a trace."""
    outer = None if _tracer is None else _current.get()
    return None if outer is None else outer.context


def trace_id() -> str | None:
    """Return the id of the current trace in hexadecimal, None if it is not exported."""
    outer = None if _tracer is None else _current.get()
    return outer.context[3:35] if outer is not None and outer.recording else None


def are_requested(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the variables request traces: with a collector's address or an exporter."""
    if _value(environment, "OTEL_SDK_DISABLED") == "true":
        return False
    exporter = _value(environment, "OTEL_TRACES_EXPORTER")
    return exporter != "none" and any(_value(environment, one) for one in _SWITCHES)


def switch_on(process: str, version: str) -> str | None:
    """
    Export the traces of this process if its variables request it; return a fault, None if none.

    Starts a thread, so it is called after a fork. The exporter works in that thread, over a
    queue of OTEL_BSP_MAX_QUEUE_SIZE spans; further spans are dropped.
    """
    global _tracer  # noqa: PLW0603 - one tracer a process, looked up at every step
    if _tracer is not None or not are_requested():
        return None
    fault = _unsupported(os.environ)
    if fault is not None:
        return fault
    from multiprocessing.util import Finalize

    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        return f"the extra `telemetry` is not installed: no module {error.name}"
    named = {"service.name": "shithead", "service.version": version}
    named |= OTELResourceDetector().detect().attributes
    resource = Resource.create({**named, "shithead.process": process})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracer = provider.get_tracer("shithead", version)
    # Unlike `atexit` it also runs at the end of a child of `multiprocessing`.
    Finalize(None, _flush, args=(provider,), exitpriority=10)
    return None


def _unsupported(environment: Mapping[str, str]) -> str | None:
    """Return which variable names an unsupported exporter; None if none does."""
    if _value(environment, "OTEL_TRACES_EXPORTER") not in ("", "otlp"):
        return "OTEL_TRACES_EXPORTER is neither otlp nor none"
    for name in _PROTOCOLS:
        protocol = _value(environment, name)
        if protocol:
            return None if protocol == "http/protobuf" else f"{name} is not http/protobuf"
    return None


def _value(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip().lower()


def _flush(provider: Any) -> None:
    """Export the spans in the queue; return after _FLUSH_SECONDS even if the collector hangs."""
    thread = threading.Thread(target=provider.force_flush, name="flush", daemon=True)
    thread.start()
    thread.join(_FLUSH_SECONDS)


def _library() -> Any:
    """Return the module `opentelemetry.trace`, which is loaded only if traces are on."""
    from opentelemetry import trace

    return trace


def _begin(
    name: str,
    kind: str | None,
    values: Mapping[Attribute, Value] | None,
    *,
    parent: Any = None,
    links: Iterable[Any] = (),
    since: int | None = None,
) -> Any:
    """Return a span of OpenTelemetry; without a parent it begins a trace."""
    library = _library()
    from opentelemetry.context import Context

    return _tracer.start_span(
        str(name),
        context=Context() if parent is None else library.set_span_in_context(parent, Context()),
        kind=library.SpanKind[kind or "INTERNAL"],
        attributes={one.value: value for one, value in (values or {}).items()},
        links=[library.Link(one) for one in links],
        start_time=since,
        record_exception=False,
        set_status_on_exception=False,
    )


def _remote(context: Any) -> Any:
    """Return a span of another process, to be a parent; None for None."""
    return None if context is None else _library().NonRecordingSpan(context)


def _span_context(text: object, *, sampled: bool | None = None) -> Any:
    """Return the context in a `traceparent`; None for any other text, and while traces are off."""
    found = _CONTEXT.fullmatch(text) if isinstance(text, str) and _tracer is not None else None
    if found is None:
        return None
    library = _library()
    flags = int(found[3], 16) & 1 if sampled is None else int(sampled)
    made = library.SpanContext(
        int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=library.TraceFlags(flags)
    )
    return made if made.is_valid else None
