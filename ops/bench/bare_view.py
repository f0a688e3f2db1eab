"""
A bare Flask application, the baseline of a move over HTTP.

Its GET reads one row by its primary key; its POST appends two events in one function call,
committed durably. It has no token, no rules, no log and no limits.
"""

from __future__ import annotations

import os
from typing import Any
from uuid import UUID

import orjson
import psycopg
from flask import Flask, Response, request
from psycopg_pool import ConnectionPool

ADDRESS = "BARE_DATABASE_URL"
EVENT_BYTES = 450

SCHEMA = """
CREATE TABLE bare_streams (
    stream_id uuid PRIMARY KEY, version integer NOT NULL, head bytea NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE bare_events (
    stream_id uuid, seq integer, line bytea NOT NULL, PRIMARY KEY (stream_id, seq)
);
CREATE FUNCTION bare_append(command jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    stream   uuid    := (command ->> 'stream')::uuid;
    reached  integer;
BEGIN
    INSERT INTO bare_streams AS s VALUES (stream, 2, sha256('0'::bytea))
    ON CONFLICT (stream_id) DO UPDATE SET version = s.version + 2
    RETURNING version INTO reached;
    INSERT INTO bare_events
    SELECT stream, reached - 3 + l.ordinality, convert_to(l.value, 'UTF8')
    FROM jsonb_array_elements_text(command -> 'lines') WITH ORDINALITY l;
    RETURN reached;
END
$$;
"""

_READ = b"SELECT version, head FROM bare_streams WHERE stream_id = $1::uuid"
_APPEND = b"SELECT bare_append($1::jsonb)"


def create() -> Flask:
    """Return the application; the server calls this in each of its processes."""
    app = Flask(__name__, static_folder=None)
    pool = ConnectionPool(
        os.environ[ADDRESS],
        kwargs={
            "autocommit": True,
            "prepare_threshold": 1,
            "cursor_factory": psycopg.RawCursor,
        },
        min_size=1,
        max_size=8,
        open=True,
    )

    def row(query: bytes, value: Any) -> tuple[Any, ...]:
        with pool.connection() as connection:
            found = connection.execute(query, (value,), binary=True).fetchone()
        return found or (0, b"")

    @app.get("/streams/<uuid:stream>")
    def read(stream: UUID) -> Response:
        version, head = row(_READ, stream)
        body = orjson.dumps({"version": version, "head": head.hex()})
        return Response(body, content_type="application/json")

    @app.post("/streams/<uuid:stream>")
    def append(stream: UUID) -> Response:
        line = request.get_data().decode().ljust(EVENT_BYTES, "x")
        command = orjson.dumps({"stream": str(stream), "lines": [line, line]}).decode()
        (version,) = row(_APPEND, command)
        body = orjson.dumps({"version": version})
        return Response(body, status=201, content_type="application/json")

    return app
