"""Schemas of webhooks: the request, the answer, and the body that a receiver gets."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import fields

from schemas.notices import NoticeSchema, NoticeType
from schemas.strict_fields import (
    BoundedList,
    Chosen,
    Closed,
    Integer,
    about,
    described,
    time_field,
)

MAX_URL: Final = 500
"""Maximum number of characters of a receiver's address."""

OF_STREAMS: Final = (NoticeType.GAME_MOVED, NoticeType.TURN_OVER)

SENDABLE: Final = tuple(kind for kind in NoticeType if kind not in OF_STREAMS)
"""The types that a webhook can be sent: all but those of one reader, of what it watches or got."""

USUAL: Final = tuple(kind for kind in SENDABLE if kind is not NoticeType.REFEREE_WANTED)

STATES: Final = ("waiting", "on", "off")

FAULTS: Final = {
    "address": "its name leads to no public address",
    "connection": "the connection was refused or lost",
    "certificate": "the certificate is not valid for the name",
    "late": "no answer within 5 s",
    "answer": "the answer was not HTTP",
    "redirect": "a redirect, which is not followed",
    "status": "another status than 2xx",
    "gone": "status 410: the receiver wants nothing more",
    "echo": "the answer to the ping was not its challenge",
    "token": "the token that set it has ended",
    "secret": "the server lost the secret",
}
"""Why the last attempt failed."""


def _types(**more: Any) -> BoundedList:
    return BoundedList(Chosen(*SENDABLE), least=1, most=len(SENDABLE), **more)


class WebhookRequestSchema(Closed):
    """The receiver of the caller's own events."""

    url = fields.String(
        required=True,
        metadata={
            "description": "an `https` address, on port 443 or above 1023, without user and "
            "fragment; it is a public address, or a name that leads to public addresses only",
            "maxLength": MAX_URL,
            "example": "https://bots.example/shithead",
        },
    )
    types = _types(
        load_default=[kind.value for kind in USUAL],
        **about("the types that are sent; if left out, all but `referee_wanted`"),
    )


class WebhookSchema(Closed):
    """The receiver of the caller's own events, and whether it accepts them."""

    token = fields.UUID(
        **described(
            "the id of the token that set it, or replaced this one; it ends with that token"
        )
    )
    url = fields.String(**described("where events are sent"))
    types = fields.List(Chosen(*SENDABLE), **described("the types that are sent"))
    state = Chosen(
        *STATES,
        **described(
            "`waiting` until the receiver has answered a signed ping with its challenge, then "
            "`on`; `off` after 24 hours without a success, after status 410, or if no ping was "
            "answered, and with its token, until it is set again"
        ),
    )
    fault = Chosen(
        *FAULTS,
        allow_none=True,
        **described(
            "why the last attempt failed, null after a success: "
            + "; ".join(f"`{code}`: {words}" for code, words in FAULTS.items())
        ),
    )
    status = Integer(
        allow_none=True, **described("the HTTP status of the last failed attempt, null without one")
    )
    failing_since = time_field(
        allow_none=True, **described("the first failed attempt since the last success, else null")
    )
    next_attempt = time_field(
        allow_none=True, **described("while attempts fail, when the next one is made, else null")
    )
    waiting = Integer(**described("events that were not accepted yet"))
    delivered_at = time_field(allow_none=True, **described("the last success; null before it"))
    created_at = time_field(**described("when it was set"))


class NewWebhookSchema(WebhookSchema):
    """A webhook that was set, with its secret."""

    secret = fields.String(
        **described(
            "the secret that signs every request (Standard Webhooks, `whsec_…`); it is shown in "
            "this answer only, and stored encrypted"
        )
    )


class WebhookEventSchema(NoticeSchema):
    """
    The body of a request to a receiver: an event of the player's own stream.

    Its headers are those of Standard Webhooks: `webhook-id`, which is equal at each attempt,
    `webhook-timestamp` and `webhook-signature`. Answer 2xx within 5 s to accept it; the body of the
    answer is not read.
    """

    timestamp = time_field(**described("when the service found that it happened"))


class WebhookPingSchema(Closed):
    """The first request to a receiver; answer 200 with the challenge as plain text."""

    type = Chosen("ping", **described("always `ping`"))
    timestamp = time_field(**described("when it was sent"))
    challenge = fields.String(**described("the text to answer with"))
