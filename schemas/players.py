"""Schemas of players: registration, tokens and profiles."""

from __future__ import annotations

from marshmallow import fields

from schemas.strict_fields import Closed, Name, Shaped, Truth, Whole, time_field


class RegistrationSchema(Closed):
    """The registration of a player."""

    name = Name(
        required=True,
        metadata={"description": "1 to 40 characters, need not be unique", "example": "Ada"},
    )


class RecoverySchema(Closed):
    """The recovery code, which was shown once, at registration."""

    recovery = Shaped(r"^[\x21-\x7e]{1,200}$", "is not a recovery code", required=True)


class NothingSchema(Closed):
    """An empty object; the body may be left out."""

    may_be_missing = True


class RegisteredSchema(Closed):
    """A new player; `token` and `recovery` are shown only in this answer."""

    id = fields.UUID(required=True)
    name = fields.String(required=True)
    token = fields.String(required=True)
    recovery = fields.String(required=True)


class TokenSchema(Closed):
    """A new token; the previous one has expired."""

    token = fields.String(required=True)


class AccusationsSchema(Closed):
    """How many disputes a player has opened, and how many were upheld."""

    made = Whole(required=True)
    upheld = Whole(required=True)


class PlayerSchema(Closed):
    """
    The public profile of a player; `name` is null once erased.

    `games` and `shithead` count hands of public tables; final rulings count everywhere.
    """

    id = fields.UUID(required=True)
    name = fields.String(required=True, allow_none=True)
    created_at = time_field(required=True)
    games = Whole(required=True)
    shithead = Whole(required=True)
    cad = Truth(required=True)
    accusations = fields.Nested(AccusationsSchema, required=True)


class OwnPlayerSchema(PlayerSchema):
    """The caller's own profile, which counts all hands; `tables` are those with their seats."""

    tables = fields.List(fields.UUID(), required=True)
