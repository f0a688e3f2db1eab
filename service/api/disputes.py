"""Disputes: opened, read, argued, judged, appealed."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.disputes_schema import (
    AccusationSchema,
    DisputePageSchema,
    DisputeSchema,
    DisputeWordsSchema,
    RefereeRequestSchema,
    VoteRequestSchema,
)
from schemas.lists_schema import PageQuery
from schemas.players_schema import NothingSchema
from service.api.blueprint import Blueprint, Call, Repeats, Token, operation
from service.api.context import services
from service.api.conventions import answered, json_response, own, page
from service.api.headers import InviteHeaders
from service.domain.dispute_events import Charge, Vote

disputes = Blueprint("disputes", __name__, "Accusations, and how they are settled.")

OF_GAME = "/games/<uuid:game_id>/disputes"
DISPUTE = "/disputes/<uuid:dispute_id>"


@operation(
    disputes,
    "POST",
    OF_GAME,
    body=AccusationSchema,
    answer=DisputeSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "not-seated", "rate-limited"),
    headers=(InviteHeaders,),
    location="/v1/disputes/{id}",
)
def open_dispute(call: Call, game_id: UUID) -> Response:
    """Accuse a seat: the evidence is frozen, and the machine looks at it within seconds."""
    body = call.body
    return answered(
        services().disputes.open(
            call.caller,
            call.by,
            game_id,
            accused=body["accused"],
            seq=body["seq"],
            charge=Charge(body["charge"]),
            statement=body["statement"],
            request=call.repeat,
        )
    )


@operation(
    disputes,
    "GET",
    OF_GAME,
    query=PageQuery,
    answer=DisputePageSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
)
def list_disputes(call: Call, game_id: UUID) -> Response:
    """The disputes about a game."""
    items, next_ = services().disputes.list(
        call.caller, game_id, limit=call.query["limit"], cursor=call.query["cursor"]
    )
    return own(json_response(page(items, next_)))


@operation(
    disputes,
    "GET",
    DISPUTE,
    answer=DisputeSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
)
def dispute(call: Call, dispute_id: UUID) -> Response:
    """A dispute, whole; what was said is for both sides and the referees."""
    return own(json_response(services().disputes.view(call.caller, dispute_id)))


@operation(
    disputes,
    "POST",
    f"{DISPUTE}/statements",
    body=DisputeWordsSchema,
    answer=DisputeSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "forbidden"),
    headers=(InviteHeaders,),
)
def say(call: Call, dispute_id: UUID) -> Response:
    """Say something as a side of the dispute."""
    return answered(
        services().disputes.say(
            call.caller, call.by, dispute_id, call.body["text"], call.repeat
        )
    )


@operation(
    disputes,
    "POST",
    f"{DISPUTE}/referees",
    body=RefereeRequestSchema,
    answer=DisputeSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "forbidden"),
    headers=(InviteHeaders,),
)
def judge(call: Call, dispute_id: UUID) -> Response:
    """Offer oneself as a referee; or, as a side and within 24 hours, refuse one."""
    return answered(
        services().disputes.judge(
            call.caller, call.by, dispute_id, refused=call.body["refuse"], request=call.repeat
        )
    )


@operation(
    disputes,
    "POST",
    f"{DISPUTE}/votes",
    body=VoteRequestSchema,
    answer=DisputeSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "forbidden"),
    headers=(InviteHeaders,),
)
def vote(call: Call, dispute_id: UUID) -> Response:
    """Vote sealed, as a referee; once all votes are in, open one's own."""
    body, court = call.body, services().disputes
    if "commit" in body:
        return answered(
            court.commit_vote(call.caller, call.by, dispute_id, body["commit"], call.repeat)
        )
    return answered(
        court.reveal_vote(
            call.caller,
            call.by,
            dispute_id,
            vote=Vote(body["vote"]),
            salt=body["salt"],
            request=call.repeat,
        )
    )


@operation(
    disputes,
    "POST",
    f"{DISPUTE}/appeal",
    body=NothingSchema,
    answer=DisputeSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "forbidden"),
    headers=(InviteHeaders,),
)
def appeal(call: Call, dispute_id: UUID) -> Response:
    """Appeal against a ruling, once: other referees judge."""
    return answered(
        services().disputes.appeal(call.caller, call.by, dispute_id, call.repeat)
    )
