"""Players as bodies and answers of the API (api.md, section 2)."""

from __future__ import annotations

from marshmallow import fields

from schemas.strict_fields import Closed, Name, Shaped, Truth, Whole, time_field


class RegistrationSchema(Closed):
    """Who wants to play."""

    name = Name(required=True, metadata={"description": "not unique", "example": "Ada"})


class RecoverySchema(Closed):
    """The code that was shown once, at the registration."""

    recovery = Shaped(r"^[\x21-\x7e]{1,200}$", "is not a recovery code", required=True)


class NothingSchema(Closed):
    """An empty object; the body may be left out."""

    may_be_missing = True


class RegisteredSchema(Closed):
    """A new player; `token` and `recovery` are shown this once."""

    id = fields.UUID(required=True)
    name = fields.String(required=True)
    token = fields.String(required=True)
    recovery = fields.String(required=True)


class TokenSchema(Closed):
    """A new token; the one before it no longer holds."""

    token = fields.String(required=True)


class AccusationsSchema(Closed):
    """How often a player accused somebody, and how often rightly."""

    made = Whole(required=True)
    upheld = Whole(required=True)


class PlayerSchema(Closed):
    """A player, as everybody may see them."""

    id = fields.UUID(required=True)
    name = fields.String(required=True, allow_none=True)
    created_at = time_field(required=True)
    games = Whole(required=True)
    shithead = Whole(required=True)
    cad = Truth(required=True)
    accusations = fields.Nested(AccusationsSchema, required=True)


class OwnPlayerSchema(PlayerSchema):
    """The caller, with the tables they sit at."""

    tables = fields.List(fields.UUID(), required=True)
