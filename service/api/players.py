"""Player endpoints: registration, profiles, recovery, blocks, erasure."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.players import (
    BlockPageSchema,
    BlockSchema,
    NameChangeSchema,
    OwnPlayerSchema,
    PeopleSchema,
    PlayerSchema,
    PlayersQuery,
    RecoveryCodeSchema,
    RecoveryRenewalSchema,
    RecoverySchema,
    RegisteredSchema,
    RegistrationSchema,
    TokenSchema,
)
from schemas.tokens import Scope
from service.api.context import services
from service.api.conventions.caching import private, shared
from service.api.conventions.responses import json_response, page
from service.api.operation import Call, Repeats, Token, blueprint, operation
from service.application.quotas import LIGHT, Weight

players = blueprint(
    "players", __name__, "Players: registration, profiles, recovery codes and blocks."
)


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
    weight=Weight(per_address=1200),
)
def register(call: Call) -> Response:
    """
    Register a player; the token and the recovery code are shown only in this answer.

    The token authenticates every later call as `Authorization: Bearer <token>`. A lost token can be
    replaced with the recovery code only, so store both.
    """
    return private(json_response(services().players.register(call.body["name"]), 201))


@operation(
    players,
    "GET",
    "/players",
    query=PlayersQuery,
    answer=PeopleSchema,
    token=Token.IGNORED,
    weight=Weight(calls=2),
)
def list_players(call: Call) -> Response:
    """
    Return several players by their ids, with names and handles, in the order asked for.

    Unknown ids are left out; an erased player has neither name nor handle.
    """
    return shared(json_response(page(services().handles.people(call.query["ids"]), None)))


@operation(players, "GET", "/players/me", answer=OwnPlayerSchema, token=Token.NEEDED, weight=LIGHT)
def me(call: Call) -> Response:
    """
    Return the caller's profile, with the open tables that the caller hosts or sits at.

    It counts the caller's hands at public and private tables.
    """
    return private(json_response(services().players.me(call.by)))


@operation(
    players,
    "PATCH",
    "/players/me",
    body=NameChangeSchema,
    answer=OwnPlayerSchema,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    weight=LIGHT,
)
def rename(call: Call) -> Response:
    """
    Change the caller's name; all games and tables show the new one within seconds.

    Logs have no names, so no stored game changes. A repeated request has no further effect.
    """
    return private(json_response(services().players.rename(call.by, call.token, call.body["name"])))


@operation(
    players,
    "GET",
    "/players/<uuid:player_id>",
    answer=PlayerSchema,
    token=Token.IGNORED,
    refuses=("not-found",),
    weight=LIGHT,
)
def player(_call: Call, player_id: UUID) -> Response:
    """
    Return the public profile of a player.

    Hands of public tables count; final rulings of disputes count everywhere.
    """
    return shared(json_response(services().players.public(player_id)))


@operation(
    players,
    "POST",
    "/players/me/recovery",
    body=RecoveryRenewalSchema,
    answer=RecoveryCodeSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    repeats=Repeats.REFUSED,
    refuses=("forbidden",),
    weight=LIGHT,
)
def renew_recovery(call: Call) -> Response:
    """
    Issue a new recovery code for the caller; the old one expires.

    It needs a token with all scopes and no end, or the present code in the body. The new code is
    shown in this answer only. The token stays valid.
    """
    recovery = services().players.renew_recovery(call.token, call.body["recovery"])
    return private(json_response({"recovery": recovery}, 201))


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
    weight=Weight(per_address=60),
)
def recover(call: Call) -> Response:
    """
    Issue a token with all scopes for a recovery code, which stays valid; all earlier tokens end.

    This is the only way back to an account whose token is lost. The attempts of an address are
    limited (`x-limits`).
    """
    token = services().players.recover(call.body["recovery"])
    return private(json_response({"token": token}, 201))


BLOCKS = "/players/me/blocks"


@operation(players, "GET", BLOCKS, answer=BlockPageSchema, token=Token.NEEDED, weight=LIGHT)
def list_blocks(call: Call) -> Response:
    """
    List the players whom the caller blocks, newest first.

    No other player can read this list, and the blocked players are not notified.
    """
    return private(json_response(page(services().players.blocks(call.by), None)))


@operation(
    players,
    "PUT",
    f"{BLOCKS}/<player:player_id>",
    answer=BlockSchema,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("not-found", "forbidden", "limit-reached"),
    weight=LIGHT,
)
def block(call: Call, player_id: UUID) -> Response:
    """
    Block another player: no invitation and no seek of either seats the two together.

    It does not end a game, and a seat that either takes at a table of their own choice stays
    possible. Repeating it changes nothing.
    """
    return private(json_response(services().players.block(call.by, player_id)))


@operation(
    players,
    "DELETE",
    f"{BLOCKS}/<player:player_id>",
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("not-found",),
    weight=LIGHT,
)
def unblock(call: Call, player_id: UUID) -> Response:
    """
    End the caller's block of a player.

    A block of the caller by that player is not affected.
    """
    services().players.unblock(call.by, player_id)
    return private(Response(status=204))


@operation(
    players,
    "DELETE",
    "/players/me",
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("forbidden", "hand-running"),
    weight=LIGHT,
)
def erase(call: Call) -> Response:
    """
    Erase the caller: name and tokens are deleted; the logs of their games stay valid.

    It needs a token with all scopes and no end, and is refused with `hand-running` while the caller
    plays a hand. It cannot be undone.
    """
    services().players.erase(call.by, call.token)
    return private(Response(status=204))
