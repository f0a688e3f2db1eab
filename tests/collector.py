"""A trace collector for tests: an OTLP receiver over HTTP that stores all spans."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A span as the collector got it."""

    process: str
    name: str
    kind: int
    trace: bytes
    identity: bytes
    parent: bytes
    begun: int  # nanoseconds since 1970
    ended: int  # nanoseconds since 1970
    values: dict[str, Any]
    links: tuple[tuple[bytes, bytes], ...]  # trace and span
    failed: bool


@dataclass(kw_only=True)
class Collector:
    """The export requests so far: `requests` are the decoded bodies, `raw` their bytes."""

    port: int = 0
    requests: list[Any] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    requested: threading.Event = field(default_factory=threading.Event)

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables with which a process exports to this collector every 0.1 s."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }

    def spans(self) -> list[Exported]:
        """Return all spans, in the order of their arrival."""
        return [
            _exported(span, _values(of_process.resource.attributes)["shithead.process"])
            for request in list(self.requests)
            for of_process in request.resource_spans
            for scope in of_process.scope_spans
            for span in scope.spans
        ]


@contextmanager
def collecting(*, answers: bool = True) -> Iterator[Collector]:
    """Run a collector; if not `answers`, it accepts requests and never answers them."""
    collector, ended = Collector(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            collector.requested.set()
            if not answers:
                ended.wait()
                return
            request = ExportTraceServiceRequest()
            request.ParseFromString(body)
            collector.raw.append(body)
            collector.requests.append(request)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - named so by http
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        collector.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            ended.set()
            server.shutdown()
            thread.join()


def _exported(span: Any, process: str) -> Exported:
    assert not span.events  # an exception would be an event, with its text
    assert not span.trace_state
    assert not span.status.message
    assert not any(link.attributes or link.trace_state for link in span.links)
    return Exported(
        process=process,
        name=span.name,
        kind=span.kind,
        trace=span.trace_id,
        identity=span.span_id,
        parent=span.parent_span_id,
        begun=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        values=_values(span.attributes),
        links=tuple((link.trace_id, link.span_id) for link in span.links),
        failed=span.status.code == 2,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(_value(one) for one in value.array_value.values)
    return getattr(value, kind)
