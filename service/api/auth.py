"""Who calls: the bearer token, and the invite to a private table."""

from __future__ import annotations

import re

from flask import request

from service.api.context import context, services
from service.application.callers import Caller, Player
from service.application.errors import Refusal

INVITE_HEADER = "Shithead-Invite"
MOST_TOLD = 300
"""Characters of what was asked for that are kept where somebody read it."""

_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/=-]{1,500}) *")


def player_of_request() -> Player | None:
    """
    Return the player whose token came along, None where none did.

    A token that does not hold is refused everywhere, also where none is needed:
    its owner would else take the public's view for their own.
    """
    header = request.headers.get("Authorization")
    if header is None:
        return None
    match = _BEARER.fullmatch(header)
    if match is None:
        raise Refusal("unauthorized", "the header is not: Authorization: Bearer <token>")
    player = services().players.by_token(match[1])
    if player is None:
        raise Refusal("unauthorized", "this token does not hold, or no longer")
    context().count_player(player.id)
    return player


def required(player: Player | None) -> Player:
    """Return the player; raises `unauthorized` where there is none."""
    if player is None:
        raise Refusal("unauthorized", "this needs a token")
    return player


def caller_of(player: Player | None) -> Caller:
    """Return the caller with the invite that the request brings."""
    invite = request.headers.get(INVITE_HEADER)
    what = request.full_path.rstrip("?")[:MOST_TOLD]
    return Caller(player=player.id if player else None, invite=invite, what=what)
