"""Authentication: the bearer token, and the invite to a private table."""

from __future__ import annotations

import re

from flask import request

from service.api.context import context, services
from service.application.callers import Caller, Player
from service.application.errors import Refusal

INVITE_HEADER = "Shithead-Invite"
LOGGED_PATH = 300
"""Characters of the requested path that the access log records."""

_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/=-]{1,500}) *")


def player_of_request() -> Player | None:
    """
    Return the player with the bearer token of the request, None without a token.

    Raises `unauthorized` for an unknown or expired token, also if the operation needs no
    token: otherwise its owner would mistake the public view for their own.
    """
    header = request.headers.get("Authorization")
    if header is None:
        return None
    match = _BEARER.fullmatch(header)
    if match is None:
        raise Refusal("unauthorized", "the Authorization header must be: Bearer <token>")
    player = services().players.by_token(match[1])
    if player is None:
        raise Refusal("unauthorized", "unknown or expired token")
    context().rate_limits.count_player(player.id)
    return player


def required(player: Player | None) -> Player:
    """Return the player; raises `unauthorized` for an anonymous caller."""
    if player is None:
        raise Refusal(
            "unauthorized", "this operation needs a token: send Authorization: Bearer <token>"
        )
    return player


def caller_of(player: Player | None) -> Caller:
    """Return the caller: the player, if any, with the invite in the request."""
    invite = request.headers.get(INVITE_HEADER)
    what = request.full_path.rstrip("?")[:LOGGED_PATH]
    identity = player.id if player else None
    return Caller(player=identity, invite=invite, what=what)
