"""Schemas of verification results and of the server's keys (api.md, section 6)."""

from __future__ import annotations

from marshmallow import fields

from schemas.strict_fields import Chosen, Closed, Truth, Whole
from schemas.tables import ENTROPY
from service.shx.validators import MAX_SEATS


class CheckSchema(Closed):
    """One check of SHX/1, section 8, with the first event that fails it."""

    check = fields.String(required=True)
    result = Chosen("pass", "fail", "missing", "n/a", required=True)
    seq = Whole(required=True, allow_none=True)
    reason = fields.String(required=True, allow_none=True)
    rule = fields.String(required=True, allow_none=True)


class SeatEntropySchema(Closed):
    """What a seat gave to the shuffle."""

    seat = Whole(required=True, high=MAX_SEATS - 1)
    mode = Chosen(*ENTROPY, required=True)
    state = fields.String(required=True)


class AuditSchema(Closed):
    """What was checked of a game, and what could not be."""

    game = fields.UUID(required=True, allow_none=True)
    version = Whole(required=True, allow_none=True)
    sealed = Truth(required=True)
    level = fields.String(required=True, allow_none=True)
    witnessed = Truth(required=True, allow_none=True)
    result = Chosen("pass", "fail", "missing", required=True)
    checks = fields.List(fields.Nested(CheckSchema), required=True)
    entropy = fields.List(fields.Nested(SeatEntropySchema), required=True)
    timed_out = fields.List(Whole(), required=True)
    missing = fields.List(fields.String(), required=True)
    wording = fields.String(required=True)


class ServerKeySchema(Closed):
    """A key of the server's, and when it was in use."""

    id = fields.String(required=True)
    name = fields.String(required=True)
    public = fields.String(required=True)
    from_ = fields.String(required=True, allow_none=True, data_key="from")
    to = fields.String(required=True, allow_none=True)
    signed_by_previous = fields.String(required=True, allow_none=True)


class RetirementSchema(Closed):
    """
    The end of a key of the server, signed by a later one with Ed25519.

    Signed is `shx/1/server-key-end`, a line feed, and the canonical JSON of {"v":1, "name",
    "public", "from", "to"}: these are the fields of the key that ends.
    """

    id = fields.String(
        required=True, metadata={"description": "The id of the key that ends, one of `items`."}
    )
    to = fields.String(
        required=True,
        metadata={
            "description": "From when on no signature of the key counts.",
            "format": "date-time",
        },
    )
    signed_by = fields.String(
        required=True, metadata={"description": "The id of the key that signed this."}
    )
    signature = fields.String(required=True, metadata={"description": "The signature, in base64."})


class ServerKeysSchema(Closed):
    """The server's keys, newest first."""

    items = fields.List(fields.Nested(ServerKeySchema), required=True)
    retirements = fields.List(
        fields.Nested(RetirementSchema),
        required=True,
        metadata={"description": "The signed ends of retired keys, newest first."},
    )
    next = fields.String(required=True, allow_none=True)
