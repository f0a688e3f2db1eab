"""The endpoint of ratings."""

from __future__ import annotations

from flask import Response

from schemas.ratings import RatingsQuery, RatingsSchema
from service.api.context import services
from service.api.conventions.caching import shared
from service.api.conventions.paging import with_next
from service.api.conventions.responses import json_response
from service.api.operation import Call, Token, blueprint, operation
from service.application.quotas import LIGHT

ratings = blueprint("ratings", __name__, "Ratings of players and bots, by ruleset.")


@operation(
    ratings,
    "GET",
    "/ratings",
    query=RatingsQuery,
    answer=RatingsSchema,
    token=Token.IGNORED,
    refuses=("not-found",),
    replica=True,
    weight=LIGHT,
)
def list_ratings(call: Call) -> Response:
    """
    List the ratings of a ruleset, the best first.

    They are computed by OpenSkill from the public hands in the order of the public log, within
    seconds after the end of a hand, and anybody can compute them again from the dumps
    (`shithead ratings`). Fewer than 10 hands are `provisional`.
    """
    query = call.query
    found = services().ratings.of_ruleset(
        query["ruleset"], after=query["cursor"], limit=query["limit"]
    )
    return shared(with_next(json_response(found), found["next"]), seconds=10)
