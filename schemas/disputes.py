"""Disputes as JSON: requests and answers, and the events of the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, fields

from schemas.audit import SentenceSchema
from schemas.events import read_fields
from schemas.strict_fields import (
    MAX_VERSION,
    Boolean,
    Chosen,
    Closed,
    Integer,
    MultilineText,
    OneOf,
    PageQuery,
    QueryBoolean,
    Text,
    about,
    described,
    from_plain_data,
    hex_digits,
    list_of,
    page_of,
    seat_field,
    time_field,
)
from service.domain.dispute import (
    Appealed,
    Charge,
    DisputeClosed,
    DisputeEvent,
    DisputeOpened,
    DisputeState,
    DisputeWithdrawn,
    FindingsMade,
    Party,
    ReceiptGiven,
    RefereeRefused,
    RefereeReplaced,
    RefereeSeated,
    RefereeState,
    Ruled,
    SealedBy,
    StatementMade,
    Verdict,
    Vote,
    VoteCommitted,
    VoteRevealed,
    VotingOpened,
)
from service.domain.dispute_rules import MAX_JUDGED, MAX_REFEREES, Act
from service.shx.validators import MAX_SEATS

LONGEST_STATEMENT = 4000
LONGEST_REASON = 1000
LONGEST_RECEIPT = 4000
"""Maximum number of characters of a receipt, which usually has about 300."""
CHARGES = tuple(charge.value for charge in Charge)
VOTES = tuple(vote.value for vote in Vote)


class AccusationSchema(Closed):
    """
    An accusation: of a seat or the server, with a charge, at an event of the game.

    `seq` is an event of a move of the accused seat; against the server, any event. `collusion` is
    about two people instead, in a hand of three or more: it has `partner` and no `seq`.
    """

    accused = Integer(
        required=True,
        allow_none=True,
        high=MAX_SEATS - 1,
        **about("a seat; null for the server, with `wrong_deal` or `altered_log` only"),
    )
    seq = Integer(
        high=MAX_VERSION,
        allow_none=True,
        load_default=None,
        **about("the seq of an event of the disputed move; omitted for `collusion`"),
    )
    partner = Integer(
        high=MAX_SEATS - 1,
        allow_none=True,
        load_default=None,
        **about("the seat with whom the accused colluded; with `collusion` only"),
    )
    charge = Chosen(*CHARGES, **described("the kind of cheating"))
    statement = MultilineText(
        shortest=1, longest=LONGEST_STATEMENT, **described("the accuser's statement")
    )


class DisputesQuery(PageQuery):
    """Filters of the list of disputes."""

    state = Chosen(
        *DisputeState,
        load_default=None,
        **about("disputes in this state only; a page may be shorter than `limit`"),
    )
    mine = QueryBoolean(
        load_default=False,
        **about("`true` for disputes in which the caller is a side or a referee"),
    )


class DisputeWordsSchema(Closed):
    """A statement of the accuser or the accused."""

    text = MultilineText(shortest=1, longest=LONGEST_STATEMENT, **described("the statement"))


class ReceiptRequestSchema(Closed):
    """A receipt of the game, as the answer to a move or the game's receipt has it."""

    receipt = Text(
        shortest=1,
        longest=LONGEST_RECEIPT,
        **described("the signed note, as the server sent it"),
    )


class RefereeRequestSchema(Closed):
    """An offer to judge if `refuse` is omitted; else the number of the referee to refuse."""

    may_be_missing = True

    refuse = Integer(
        high=MAX_REFEREES,
        load_default=None,
        **about("the number of a referee; omitted to offer oneself"),
    )


class SealedVoteSchema(Closed):
    """A sealed vote: TH("shx/1/vote", dispute, referee, vote, salt)."""

    commit = hex_digits(64, **described("the commitment, in hex"))


def _reason() -> MultilineText:
    return MultilineText(
        shortest=1,
        longest=LONGEST_REASON,
        load_default=None,
        **about("why; needed for `cheated` if `reason_needed` of the dispute is true"),
    )


class OpenVoteSchema(Closed):
    """A revealed vote, with the salt of its commitment."""

    vote = Chosen(*VOTES, **described("the vote"))
    salt = hex_digits(64, **described("the salt of the commitment: 32 bytes in hex"))
    reason = _reason()


class PlainVoteSchema(Closed):
    """A vote that the server seals with its own salt, and reveals when all have committed."""

    vote = Chosen(*VOTES, **described("the vote"))
    reason = _reason()


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
    """A finding of the verifier, with the statement of the ruleset that decides it."""

    check = fields.String(**described("the name of the check"))
    result = Chosen("pass", "fail", "missing", "n/a", **described("how the check ended"))
    seq = Integer(allow_none=True, **described("the event that the finding is about, or null"))
    code = fields.String(
        **described("the code of the sentence `plain`, in `strings/`"),
    )
    values = fields.Dict(
        keys=fields.String(),
        **described("the values in this sentence by name; seats from 0, in the sentence from 1"),
    )
    plain = fields.String(
        **described("what the finding means, in short sentences without technical terms")
    )
    text = fields.String(**described("the finding with all that is known about it"))
    more = list_of(SentenceSchema, "the sentences that `text` has beyond `plain`")
    rule = fields.String(
        allow_none=True, **described("the statement of the ruleset that decides it, or null")
    )


class DisputeStatementSchema(Closed):
    """A statement; only its sides and referees get the text, until it is erased."""

    by = Chosen(*Party, **described("the side that made the statement"))
    at = time_field(**described("the time of the statement"))
    text = fields.String(
        allow_none=True,
        **described("the text; null once erased, and unless the caller is a side or a referee"),
    )


class DisputeReceiptSchema(Closed):
    """A receipt that a side handed in; a key of the server signed it for the disputed game."""

    by = Chosen(*Party, **described("the side that handed it in"))
    at = time_field(**described("the time at which it was handed in"))
    seq = Integer(**described("the event whose head the receipt names"))
    note = fields.String(**described("the receipt, a signed note"))


class ExperienceSchema(Closed):
    """The record of a referee, from public games alone."""

    registered_at = time_field(**described("when the account began"))
    hands = Integer(**described("the number of hands that the player finished at public tables"))
    judged = Integer(
        high=MAX_JUDGED,
        **described(
            "the number of ruled disputes about public games in which the player's vote counted; "
            f"at most {MAX_JUDGED} are counted"
        ),
    )


class RefereeSchema(Closed):
    """
    A referee; `referee` is the number in the commitment of a vote.

    `player` is null unless the caller is a side or a referee; `sealed_by` is the party that
    drew the salt of the vote, null before the vote.
    """

    referee = Integer(high=MAX_REFEREES, **described("the number of the referee in the dispute"))
    player = fields.UUID(
        allow_none=True,
        **described("the player's id; null unless the caller is a side or a referee"),
    )
    experience = fields.Nested(
        ExperienceSchema,
        allow_none=True,
        **described(
            "for the sides and the referees, while a side may refuse this referee; else null"
        ),
    )
    state = Chosen(
        *RefereeState,
        **described("`recused` after a refusal or a missed deadline"),
    )
    sealed_by = Chosen(
        *SealedBy,
        allow_none=True,
        **described("which party drew the salt of the vote; null before the vote"),
    )
    voted_at = time_field(
        allow_none=True, **described("when the referee committed the vote, or null")
    )
    revealed_at = time_field(allow_none=True, **described("when the vote was revealed, or null"))
    refused_by = Chosen(
        *Party,
        allow_none=True,
        **described("the side that refused the referee, or null"),
    )


class VoteSchema(Closed):
    """The revealed vote of a referee, with the reason for it."""

    referee = Integer(high=MAX_REFEREES, **described("the number of the referee"))
    vote = Chosen(*VOTES, **described("the vote"))
    reason = fields.String(
        allow_none=True,
        **described("why; null without a reason, and once erased"),
    )


class RulingSchema(Closed):
    """
    A ruling.

    `cad`: against the accused seat, in a final dispute only; `proven`: against the server;
    `cleared`: not against the accused.
    """

    verdict = Chosen(*Verdict, **described("the verdict"))
    at = time_field(**described("the time of the ruling"))


class StandingRulingSchema(Closed):
    """A ruling and its state; before the dispute is final it calls no player a cad."""

    at = time_field(**described("the time of the ruling"))
    referees = fields.List(
        Integer(high=MAX_REFEREES), **described("the numbers of the referees who ruled")
    )
    against = Boolean(
        **described("whether it is against the accused: all of these referees voted `cheated`")
    )
    state = Chosen(
        "appealable",
        "appealed",
        "superseded",
        "final",
        **described(
            "`appealable` until the deadline; `appealed` while other referees judge; `superseded` "
            "by their ruling; `final`"
        ),
    )


class PeriodsSchema(Closed):
    """The conditions and periods of a dispute: the settings at the time of its opening."""

    referee_hands = Integer(**described("finished hands that a referee needs"))
    referee_account_seconds = Integer(**described("the age of the account that a referee needs"))
    referee_seated_seconds = Integer(**described("how long a new referee can be refused"))
    vote_seconds = Integer(**described("time to vote, and again to reveal the vote"))
    appeal_seconds = Integer(**described("time to appeal after a ruling"))
    dispute_seconds = Integer(
        **described("time to complete a panel, from the latest of seal, opening and appeal")
    )


class CallerSchema(Closed):
    """The caller's place in a dispute, and the calls that its rules allow the caller now."""

    side = Chosen(*Party, allow_none=True, **described("the caller's side, or null"))
    referee = Integer(
        allow_none=True,
        high=MAX_REFEREES,
        **described("the caller's number as a referee, also after a refusal, or null"),
    )
    may = fields.List(
        Chosen(*Act),
        **described(
            "what the caller can do now. `judge` and `refuse` are POST …/referees, `vote` and "
            "`reveal` POST …/votes; `judge` also requires `referee_hands` and "
            "`referee_account_seconds` of `periods`"
        ),
    )


class DisputeSchema(Closed):
    """
    A dispute with its findings, statements, referees, votes and ruling.

    `accused` is null if the server is accused. `voting_from` is when the voting opens or
    opened for the present panel, `deadline` when the present state ends by itself. `findings`
    are added within seconds; `votes` are shown once all are revealed.
    """

    id = fields.UUID(**described("the id of the dispute"))
    game = fields.UUID(**described("the id of the game"))
    by = seat_field("the seat that accuses")
    accused = seat_field("the accused seat; null for the server", allow_none=True)
    partner = seat_field(
        "the seat with whom the accused colluded, no ruling is about it; null for other charges",
        allow_none=True,
    )
    seq = Integer(
        allow_none=True,
        **described("the seq of an event of the disputed move; null for `collusion`"),
    )
    charge = Chosen(*CHARGES, **described("the kind of cheating"))
    state = Chosen(*DisputeState, **described("the state of the dispute"))
    withdrawn = Boolean(
        **described("whether the accuser withdrew it unanswered; then it is `final` and unruled")
    )
    opened_at = time_field(**described("the time of the accusation"))
    voting_from = time_field(
        allow_none=True,
        **described("when the voting opens or opened for the present panel, or null"),
    )
    deadline = time_field(
        allow_none=True, **described("when the present state ends by itself, or null")
    )
    bundle_sha256 = hex_digits(
        64,
        **described(
            "SHA-256 of the evidence, frozen when the dispute was opened: of the file "
            "`dispute/<id>.shx` in the evidence of the game, not of that evidence itself, which "
            "grows with the game and its disputes"
        ),
    )
    findings = list_of(FindingSchema, "the findings of the verifier")
    statements = list_of(DisputeStatementSchema, "the statements of both sides, oldest first")
    receipts = list_of(DisputeReceiptSchema, "the receipts that the sides handed in, oldest first")
    referees = list_of(RefereeSchema, "the referees, in order of their numbers")
    reason_needed = Boolean(
        **described(
            "whether a vote `cheated` needs a reason: a finding is that the rules allow the move, "
            "or the charge is `collusion`"
        )
    )
    votes = list_of(VoteSchema, "the votes; empty until all are revealed")
    ruling = fields.Nested(
        RulingSchema,
        allow_none=True,
        **described("the newest ruling, or null; after an appeal was judged, that of the appeal"),
    )
    earlier = list_of(RulingSchema, "the rulings that `ruling` replaced, oldest first")
    rulings = list_of(StandingRulingSchema, "all rulings with their states, oldest first")
    periods = fields.Nested(
        PeriodsSchema, **described("the periods in seconds, as of the opening of the dispute")
    )
    you = fields.Nested(
        CallerSchema, allow_none=True, **described("the caller's place; null without a token")
    )


DisputePageSchema: type[Schema] = page_of(DisputeSchema)


_EVENTS: Mapping[str, type[DisputeEvent]] = {
    "dispute_opened": DisputeOpened,
    "findings_made": FindingsMade,
    "statement_made": StatementMade,
    "receipt_given": ReceiptGiven,
    "referee_seated": RefereeSeated,
    "referee_refused": RefereeRefused,
    "referee_replaced": RefereeReplaced,
    "voting_opened": VotingOpened,
    "vote_committed": VoteCommitted,
    "vote_revealed": VoteRevealed,
    "dispute_ruled": Ruled,
    "dispute_appealed": Appealed,
    "dispute_withdrawn": DisputeWithdrawn,
    "dispute_closed": DisputeClosed,
}
_TYPES = {event: name for name, event in _EVENTS.items()}
read_fields(_TYPES)


def dispute_type_of(event: DisputeEvent) -> str:
    """Return the name of a dispute event's type."""
    return _TYPES[type(event)]


def dispute_event_of(type_: str, data: Mapping[str, Any]) -> DisputeEvent:
    """Return the event of a type and its stored data; raises KeyError for an unknown type."""
    return from_plain_data(_EVENTS[type_], data)
