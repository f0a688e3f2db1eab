"""The bots that can be seated."""

from __future__ import annotations

from flask import Response

from schemas.lists_schema import PageQuery
from schemas.rulesets_schema import BotPageSchema
from service.api.blueprint import Blueprint, Call, Token, operation
from service.api.conventions import json_response, page, shared
from service.application.errors import invalid
from service.bots.registry import bots as registered

bots = Blueprint("bots", __name__, "Opponents that are always there.")


@operation(
    bots, "GET", "/bots", query=PageQuery, answer=BotPageSchema, token=Token.IGNORED
)
def list_bots(call: Call) -> Response:
    """Every bot, weakest first."""
    limit, cursor = call.query["limit"], call.query["cursor"]
    items = [
        {"name": bot.name, "description": bot.description, "strength": bot.strength}
        for bot in registered().values()
    ]
    names = list(registered())
    if cursor is not None and cursor not in names:
        raise invalid("/cursor", "is none that this list gave")
    start = 0 if cursor is None else names.index(cursor) + 1
    end = start + limit
    next_ = names[end - 1] if end < len(names) else None
    return shared(json_response(page(items[start:end], next_)), seconds=60)
