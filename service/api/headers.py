"""Request headers, as the OpenAPI document describes them."""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from service.api.auth import INVITE_HEADER
from service.api.http import EVENT_ID, IDEMPOTENCY_KEY, PRECONDITION


class MatchHeaders(Schema):
    """Precondition of a change: the version that the caller has seen."""

    if_match = fields.String(
        data_key="If-Match",
        validate=validate.Regexp(PRECONDITION),
        metadata={
            "description": 'the version that the caller has seen, "v<version>"; one match in a '
            "list is enough, otherwise 412 `stale-version`",
            "example": '"v17"',
        },
    )


class VersionHeaders(Schema):
    """Conditional GET: the versions that the caller has."""

    if_none_match = fields.String(
        data_key="If-None-Match",
        metadata={"description": "ETags that the caller has; 304 if one of them is current"},
    )


class RepeatHeaders(Schema):
    """The key that makes a request safe to repeat."""

    idempotency_key = fields.String(
        data_key="Idempotency-Key",
        validate=validate.Regexp(IDEMPOTENCY_KEY),
        metadata={
            "description": "1 to 255 visible ASCII characters; a repeated request with the same "
            "key and body gets the first answer again, for at least a day"
        },
    )


class ResumeHeaders(Schema):
    """Where a stream continues after a lost connection."""

    last_event_id = fields.String(
        data_key="Last-Event-ID",
        validate=validate.Regexp(EVENT_ID),
        metadata={
            "description": "the `id` of the last event that the client has; browsers send it when "
            "they reconnect, and it takes precedence over `after`",
            "example": "41",
        },
    )


class InviteHeaders(Schema):
    """Access to a private table."""

    invite = fields.String(
        data_key=INVITE_HEADER,
        metadata={"description": "the invite of a private table: shows the table and its games"},
    )
