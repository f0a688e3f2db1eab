"""Disputes as bodies and answers of the API (api.md, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, fields

from schemas.lists_schema import page_of
from schemas.strict_fields import (
    MOST_EVENTS,
    Chosen,
    Closed,
    OneOf,
    Text,
    Whole,
    hex_digits,
    time_field,
)
from schemas.tables_schema import MAX_SEATS
from service.domain.dispute import DisputeState, RefereeState
from service.domain.dispute_events import Charge, Side, Verdict, Vote
from service.domain.judging import MOST_REFEREES

LONGEST_STATEMENT = 4000
CHARGES = tuple(charge.value for charge in Charge)
VOTES = tuple(vote.value for vote in Vote)


class AccusationSchema(Closed):
    """Whom the caller accuses, of what, at which event of the game."""

    accused = Whole(required=True, high=MAX_SEATS - 1, metadata={"description": "a seat"})
    seq = Whole(required=True, high=MOST_EVENTS)
    charge = Chosen(*CHARGES, required=True)
    statement = Text(required=True, shortest=1, longest=LONGEST_STATEMENT)


class DisputeWordsSchema(Closed):
    """What a side says."""

    text = Text(required=True, shortest=1, longest=LONGEST_STATEMENT)


class RefereeRequestSchema(Closed):
    """Nothing, to offer oneself; or the referee that a side refuses."""

    may_be_missing = True

    refuse = Whole(high=MOST_REFEREES, load_default=None)


class SealedVoteSchema(Closed):
    """A sealed vote: TH("shx/1/vote", dispute, referee, vote, salt)."""

    commit = hex_digits(64, required=True)


class OpenVoteSchema(Closed):
    """A vote opened, with the salt of its commitment."""

    vote = Chosen(*VOTES, required=True)
    salt = hex_digits(64, required=True)


class VoteRequestSchema(OneOf):
    """First a sealed vote; once all are in, the vote and its salt."""

    variants = (SealedVoteSchema, OpenVoteSchema)
    none_fits = "is neither a sealed vote nor one opened"

    @classmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return which of the two a body means to be."""
        return SealedVoteSchema if "commit" in data else OpenVoteSchema


class FindingSchema(Closed):
    """One thing that the machine found."""

    check = fields.String(required=True)
    result = Chosen("pass", "fail", "missing", "n/a", required=True)
    seq = Whole(required=True, allow_none=True)
    text = fields.String(required=True)
    rule = fields.String(required=True, allow_none=True)


class DisputeStatementSchema(Closed):
    """What a side said; the text is for both sides and the referees, and null once erased."""

    by = Chosen(*(side.value for side in Side), required=True)
    at = time_field(required=True)
    text = fields.String(required=True, allow_none=True)


class RefereeSchema(Closed):
    """One who judges; `referee` is the number that a vote is committed under."""

    referee = Whole(required=True, high=MOST_REFEREES)
    player = fields.UUID(required=True)
    state = Chosen(*(state.value for state in RefereeState), required=True)


class VoteSchema(Closed):
    """A vote that counted."""

    referee = Whole(required=True, high=MOST_REFEREES)
    vote = Chosen(*VOTES, required=True)


class RulingSchema(Closed):
    """What referees found; it never changes, `superseded_by` is the ruling that replaces it."""

    verdict = Chosen(*(verdict.value for verdict in Verdict), required=True)
    at = time_field(required=True)
    superseded_by = fields.Nested(
        lambda: RulingSchema(),  # noqa: PLW0108 - the class is not there yet
        required=True,
        allow_none=True,
    )


class DisputeSchema(Closed):
    """A dispute."""

    id = fields.UUID(required=True)
    game = fields.UUID(required=True)
    by = Whole(required=True, high=MAX_SEATS - 1)
    accused = Whole(required=True, high=MAX_SEATS - 1)
    seq = Whole(required=True)
    charge = Chosen(*CHARGES, required=True)
    state = Chosen(*(state.value for state in DisputeState), required=True)
    opened_at = time_field(required=True)
    bundle_sha256 = hex_digits(64, required=True)
    findings = fields.List(fields.Nested(FindingSchema), required=True)
    statements = fields.List(fields.Nested(DisputeStatementSchema), required=True)
    referees = fields.List(fields.Nested(RefereeSchema), required=True)
    votes = fields.List(fields.Nested(VoteSchema), required=True)
    ruling = fields.Nested(RulingSchema, required=True, allow_none=True)


DisputePageSchema: type[Schema] = page_of(DisputeSchema)
