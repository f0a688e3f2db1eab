"""Challenges as JSON: a request that opens a table for one player, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from schemas.players import PersonSchema
from schemas.strict_fields import (
    HANDLE_PATTERN,
    ID_OF_PLAYER,
    BoundedList,
    Chosen,
    Closed,
    PatternString,
    about,
    described,
    list_of,
    name_field,
    time_field,
)
from schemas.tables import TableRequestSchema
from service.shx.validators import MAX_SEATS


class ChallengeStatus(StrEnum):
    """The state of a challenge; only an open one can become another."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


class ChallengeRequestSchema(TableRequestSchema):
    """A table for the caller, one other player and bots; `player` and `ruleset` are required."""

    class Meta(TableRequestSchema.Meta):
        """The seats follow from the player and the bots."""

        exclude = ("seats", "invited", "like")

    player = PatternString(
        f"^(?:{ID_OF_PLAYER}|{HANDLE_PATTERN})$",
        "is neither a handle nor the id of a player",
        required=True,
        metadata={"description": "the handle of the player, or the id", "example": "ada-lovelace"},
    )
    bots = BoundedList(
        name_field("bot"),
        most=MAX_SEATS - 2,
        load_default=list,
        **about("names of bots for further seats, from `/v1/bots`"),
    )
    visibility = Chosen(
        "public",
        "private",
        load_default="private",
        **about("as of a table; only hands at public tables count for ratings"),
    )

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _whole(self, _data: Any, original: Mapping[str, Any], **_: Any) -> None:
        if "ruleset" not in original:
            raise ValidationError("Missing data for required field.", "ruleset")


class ChallengeSchema(Closed):
    """A challenge, as its two players see it; `id` is that of the table."""

    id = fields.UUID(**described("the id of the challenge, and of the table that it opened"))
    challenger = fields.Nested(PersonSchema, **described("the player who challenges, the host"))
    player = fields.Nested(PersonSchema, **described("the player who is challenged"))
    status = Chosen(
        *ChallengeStatus,
        **described("whether the player can accept it, and else how it ended"),
    )
    ruleset = fields.String(**described("the id of the table's ruleset"))
    visibility = Chosen("public", "private", **described("the visibility of the table"))
    created_at = time_field(**described("the time of the challenge"))
    expires_at = time_field(**described("an open challenge expires then"))


class ChallengesSchema(Closed):
    """The challenges of the caller."""

    received = list_of(ChallengeSchema, "the open challenges by others, newest first")
    sent = list_of(ChallengeSchema, "the newest 20 challenges by the caller")
    next = fields.String(allow_none=True, **described("null: the lists are whole"))
