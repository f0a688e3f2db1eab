"""Schemas of players: registration, tokens, profiles and blocks."""

from __future__ import annotations

from typing import Final

from marshmallow import Schema, fields

from schemas.ratings import PlayerRatingSchema
from schemas.strict_fields import (
    Boolean,
    Closed,
    Integer,
    Name,
    PatternString,
    about,
    described,
    list_of,
    page_of,
    time_field,
)

NAME_RULE = (
    "1 to 40 characters (grapheme clusters), at most 160 bytes, none invisible; need not be unique"
)


_CODE: Final = "^[\\x21-\\x7e]{1,200}$"


class RegistrationSchema(Closed):
    """The registration of a player."""

    name = Name(
        required=True,
        metadata={"description": NAME_RULE, "example": "Ada"},
    )


class NameChangeSchema(Closed):
    """A new name; the limits are those of the registration."""

    name = Name(
        required=True,
        metadata={"description": "as at the registration", "example": "Ada L."},
    )


class RecoverySchema(Closed):
    """The newest recovery code, which was shown once: at registration, or when it was renewed."""

    recovery = PatternString(
        _CODE,
        "is not a recovery code",
        **described("the newest recovery code, from the registration or /players/me/recovery"),
    )


class RecoveryRenewalSchema(Closed):
    """The present recovery code, which a token without all scopes, or with an end, needs."""

    may_be_missing = True

    recovery = PatternString(
        _CODE,
        "is not a recovery code",
        allow_none=True,
        load_default=None,
        **about("the present recovery code; not needed with a token with all scopes and no end"),
    )


class NothingSchema(Closed):
    """An empty object; the body may be left out."""

    may_be_missing = True


class RegisteredSchema(Closed):
    """A new player; `token` and `recovery` are shown only in this answer."""

    id = fields.UUID(**described("the id of the player"))
    name = fields.String(**described("the name, in normal form NFC"))
    token = fields.String(**described("the bearer token, stored only as a hash"))
    recovery = fields.String(
        **described("the code that replaces a lost token, shown only in this answer")
    )


class TokenSchema(Closed):
    """A new token; the previous one has expired."""

    token = fields.String(**described("the new bearer token"))


class RecoveryCodeSchema(Closed):
    """A new recovery code; the previous one has expired."""

    recovery = fields.String(
        **described("the code that replaces a lost token, shown only in this answer")
    )


class BlockSchema(Closed):
    """A player whom the caller blocks."""

    player = fields.UUID(**described("the id of the player"))
    name = fields.String(allow_none=True, **described("the player's name"))
    at = time_field(**described("the time since when"))


BlockPageSchema: type[Schema] = page_of(BlockSchema)


class AccusationsSchema(Closed):
    """Numbers of disputes that a player has opened, and of those that were upheld."""

    made = Integer(**described("disputes that the player opened"))
    upheld = Integer(**described("those of them whose final ruling is against the accused"))


class PlayerSchema(Closed):
    """
    The public profile of a player; `name` is null once the player is erased.

    `games` and `shithead` count hands of public tables only. A dispute about a private game
    counts once it has a final ruling.
    """

    id = fields.UUID(**described("the id of the player"))
    name = fields.String(allow_none=True, **described("the name; null once the player is erased"))
    created_at = time_field(**described("the time of registration"))
    games = Integer(**described("finished hands"))
    shithead = Integer(**described("hands that the player lost"))
    cad = Boolean(**described("whether a final ruling found that the player cheated"))
    accusations = fields.Nested(
        AccusationsSchema, **described("the disputes that the player opened")
    )

    ratings = list_of(PlayerRatingSchema, "the player's ratings, by ruleset")


class OwnPlayerSchema(PlayerSchema):
    """The caller's own profile, which counts all hands and disputes, and lists the tables."""

    tables = fields.List(
        fields.UUID(),
        **described("the open tables that the player hosts or has a seat at, newest first"),
    )
