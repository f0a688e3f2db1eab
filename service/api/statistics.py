"""Statistics: of the shuffle for everybody, of blind choices for their player and referees."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.statistics_schema import BlindChoicesQuery, BlindChoicesSchema, ShufflesSchema
from service.api.blueprint import Blueprint, Call, Token, operation
from service.api.context import services
from service.api.conventions import json_response, own, shared

statistics = Blueprint("statistics", __name__, "What many games together can say, and cannot.")


@operation(
    statistics, "GET", "/statistics/shuffles", answer=ShufflesSchema, token=Token.IGNORED
)
def shuffles(_call: Call) -> Response:
    """Whether all decks together look shuffled, and aborted games like finished ones."""
    return shared(json_response(services().statistics.shuffles()), seconds=10)


@operation(
    statistics,
    "GET",
    "/statistics/blind-choices",
    query=BlindChoicesQuery,
    answer=BlindChoicesSchema,
    token=Token.NEEDED,
    refuses=("forbidden",),
)
def blind_choices(call: Call) -> Response:
    """The e-value of a player's blind choices: for that player, and for referees of disputes."""
    asked = call.query["player"]
    player = call.by.id if asked == "me" else UUID(asked)
    return own(json_response(services().statistics.blind_choices(call.by, player)))
