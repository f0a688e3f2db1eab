"""Schemas of tokens: their scopes, requests and answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from marshmallow import fields

from schemas.strict_fields import (
    Boolean,
    BoundedList,
    Chosen,
    Closed,
    Name,
    Time,
    about,
    described,
    time_field,
)


class Scope(StrEnum):
    """A permission of a token; each operation of the API needs one of them."""

    READ = "read"  # what the player may see
    PLAY = "play"  # tables, seats, moves, rulesets
    DISPUTE = "dispute"  # disputes, as a side or a referee
    ACCOUNT = "account"  # name, tokens, recovery code, erasure


ALL_SCOPES: Final = frozenset(Scope)

_SCOPES = "what the token permits, in the order read, play, dispute, account"


def _scope() -> Chosen:
    return Chosen(*Scope)


class TokenRequestSchema(Closed):
    """A further token for the caller; it never exceeds the token of the request."""

    name = Name(
        required=True,
        metadata={"description": "what it is for; limits as of a player's name", "example": "bot"},
    )
    scopes = BoundedList(
        _scope(),
        least=1,
        most=len(Scope),
        load_default=None,
        **about("what it permits; if left out, what the token of the request permits"),
    )
    ends_at = Time(
        allow_none=True,
        load_default=None,
        metadata={
            "description": "from when on it is refused, at the latest when the token of the "
            "request ends; null or left out: then, or never",
        },
    )
    replaces = Boolean(
        load_default=False,
        metadata={"description": "whether the token of the request ends", "default": False},
    )


class ListedTokenSchema(Closed):
    """A token of the caller; the token itself is shown only when it is issued."""

    id = fields.UUID(**described("the id of the token, which is no secret"))
    name = fields.String(
        **described("what it is for; `registration` and `recovery` are of the service")
    )
    scopes = fields.List(_scope(), **described(_SCOPES))
    created_at = time_field(**described("when it was issued"))
    ends_at = time_field(
        allow_none=True, **described("from when on it is refused; null if it has no end")
    )
    used_on = fields.Date(
        allow_none=True,
        **described("the day of its last use, in UTC; null before the first use"),
    )
    current = Boolean(**described("whether it is the token of this request"))


class TokenPageSchema(Closed):
    """The tokens of the caller that have not ended, newest first."""

    items = fields.List(fields.Nested(ListedTokenSchema), **described("all of them"))
    next = fields.String(allow_none=True, **described("always null: the list is short"))


class PresentTokenSchema(ListedTokenSchema):
    """The token of the request."""

    player = fields.UUID(**described("the id of its player"))


class IssuedTokenSchema(ListedTokenSchema):
    """A new token, which is shown only in this answer."""

    token = fields.String(**described("the bearer token, stored only as a hash"))
