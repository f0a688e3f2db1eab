"""Table endpoints: open, list, join, leave, close, deal, invite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from flask import Response

from schemas.long_polls import WaitQuery
from schemas.strict_fields import OffsetQuery
from schemas.tables import (
    DealSchema,
    DealtSchema,
    InvitationPageSchema,
    KeyChangePageSchema,
    OpenedTableSchema,
    SeatChangeSchema,
    SentInvitationPageSchema,
    SentInvitationSchema,
    SitSchema,
    TablePageSchema,
    TableRequestSchema,
    TableSchema,
    TablesQuery,
)
from schemas.tokens import Scope
from service.api.call import required
from service.api.context import context, services
from service.api.conventions.caching import private
from service.api.conventions.etags import expected_versions, versioned
from service.api.conventions.idempotency import change_response
from service.api.conventions.paging import listed
from service.api.conventions.responses import json_response, page
from service.api.following import slot_for_poll
from service.api.operation import (
    Call,
    InviteHeaders,
    MatchHeaders,
    Repeats,
    Token,
    blueprint,
    operation,
)
from service.application.quotas import BY_SEATS, LIGHT, Weight
from service.application.tables.record import TableRequest
from service.domain.events import Clock, Entropy

tables = blueprint("tables", __name__, "Tables: the same seats play one game after another.")

TABLE = "/tables/<uuid:table_id>"


@operation(
    tables,
    "POST",
    "/tables",
    body=TableRequestSchema,
    answer=OpenedTableSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=("cannot-deal", "ruleset-refused", "limit-reached", "not-found", "not-seated"),
    headers=(InviteHeaders,),
    location="/v1/tables/{id}",
    tagged=True,
    weight=Weight(calls=5),
)
def open_table(call: Call) -> Response:
    """
    Open a table; if its seats are full and `deal` is true, the first hand is dealt at once.

    The caller is the host and, with `"me"` among the seats, a player. A private table is answered
    with its invite, which is shown in this answer only. `like` repeats an earlier table of the
    caller, and invites its players again.
    """
    body, invitations = call.body, services().invitations

    def wanted() -> TableRequest:
        if "like" in body:
            return invitations.like(call.caller, call.by, body["like"])
        return invitations.request(call.by, request_of(body))

    return change_response(services().tables.open(call.by, wanted, call.repeat))


def request_of(body: Mapping[str, Any]) -> TableRequest:
    """Return the request for a table that is described in full."""
    return TableRequest(
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
        invited=tuple(body["invited"]),
    )


@operation(
    tables,
    "GET",
    "/tables",
    query=TablesQuery,
    answer=TablePageSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_SEATS,
)
def list_tables(call: Call) -> Response:
    """
    List the tables that the caller can see: public ones, own ones, and the invite's table.

    Newest first. `mine` leaves out tables that the caller neither hosts nor sits at.
    """
    query = call.query
    if query["mine"]:
        required(call.player)
    if query["ruleset"] is not None:
        services().rulebook.check_known(query["ruleset"])
    items, next_ = services().lists.tables(
        call.caller,
        status=query["status"],
        ruleset=query["ruleset"],
        mine=query["mine"],
        limit=query["limit"],
        cursor=query["cursor"],
    )
    return private(listed(items, next_))


@operation(
    tables,
    "GET",
    TABLE,
    query=WaitQuery,
    answer=TableSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    tagged=True,
    weight=LIGHT,
)
def table(call: Call, table_id: UUID) -> Response:
    """
    Return a table; with `wait`, as soon as its version is not `after`.

    A long poll waits for seats to be taken or for the next hand. On a busy server it is answered at
    once.
    """
    waiting = context().waiting
    ticket = waiting.ticket(table_id) if call.query["wait"] else 0  # before the read
    found, version = services().tables.view(call.caller, table_id)
    after = version if call.query["after"] is None else call.query["after"]
    if call.query["wait"] and version == after:
        with slot_for_poll() as free:
            changed = free and waiting.until_not(
                table_id,
                lambda: services().tables.version(table_id),
                after,
                ticket,
                call.query["wait"],
            )
        if changed:
            found, version = services().tables.view(call.caller, table_id)
    return versioned(private(json_response(found)), version)


@operation(
    tables,
    "POST",
    f"{TABLE}/seats",
    body=SitSchema,
    answer=TableSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "seat-taken", "hand-running", "forbidden", "limit-reached"),
    headers=(InviteHeaders,),
    location="/v1/tables/{id}",
    tagged=True,
    weight=Weight(calls=5),
)
def sit(call: Call, table_id: UUID) -> Response:
    """
    Take a seat; without `seat`, any open one.

    A private table needs its invite, in the body or the header. The hand is dealt as soon as all
    seats are taken, if the table says so.
    """
    body = call.body
    return change_response(
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
    scope=Scope.PLAY,
    refuses=("not-found", "not-seated", "hand-running", "bad-signature", "forbidden"),
    headers=(InviteHeaders,),
    tagged=True,
    weight=LIGHT,
)
def change_seat(call: Call, table_id: UUID) -> Response:
    """
    Change the entropy or key of the caller's seat for future hands, or pause; omitted fields stay.

    A seat with a key changes it with `sig`, a signature of the new key by the old one. It is
    possible between hands only, except `paused` alone.
    """
    found, version = services().tables.change_seat(
        call.by, table_id, changes=call.body, invite=call.caller.invite
    )
    return versioned(private(json_response(found)), version)


@operation(
    tables,
    "GET",
    f"{TABLE}/keys",
    answer=KeyChangePageSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    replica=True,
    weight=LIGHT,
)
def key_changes(call: Call, table_id: UUID) -> Response:
    """
    List the changes of seats' keys, each signed with the previous key, newest first.

    A verifier accepts this answer as `--key-change`: it proves that the key of a later hand
    follows from the key that the player published.
    """
    return private(
        json_response(page(services().key_changes.of_table(call.caller, table_id), None))
    )


@operation(
    tables,
    "DELETE",
    f"{TABLE}/seats/me",
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("not-found", "not-seated", "hand-running"),
    headers=(InviteHeaders,),
    weight=LIGHT,
)
def leave(call: Call, table_id: UUID) -> Response:
    """
    Leave the caller's seat, between hands.

    The seat is open for others. Hands that were played stay as they are.
    """
    services().tables.leave(call.by, table_id, invite=call.caller.invite)
    return private(Response(status=204))


@operation(
    tables,
    "DELETE",
    TABLE,
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("not-found", "forbidden", "stale-version", "hand-running"),
    headers=(InviteHeaders, MatchHeaders),
    weight=LIGHT,
)
def close(call: Call, table_id: UUID) -> Response:
    """
    Close a table as its host, between hands; `If-Match` requires its version.

    A closed table stays readable. Closing it again changes nothing.
    """
    services().tables.close(call.caller, call.by, table_id, expected_versions)
    return private(Response(status=204))


@operation(
    tables,
    "POST",
    f"{TABLE}/games",
    body=DealSchema,
    answer=DealtSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=(
        *("not-found", "not-seated", "hand-running", "table-not-full", "forbidden"),
        *("cannot-deal", "limit-reached"),
    ),
    headers=(InviteHeaders,),
    location="/v1/games/{game[id]}",
    tagged=True,
    weight=Weight(calls=5),
)
def deal(call: Call, table_id: UUID) -> Response:
    """
    Deal the next hand, as a seated player or the host.

    All seats have to be taken; with `fill_with` bots take the open ones, if the caller is the
    host. The answer has the new hand as the caller sees it.
    """
    return change_response(
        services().tables.deal(
            call.by,
            table_id,
            call.repeat,
            invite=call.caller.invite,
            fill_with=call.body["fill_with"],
        )
    )


INVITATIONS = f"{TABLE}/invitations"


@operation(
    tables,
    "GET",
    "/players/me/invitations",
    query=OffsetQuery,
    answer=InvitationPageSchema,
    token=Token.NEEDED,
    weight=LIGHT,
)
def list_invitations(call: Call) -> Response:
    """
    List the caller's open invitations to tables: the newest of each host, then the next of each.

    An invitation is not listed while its player and the host, or a seat of the table, block one
    another.
    """
    query = call.query
    items, following = services().invitations.of_player(
        call.by, after=query["cursor"], limit=query["limit"]
    )
    return private(listed(items, None if following is None else str(following)))


@operation(
    tables,
    "GET",
    INVITATIONS,
    answer=SentInvitationPageSchema,
    token=Token.NEEDED,
    refuses=("not-found", "forbidden"),
    headers=(InviteHeaders,),
    weight=LIGHT,
)
def list_sent(call: Call, table_id: UUID) -> Response:
    """
    List the invitations to a table, as its host, newest first.

    They end with the player's seat, with the table, or if the host withdraws them.
    """
    return private(json_response(page(services().invitations.sent(call.caller, table_id), None)))


@operation(
    tables,
    "PUT",
    f"{INVITATIONS}/<player:player_id>",
    answer=SentInvitationSchema,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("not-found", "forbidden", "seat-taken", "limit-reached"),
    headers=(InviteHeaders,),
    weight=LIGHT,
)
def invite(call: Call, table_id: UUID, player_id: UUID) -> Response:
    """
    Invite a player to a table, as its host; the player gets the notice `invited`.

    It gives the player access to a private table and the right to sit down. A player who declined
    is not invited again. Repeating it changes nothing.
    """
    return private(json_response(services().invitations.invite(call.caller, table_id, player_id)))


@operation(
    tables,
    "DELETE",
    f"{INVITATIONS}/<player:player_id>",
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("not-found", "forbidden"),
    headers=(InviteHeaders,),
    weight=LIGHT,
)
def end_invitation(call: Call, table_id: UUID, player_id: UUID) -> Response:
    """
    Withdraw an open invitation as the host, or decline it as the invited player.

    The host sees that it was declined, and cannot withdraw it then: the table does not ask again.
    """
    services().invitations.end(call.caller, table_id, player_id)
    return private(Response(status=204))
