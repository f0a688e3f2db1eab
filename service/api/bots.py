"""The bots that can be seated."""

from __future__ import annotations

from flask import Response

from schemas.rulesets_schema import BotPageSchema
from service.api.blueprint import Blueprint, Call, Token, operation
from service.api.conventions import json_response, page, shared
from service.bots.registry import bots as registered

bots = Blueprint("bots", __name__, "Opponents that are always there.")


@operation(bots, "GET", "/bots", answer=BotPageSchema, token=Token.IGNORED)
def list_bots(_call: Call) -> Response:
    """Every bot, weakest first."""
    items = [
        {"name": bot.name, "description": bot.description, "strength": bot.strength}
        for bot in registered().values()
    ]
    return shared(json_response(page(items, None)), seconds=60)
