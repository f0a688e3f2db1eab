"""Audit and statistics endpoints: decisions, paths of cards, knowledge, access log, statistics."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.audit import (
    BlindChoicesQuery,
    BlindChoicesSchema,
    CardsQuery,
    CustodySchema,
    DecisionQuery,
    DecisionSchema,
    KnowledgeQuery,
    KnowledgeSchema,
    ReadingPageSchema,
    ReasonsSchema,
    ShufflesSchema,
)
from schemas.strict_fields import PageQuery
from schemas.what_if import WhatIfRequestSchema, WhatIfSchema
from service.api.context import services
from service.api.conventions.caching import private, shared
from service.api.conventions.paging import listed
from service.api.conventions.responses import json_response
from service.api.operation import Call, InviteHeaders, Token, blueprint, operation
from service.application.quotas import BY_EVENTS, Weight

audit = blueprint(
    "audit",
    __name__,
    "What a seat saw when it decided, where cards were, and what each seat could know.",
)

GAME = "/games/<uuid:game_id>/audit"


def _check_sealed(call: Call, game_id: UUID) -> None:
    """Raise Refusal `not-found` or `sealed` before the body is validated."""
    services().what_if.check_sealed(call.caller, game_id)


@operation(
    audit,
    "GET",
    f"{GAME}/moves/<int:seq>",
    query=DecisionQuery,
    answer=DecisionSchema,
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def move(call: Call, game_id: UUID, seq: int) -> Response:
    """
    Explain the decision that an event belongs to: what its seat saw, could do and did.

    Each part cites the statements of the ruleset that decide it; `effects` are the events
    that followed. Before the seal, the seat's private fields are null for everyone else.
    With `opinion=true` a bot judges the legal moves; 403 before the seal.
    """
    found = services().auditing.move(call.caller, game_id, seq, with_opinion=call.query["opinion"])
    return private(json_response(found))


@operation(
    audit,
    "GET",
    "/games/<uuid:game_id>/reasons",
    query=CardsQuery,
    answer=ReasonsSchema,
    token=Token.NEEDED,
    refuses=("not-found", "not-seated", "forbidden", "not-your-turn", "game-over"),
    headers=(InviteHeaders,),
    weight=BY_EVENTS,
)
def reasons(call: Call, game_id: UUID) -> Response:
    """
    Return why cards of the caller, who is on turn, cannot be played together.

    Cards of the hand and face-up cards only. It is no attempt to play: nothing is recorded.
    """
    cards = call.query["cards"].split(",")
    return private(json_response(services().auditing.reasons(call.caller, game_id, cards)))


@operation(
    audit,
    "GET",
    f"{GAME}/cards/<path:card>",
    answer=CustodySchema,
    refuses=("not-found", "unknown-card"),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def card(call: Call, game_id: UUID, card: str) -> Response:
    """
    Trace a card: where it lay from event to event, and which seats could see it.

    Before the seal, only the periods in which it was public or in the caller's own hand.
    """
    return private(json_response(services().auditing.card(call.caller, game_id, card)))


@operation(
    audit,
    "GET",
    f"{GAME}/knowledge",
    query=KnowledgeQuery,
    answer=KnowledgeSchema,
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def knowledge(call: Call, game_id: UUID) -> Response:
    """
    List the cards that a seat could know at a version, with the event and source of each.

    Before the seal, only for the caller's own seat.
    """
    query = call.query
    found = services().auditing.knowledge(call.caller, game_id, query["seat"], query["at"])
    return private(json_response(found))


@operation(
    audit,
    "GET",
    f"{GAME}/readings",
    query=PageQuery,
    answer=ReadingPageSchema,
    token=Token.NEEDED,
    refuses=("not-found", "not-seated"),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def readings(call: Call, game_id: UUID) -> Response:
    """
    List the recorded reads of the game's private data, newest first.

    Only seats of the game and referees of its disputes may read the list.
    """
    items, next_ = services().auditing.readings(
        call.caller, game_id, limit=call.query["limit"], cursor=call.query["cursor"]
    )
    return private(listed(items, next_))


@operation(
    audit,
    "POST",
    "/games/<uuid:game_id>/what-if",
    body=WhatIfRequestSchema,
    answer=WhatIfSchema,
    refuses=(
        *("not-found", "sealed", "game-over"),
        *("not-your-turn", "rule-refused", "unknown-card"),
    ),
    headers=(InviteHeaders,),
    admits=_check_sealed,
    weight=Weight(calls=50, grows=BY_EVENTS.grows),
)
def what_if(call: Call, game_id: UUID) -> Response:
    """
    Compute another line of a finished hand: moves that were not made, with the real deck.

    With `then` bots play the line on, each from the view of its seat. The line is hypothetical:
    nothing of it is stored, and equal requests have equal answers.
    """
    found = services().what_if.line(call.caller, game_id, call.body)
    return private(json_response(found))


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
    weight=Weight(calls=5),
)
def shuffles(_call: Call) -> Response:
    """
    Test whether all decks look uniformly shuffled, and aborted games like finished ones.

    Each measure has its statistic and the range that chance explains; `cannot_tell` states what no
    statistic can show.
    """
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
    weight=Weight(calls=5),
)
def blind_choices(call: Call) -> Response:
    """
    Return the e-value of a player's blind choices.

    Only that player, and referees of disputes against the player, may read it.
    """
    player = call.player_named(call.query["player"]) or call.by.id
    return private(json_response(services().statistics.blind_choices(call.by, player)))
