"""Headers that calls read, as the document describes them."""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from service.api.auth import INVITE_HEADER
from service.api.conventions import IDEMPOTENCY_KEY


class MatchHeaders(Schema):
    """The version that a change was decided on."""

    if_match = fields.String(
        data_key="If-Match",
        metadata={
            "description": 'the version it was decided on: "v<version>"; of several, one '
            "that holds is enough",
            "example": '"v17"',
        },
    )


class VersionHeaders(Schema):
    """The version that the caller has."""

    if_none_match = fields.String(
        data_key="If-None-Match",
        metadata={"description": "ETags that the caller has; 304 where one of them is right"},
    )


class RepeatHeaders(Schema):
    """What a repeated request is known by."""

    idempotency_key = fields.String(
        data_key="Idempotency-Key",
        validate=validate.Regexp(IDEMPOTENCY_KEY),
        metadata={"description": "1 to 255 visible characters; the answer is kept for a day"},
    )


class InviteHeaders(Schema):
    """The way into a private table."""

    invite = fields.String(
        data_key=INVITE_HEADER, metadata={"description": "the invite of a private table"}
    )
