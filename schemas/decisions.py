"""Schemas of decisions: the search, and what it finds."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import ValidationError, fields, post_load, validate

from schemas.strict_fields import (
    Boolean,
    Closed,
    Integer,
    PageQuery,
    PatternString,
    QueryBoolean,
    QueryInteger,
    about,
    described,
    list_of,
    name_field,
    seat_field,
)

PHASES: Final = ("hand", "up", "down")
DEMANDS: Final = ("at_least", "at_most", "below", "anything")
KINDS: Final = ("play", "pick_up", "blind", "try_stock", "pass")
SPECIAL: Final = ("burn", "refused", "time_out")

_RANK = "[2-9TJQKAX]"


def _chosen(values: tuple[str, ...], text: str) -> fields.String:
    return fields.String(
        validate=validate.OneOf(values), load_default=None, **about(f"{text}: {', '.join(values)}")
    )


def _rank(text: str) -> PatternString:
    return PatternString(f"^{_RANK}$", "is not a rank", load_default=None, **about(text))


def _range(text: str) -> PatternString:
    pattern = r"^(?:[0-9]{1,6}(?:-(?:[0-9]{1,6})?)?|-[0-9]{1,6})$"
    return PatternString(
        pattern,
        "is not a number, or two with - between",
        load_default=None,
        metadata={"description": f"{text}, as a number, `3-6`, `10-` or `-2`", "example": "3-6"},
    )


class DecisionsQuery(PageQuery):
    """The conditions of a search, all of which a decision meets, and the page."""

    ruleset = name_field("ruleset", load_default=None, **about("hands of this ruleset"))
    player = fields.UUID(load_default=None, **about("decisions of this player"))
    bot = name_field("bot", load_default=None, **about("of this bot; `none`: of people"))
    phase = _chosen(PHASES, "what the seat played from")
    demand = _chosen(DEMANDS, "the kind of demand of the pile")
    asked = _rank("the rank that the demand names")
    top = _rank("the rank of the top card of the pile")
    cards = PatternString(
        rf"^{_RANK}(?:,{_RANK}){{0,4}}$",
        "is not a list of up to five ranks",
        load_default=None,
        metadata={
            "description": "the ranks of the open cards that the seat played from, one to five",
            "example": "6,9,K",
        },
    )
    held = _range("cards in the hand")
    left = _range("seats still in play")
    kind = _chosen((*KINDS, *SPECIAL), "what was done")
    rank = _rank("the rank that was played, also beside another")
    count = QueryInteger(low=1, high=99, load_default=None, **about("how many cards were played"))
    had_other = QueryBoolean(load_default=None, **about("whether another move was legal"))
    took = _range("whole seconds of the turn")
    lost = QueryBoolean(load_default=None, **about("whether the seat lost the hand"))

    @post_load
    def _numbers(self, data: dict[str, Any], **_more: Any) -> dict[str, Any]:
        """Return the data with ranges as pairs of numbers, and ranks in the order of the deck."""
        ranges = {name: _pair(name, data[name]) for name in ("held", "left", "took")}
        ranks = sorted((data["cards"] or "").split(","), key="23456789TJQKAX".find)
        return {**data, **ranges, "cards": ",".join(ranks) or None}


def _pair(name: str, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    low, dash, high = text.partition("-")
    least = int(low or 0)
    greatest = int(high) if high else 10**6 if dash else least
    if greatest < least:
        raise ValidationError("is a range without a number", name)
    return least, greatest


class ShareSchema(Closed):
    """A share with its interval of 95 % (statistics, section 4)."""

    of = Integer(low=1, **described("of how many"))
    share = fields.Float(**described("the share"))
    low = fields.Float(**described("the low end of the interval"))
    high = fields.Float(**described("its high end"))


class ChoiceSchema(Closed):
    """A choice, how often it was made, and how often its seat lost the hand."""

    choice = fields.String(**described("such as `play 7 x2`, `pick_up` or `blind`"))
    n = Integer(low=1, **described("how often it was chosen"))
    share = fields.Nested(ShareSchema, **described("its share of the decisions"))
    lost = fields.Nested(
        ShareSchema,
        allow_none=True,
        **described("the share of lost hands, of those with a loser; null without one"),
    )


class FoundDecisionSchema(Closed):
    """A decision of a sealed public hand, with what its seat could know."""

    game = fields.UUID(**described("the hand"))
    event = Integer(low=1, **described("the first event of the move, as in `?event=` of a replay"))
    seat = seat_field("the seat")
    player = fields.UUID(allow_none=True, **described("null for a bot and an erased player"))
    bot = fields.String(allow_none=True, **described("the bot; null for a person"))
    ruleset = fields.String(**described("the id of the ruleset"))
    phase = fields.String(**described("what the seat played from: hand, up or down"))
    demand = fields.String(**described("the kind of demand of the pile"))
    asked = fields.String(allow_none=True, **described("the rank that the demand names"))
    top = fields.String(allow_none=True, **described("the rank of the top card of the pile"))
    held = Integer(**described("cards in the hand"))
    left = Integer(low=1, **described("seats in play"))
    kind = fields.String(**described("play, pick_up, blind, try_stock or pass"))
    rank = fields.String(allow_none=True, **described("of a play; several as `5+6`"))
    count = Integer(**described("cards of a play; 0 for all else"))
    burned = Boolean(**described("whether the move burned the pile"))
    timed_out = Boolean(**described("whether the clock made it"))
    had_other = Boolean(**described("whether another move was legal"))
    refused = Integer(**described("attempts that were refused before it"))
    milliseconds = Integer(allow_none=True, **described("of the turn; null if it was none"))
    lost = Boolean(allow_none=True, **described("null: the hand has no loser"))


class DecisionsSchema(Closed):
    """The newest decisions that meet all conditions, counted, and a page of them."""

    decisions = Integer(**described("how many were found, 10,000 at most"))
    hands = Integer(**described("in how many hands"))
    limited = Boolean(**described("whether older ones may be left out"))
    choices = list_of(
        ChoiceSchema,
        "what was chosen, the most frequent first; null after the first page",
        allow_none=True,
    )
    items = list_of(FoundDecisionSchema, "the decisions, newest first")
    cannot_tell = fields.String(**described("what no search can show"))
    next = fields.String(
        allow_none=True, **described("the `cursor` of the next page; null at the end")
    )
