"""Schemas of games: queries, event log, openings, lists and replays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, validates_schema

from schemas.event_fields import EventSchema, OpeningSchema
from schemas.long_polls import WaitQuery
from schemas.strict_fields import (
    CURSOR,
    Boolean,
    Chosen,
    Closed,
    Integer,
    OneOf,
    PageQuery,
    PatternString,
    QueryInteger,
    Time,
    about,
    described,
    hex_digits,
    list_of,
    name_field,
    page_of,
    player_or_me,
    seat_field,
    time_field,
    viewer_field,
)
from schemas.views import FrameSchema, GameViewSchema, ResultSchema, RulesetRefSchema
from service.domain.commands import AfterAbsence
from service.domain.events import EndReason
from service.domain.game import Status


def _viewer() -> PatternString:
    return viewer_field(
        load_default=None,
        **about(
            "whose view: `public`, `all` or a seat; by default the caller's seat, "
            "or `public`. Before the seal, `all` and other seats are refused"
        ),
    )


class GameQuery(WaitQuery):
    """The viewer, the version, and the time to wait for a newer one."""

    as_ = _viewer()
    at = QueryInteger(
        low=1,
        load_default=None,
        **about("a past version, from 1; by default the present one"),
    )


RESULTS = ("aborted", *EndReason, "lost", "first")
"""Results that lists can be filtered by."""


class HandFilters(Closed):
    """Filters of hands: time, ruleset, result, and another player."""

    since = Time(dates=True, load_default=None, **about("hands dealt at this time or later"))
    until = Time(dates=True, load_default=None, **about("hands dealt before this time"))
    ended_since = Time(
        dates=True,
        load_default=None,
        **about(
            "hands that ended at this time or later; a repeated pull asks for those since the "
            "last one, because a hand can end long after it was dealt"
        ),
    )
    ended_until = Time(dates=True, load_default=None, **about("hands that ended before this time"))
    ruleset = name_field("ruleset", load_default=None, **about("hands with this ruleset only"))
    result = Chosen(
        *RESULTS,
        load_default=None,
        **about(
            "hands that were aborted, or ended for this reason; `lost`: the player was the "
            "shithead, `first`: the player went out first"
        ),
    )
    with_ = player_or_me(
        load_default=None,
        data_key="with",
        **about("hands in which this player sat as well, by id, or `me`"),
    )

    @validates_schema
    def _check_times(self, data: Mapping[str, Any], **_more: Any) -> None:
        """Refuse a time that is not after the one from which it continues."""
        for since, until in (("since", "until"), ("ended_since", "ended_until")):
            first, last = data.get(since), data.get(until)
            if first is not None and last is not None and first >= last:
                raise ValidationError(f"is not after `{since}`, so it selects nothing", until)


class HandsQuery(HandFilters):
    """Filters of the hands of a player, and the cursor of a line."""

    cursor = PatternString(
        CURSOR,
        "is not a cursor of a list",
        load_default=None,
        **about("`cursor` of the last line that the caller has"),
    )


class PackedHandsQuery(PageQuery, HandFilters):
    """Filters of the hands of a player, and which of them are in this part."""


class GamesQuery(PageQuery, HandFilters):
    """Filters of the list of games."""

    table = fields.UUID(load_default=None, allow_none=False, **about("games of this table only"))
    player = player_or_me(load_default=None, **about("games of this player only, by id, or `me`"))
    status = Chosen(
        *Status,
        load_default=None,
        **about("games in this state only"),
    )


class EventsQuery(Closed):
    """The seq of the first event, and the maximum number of events."""

    after = QueryInteger(
        load_default=0,
        **about(
            "the seq of the first event; a client that has the game at version n"
            " sends n to get the newer events"
        ),
    )
    limit = QueryInteger(
        low=1,
        high=1000,
        load_default=None,
        **about("the maximum number of events in the answer"),
    )


class StreamQuery(Closed):
    """The seq of the first event."""

    after = QueryInteger(
        load_default=0,
        **about("the seq of the first event, unless `Last-Event-ID` is sent"),
    )


class ReplayQuery(Closed):
    """The viewer, and the versions of the first and the last frame."""

    as_ = _viewer()
    from_ = QueryInteger(
        low=1,
        load_default=1,
        data_key="from",
        **about("the version of the first frame"),
    )
    to = QueryInteger(
        low=1,
        load_default=None,
        **about("the version of the last frame, inclusive; by default the present one"),
    )


class LogProofQuery(Closed):
    """The game whose leaf the proof is for."""

    game = fields.UUID(allow_none=False, **described("the id of the game"))


class AsQuery(Closed):
    """The viewer."""

    as_ = _viewer()


class MomentQuery(Closed):
    """The version and the viewer of a picture, which does not depend on the caller's seat."""

    at = QueryInteger(
        low=1,
        load_default=None,
        **about("the version that is shown, from 1; by default the present one"),
    )
    as_ = viewer_field(
        load_default="public",
        **about("whose view: `public`, `all` or a seat. Before the seal, other seats are refused"),
    )


class PictureQuery(MomentQuery):
    """The moment of a picture, and the language of its words."""

    language = PatternString(
        "^[a-z]{2}$",
        "is not the code of a language",
        load_default="en",
        **about("the language of the words: `en`, `sv` or `ja`; for another one they are English"),
    )


class OembedQuery(Closed):
    """The address of a page, and the largest size that the consumer has room for."""

    url = PatternString(
        "^https?://.{1,1000}$",
        "is not the address of a page",
        required=True,
        **about("the address of a replay, a hand or its frame on this server, with its query"),
    )
    format = Chosen("json", load_default="json", **about("the format of the answer: `json`"))
    maxwidth = QueryInteger(
        low=1, load_default=None, **about("the largest width of the frame, in pixels")
    )
    maxheight = QueryInteger(
        low=1, load_default=None, **about("the largest height of the frame, in pixels")
    )


class OembedSchema(Closed):
    """The form in which other sites show a public hand (oEmbed 1.0, type `rich`)."""

    version = Chosen("1.0", **described("the version of oEmbed"))
    type = Chosen("rich", **described("the kind of the embedded content"))
    provider_name = fields.String(**described("the name of the site"))
    provider_url = fields.String(**described("the address of the site"))
    title = fields.String(**described("the hand and its ruleset, without names"))
    html = fields.String(
        **described("a frame with the replay, in which no script reaches the page")
    )
    width = Integer(low=1, **described("the width of the frame, in pixels"))
    height = Integer(low=1, **described("the height of the frame, in pixels"))
    thumbnail_url = fields.String(
        allow_none=True,
        **described("a picture of the moment; null if it is larger than the consumer's room"),
    )
    thumbnail_width = Integer(
        low=1, allow_none=True, **described("the width of the picture, or null")
    )
    thumbnail_height = Integer(
        low=1, allow_none=True, **described("the height of the picture, or null")
    )


class ProfileQuery(Closed):
    """The content of a bundle: public evidence, or also the openings of the caller's seat."""

    profile = Chosen(
        "public",
        "seat",
        load_default="public",
        **about("`seat` adds, before the seal, the openings that the caller's seat can see"),
    )


class CommitSchema(Closed):
    """A commitment to entropy that is revealed later."""

    commit = hex_digits(64, **described("C_i of SHX/1, section 3, in hex"))


class ValueSchema(Closed):
    """The entropy itself: 32 random bytes of the client."""

    value = hex_digits(
        64,
        **described("32 random bytes in hex; they must match the commitment, if the seat made one"),
    )


class EntropyRequestSchema(OneOf):
    """A commitment, or the value itself."""

    variants = (CommitSchema, ValueSchema)
    none_fits = 'must have "commit" or "value"'

    @classmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return the schema for the field that is present."""
        if "commit" in data:
            return CommitSchema
        return ValueSchema if "value" in data else None


class MovedSchema(Closed):
    """The effect of a move: the new events, a receipt for the new head, the view after it."""

    version = Integer(low=1, **described("the version after the move"))
    events = list_of(EventSchema, "the new events")
    receipt = fields.String(**described("a signed note of the new head (SHX/1, section 6)"))
    game = fields.Nested(
        GameViewSchema, **described("the view of the caller's seat after the move")
    )


class EventPageSchema(Closed):
    """A page of a game's log; `next` is the next `after`, null at the end."""

    items = list_of(EventSchema, "the events, in order of `seq`")
    version = Integer(low=1, **described("the present version of the game"))
    next = Integer(allow_none=True, **described("the next `after`; null at the end"))


class OpeningsSchema(Closed):
    """The openings that the caller can see, in order of `p`; `next` is always null."""

    items = list_of(OpeningSchema, "the openings, in order of `p`")
    next = fields.String(allow_none=True, **described("always null"))


class AbsenceSchema(Closed):
    """A player who is away, and what the caller may claim."""

    seat = seat_field("the seat of the player")
    away_seconds = Integer(**described("how long the hand has lacked the player"))
    claims = fields.List(
        Chosen(*AfterAbsence),
        **described("the values of `then` with which the caller may make the move `claim_absence`"),
    )


class AbsencesSchema(Closed):
    """The players that a hand waits for and who are away."""

    after_seconds = Integer(**described("the time after which a player counts as away"))
    absent = list_of(AbsenceSchema, "the absent players about whom the caller may claim something")


class GameSeatSchema(Closed):
    """The player or bot at a seat of a game."""

    seat = seat_field("the number of the seat")
    name = fields.String(
        allow_none=True, **described("the player's name; null for bots and erased players")
    )
    kind = Chosen("human", "bot", **described("whether a player or a bot has the seat"))
    player = fields.UUID(allow_none=True, **described("the player's id; null for bots"))


class GameItemSchema(Closed):
    """A game in a list; `your_turn` is true if the caller is to act."""

    id = fields.UUID(**described("the id of the game"))
    table = fields.UUID(**described("the id of its table"))
    hand = Integer(low=1, **described("the number of the hand at the table, from 1"))
    ruleset = fields.Nested(RulesetRefSchema, **described("the ruleset with the table's options"))
    status = Chosen(*Status, **described("the state of the game"))
    version = Integer(low=1, **described("the number of events in the log"))
    created_at = time_field(**described("the time of the first event"))
    ended_at = time_field(allow_none=True, **described("the time of the seal; null before"))
    seats = list_of(GameSeatSchema, "the seats, in order of their numbers")
    result = fields.Nested(
        ResultSchema, allow_none=True, **described("the result; null until the hand has ended")
    )
    your_turn = Boolean(**described("whether the game waits for the caller's seat"))
    deadline = time_field(
        allow_none=True,
        **described(
            "the next deadline, as in the view; null except in a running game of the caller"
        ),
    )


GamePageSchema: type[Schema] = page_of(GameItemSchema)


class ReplaySchema(Closed):
    """Frames of a replay; `next` is the version of the next frame, null at the end."""

    items = list_of(FrameSchema, "the frames, oldest first")
    next = Integer(allow_none=True, **described("the version of the next frame; null at the end"))
