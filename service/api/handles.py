"""Endpoints of handles: choose one, search players by theirs."""

from __future__ import annotations

from flask import Response

from schemas.players import (
    HandleChangeSchema,
    HandlesQuery,
    OwnPlayerSchema,
    PeopleSchema,
)
from schemas.tokens import Scope
from service.api.context import services
from service.api.conventions.caching import private
from service.api.conventions.responses import json_response, page
from service.api.operation import Call, Token, blueprint, operation
from service.application.quotas import Weight

handles = blueprint("handles", __name__, "Handles: unique names, by which players are found.")


@operation(
    handles,
    "PUT",
    "/players/me/handle",
    body=HandleChangeSchema,
    answer=OwnPlayerSchema,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("handle-taken", "rate-limited"),
    weight=Weight(calls=2, per_address=30),
)
def choose_handle(call: Call) -> Response:
    """
    Choose the caller's handle, or change it, at most once in 30 days.

    A handle that looks like that of another player, or of a bot, is refused as one that is taken;
    one that was given up is reserved for its player for 90 days. Repeating it changes nothing.
    """
    services().handles.choose(call.by, call.token, call.body["handle"])
    return private(json_response(services().players.me(call.by)))


@operation(
    handles,
    "GET",
    "/handles",
    query=HandlesQuery,
    answer=PeopleSchema,
    token=Token.NEEDED,
    weight=Weight(calls=2, per_address=300, per_player=(60, "limit.handles")),
)
def search_handles(call: Call) -> Response:
    """
    List the first ten players whose handles begin with some characters, in order of these.

    A whole handle comes first. Whom somebody blocks does not change the answer.
    """
    return private(json_response(page(services().handles.search(call.query["prefix"]), None)))
