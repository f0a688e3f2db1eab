"""Webhook endpoints: the receiver of the caller's own events."""

from __future__ import annotations

from flask import Response

from schemas.tokens import Scope
from schemas.webhooks import NewWebhookSchema, WebhookRequestSchema, WebhookSchema
from service.api.context import services
from service.api.conventions.caching import private
from service.api.conventions.responses import json_response
from service.api.operation import Call, Repeats, Token, blueprint, operation
from service.api.parsing import caller_address
from service.application.quotas import LIGHT, Weight
from service.application.webhooks import WebhookRequest

webhooks = blueprint("webhooks", __name__, "Webhooks: own events as requests to a receiver.")

WEBHOOK = "/players/me/webhook"


@operation(
    webhooks,
    "PUT",
    WEBHOOK,
    body=WebhookRequestSchema,
    answer=NewWebhookSchema,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    repeats=Repeats.REFUSED,
    refuses=("rate-limited",),
    weight=Weight(per_address=60, per_player=(6, "limit.webhooks")),
)
def set_webhook(call: Call) -> Response:
    """
    Set or replace the caller's webhook; its secret is shown in this answer only.

    The receiver is sent a signed ping, up to five within seven minutes, until it answers with the
    `challenge` in it; before that it is sent nothing else. Then it gets all that is open for the
    caller, as at the begin of the own stream, and each event after that at least once, until it
    answers 2xx within 5 s. Failed requests are repeated for 24 hours, at growing intervals of at
    most an hour; an event that is no longer open is left out then.

    It needs the scope `read` too, because a webhook reads. The webhook belongs to the token of the
    request: it is `off` once this token ends, and passes to a token that replaces it. A player may
    call this six times a minute, refused calls included.
    """
    wanted = WebhookRequest(
        url=call.body["url"], types=call.body["types"], address=caller_address()
    )
    return private(json_response(services().webhooks.set(call.by, call.token, wanted)))


@operation(
    webhooks,
    "GET",
    WEBHOOK,
    answer=WebhookSchema,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("not-found",),
    weight=LIGHT,
)
def show_webhook(call: Call) -> Response:
    """
    Show the caller's webhook, without its secret.

    `fault` and `status` state why the last attempt failed, `next_attempt` when it is repeated.
    """
    return private(json_response(services().webhooks.show(call.by)))


@operation(
    webhooks,
    "DELETE",
    WEBHOOK,
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.ACCOUNT,
    refuses=("not-found",),
    weight=LIGHT,
)
def end_webhook(call: Call) -> Response:
    """
    Delete the caller's webhook.

    A request that is being sent at this moment is the last one.
    """
    services().webhooks.end(call.token)
    return private(Response(status=204))
