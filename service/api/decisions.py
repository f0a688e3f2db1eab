"""The search for decisions in sealed public hands."""

from __future__ import annotations

from typing import Final

from flask import Response

from schemas.decisions import DecisionsQuery, DecisionsSchema
from service.api.context import services
from service.api.conventions.caching import shared
from service.api.conventions.paging import with_next
from service.api.conventions.responses import json_response
from service.api.operation import Call, Token, blueprint, operation
from service.api.parsing import caller_address
from service.application.decisions import DecisionSearch
from service.application.errors import Refusal
from service.application.quotas import Slots, Weight
from service.audit.decisions import DecisionFilter
from service.replay.sentences import said
from service.store.decisions import DecisionRepository

SEARCHES: Final = Slots("searches", 2, per_address=1)
"""Searches at a time: one for frequent values in few decisions can take seconds."""

decisions = blueprint("decisions", __name__, "Decisions of sealed public hands, by position.")


@operation(
    decisions,
    "GET",
    "/decisions",
    query=DecisionsQuery,
    answer=DecisionsSchema,
    token=Token.IGNORED,
    replica=True,
    weight=Weight(calls=40),
)
def list_decisions(call: Call) -> Response:
    """
    Search the decisions of sealed public hands by position, choice and result, newest first.

    A decision is a move in play with what its seat could know. The newest 10,000 that meet all
    conditions are counted: how often each move was chosen, and how often its seat lost, each with
    an interval of 95 %. `shithead decisions` gives the same numbers for files. A hand is found
    within seconds after its end.
    """
    query = dict(call.query)
    limit, after = query.pop("limit"), query.pop("cursor")
    if query["player"] is not None:
        query["player"] = str(query["player"])
    search = DecisionSearch(decisions=DecisionRepository(services().directory.database))
    with SEARCHES.slot(caller_address()) as free:
        if not free:
            raise Refusal("unavailable", said("request.searches_busy"), retry_after=1)
        found = search.find(DecisionFilter(**query), after=after, limit=limit)
    return shared(with_next(json_response(found), found["next"]), seconds=10)
