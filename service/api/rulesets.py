"""Ruleset and bot endpoints."""

from __future__ import annotations

from flask import Response

from schemas.rulesets import (
    BotPageSchema,
    DifferencePageSchema,
    DifferencesQuery,
    JsonSchemaSchema,
    RulesetPageSchema,
    RulesetRequestSchema,
    RulesetSchema,
)
from schemas.strict_fields import PageQuery
from schemas.tokens import Scope
from service.api.context import services
from service.api.conventions.caching import shared
from service.api.conventions.idempotency import change_response
from service.api.conventions.paging import listed
from service.api.conventions.responses import json_response, page
from service.api.operation import Call, Repeats, Token, blueprint, operation
from service.api.pages import strings
from service.api.parsing import caller_address
from service.application.errors import invalid
from service.application.quotas import BY_EVENTS, LIGHT, Weight
from service.bots.registry import bots as registered
from service.replay.sentences import said

bots = blueprint("bots", __name__, "Bots that can take a seat.")


@operation(
    bots, "GET", "/bots", query=PageQuery, answer=BotPageSchema, token=Token.IGNORED, weight=LIGHT
)
def list_bots(call: Call) -> Response:
    """
    List the bots, weakest first.

    A table seats a bot by its name: `{"bot": "greedy"}`.
    """
    limit, cursor = call.query["limit"], call.query["cursor"]
    items = [
        {"name": bot.name, "description": strings()[f"bot.{bot.name}"], "strength": bot.strength}
        for bot in registered().values()
    ]
    names = list(registered())
    if cursor is not None and cursor not in names:
        raise invalid("/cursor", said("request.previous_cursor"))
    start = 0 if cursor is None else names.index(cursor) + 1
    end = start + limit
    next_ = names[end - 1] if end < len(names) else None
    return shared(listed(items[start:end], next_), seconds=60)


rulesets = blueprint(
    "rulesets", __name__, "Rulesets: settings and statements by which tables play."
)


@operation(
    rulesets,
    "GET",
    "/rulesets",
    query=PageQuery,
    answer=RulesetPageSchema,
    token=Token.IGNORED,
    weight=BY_EVENTS,
)
def list_rulesets(call: Call) -> Response:
    """
    List rulesets: the catalogue, those known by name only, then custom ones, newest first.

    An item has no settings and statements: those are in the answer about one ruleset.
    """
    limit, cursor = call.query["limit"], call.query["cursor"]
    items, next_ = services().ruleset_pages.page(limit=limit, cursor=cursor)
    return shared(listed(items, next_))


@operation(
    rulesets,
    "POST",
    "/rulesets",
    body=RulesetRequestSchema,
    answer=RulesetSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=("ruleset-refused", "limit-reached"),
    location="/v1/rulesets/{id}",
    weight=Weight(calls=20),
)
def make_ruleset(call: Call) -> Response:
    """
    Create a custom ruleset; it is accepted after its trial hands have been played out.

    A trial that takes longer than 25 seconds is answered with `unavailable`: repeat the same
    request later to get its result.
    """
    body = call.body
    return change_response(
        services().rulemaking.make(
            call.by,
            name=body["name"],
            base=body["base"],
            changes=body["changes"],
            address=caller_address(),
            request=call.repeat,
        )
    )


@operation(
    rulesets, "GET", "/rulesets/schema", answer=JsonSchemaSchema, token=Token.IGNORED, weight=LIGHT
)
def settings_schema(_call: Call) -> Response:
    """
    Return the JSON Schema of the settings of a ruleset.

    It describes `settings` of a ruleset and `changes` of a new one.
    """
    return shared(json_response(services().ruleset_pages.schema()), seconds=60)


@operation(
    rulesets,
    "GET",
    "/rulesets/<name:ruleset_id>",
    answer=RulesetSchema,
    token=Token.IGNORED,
    refuses=("not-found",),
    weight=BY_EVENTS,
)
def ruleset(_call: Call, ruleset_id: str) -> Response:
    """
    Return a ruleset: source, settings, and the rules as statements.

    A refused move cites a statement by its id. A ruleset never changes.
    """
    return shared(json_response(services().ruleset_pages.get(ruleset_id)), seconds=60)


@operation(
    rulesets,
    "GET",
    "/rulesets/<name:ruleset_id>/differences",
    query=DifferencesQuery,
    answer=DifferencePageSchema,
    token=Token.IGNORED,
    refuses=("not-found",),
    weight=BY_EVENTS,
)
def differences(call: Call, ruleset_id: str) -> Response:
    """
    List the settings in which a ruleset differs from the ruleset `from`.

    Each has both values and, if there is one, the statement about it.
    """
    items = services().ruleset_pages.differences(ruleset_id, call.query["from_"])
    return shared(json_response(page(items, None)), seconds=60)
