"""Endpoints of challenges: a table with one player, who accepts or declines."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.challenges import ChallengeRequestSchema, ChallengeSchema, ChallengesSchema
from schemas.strict_fields import Closed
from schemas.tables import OpenedTableSchema, SeatShareSchema, TableSchema
from schemas.tokens import Scope
from service.api.context import services
from service.api.conventions.caching import private
from service.api.conventions.idempotency import change_response
from service.api.conventions.responses import json_response
from service.api.operation import Call, Repeats, Token, blueprint, operation
from service.api.tables import request_of
from service.application.quotas import LIGHT, Weight
from service.application.tables.record import TableRequest
from service.domain.events import Entropy

challenges = blueprint(
    "challenges", __name__, "Challenges: a table with one player, who accepts or declines."
)

CHALLENGE = "/challenges/<uuid:table_id>"


@operation(
    challenges,
    "POST",
    "/challenges",
    body=ChallengeRequestSchema,
    answer=OpenedTableSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=("cannot-deal", "ruleset-refused", "limit-reached", "rate-limited"),
    location="/v1/challenges/{id}",
    tagged=True,
    weight=Weight(calls=5, per_address=60),
)
def challenge(call: Call) -> Response:
    """
    Challenge a player, named by handle or id: a table is opened with a seat reserved for them.

    The player gets the notice `challenged`, and accepts or declines within a day; the caller, the
    host of the table, gets `challenge_answered`. The answer is the table; its id is that of the
    challenge. It does not depend on whether the player blocks the caller.
    """
    body, made = call.body, services().challenges

    def wanted() -> TableRequest:
        seats = ["me", "open", *({"bot": name} for name in body["bots"])]
        return made.request(
            call.by, request_of({**body, "seats": seats, "invited": ()}), body["player"]
        )

    return change_response(services().tables.open(call.by, wanted, call.repeat))


@operation(
    challenges, "GET", "/challenges", answer=ChallengesSchema, token=Token.NEEDED, weight=LIGHT
)
def list_challenges(call: Call) -> Response:
    """
    List the open challenges that the caller received, and the newest that the caller sent.

    A challenge is not shown to the challenged player while one of the two blocks the other.
    """
    return private(json_response(services().challenges.of_player(call.by)))


@operation(
    challenges,
    "GET",
    CHALLENGE,
    query=Closed,
    answer=ChallengeSchema,
    token=Token.NEEDED,
    refuses=("not-found",),
    weight=LIGHT,
)
def get_challenge(call: Call, table_id: UUID) -> Response:
    """
    Return a challenge that the caller sent or received, also for a day after its end.

    `status` states whether it is open, and else how it ended.
    """
    return private(json_response(services().challenges.get(call.by, table_id)))


@operation(
    challenges,
    "POST",
    f"{CHALLENGE}/accept",
    body=SeatShareSchema,
    answer=TableSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "challenge-over", "seat-taken", "limit-reached"),
    location="/v1/tables/{id}",
    tagged=True,
    weight=Weight(calls=5),
)
def accept_challenge(call: Call, table_id: UUID) -> Response:
    """
    Accept a challenge: the caller takes the seat, and the hand is dealt if the table says so.

    The answer is the table, whose `game` is the hand. Accepted once more, it is `seat-taken`.
    """
    return change_response(
        services().challenges.accept(
            call.by,
            table_id,
            entropy=Entropy(call.body["entropy"]),
            key=call.body["key"],
            request=call.repeat,
        )
    )


@operation(
    challenges,
    "DELETE",
    CHALLENGE,
    answer=None,
    status=204,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    refuses=("not-found", "challenge-over"),
    weight=Weight(calls=5),
)
def end_challenge(call: Call, table_id: UUID) -> Response:
    """
    Decline an open challenge as the challenged player, or withdraw it as the challenger.

    Its table is closed. The challenger gets the notice `challenge_answered`; after a withdrawal
    `challenged` is in no further snapshot of the other player's stream, and no notice follows.
    """
    services().challenges.end(call.by, table_id)
    return private(Response(status=204))
