"""Endpoints of the moments that a player keeps."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.moments import (
    ListChangeSchema,
    MomentChangeSchema,
    MomentRequestSchema,
    MomentSchema,
    MomentsFileSchema,
    MomentsPageSchema,
    MomentsQuery,
    MovedMomentsSchema,
)
from schemas.tokens import Scope
from service.api.context import services
from service.api.conventions.caching import private
from service.api.conventions.idempotency import change_response
from service.api.conventions.paging import with_next
from service.api.conventions.responses import json_response, page
from service.api.operation import Call, InviteHeaders, Repeats, Token, blueprint, operation
from service.application.moments import MomentRepository, Moments
from service.application.quotas import BY_EVENTS, LIGHT, Weight

moments = blueprint(
    "moments", __name__, "Moments of hands that a player keeps, for the player alone."
)

MOMENTS = "/players/me/moments"
MOMENT = f"{MOMENTS}/<uuid:moment_id>"


def _use_cases() -> Moments:
    made = services()
    return Moments(
        moments=MomentRepository(made.directory.database),
        games=made.games,
        handler=made.handler,
        world=made.world,
    )


@operation(
    moments,
    "POST",
    MOMENTS,
    body=MomentRequestSchema,
    answer=MomentSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "sealed", "limit-reached"),
    headers=(InviteHeaders,),
    location="/v1/players/me/moments/{id}",
    weight=Weight(calls=5, grows=BY_EVENTS.grows),
)
def keep_moment(call: Call) -> Response:
    """
    Keep a moment of a hand in one of the caller's lists; no other player can read it.

    The caller can see the hand now, and at this moment as this viewer. It is deleted with its
    player.
    """
    return change_response(_use_cases().keep(call.caller, call.by.id, call.body, call.repeat))


@operation(
    moments,
    "GET",
    MOMENTS,
    query=MomentsQuery,
    answer=MomentsPageSchema,
    token=Token.NEEDED,
    weight=LIGHT,
)
def list_moments(call: Call) -> Response:
    """
    List the caller's moments, or those of one list, newest first, and the names of all lists.

    An item has nothing of the hand but its id: the hand is read like any other, if the caller can
    still see it.
    """
    query, made = call.query, _use_cases()
    items, next_ = made.page(
        call.by.id, list_=query["list_"], limit=query["limit"], cursor=query["cursor"]
    )
    answer = json_response(page(items, next_, lists=made.lists(call.by.id)))
    return private(with_next(answer, next_))


@operation(
    moments,
    "PATCH",
    MOMENTS,
    body=ListChangeSchema,
    answer=MovedMomentsSchema,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("not-found",),
    weight=LIGHT,
)
def rename_list(call: Call) -> Response:
    """
    Rename one of the caller's lists: all of its moments go to a list with another name.

    If that list exists already, the two become one.
    """
    moved = _use_cases().move(call.by.id, call.body["list_"], call.body["to"])
    return private(json_response({"moved": moved}))


@operation(
    moments,
    "GET",
    f"{MOMENTS}/export",
    answer=MomentsFileSchema,
    token=Token.NEEDED,
    weight=Weight(calls=5),
)
def export_moments(call: Call) -> Response:
    """
    Return all moments of the caller as one file.

    The form is that of this answer; `format` changes if it does.
    """
    response = private(json_response(_use_cases().file(call.by.id)))
    response.headers["Content-Disposition"] = 'attachment; filename="moments.json"'
    return response


@operation(
    moments,
    "GET",
    MOMENT,
    answer=MomentSchema,
    token=Token.NEEDED,
    refuses=("not-found",),
    weight=LIGHT,
)
def get_moment(call: Call, moment_id: UUID) -> Response:
    """
    Return one of the caller's moments.

    Those of others do not exist for the caller.
    """
    return private(json_response(_use_cases().get(call.by.id, moment_id)))


@operation(
    moments,
    "PATCH",
    MOMENT,
    body=MomentChangeSchema,
    answer=MomentSchema,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("not-found",),
    weight=LIGHT,
)
def change_moment(call: Call, moment_id: UUID) -> Response:
    """
    Change the text of a moment, or put it into another list, and return it.

    Its hand, version and viewer stay: keep another moment for other ones.
    """
    body = call.body
    changed = _use_cases().change(
        call.by.id, moment_id, text=body.get("text"), list_=body.get("list_")
    )
    return private(json_response(changed))


@operation(
    moments,
    "DELETE",
    MOMENT,
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("not-found",),
    weight=LIGHT,
)
def delete_moment(call: Call, moment_id: UUID) -> Response:
    """
    Delete one of the caller's moments.

    A list without moments is gone.
    """
    _use_cases().delete(call.by.id, moment_id)
    return private(Response(status=204))
