"""Schemas of a player's own stream: its notices, and the query."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from marshmallow import fields

from schemas.long_polls import MAX_WAIT_SECONDS
from schemas.strict_fields import (
    Chosen,
    Closed,
    Ids,
    Integer,
    PatternString,
    QueryBoolean,
    QueryInteger,
    about,
    described,
    time_field,
)


class NoticeType(StrEnum):
    """The type of a notice; a type is listed once the service sends it."""

    YOUR_TURN = "your_turn"
    TURN_OVER = "turn_over"
    HAND_DEALT = "hand_dealt"
    HAND_SEALED = "hand_sealed"
    SEEK_MATCHED = "seek_matched"
    SEAT_TAKEN = "seat_taken"
    TABLE_CLOSED = "table_closed"
    INVITED = "invited"
    CHALLENGED = "challenged"
    CHALLENGE_ANSWERED = "challenge_answered"
    DISPUTE_OPENED = "dispute_opened"
    VOTE_OPENED = "vote_opened"
    PERIOD_ENDING = "period_ending"
    REFEREE_WANTED = "referee_wanted"
    GAME_MOVED = "game_moved"


MAX_WATCHED: Final = 50
"""Maximum number of games that a stream watches."""


class NoticeSchema(Closed):
    """
    Something that concerns the caller; fetch the object at `id` for the rest.

    `your_turn`: the caller may act in the game, or the deal waits for the caller's entropy.
    `turn_over`: the turn of the `your_turn` with this version is over; only on a stream.
    `hand_dealt`, `hand_sealed`: a hand at a table of the caller began or ended. `seek_matched`: a
    seek of the caller led to a table. `seat_taken`, `table_closed`: at a table of the caller.
    `invited`: the caller has an open invitation to the table (`/v1/players/me/invitations`).
    `challenged`: another player challenges the caller. `challenge_answered`: a challenge by the
    caller was accepted or declined. `dispute_opened`: with the caller as a side. `vote_opened`: the
    caller may vote or reveal. `period_ending`: a period in which the caller may vote, reveal or
    appeal ends within a day. `referee_wanted`: a dispute about a public game seeks referees.
    `game_moved`: a watched game has a new version.
    """

    type = Chosen(*NoticeType, **described("what happened, or is open"))
    id = fields.UUID(**described("the game, table, seek, challenge or dispute that it is about"))
    version = Integer(
        **described(
            "the version of that object at which it happened; `type`, `id` and `version` are the "
            "key, and a higher version replaces a lower one"
        )
    )
    table = fields.UUID(
        allow_none=True, **described("the table of a game, seek or challenge, else null")
    )
    game = fields.UUID(allow_none=True, **described("the game of a dispute, else null"))
    ends_at = time_field(
        allow_none=True,
        **described(
            "with `period_ending` the end of the period, with `your_turn` the deadline of the game "
            "if there is one, else null"
        ),
    )


class SnapshotSchema(Closed):
    """All that is open for the caller, and what ended since `after`; `next` for the next poll."""

    items = fields.List(fields.Nested(NoticeSchema), **described("the notices, newest table first"))
    next = fields.String(**described("the value of `after` for the next poll, which is opaque"))


class OwnStreamQuery(Closed):
    """What the stream contains beyond the caller's tables and disputes; the wait of a long poll."""

    watch = Ids(
        MAX_WATCHED,
        "games",
        load_default=tuple,
        metadata={
            "description": f"at most {MAX_WATCHED} ids of games that the caller can see, separated "
            "by commas: `game_moved` announces each of their versions",
        },
    )
    referee = QueryBoolean(
        load_default=False, **about("whether `referee_wanted` is sent, for public games only")
    )
    wait = QueryInteger(
        high=MAX_WAIT_SECONDS,
        load_default=None,
        **about(
            f"as a long poll: seconds to wait, at most {MAX_WAIT_SECONDS}, until the answer would "
            "differ from the one that `after` names"
        ),
    )
    after = PatternString(
        "^[A-Za-z0-9_-]{12,3000}$",
        "is not the `next` of an earlier answer",
        load_default=None,
        **about("with `wait`: the `next` of the last answer"),
    )
