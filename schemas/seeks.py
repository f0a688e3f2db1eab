"""Seeks as JSON: requests and answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from marshmallow import ValidationError, fields, validates

from schemas.strict_fields import (
    Boolean,
    BoundedList,
    Chosen,
    Closed,
    Integer,
    about,
    described,
    key_field,
    list_of,
    name_field,
    time_field,
)
from schemas.tables import ENTROPY, ClockRequestSchema, TableClockSchema
from service.shx.validators import MAX_SEATS


class SeekStatus(StrEnum):
    """The state of a seek; only an open one can become another."""

    OPEN = "open"
    MATCHED = "matched"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


class Standing(StrEnum):
    """How often a player left hands with other people, of the newest ones."""

    STAYS = "stays"
    MIXED = "mixed"
    LEAVES = "leaves"


MAX_RULESETS = 30
"""Maximum number of rulesets of a seek: more than the catalogue has."""

USUAL_CLOCK: Final = {"turn_seconds": 60, "swap_seconds": 120, "reserve_seconds": 180}
"""The clock of a seek that names none: without one a stranger who walks away ends the game."""

MAX_FILL_SECONDS = 3600
"""Latest time at which bots take the empty seats."""


class SeekRequestSchema(Closed):
    """A wish for a table with anybody; only `rulesets` and `seats` are required."""

    rulesets = BoundedList(
        name_field("ruleset"),
        required=True,
        least=1,
        most=MAX_RULESETS,
        metadata={
            "description": "ids of rulesets, from `/v1/rulesets`, each once, the preferred one "
            "first: the hands are played by one of them, with its usual options",
            "example": ["leeds", "shithead"],
            "uniqueItems": True,
        },
    )
    seats = Integer(
        low=2,
        high=MAX_SEATS,
        required=True,
        metadata={"description": "the number of seats, with the caller's", "example": 3},
    )
    clock = fields.Nested(
        ClockRequestSchema,
        allow_none=True,
        # a function, so that the document has no default beside a reference: generators refuse it
        load_default=lambda: dict(USUAL_CLOCK),
        **about(
            "time limits, which all players of the table agree on; if left out, 60 seconds for a "
            "turn, 120 for the exchange and 180 in reserve; null for none, with players who want "
            "none"
        ),
    )
    entropy = Chosen(
        *ENTROPY,
        load_default="none",
        **about("how each seat contributes to the shuffle, which all players agree on"),
    )
    key = key_field(
        allow_none=True,
        load_default=None,
        **about("the Ed25519 public key of the caller's seat, in base64"),
    )
    fill_with_bots_after = Integer(
        low=0,
        high=MAX_FILL_SECONDS,
        allow_none=True,
        load_default=None,
        **about(
            "seconds after which bots take the seats that no player took; null: the caller waits"
            " for players alone"
        ),
    )

    only_stayers = Boolean(
        load_default=False,
        **about("true: all others at the table are players with the standing `stays`"),
    )
    keep = Boolean(
        load_default=False,
        **about("true: it stays open if another seek of the caller is matched; else it ends"),
    )

    @validates("rulesets")
    def each_once(self, value: list[str], **_more: Any) -> None:
        """Raise ValidationError if a ruleset is named twice."""
        if len(set(value)) < len(value):
            raise ValidationError("names a ruleset twice")


class SeekConditionsSchema(Closed):
    """The terms that the players of a table agree on."""

    rulesets = fields.List(fields.String(), **described("ids of rulesets, the preferred one first"))
    seats = Integer(low=2, high=MAX_SEATS, **described("the number of seats"))
    clock = fields.Nested(
        TableClockSchema, allow_none=True, **described("the time limits; null for none")
    )
    entropy = Chosen(*ENTROPY, **described("how each seat contributes to the shuffle"))
    only_stayers = Boolean(**described("whether all others at the table have the standing `stays`"))


class SeekSchema(SeekConditionsSchema):
    """A seek of the caller."""

    id = fields.UUID(**described("the id of the seek"))
    status = Chosen(
        *SeekStatus,
        **described(
            "`open`; `matched`: it ended at `table`; `withdrawn` by the caller, or by the match of "
            "another seek; `expired`, because not renewed. A seek that is not open never changes "
            "again"
        ),
    )
    standing = Chosen(
        *Standing,
        **described(
            "of the caller when it was posted, by the newest 50 hands. `stays`: five hands with "
            "other people or more, and at most a tenth of them left; `leaves`: more than a third "
            "left, and at least two; else `mixed`, as for who is new. A hand is left by who is "
            "away at its end: a bot stands in, or the hand was aborted after a wait for the player"
        ),
    )
    key = fields.String(
        allow_none=True, **described("the public key of the seat in base64; null without one")
    )
    fill_with_bots_after = Integer(
        allow_none=True,
        **described("seconds after `created_at` at which bots take the empty seats; null: never"),
    )
    keep = Boolean(**described("whether it stays open if another seek of the caller is matched"))
    created_at = time_field(**described("when it was posted"))
    expires_at = time_field(**described("when it expires, unless it is renewed"))
    table = fields.UUID(
        allow_none=True, **described("the table of a matched seek, where a hand runs; else null")
    )


class StandingsSchema(Closed):
    """How many players of each standing wait."""

    stays = Integer(low=0, **described("who stay"))
    mixed = Integer(low=0, **described("who are new, or leave some hands"))
    leaves = Integer(low=0, **described("who leave many hands"))


class WaitingSchema(SeekConditionsSchema):
    """Conditions on which players wait for a table."""

    players = Integer(low=1, **described("how many players wait, the caller among them"))
    standings = fields.Nested(StandingsSchema, **described("how many of them have each standing"))


class SeeksSchema(Closed):
    """The caller's seeks, and what players wait for; no names, because a seek is no invitation."""

    mine = list_of(
        SeekSchema, "the caller's newest 20 seeks, newest first; those that are over for a day"
    )
    open = list_of(
        WaitingSchema,
        "a page of the conditions of open seeks: most players, then the longest wait first",
    )
    next = fields.String(
        allow_none=True, **described("the `cursor` of the next page of `open`; null at the end")
    )
