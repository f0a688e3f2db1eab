"""Schemas of verification results and of the server's keys (api.md, section 6)."""

from __future__ import annotations

from marshmallow import fields

from schemas.strict_fields import Boolean, Chosen, Closed, Integer, described, time_field
from schemas.tables import ENTROPY
from service.shx.validators import MAX_SEATS


class CheckSchema(Closed):
    """One check of SHX/1, section 8, with the first event that fails it."""

    check = fields.String(**described("the name of the check"))
    result = Chosen(
        "pass",
        "fail",
        "missing",
        "n/a",
        **described("`missing` if the evidence for it is not there, `n/a` if it does not apply"),
    )
    seq = Integer(allow_none=True, **described("the first event that fails; null if none is named"))
    reason = fields.String(
        allow_none=True,
        **described("why the check has this result; null if there is no explanation"),
    )
    rule = fields.String(
        allow_none=True, **described("the statement of the ruleset that decides it, or null")
    )


class SeatEntropySchema(Closed):
    """The contribution of a seat to the shuffle."""

    seat = Integer(high=MAX_SEATS - 1, **described("the number of the seat"))
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
        **described("whether the witnesses of the policy cosigned; null without a policy"),
    )
    result = Chosen(
        "pass",
        "fail",
        "missing",
        **described("`missing` if the evidence for a requested check is missing"),
    )
    checks = fields.List(
        fields.Nested(CheckSchema), **described("all checks, in the order of SHX/1, section 8")
    )
    entropy = fields.List(
        fields.Nested(SeatEntropySchema), **described("what each seat contributed to the shuffle")
    )
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

    id = fields.String(
        required=True, metadata={"description": "the id of the retired key, one of `items`"}
    )
    to = fields.String(
        required=True,
        metadata={
            "description": "the time from which signatures of the key are invalid",
            "format": "date-time",
        },
    )
    signed_by = fields.String(
        required=True, metadata={"description": "the id of the key that signed the retirement"}
    )
    signature = fields.String(required=True, metadata={"description": "the signature, in base64"})


class ServerKeysSchema(Closed):
    """The server's keys, newest first."""

    items = fields.List(fields.Nested(ServerKeySchema), **described("the keys, newest first"))
    retirements = fields.List(
        fields.Nested(RetirementSchema),
        required=True,
        metadata={"description": "the signed retirements of keys, newest first"},
    )
    next = fields.String(allow_none=True, **described("always null"))
