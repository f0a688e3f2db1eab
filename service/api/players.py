"""Players: registration, one's own page and others', tokens, erasure."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.players_schema import (
    NothingSchema,
    OwnPlayerSchema,
    PlayerSchema,
    RecoverySchema,
    RegisteredSchema,
    RegistrationSchema,
    TokenSchema,
)
from service.api.blueprint import Blueprint, Call, Repeats, Token, operation
from service.api.context import services
from service.api.conventions import json_response, own, shared

players = Blueprint("players", __name__, "People, known by a token.")


@operation(
    players,
    "POST",
    "/players",
    body=RegistrationSchema,
    answer=RegisteredSchema,
    status=201,
    token=Token.IGNORED,
    repeats=Repeats.REFUSED,
    refuses=("rate-limited",),
    location="/v1/players/{id}",
)
def register(call: Call) -> Response:
    """Register; token and recovery code are shown this once."""
    return own(json_response(services().players.register(call.body["name"]), 201))


@operation(players, "GET", "/players/me", answer=OwnPlayerSchema, token=Token.NEEDED)
def me(call: Call) -> Response:
    """The caller, with the tables they sit at."""
    return own(json_response(services().players.me(call.by)))


@operation(
    players,
    "GET",
    "/players/<uuid:player_id>",
    answer=PlayerSchema,
    token=Token.IGNORED,
    refuses=("not-found",),
)
def player(_call: Call, player_id: UUID) -> Response:
    """A player, as everybody may see them."""
    return shared(json_response(services().players.public(player_id)))


@operation(
    players,
    "POST",
    "/players/me/token",
    body=NothingSchema,
    answer=TokenSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.REFUSED,
)
def rotate(call: Call) -> Response:
    """A new token; the old one ends."""
    return own(json_response({"token": services().players.rotate(call.by)}, 201))


@operation(
    players,
    "POST",
    "/players/recover",
    body=RecoverySchema,
    answer=TokenSchema,
    status=201,
    token=Token.IGNORED,
    repeats=Repeats.REFUSED,
    refuses=("unauthorized", "rate-limited"),
)
def recover(call: Call) -> Response:
    """A new token for whoever holds the recovery code; the old one ends."""
    token = services().players.recover(call.body["recovery"])
    return own(json_response({"token": token}, 201))


@operation(
    players,
    "DELETE",
    "/players/me",
    answer=None,
    status=204,
    token=Token.NEEDED,
    refuses=("hand-running",),
)
def erase(call: Call) -> Response:
    """Erase the caller: name and tokens go, the logs stay valid."""
    services().players.erase(call.by)
    return own(Response(status=204))
