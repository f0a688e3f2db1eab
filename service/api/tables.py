"""Tables: opened, listed, watched, joined, left, and dealt at."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.players_schema import NothingSchema
from schemas.tables_schema import (
    DealtSchema,
    KeyChangePageSchema,
    OpenedTableSchema,
    SeatChangeSchema,
    SitSchema,
    TablePageSchema,
    TableRequestSchema,
    TableSchema,
    TablesQuery,
    WaitQuery,
)
from service.api.auth import required
from service.api.blueprint import Blueprint, Call, Repeats, Token, operation
from service.api.context import context, services
from service.api.conventions import (
    answered,
    expected_versions,
    json_response,
    own,
    page,
    tagged,
    versioned,
)
from service.api.headers import InviteHeaders, MatchHeaders, VersionHeaders
from service.api.limits import caller_address
from service.application.table_requests import TableRequest
from service.domain.events import Clock, Entropy

tables = Blueprint("tables", __name__, "The same seats, playing hand after hand.")

TABLE = "/tables/<uuid:table_id>"


@operation(
    tables,
    "POST",
    "/tables",
    body=TableRequestSchema,
    answer=OpenedTableSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=("cannot-deal", "ruleset-refused", "rate-limited"),
    location="/v1/tables/{id}",
)
def open_table(call: Call) -> Response:
    """Open a table; where its seats are full, the first hand is dealt at once."""
    body = call.body
    wanted = TableRequest(
        ruleset=body["ruleset"],
        seats=tuple(body["seats"]),
        options=body["options"],
        clock=Clock(**body["clock"]) if body["clock"] else None,
        window_seconds=body["window_seconds"],
        public=body["visibility"] == "public",
        entropy=Entropy(body["entropy"]),
        key=body["key"],
        turn_limit=body.get("turn_limit"),
        deal=body["deal"],
    )
    return answered(services().tables.open(call.by, wanted, call.repeat))


@operation(tables, "GET", "/tables", query=TablesQuery, answer=TablePageSchema)
def list_tables(call: Call) -> Response:
    """Public tables, and the caller's own."""
    asked = call.query
    if asked["mine"]:
        required(call.player)
    items, next_ = services().lists.tables(
        call.caller,
        status=asked["status"],
        ruleset=asked["ruleset"],
        mine=asked["mine"],
        limit=asked["limit"],
        cursor=asked["cursor"],
    )
    return own(json_response(page(items, next_)))


@operation(
    tables,
    "GET",
    TABLE,
    query=WaitQuery,
    answer=TableSchema,
    refuses=("not-found",),
    headers=(InviteHeaders, VersionHeaders),
)
def table(call: Call, table_id: UUID) -> Response:
    """A table; with `after` and `wait`, as soon as it has a later version."""
    found, version = services().tables.view(call.caller, table_id)
    after = version if call.query["after"] is None else call.query["after"]
    if call.query["wait"] and version <= after:
        waiting = context().waiting
        with waiting.places.place(caller_address()) as free:
            moved = free and waiting.until_past(
                table_id,
                lambda: services().tables.version(table_id),
                after,
                call.query["wait"],
            )
        if moved:
            found, version = services().tables.view(call.caller, table_id)
    return versioned(own(json_response(found)), version)


@operation(
    tables,
    "POST",
    f"{TABLE}/seats",
    body=SitSchema,
    answer=TableSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "seat-taken", "hand-running", "forbidden", "rate-limited"),
    headers=(InviteHeaders,),
)
def sit(call: Call, table_id: UUID) -> Response:
    """Sit down, on any open seat where none is named."""
    body = call.body
    return answered(
        services().tables.sit(
            call.by,
            table_id,
            seat=body["seat"],
            entropy=Entropy(body["entropy"]),
            key=body["key"],
            invite=body["invite"] or call.caller.invite,
            request=call.repeat,
        )
    )


@operation(
    tables,
    "PATCH",
    f"{TABLE}/seats/me",
    body=SeatChangeSchema,
    answer=TableSchema,
    token=Token.NEEDED,
    refuses=("not-found", "not-seated", "hand-running", "bad-signature"),
    headers=(InviteHeaders,),
)
def change_seat(call: Call, table_id: UUID) -> Response:
    """Choose another entropy or key for the hands to come; what is left out stays."""
    found, version = services().tables.change_seat(
        call.by, table_id, changes=call.body, invite=call.caller.invite
    )
    return tagged(own(json_response(found)), version)


@operation(
    tables,
    "GET",
    f"{TABLE}/keys",
    answer=KeyChangePageSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
)
def key_changes(call: Call, table_id: UUID) -> Response:
    """
    The changes of seats' keys that the keys before them signed, newest first.

    The verifier takes this answer as `--key-change`: it shows that the key of a later
    hand follows from the one that a player gave out.
    """
    return own(json_response(page(services().key_changes.of_table(call.caller, table_id), None)))


@operation(
    tables,
    "DELETE",
    f"{TABLE}/seats/me",
    answer=None,
    status=204,
    token=Token.NEEDED,
    refuses=("not-found", "not-seated", "hand-running"),
    headers=(InviteHeaders,),
)
def leave(call: Call, table_id: UUID) -> Response:
    """Leave one's seat, between hands."""
    services().tables.leave(call.by, table_id, invite=call.caller.invite)
    return own(Response(status=204))


@operation(
    tables,
    "DELETE",
    TABLE,
    answer=None,
    status=204,
    token=Token.NEEDED,
    refuses=("not-found", "forbidden", "stale-version", "hand-running"),
    headers=(InviteHeaders, MatchHeaders),
)
def close(call: Call, table_id: UUID) -> Response:
    """Close a table that the caller hosts, between hands; `If-Match` asks for its version."""
    services().tables.close(call.caller, call.by, table_id, expected_versions())
    return own(Response(status=204))


@operation(
    tables,
    "POST",
    f"{TABLE}/games",
    body=NothingSchema,
    answer=DealtSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=(
        *("not-found", "not-seated", "hand-running", "table-not-full", "forbidden"),
        *("cannot-deal", "rate-limited"),
    ),
    headers=(InviteHeaders,),
    location="/v1/games/{game[id]}",
)
def deal(call: Call, table_id: UUID) -> Response:
    """Deal the next hand."""
    made = services().tables.deal(call.by, table_id, call.repeat, invite=call.caller.invite)
    return answered(made)
