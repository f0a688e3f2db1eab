"""Schemas of players: registration, tokens, profiles and blocks."""

from __future__ import annotations

from typing import Final

from marshmallow import Schema, fields

from schemas.ratings import PlayerRatingSchema
from schemas.strict_fields import (
    Boolean,
    Closed,
    Ids,
    Integer,
    Name,
    PatternString,
    about,
    described,
    handle_field,
    handle_prefix_field,
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


HANDLE_RULE = (
    "3 to 20 lower-case letters a–z, digits and single hyphens between them; begins with a letter"
)


class HandleChangeSchema(Closed):
    """The handle that the caller chooses."""

    handle = handle_field(
        required=True, metadata={"description": HANDLE_RULE, "example": "ada-lovelace"}
    )


MAX_LISTED = 50
"""Maximum number of players that are asked for by their ids."""


class PlayersQuery(Closed):
    """The players that are asked for."""

    ids = Ids(
        MAX_LISTED,
        "players",
        required=True,
        metadata={
            "description": f"at most {MAX_LISTED} ids of players, separated by commas",
        },
    )


MAX_FOUND = 10
"""Maximum number of players that a search returns."""


class HandlesQuery(Closed):
    """The beginning of the handles that are searched."""

    prefix = handle_prefix_field(
        required=True,
        metadata={"description": "the first characters of a handle, 2 to 20", "example": "ada"},
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


class PersonSchema(Closed):
    """A player in a list: who it is, and how to write to them."""

    id = fields.UUID(**described("the id of the player"))
    name = fields.String(allow_none=True, **described("the name; null once the player is erased"))
    handle = fields.String(
        allow_none=True, **described("the handle, by which others find the player; null for none")
    )


class PeopleSchema(Closed):
    """Players; the whole list."""

    items = list_of(PersonSchema, "the players")
    next = fields.String(allow_none=True, **described("null: the list is whole"))


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
    handle = fields.String(
        allow_none=True, **described("the handle, by which others find the player; null for none")
    )
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

    handle_fixed_until = time_field(
        allow_none=True,
        **described("until when the handle cannot be changed; null if it can, or there is none"),
    )
    tables = fields.List(
        fields.UUID(),
        **described("the open tables that the player hosts or has a seat at, newest first"),
    )
