"""Statistics endpoints: quality of the shuffle, and success of blind choices."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.statistics import BlindChoicesQuery, BlindChoicesSchema, ShufflesSchema
from service.api.context import services
from service.api.http import json_response, private, shared
from service.api.operation import Call, Token, blueprint, operation

statistics = blueprint(
    "statistics", __name__, "Statistical tests over many games, with what they cannot show."
)


@operation(
    statistics,
    "GET",
    "/statistics/shuffles",
    answer=ShufflesSchema,
    token=Token.IGNORED,
    replica=True,
)
def shuffles(_call: Call) -> Response:
    """Test whether all decks look uniformly shuffled, and aborted games like finished ones."""
    return shared(json_response(services().statistics.shuffles()), seconds=10)


@operation(
    statistics,
    "GET",
    "/statistics/blind-choices",
    query=BlindChoicesQuery,
    answer=BlindChoicesSchema,
    token=Token.NEEDED,
    refuses=("forbidden",),
    replica=True,
)
def blind_choices(call: Call) -> Response:
    """Return the e-value of a player's blind choices; for that player and referees of disputes."""
    asked = call.query["player"]
    player = call.by.id if asked == "me" else UUID(asked)
    return private(json_response(services().statistics.blind_choices(call.by, player)))
