"""Audit of single moves, cards and seats, and who has looked at what."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.audit_decision_schema import (
    CustodySchema,
    DecisionSchema,
    KnowledgeQuery,
    KnowledgeSchema,
    ReadingPageSchema,
)
from schemas.lists_schema import PageQuery
from service.api.blueprint import Blueprint, Call, Token, operation
from service.api.context import services
from service.api.conventions import json_response, own, page
from service.api.headers import InviteHeaders

audit = Blueprint("audit", __name__, "What a move was decided on, where cards were, who knew what.")

GAME = "/games/<uuid:game_id>/audit"


@operation(
    audit,
    "GET",
    f"{GAME}/moves/<int:seq>",
    answer=DecisionSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
)
def move(call: Call, game_id: UUID, seq: int) -> Response:
    """
    The decision that an event belongs to: what its seat saw, could do and did, and what followed.

    Every line cites the statements of the ruleset that decide it. Before the seal
    what only the seat may know is null for all others.
    """
    return own(json_response(services().auditing.move(call.caller, game_id, seq)))


@operation(
    audit,
    "GET",
    f"{GAME}/cards/<path:card>",
    answer=CustodySchema,
    refuses=("not-found", "unknown-card"),
    headers=(InviteHeaders,),
)
def card(call: Call, game_id: UUID, card: str) -> Response:
    """
    Where a card was at each moment and who could see it, from event to event.

    Before the seal only the stretches that were public, or in the caller's own hand.
    """
    return own(json_response(services().auditing.card(call.caller, game_id, card)))


@operation(
    audit,
    "GET",
    f"{GAME}/knowledge",
    query=KnowledgeQuery,
    answer=KnowledgeSchema,
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
)
def knowledge(call: Call, game_id: UUID) -> Response:
    """
    What a seat could know at a version, since which event and from what.

    Before the seal only the caller's own seat.
    """
    asked = call.query
    found = services().auditing.knowledge(call.caller, game_id, asked["seat"], asked["at"])
    return own(json_response(found))


@operation(
    audit,
    "GET",
    f"{GAME}/readings",
    query=PageQuery,
    answer=ReadingPageSchema,
    token=Token.NEEDED,
    refuses=("not-found", "not-seated"),
    headers=(InviteHeaders,),
)
def readings(call: Call, game_id: UUID) -> Response:
    """Who read what is neither public nor theirs, newest first; for its seats and referees."""
    items, next_ = services().auditing.readings(
        call.caller, game_id, limit=call.query["limit"], cursor=call.query["cursor"]
    )
    return own(json_response(page(items, next_)))
