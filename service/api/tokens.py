"""Token endpoints: the token of the request, and those of the caller."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.tokens import (
    IssuedTokenSchema,
    PresentTokenSchema,
    Scope,
    TokenPageSchema,
    TokenRequestSchema,
)
from service.api.context import bearer_token, services
from service.api.conventions.caching import private
from service.api.conventions.responses import json_response, page
from service.api.operation import Call, Repeats, Token, blueprint, operation
from service.application.quotas import LIGHT
from service.application.tokens import TokenRequest

tokens = blueprint("tokens", __name__, "Tokens: several a player, each with scopes and an end.")

TOKENS = "/players/me/tokens"


@operation(
    tokens, "GET", "/token", answer=PresentTokenSchema, token=Token.NEEDED, scope=None, weight=LIGHT
)
def present(_call: Call) -> Response:
    """
    Describe the token of the request: its name, scopes, end and player.

    Every valid token may ask, whatever it permits.
    """
    return private(json_response(services().tokens.present(bearer_token() or "")))


@operation(
    tokens,
    "GET",
    TOKENS,
    answer=TokenPageSchema,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    weight=LIGHT,
)
def list_tokens(call: Call) -> Response:
    """
    List the caller's tokens that have not ended, newest first, without their secrets.

    `used_on` is stored once a day.
    """
    items = services().tokens.of_player(call.by, bearer_token() or "")
    return private(json_response(page(items, None)))


@operation(
    tokens,
    "POST",
    TOKENS,
    body=TokenRequestSchema,
    answer=IssuedTokenSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    repeats=Repeats.REFUSED,
    refuses=("limit-reached",),
    location="/v1/players/me/tokens/{id}",
    weight=LIGHT,
)
def issue(call: Call) -> Response:
    """
    Issue a further token for the caller; it is shown in this answer only.

    It never exceeds the token of the request, neither in scopes nor in time. The other tokens stay
    valid; with `replaces` the token of the request ends, and its webhook belongs to the new one.
    """
    body = call.body
    wanted = TokenRequest(
        name=body["name"],
        scopes=body["scopes"],
        ends_at=body["ends_at"],
        replaces=body["replaces"],
    )
    return private(json_response(services().tokens.issue(bearer_token() or "", wanted), 201))


@operation(
    tokens,
    "DELETE",
    f"{TOKENS}/<uuid:token_id>",
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("not-found",),
    weight=LIGHT,
)
def end(call: Call, token_id: UUID) -> Response:
    """
    End a token of the caller, also the one of the request; its open streams end at once.

    A token that has ended cannot become valid again. The webhook that it set is switched off.
    """
    services().tokens.end(call.by, bearer_token() or "", token_id)
    return private(Response(status=204))
