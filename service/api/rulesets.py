"""Rulesets: the catalogue with its rules pages, and how two differ."""

from __future__ import annotations

from flask import Response

from schemas.lists_schema import PageQuery
from schemas.rulesets_schema import (
    DifferencePageSchema,
    DifferencesQuery,
    JsonSchemaSchema,
    RulesetPageSchema,
    RulesetRequestSchema,
    RulesetSchema,
)
from service.api.blueprint import Blueprint, Call, Repeats, Token, operation
from service.api.context import services
from service.api.conventions import answered, json_response, page, shared

rulesets = Blueprint("rulesets", __name__, "The rules that tables can play by.")


@operation(
    rulesets,
    "GET",
    "/rulesets",
    query=PageQuery,
    answer=RulesetPageSchema,
    token=Token.IGNORED,
)
def list_rulesets(call: Call) -> Response:
    """The catalogue, then those known by name only, then the players' own, newest first."""
    limit, cursor = call.query["limit"], call.query["cursor"]
    items, next_ = services().ruleset_pages.page(limit=limit, cursor=cursor)
    return shared(json_response(page(items, next_)))


@operation(
    rulesets,
    "POST",
    "/rulesets",
    body=RulesetRequestSchema,
    answer=RulesetSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=("ruleset-refused", "rate-limited"),
    location="/v1/rulesets/{id}",
)
def make_ruleset(call: Call) -> Response:
    """A ruleset of one's own, accepted once trial hands of it have been played out."""
    body = call.body
    return answered(
        services().rulemaking.make(
            call.by,
            name=body["name"],
            base=body["base"],
            changes=body["changes"],
            request=call.repeat,
        )
    )


@operation(rulesets, "GET", "/rulesets/schema", answer=JsonSchemaSchema, token=Token.IGNORED)
def settings_schema(_call: Call) -> Response:
    """The JSON Schema of a ruleset's settings."""
    return shared(json_response(services().ruleset_pages.schema()), seconds=60)


@operation(
    rulesets,
    "GET",
    "/rulesets/<name:ruleset_id>",
    answer=RulesetSchema,
    token=Token.IGNORED,
    refuses=("not-found",),
)
def ruleset(_call: Call, ruleset_id: str) -> Response:
    """A ruleset: where it comes from, its settings, its rules in words."""
    return shared(json_response(services().ruleset_pages.get(ruleset_id)), seconds=60)


@operation(
    rulesets,
    "GET",
    "/rulesets/<name:ruleset_id>/differences",
    query=DifferencesQuery,
    answer=DifferencePageSchema,
    token=Token.IGNORED,
    refuses=("not-found",),
)
def differences(call: Call, ruleset_id: str) -> Response:
    """What is different here from the ruleset `from`."""
    items = services().ruleset_pages.differences(ruleset_id, call.query["from_"])
    return shared(json_response(page(items, None)), seconds=60)
