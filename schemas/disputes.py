"""Schemas of disputes: requests and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, fields

from schemas.strict_fields import (
    MOST_EVENTS,
    Chosen,
    Closed,
    OneOf,
    Text,
    Whole,
    hex_digits,
    page_of,
    time_field,
)
from service.domain.dispute import Charge, DisputeState, RefereeState, SealedBy, Side, Verdict, Vote
from service.domain.dispute_rules import MOST_REFEREES
from service.shx.validators import MAX_SEATS

LONGEST_STATEMENT = 4000
CHARGES = tuple(charge.value for charge in Charge)
VOTES = tuple(vote.value for vote in Vote)


class AccusationSchema(Closed):
    """
    An accusation: of a seat or the server, with a charge, at an event of the game.

    `seq` is an event of a move of the accused seat; against the server, any event.
    """

    accused = Whole(
        required=True,
        allow_none=True,
        high=MAX_SEATS - 1,
        metadata={
            "description": "a seat; null for the server, with `wrong_deal` or `altered_log` only"
        },
    )
    seq = Whole(required=True, high=MOST_EVENTS)
    charge = Chosen(*CHARGES, required=True)
    statement = Text(required=True, shortest=1, longest=LONGEST_STATEMENT)


class DisputeWordsSchema(Closed):
    """A statement of the accuser or the accused."""

    text = Text(required=True, shortest=1, longest=LONGEST_STATEMENT)


class RefereeRequestSchema(Closed):
    """An offer to judge if `refuse` is omitted; else the number of the referee to refuse."""

    may_be_missing = True

    refuse = Whole(high=MOST_REFEREES, load_default=None)


class SealedVoteSchema(Closed):
    """A sealed vote: TH("shx/1/vote", dispute, referee, vote, salt)."""

    commit = hex_digits(64, required=True)


class OpenVoteSchema(Closed):
    """A revealed vote, with the salt of its commitment."""

    vote = Chosen(*VOTES, required=True)
    salt = hex_digits(64, required=True)


class PlainVoteSchema(Closed):
    """A vote that the server seals with its own salt, and reveals when all have committed."""

    vote = Chosen(*VOTES, required=True)


class VoteRequestSchema(OneOf):
    """A vote that the server seals; or a commitment, and later the vote with its salt."""

    variants = (PlainVoteSchema, SealedVoteSchema, OpenVoteSchema)
    none_fits = "must have `vote`, or `commit`, or `vote` and `salt`"

    @classmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return the schema for the fields that are present."""
        if "commit" in data:
            return SealedVoteSchema
        return OpenVoteSchema if "salt" in data else PlainVoteSchema


class FindingSchema(Closed):
    """A finding of the machine, with the statement of the ruleset that decides it."""

    check = fields.String(required=True)
    result = Chosen("pass", "fail", "missing", "n/a", required=True)
    seq = Whole(required=True, allow_none=True)
    text = fields.String(required=True)
    rule = fields.String(required=True, allow_none=True)


class DisputeStatementSchema(Closed):
    """A statement; its text is null for others than sides and referees, and once erased."""

    by = Chosen(*(side.value for side in Side), required=True)
    at = time_field(required=True)
    text = fields.String(required=True, allow_none=True)


class RefereeSchema(Closed):
    """
    A referee; `referee` is the number in the commitment of a vote.

    `player` is null for others than sides and referees; `sealed_by` is the party that drew
    the salt of the vote, null before the vote.
    """

    referee = Whole(required=True, high=MOST_REFEREES)
    player = fields.UUID(required=True, allow_none=True)
    state = Chosen(*(state.value for state in RefereeState), required=True)
    sealed_by = Chosen(*(by.value for by in SealedBy), required=True, allow_none=True)


class VoteSchema(Closed):
    """The revealed vote of a referee."""

    referee = Whole(required=True, high=MOST_REFEREES)
    vote = Chosen(*VOTES, required=True)


class RulingSchema(Closed):
    """
    A ruling; `superseded_by` is the ruling that replaced it after an appeal.

    `cad`: against the accused seat, in a final dispute only; `proven`: against the server;
    `cleared`: not against the accused.
    """

    verdict = Chosen(*(verdict.value for verdict in Verdict), required=True)
    at = time_field(required=True)
    superseded_by = fields.Nested(
        lambda: RulingSchema(),  # noqa: PLW0108 - the class is not defined yet
        required=True,
        allow_none=True,
    )


class DisputeSchema(Closed):
    """
    A dispute with its findings, statements, referees, votes and ruling.

    `accused` is null if the server is accused. `voting_from` is when the voting opens or
    opened for the present panel, `deadline` when the present state ends by itself. `findings`
    are added within seconds; `votes` are shown once all are revealed.
    """

    id = fields.UUID(required=True)
    game = fields.UUID(required=True)
    by = Whole(required=True, high=MAX_SEATS - 1)
    accused = Whole(required=True, allow_none=True, high=MAX_SEATS - 1)
    seq = Whole(required=True)
    charge = Chosen(*CHARGES, required=True)
    state = Chosen(*(state.value for state in DisputeState), required=True)
    opened_at = time_field(required=True)
    voting_from = time_field(required=True, allow_none=True)
    deadline = time_field(required=True, allow_none=True)
    bundle_sha256 = hex_digits(64, required=True)
    findings = fields.List(fields.Nested(FindingSchema), required=True)
    statements = fields.List(fields.Nested(DisputeStatementSchema), required=True)
    referees = fields.List(fields.Nested(RefereeSchema), required=True)
    votes = fields.List(fields.Nested(VoteSchema), required=True)
    ruling = fields.Nested(RulingSchema, required=True, allow_none=True)


DisputePageSchema: type[Schema] = page_of(DisputeSchema)
