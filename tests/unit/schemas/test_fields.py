"""Fields of bodies: names and texts, handles, the end of a token; and which may be null."""

from __future__ import annotations

import unicodedata
from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest
from marshmallow import Schema, ValidationError
from marshmallow.fields import Field

from schemas.audit import CheckSchema, JudgementSchema, MeasureSchema, TimeStampSchema
from schemas.challenges import ChallengeSchema
from schemas.decisions import FoundDecisionSchema
from schemas.disputes import (
    AccusationSchema,
    DisputeWordsSchema,
    ExperienceSchema,
    PeriodsSchema,
    VoteSchema,
)
from schemas.games import GameItemSchema, GameSeatSchema
from schemas.moments import MomentSchema
from schemas.notes import NoteRequestSchema, NoteSchema
from schemas.notices import NoticeSchema
from schemas.players import HandleChangeSchema, NameChangeSchema, RegistrationSchema
from schemas.rulesets import InShortSchema, RulesetRequestSchema, StatementSchema
from schemas.seeks import SeekConditionsSchema
from schemas.tables import TableGameSchema, TableSeatSchema
from schemas.tokens import ListedTokenSchema, PresentTokenSchema, TokenRequestSchema
from schemas.views import ClockSchema
from schemas.visible_text import told_apart
from schemas.webhooks import WebhookSchema
from schemas.what_if import LineFrameSchema
from service.application.disputes.commands import Accusation
from service.application.moments import Moment
from service.application.notices import Notice
from service.application.tokens import TokenRequest
from service.audit.decisions import Decided
from service.audit.statistics import Measure
from service.bots.searching import Judgement
from service.domain.dispute import Periods, VoteRevealed
from service.domain.events import Clock
from service.domain.table import TableSeat
from service.public_log.log import StampedHead
from service.replay.frames import Frame
from service.rulesets.in_short import InShort
from service.rulesets.statements import Statement
from service.store.challenges import Challenge
from service.store.directory import StoredToken
from service.store.disputes import Experience
from service.store.games import EventNote, GameRow, SeatRow
from service.store.seeks import SeekConditions
from service.store.webhooks import StoredWebhook
from service.verify.finding import Finding

OF_TYPES: dict[type[Schema], type] = {
    JudgementSchema: Judgement,
    MeasureSchema: Measure,
    CheckSchema: Finding,
    TimeStampSchema: StampedHead,
    ChallengeSchema: Challenge,
    FoundDecisionSchema: Decided,
    AccusationSchema: Accusation,
    ExperienceSchema: Experience,
    VoteSchema: VoteRevealed,
    PeriodsSchema: Periods,
    GameSeatSchema: SeatRow,
    GameItemSchema: GameRow,
    MomentSchema: Moment,
    NoteSchema: EventNote,
    NoticeSchema: Notice,
    StatementSchema: Statement,
    InShortSchema: InShort,
    SeekConditionsSchema: SeekConditions,
    TableSeatSchema: TableSeat,
    TableGameSchema: GameRow,
    TokenRequestSchema: TokenRequest,
    ListedTokenSchema: StoredToken,
    PresentTokenSchema: StoredToken,
    ClockSchema: Clock,
    WebhookSchema: StoredWebhook,
    LineFrameSchema: Frame,
}
"""Schemas with the type that an answer or a request is made of."""

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"

UNSEEN = ("\u3164", "\u115f", "\u2800", "\u180e", "\ufe0f", "\u00a0", "\u0301", "\u200d")
HIDDEN = ("\u00ad", "\u034f", "\u200c", "\u200d", "\ufe0f", "\U000e0041", "\u2800", "\U0001d173")
SPOILED = (f"{FAMILY}\u00ad", "\U0001f600\U000e0041\U000e007f", "\U0001f600\u200d")

FIELDS: tuple[Field[Any], ...] = (
    RegistrationSchema().fields["name"],
    NameChangeSchema().fields["name"],
    TokenRequestSchema().fields["name"],
    RulesetRequestSchema().fields["name"],
    AccusationSchema().fields["statement"],
    DisputeWordsSchema().fields["text"],
    NoteRequestSchema().fields["text"],
)
"""Every field that other people read, of two kinds: names, and texts of several lines."""


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "   ", "x" * 41, "a\u0000", "a\u0007b", "a\nb", "a\u001b[2Jb", "a\u202e", None),
        *(*UNSEEN, *(f"Ada{one}" for one in HIDDEN), *SPOILED, FAMILY * 9, "\U0001f600" * 41),
    ],
)
def test_a_name_has_visible_characters_and_at_most_40_of_them(name: object) -> None:
    for field in FIELDS[:2]:
        with pytest.raises(ValidationError):
            field.deserialize(name)


@pytest.mark.parametrize(
    "name",
    [
        *("\U0001f600" * 40, FAMILY * 8, "e\u0301" * 40, "\u2764\ufe0f", "1\ufe0f\u20e3 Ada"),
        *("\U0001f1f8\U0001f1ea" * 20, SCOTLAND),
        *("\u0e19\u0e49\u0e33", "\u0928\u092e\u0938\u094d\u0924\u0947", "Zo\u00eb \u2116 7"),
    ],
)
def test_a_name_has_40_characters_as_its_reader_counts_them(name: str) -> None:
    assert FIELDS[0].deserialize(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(
    "character",
    [
        *("\ufdd0", "\ufdef", "\ufffe", "\uffff", "\U0001fffe", "\U0010ffff"),  # noncharacters
        *("\u202a", "\u202e", "\u2066", "\u2069"),  # that turn the direction
        *("\u0000", "\u0007", "\u001b", "\u007f", "\u0085"),
    ],
)
def test_all_text_of_people_is_refused_with_the_same_characters(character: str) -> None:
    for field in FIELDS:
        assert field.deserialize("Fair play") == "Fair play"
        with pytest.raises(ValidationError):
            field.deserialize(f"Fair{character} play")


@pytest.mark.parametrize("second", ["Ada", "ADA", "\uff21da", "Ada\u00ad"])
def test_names_of_a_table_that_look_alike_have_a_short_id(second: str) -> None:
    shown = told_apart(["Ada", None, second, "Bob"], ["1f2e9", "0", "7c8d0", "3a4b5"])
    assert shown == ["Ada (1f2e)", None, f"{second} (7c8d)", "Bob"]


@pytest.mark.parametrize(
    "handle",
    ["ad", "a" * 21, "Ada", "ada_l", "adá", "1ada", "-ada", "ada-", "a--da", "аda", "ada\n", "", 7],
)
def test_a_handle_has_letters_that_a_reader_can_type(handle: object) -> None:
    assert set(HandleChangeSchema().validate({"handle": handle})) == {"handle"}
    assert HandleChangeSchema().validate({"handle": "ada-l0velace"}) == {}


@pytest.mark.parametrize(
    ("text", "is_time"),
    [
        *[("2046-05-04T00:30:00Z", True), ("2046-05-04T00:30:00.000Z", True)],
        *[("2046-05-04T00:30:00+00:00", True), ("2046-05-03T22:30:00.000000000-02:00", True)],
        *[("2046-05-04", False), ("2046-05-04T00:30:00", False), ("2046-05-04T25:00:00Z", False)],
        ("0001-01-01T00:00:00+14:00", False),
    ],
)
def test_an_end_of_a_token_is_any_time_of_rfc_3339(text: str, *, is_time: bool) -> None:
    """Clients generated from the document write times in all these forms."""
    field = TokenRequestSchema().fields["ends_at"]
    if is_time:
        assert field.deserialize(text) == field.deserialize("2046-05-04T00:30:00.000000Z")
    else:
        with pytest.raises(ValidationError, match="is no time such as"):
            field.deserialize(text)


def test_a_field_may_be_null_where_the_value_behind_it_can_be_missing() -> None:
    compared = 0
    for schema, behind in OF_TYPES.items():
        hints = get_type_hints(behind)
        for name, field in schema().fields.items():
            if name in hints:
                compared += 1
                wanted = NoneType in get_args(hints[name])
                assert bool(field.allow_none) is wanted, (schema.__name__, name)
    assert compared > 100
