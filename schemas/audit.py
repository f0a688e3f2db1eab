"""Schemas of verification, audits, statistics and server keys (api.md, section 6)."""

from __future__ import annotations

from marshmallow import fields, validate

from schemas.moves import MoveSchema
from schemas.strict_fields import (
    CARD_PATTERN,
    ME,
    Boolean,
    Chosen,
    Closed,
    Integer,
    PatternString,
    QueryBoolean,
    QueryInteger,
    about,
    card_field,
    card_list,
    described,
    list_of,
    page_of,
    player_or_me,
    seat_field,
    time_field,
)
from schemas.tables import ENTROPY
from schemas.views import GameViewSchema
from service.shx.validators import MAX_SEATS

_CODE = CARD_PATTERN.removeprefix("^").removesuffix("$")
CARDS_PATTERN = f"^{_CODE}(?:,{_CODE})*$"

ZONES = ("stock", "pile", "burned", "hand", "up", "down")


def _rules() -> fields.List[str]:
    return fields.List(
        fields.String(required=True),
        **described("statements of the ruleset, the deciding one first"),
    )


class LegalSchema(Closed):
    """A move that was legal, with the statements that allow it."""

    move = fields.Nested(MoveSchema, **described("the move"))
    rules = _rules()


def code_field(*, or_null: bool = False) -> fields.String:
    """Return the field with the code of a sentence."""
    return fields.String(allow_none=or_null, **described("the code of the sentence in `text`"))


def values_field(*, or_null: bool = False) -> fields.Dict:
    """Return the field with the values of a sentence."""
    return fields.Dict(
        keys=fields.String(),
        allow_none=or_null,
        **described("the values in this sentence by name; seats from 0, in the sentence from 1"),
    )


class SentenceSchema(Closed):
    """A sentence: its code, the values in it, and its English text."""

    code = code_field()
    values = values_field()
    text = fields.String(**described("the sentence in English"))


class NotLegalSchema(Closed):
    """A card that no legal move uses, although its zone is the one to play from, and why."""

    card = card_field(**described("the card"))
    rules = _rules()
    code = code_field()
    values = values_field()
    text = fields.String(**described("why it cannot be played"))


class CardsQuery(Closed):
    """Cards, in a query."""

    cards = PatternString(
        CARDS_PATTERN,
        "is not a list of card codes",
        required=True,
        **about("codes of cards, with commas between them: `5c,9h`"),
    )


class ReasonsSchema(Closed):
    """Why cards of the caller cannot be played together now."""

    game = fields.UUID(**described("the id of the game"))
    version = Integer(**described("the version for which this holds"))
    seat = seat_field("the seat of the caller")
    cards = card_list(**about("the cards, as in the query"))
    legal = Boolean(**described("whether the cards can be played"))
    rules = fields.List(
        fields.String(required=True),
        **described("statements that forbid it, the deciding one first; empty if it is legal"),
    )
    code = code_field(or_null=True)
    values = values_field(or_null=True)
    text = fields.String(**described("why they cannot be played; empty if they can"))


class EffectSchema(Closed):
    """An event of a move, with the statements that decide it; a step of the record has none."""

    seq = Integer(**described("the seq of the event"))
    type = fields.String(**described("the type of the event"))
    rules = _rules()
    text = fields.String(**described("what the event does, in a sentence"))


class RefusedSchema(Closed):
    """A move that was refused, and by which statement."""

    at = time_field(**described("the time of the attempt"))
    move = fields.Nested(MoveSchema, **described("the move that was attempted"))
    rule = fields.String(**described("the statement that forbids it"))
    code = code_field(or_null=True)
    values = values_field(or_null=True)
    text = fields.String(
        allow_none=True,
        **described("the reason in words, cards not held by name; null if the log shows none"),
    )


class DecisionQuery(Closed):
    """Whether a bot's opinion is added."""

    opinion = QueryBoolean(
        load_default=False,
        **about(
            "`true`: after the seal, how a bot judges the legal moves; it is a"
            " bot's opinion and no evidence, and costs about 0.1 s of processor time"
        ),
    )


def _chance(text: str) -> fields.Float:
    return fields.Float(validate=validate.Range(min=0, max=1), **described(text))


class JudgementSchema(Closed):
    """How a bot judges a legal move from what the seat knew then."""

    move = fields.Nested(
        MoveSchema, **described("the move; moves that differ only in suits are judged as one")
    )
    chance = _chance(
        "the chance not to be the shithead, or to win if the ruleset plays for a winner"
    )
    low = _chance("the lower end of the 95 % interval of `chance`")
    high = _chance("the upper end of the 95 % interval of `chance`")
    made = Boolean(**described("whether the seat made this move"))


class OpinionSchema(Closed):
    """A bot's opinion of the moves of a turn, not evidence; equal requests have equal answers."""

    bot = fields.String(**described("the name of the bot"))
    worlds = Integer(
        **described("the number of possible deals of the hidden cards in which each move was tried")
    )
    moves = list_of(JudgementSchema, "the moves, the best first")
    wording = fields.String(**described("a sentence that explains the opinion"))


class DecisionSchema(Closed):
    """A move: what the seat could see and do, what it did, and the effects."""

    game = fields.UUID(**described("the id of the game"))
    first = Integer(**described("the seq of the first event of the move"))
    last = Integer(**described("the seq of its last event"))
    at = time_field(**described("the time of the move"))
    seat = seat_field("the seat that decided; null for the server", allow_none=True)
    timed_out = Boolean(**described("whether the move was made for the seat after a time-out"))
    saw = fields.Nested(
        GameViewSchema,
        allow_none=True,
        **described(
            "the view of the seat before the move; null before the seal, except for the seat itself"
        ),
    )
    legal = list_of(
        LegalSchema, "the moves that were legal; null if `saw` is null", allow_none=True
    )
    not_legal = list_of(
        NotLegalSchema, "the cards that no legal move used; null if `saw` is null", allow_none=True
    )
    did = fields.Nested(
        MoveSchema,
        allow_none=True,
        **described("the move that was made; null for a decision of the server"),
    )
    effects = list_of(EffectSchema, "the events of the move")
    milliseconds = Integer(
        allow_none=True, **described("how long the seat took; null if the log does not show it")
    )
    refused = list_of(
        RefusedSchema,
        "refused attempts since the previous decision; null if `saw` is null",
        allow_none=True,
    )
    unproven = fields.String(
        **about(
            "why the items of `refused` prove nothing; present only if the seal"
            " does not cover them: before the seal, and in version 1 of the record"
        ),
    )
    opinion = fields.Nested(
        OpinionSchema,
        allow_none=True,
        **about(
            "only with `opinion=true`: a bot's opinion, not evidence; null for the"
            " exchange phase, a move out of turn, and a ruleset that the bot cannot model"
        ),
    )


class SeenByField(fields.Field[object]):
    """The seats that see a card: `all`, or a list."""

    def _deserialize(self, value: object, *_args: object, **_kwargs: object) -> object:
        seats = isinstance(value, list) and all(type(seat) is int for seat in value)
        if value != "all" and not seats:
            raise self.make_error("validator_failed")
        return value


class StretchSchema(Closed):
    """A stretch of events during which a card lay at one place."""

    from_seq = Integer(**described("the seq of the event that put the card there"))
    to_seq = Integer(**described("the seq of the last event at which it lay there"))
    zone = Chosen(*ZONES, **described("the zone"))
    seat = seat_field(
        "the seat of the zone; null for stock, pile and burned cards", allow_none=True
    )
    slot = Integer(allow_none=True, **described("the slot of a table card; null elsewhere"))
    seen_by = SeenByField(
        required=True,
        metadata={
            "description": "the seats that could see the card there, or `all`",
            "oneOf": [
                {"type": "string", "enum": ["all"]},
                {"type": "array", "items": {"type": "integer", "minimum": 0}},
            ],
        },
    )


class CustodySchema(Closed):
    """The path of a card; before the seal only while it was public or in the caller's hand."""

    card = card_field(**described("the card"))
    p = Integer(
        allow_none=True,
        **described("its position in the deck; null before the seal unless the caller may know it"),
    )
    path = list_of(StretchSchema, "the places at which it lay, oldest first")


class KnowledgeQuery(Closed):
    """The seat whose knowledge is returned, and the version."""

    seat = QueryInteger(
        high=MAX_SEATS - 1,
        load_default=None,
        **about("a seat; by default the caller's"),
    )
    at = QueryInteger(low=1, load_default=None, **about("a version; by default the present one"))


class KnownCardSchema(Closed):
    """A card that a seat could know, from which event on, and how."""

    card = card_field(**described("the card"))
    zone = Chosen(*ZONES, **described("the zone in which it lies"))
    seat = seat_field(
        "the seat of the zone; null for stock, pile and burned cards", allow_none=True
    )
    since_seq = Integer(**described("the event from which on the seat could know it"))
    by = Chosen("own", "table", "pile", "shown", "drawn", **described("how the seat could know it"))


class KnowledgeSchema(Closed):
    """The knowledge of a seat; the cards that it could not place are `unseen`."""

    seat = seat_field("the number of the seat")
    version = Integer(low=1, **described("the version that the answer is about"))
    cards = list_of(KnownCardSchema, "the cards that the seat could place")
    unseen = fields.List(
        card_field(required=True), **described("the cards that it could not place")
    )


class ReadingSchema(Closed):
    """An access log entry: a caller read data of a game that are not public."""

    at = time_field(**described("the time of the read"))
    reader = fields.UUID(
        required=True,
        allow_none=True,
        **about("null for a caller with an invite and without a token"),
    )
    what = fields.String(**described("the path and query of the request, or the data read"))


ReadingPageSchema = page_of(ReadingSchema)


class MeasureSchema(Closed):
    """A statistic; by chance alone it is between `low` and `high` in 99 of 100 cases."""

    name = fields.String(**described("the name of the statistic"))
    ruleset = fields.String(**described("the ruleset whose games it counts"))
    statistic = fields.Float(**described("the value of chi-square"))
    df = Integer(low=1, **described("its degrees of freedom"))
    p = fields.Float(
        allow_none=True,
        **described("probability of at least this value by chance; null without enough games"),
    )
    low = fields.Float(**described("the lower end of the range for 99 of 100 cases"))
    high = fields.Float(**described("the upper end of that range"))
    n = Integer(**described("the number of games that were counted"))


class ShufflesSchema(Closed):
    """Tests of all decks together for a uniform shuffle, and what they cannot show."""

    n = Integer(**described("the number of finished games"))
    measures = list_of(MeasureSchema, "the statistics")
    cannot_tell = fields.String(**described("what these figures cannot show"))


class BlindChoicesQuery(Closed):
    """The player; by default the caller."""

    player = player_or_me(load_default=ME, **about("the id of the player, or `me`"))


class BlindChoicesSchema(Closed):
    """Whether cards chosen blind could be played more often than by chance."""

    player = fields.UUID(**described("the id of the player"))
    n = Integer(
        **described("the number of blind choices that could make a difference"),
    )
    e_value = fields.Float(**described("the evidence against chance; 1 supports neither side"))
    threshold = fields.Float(
        **described("the value from which chance is rejected as the explanation")
    )
    false_alarm = fields.Float(
        **described(
            "the probability that a player without inside knowledge ever reaches `threshold`"
        )
    )
    cannot_tell = fields.String(**described("what these figures cannot show"))


class BetsSchema(Closed):
    """Bets on the differences of pairs of decisions in positions of the same kind."""

    n = Integer(**described("the number of pairs of decisions"))
    difference = fields.Float(
        allow_none=True,
        **described(
            "the mean of the harm before others less that before the partner, from -1 to 1;"
            " null without pairs"
        ),
    )
    e_value = fields.Float(**described("the evidence against chance; 1 supports neither side"))


class SparingSchema(BetsSchema):
    """How a player acts before a partner, beside how it acts before all others."""

    player = fields.UUID(**described("the id of the player"))
    partner = fields.UUID(**described("the id of the player before whom it acts"))


class PairSchema(Closed):
    """The accused and the named partner."""

    seat = Integer(high=MAX_SEATS - 1, **described("the seat of the partner"))
    hands = Integer(**described("the number of hands in which both sat"))
    leaves = fields.List(
        Integer(),
        allow_none=True,
        **described(
            "the first and the last leaf of the public log between which the public hands of"
            " either player counted; null without hands"
        ),
    )
    directions = fields.List(
        fields.Nested(SparingSchema), **described("the accused before the other, and the reverse")
    )
    joint = fields.Nested(BetsSchema, **described("both directions together"))
    e_value = fields.Float(**described("the mean of the three e-values"))


class CollusionSchema(Closed):
    """Whether the accused and the named partner spare each other more than by chance."""

    dispute = fields.UUID(**described("the id of the dispute"))
    state = Chosen("computing", "done", **described("`computing`: repeat the request in a moment"))
    pairs = fields.List(
        fields.Nested(PairSchema), **described("the pair; empty while `state` is `computing`")
    )
    threshold = fields.Float(
        **described("the e-value from which chance is rejected as the explanation")
    )
    false_alarm = fields.Float(
        **described("the probability that an innocent pair ever reaches `threshold`")
    )
    margin = fields.Float(**described("the difference that counts as innocent"))
    cannot_tell = fields.String(**described("what these figures cannot show"))


class CheckSchema(Closed):
    """One check of SHX/1, section 8, with the first event that fails it."""

    check = fields.String(**described("the name of the check"))
    result = Chosen(
        "pass",
        "fail",
        "missing",
        "n/a",
        **described(
            "`missing` without the evidence for the check, `n/a` if the check does not apply"
        ),
    )
    seq = Integer(
        allow_none=True, **described("the seq of the first event that fails the check, or null")
    )
    code = fields.String(
        allow_none=True,
        **described("the code of the sentence on the result, in `strings/`; null if there is none"),
    )
    values = fields.Dict(
        keys=fields.String(),
        **described("the values in this sentence by name; seats from 0, in the sentence from 1"),
    )
    reason = fields.String(
        allow_none=True,
        **described("why the check has this result; null if there is no explanation"),
    )
    rule = fields.String(
        allow_none=True, **described("the statement of the ruleset that decides it, or null")
    )


class SeatEntropySchema(Closed):
    """The contribution of a seat to the shuffle."""

    seat = seat_field("the number of the seat")
    mode = Chosen(*ENTROPY, **described("how the seat contributes to the shuffle"))
    state = fields.String(**described("the progress of the contribution"))


class AuditSchema(Closed):
    """The result of all checks of a game, with those that could not be made."""

    game = fields.UUID(
        allow_none=True, **described("the id of the game; null if the log cannot be read")
    )
    version = Integer(
        allow_none=True, **described("the number of events; null if the log cannot be read")
    )
    sealed = Boolean(**described("whether the log ends with a seal"))
    level = fields.String(
        allow_none=True, **described("the level reached (SHX/1, section 8); null if a check failed")
    )
    witnessed = Boolean(
        allow_none=True,
        **described("whether all required witnesses cosigned; false if none are required"),
    )
    result = Chosen(
        "pass",
        "fail",
        "missing",
        **described("`missing` if the evidence for a requested check is missing"),
    )
    checks = list_of(CheckSchema, "all checks, in the order of SHX/1, section 8")
    entropy = list_of(SeatEntropySchema, "what each seat contributed to the shuffle")
    timed_out = fields.List(Integer(), **described("the seq of each `turn_timed_out`"))
    missing = fields.List(
        fields.String(), **described("the requirements of the next level that are not met")
    )
    wording = fields.String(**described("the result in a sentence"))


class ServerKeySchema(Closed):
    """A key of the server, and the period in which it signed."""

    id = fields.String(**described("the key id: the first 4 bytes of a hash, in hex"))
    name = fields.String(**described("the name of the key, which is the server's origin"))
    public = fields.String(**described("the Ed25519 public key, in base64"))
    from_ = time_field(
        allow_none=True, data_key="from", **described("the time from which the key signs")
    )
    to = time_field(
        allow_none=True, **described("the time until which it signed; null for the present key")
    )
    signed_by_previous = fields.String(
        allow_none=True,
        **described("the signature of the key before it, in base64; null for the first"),
    )


class RetirementSchema(Closed):
    """
    The retirement of a key of the server, signed by a later key with Ed25519.

    The signature covers `shx/1/server-key-end`, a line feed, and the canonical JSON of {"v":1,
    "name", "public", "from", "to"}, the fields of the retired key.
    """

    id = fields.String(**described("the id of the retired key, one of `items`"))
    to = fields.String(
        required=True,
        metadata={
            "description": "the time from which signatures of the key are invalid",
            "format": "date-time",
        },
    )
    signed_by = fields.String(**described("the id of the key that signed the retirement"))
    signature = fields.String(**described("the signature, in base64"))


class ServerKeysSchema(Closed):
    """The server's keys, newest first."""

    items = list_of(ServerKeySchema, "the keys, newest first")
    retirements = fields.List(
        fields.Nested(RetirementSchema),
        **described("the signed retirements of keys, newest first"),
    )
    restores = fields.List(
        fields.String(),
        **described(
            "the declarations of restores, signed with the present key, oldest first: moves "
            "between the two times may be missing (SHX/1, section 6)"
        ),
    )
    next = fields.String(allow_none=True, **described("always null"))


class TimeStampSchema(Closed):
    """The answer of a time-stamp authority for the text of a checkpoint."""

    size = Integer(low=1, **described("the number of leaves of the checkpoint"))
    authority = fields.String(**described("the address of the authority"))
    at = time_field(**described("the time in the token; the authority's statement"))
    text = fields.String(**described("the text of the checkpoint, over which the token is"))
    answer = fields.String(**described("the TimeStampResp of RFC 3161 in DER, in base64"))


class TimeStampsSchema(Closed):
    """The newest time stamps of the public log."""

    items = list_of(TimeStampSchema, "at most 100 time stamps, newest first")
    next = fields.String(allow_none=True, **described("always null"))
