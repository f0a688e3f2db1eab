"""Endpoints of seeks: a table with anybody."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.players import NothingSchema
from schemas.seeks import SeekRequestSchema, SeekSchema, SeeksSchema
from schemas.strict_fields import OffsetQuery
from schemas.tokens import Scope
from service.api.context import services
from service.api.conventions.caching import private
from service.api.conventions.idempotency import change_response
from service.api.conventions.paging import with_next
from service.api.conventions.responses import json_response
from service.api.operation import Call, Repeats, Token, blueprint, operation
from service.application.quotas import LIGHT, Weight
from service.application.tables.seeks import SeekRequest
from service.domain.events import Clock, Entropy
from service.store.seeks import SeekConditions

seeks = blueprint("seeks", __name__, "Seeks: a table with anybody who wants the same.")

SEEK = "/seeks/<uuid:seek_id>"


@operation(
    seeks,
    "POST",
    "/seeks",
    body=SeekRequestSchema,
    answer=SeekSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=("cannot-deal", "ruleset-refused", "limit-reached"),
    location="/v1/seeks/{id}",
    weight=Weight(calls=5),
)
def post_seek(call: Call) -> Response:
    """
    Seek a table with anybody; if enough others wait, it is opened and dealt within seconds.

    Seeks match if they share a ruleset and agree on seats, clock and entropy; the oldest ones come
    first. A seek is open for 10 minutes, and longer if it is renewed; an equal one renews it, and
    is answered with it. A match ends the other seeks of its players, but those with `keep`, and is
    announced in their streams as `seek_matched`. The table is public, and its host is the player
    who waited longest.
    """
    body = call.body
    wanted = SeekRequest(
        conditions=SeekConditions(
            rulesets=tuple(body["rulesets"]),
            seats=body["seats"],
            clock=Clock(**body["clock"]) if body["clock"] else None,
            entropy=Entropy(body["entropy"]),
            only_stayers=body["only_stayers"],
        ),
        key=body["key"],
        fill_after=body["fill_with_bots_after"],
        keep=body["keep"],
    )
    return change_response(services().seeks.post(call.by, wanted, call.repeat))


@operation(seeks, "GET", "/seeks", query=OffsetQuery, answer=SeeksSchema, weight=LIGHT)
def list_seeks(call: Call) -> Response:
    """
    List the caller's seeks, and the conditions on which players wait for a table.

    An anonymous caller has no seeks. The players who wait are counted, not named.
    """
    mine = services().seeks.of_player(call.caller.player)
    query = call.query
    waiting, following = services().seeks.waiting(after=query["cursor"], limit=query["limit"])
    next_ = None if following is None else str(following)
    answer = json_response({"mine": mine, "open": waiting, "next": next_})
    return private(with_next(answer, next_))


@operation(
    seeks, "GET", SEEK, answer=SeekSchema, token=Token.NEEDED, refuses=("not-found",), weight=LIGHT
)
def get_seek(call: Call, seek_id: UUID) -> Response:
    """
    Return a seek of the caller.

    A matched one names its table, whose `game` is the hand that runs.
    """
    return private(json_response(services().seeks.get(call.by, seek_id)))


@operation(
    seeks,
    "POST",
    f"{SEEK}/renew",
    body=NothingSchema,
    answer=SeekSchema,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("not-found", "seek-over"),
    weight=LIGHT,
)
def renew_seek(call: Call, seek_id: UUID) -> Response:
    """
    Let an open seek of the caller expire in 10 minutes from now, and return it.

    One that is over is refused with `seek-over`, and stays as it is.
    """
    return private(json_response(services().seeks.renew(call.by, seek_id)))


@operation(
    seeks,
    "DELETE",
    SEEK,
    answer=SeekSchema,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("not-found", "seek-over"),
    weight=LIGHT,
)
def withdraw_seek(call: Call, seek_id: UUID) -> Response:
    """
    Withdraw an open seek of the caller, and return it.

    It may have been matched before: then it is refused with `seek-over`, whose `seek` has the
    `table` at which the caller sits.
    """
    return private(json_response(services().seeks.withdraw(call.by, seek_id)))
