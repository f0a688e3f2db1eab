"""Dispute endpoints: open, read, make statements, judge, vote, appeal, withdraw."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from flask import Response
from marshmallow import Schema

from schemas.audit import CollusionSchema
from schemas.disputes import (
    AccusationSchema,
    DisputePageSchema,
    DisputeSchema,
    DisputesQuery,
    DisputeWordsSchema,
    ReceiptRequestSchema,
    RefereeRequestSchema,
    VoteRequestSchema,
)
from schemas.players import NothingSchema
from schemas.strict_fields import PageQuery
from schemas.tokens import Scope
from service.api.call import required
from service.api.context import services
from service.api.conventions.caching import private
from service.api.conventions.idempotency import change_response
from service.api.conventions.paging import listed
from service.api.conventions.responses import json_response
from service.api.operation import (
    BODY_BYTES,
    STATEMENT_BYTES,
    Call,
    F,
    InviteHeaders,
    Repeats,
    Token,
    blueprint,
    operation,
)
from service.application.disputes.commands import Accusation, DisputeCall
from service.application.quotas import BY_EVENTS, Weight
from service.domain.dispute import Charge, Vote

disputes = blueprint("disputes", __name__, "Accusations, findings, referees, votes and rulings.")

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
    scope=Scope.DISPUTE,
    repeats=Repeats.ANSWERED,
    refuses=("not-found", "not-seated", "dispute-open", "dispute-withdrawn", "limit-reached"),
    headers=(InviteHeaders,),
    location="/v1/disputes/{id}",
    most_bytes=STATEMENT_BYTES,
    weight=Weight(calls=20, grows=BY_EVENTS.grows),
)
def open_dispute(call: Call, game_id: UUID) -> Response:
    """
    Open a dispute: accuse another seat about a move, or the server about the deal or the log.

    The charge `collusion` is about two people, `accused` and `partner`, in a hand of three or more,
    and about no move. The evidence is frozen and the verifier's findings follow within seconds. At
    most one dispute for a game, charge and move (of collusion: accused and partner) is open: 409
    `dispute-open` has the `id` of that one.
    """
    body = call.body
    accusation = Accusation(
        accused=body["accused"],
        seq=body["seq"],
        partner=body["partner"],
        charge=Charge(body["charge"]),
        statement=body["statement"],
    )
    return change_response(
        services().disputes.open(call.caller, call.by, game_id, accusation, call.repeat)
    )


@operation(
    disputes,
    "GET",
    OF_GAME,
    query=PageQuery,
    answer=DisputePageSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def list_disputes(call: Call, game_id: UUID) -> Response:
    """
    List the disputes about a game, newest first.

    A dispute about a private game is shown to those who may see the game.
    """
    items, next_ = services().disputes.list(
        call.caller, game_id, limit=call.query["limit"], cursor=call.query["cursor"]
    )
    return private(listed(items, next_))


@operation(
    disputes,
    "GET",
    "/disputes",
    query=DisputesQuery,
    answer=DisputePageSchema,
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def list_all_disputes(call: Call) -> Response:
    """
    List the disputes about games that the caller can see, newest first.

    With `mine`, those in which the caller is a side or a referee. A page may be shorter than
    `limit`: `next` alone states whether there are more.
    """
    items, next_ = services().disputes.list_all(
        call.caller,
        of=required(call.player).id if call.query["mine"] else None,
        state=call.query["state"],
        limit=call.query["limit"],
        cursor=call.query["cursor"],
    )
    return private(listed(items, next_))


@operation(
    disputes,
    "GET",
    DISPUTE,
    answer=DisputeSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    weight=BY_EVENTS,
)
def dispute(call: Call, dispute_id: UUID) -> Response:
    """
    Return a dispute; only its sides and referees get statements and the referees' ids.

    It has the findings of the verifier, the votes once all are revealed, and the rulings.
    """
    return private(json_response(services().disputes.view(call.caller, dispute_id)))


def _command(part: str, body: type[Schema], *, most_bytes: int = BODY_BYTES) -> Callable[[F], F]:
    """Return the decorator of a command on a dispute, whose answer is the dispute."""
    return operation(
        disputes,
        "POST",
        f"{DISPUTE}/{part}",
        body=body,
        answer=DisputeSchema,
        status=201,
        token=Token.NEEDED,
        scope=Scope.DISPUTE,
        repeats=Repeats.ANSWERED,
        refuses=("not-found", "forbidden"),
        headers=(InviteHeaders,),
        most_bytes=most_bytes,
        weight=BY_EVENTS,
    )


def _called(call: Call, dispute: UUID) -> DisputeCall:
    return DisputeCall(caller=call.caller, player=call.by, dispute=dispute, request=call.repeat)


@_command("statements", DisputeWordsSchema, most_bytes=STATEMENT_BYTES)
def say(call: Call, dispute_id: UUID) -> Response:
    """
    Make a statement as accuser, accused or partner, until the dispute is final.

    Its text is stored outside the hashed bytes, as names are.
    """
    return change_response(services().disputes.say(_called(call, dispute_id), call.body["text"]))


@_command("receipts", ReceiptRequestSchema)
def hand_in(call: Call, dispute_id: UUID) -> Response:
    """
    Hand in a receipt of the disputed game as accuser or accused, until the dispute is final.

    It must be signed with a key of this server, belong to this game, and not be handed in
    already: otherwise 422 `invalid-body` at `/receipt`. A side can hand in at most ten. The
    verifier runs again with it: a receipt that contradicts the log fails the check `receipts`.
    """
    return change_response(
        services().disputes.hand_in(_called(call, dispute_id), call.body["receipt"])
    )


@_command("referees", RefereeRequestSchema)
def judge(call: Call, dispute_id: UUID) -> Response:
    """
    Offer to judge a dispute; or, as one of its sides, refuse a referee before the voting.

    Referees neither sat at the table nor host it, and need an account of some age with finished
    hands.
    """
    return change_response(
        services().disputes.judge(_called(call, dispute_id), refused=call.body["refuse"])
    )


@_command("votes", VoteRequestSchema)
def vote(call: Call, dispute_id: UUID) -> Response:
    """
    Vote as a referee of the panel.

    `vote` alone: the server seals the vote and reveals it when all have committed.
    `commit`: the referee seals the vote and reveals it later with `vote` and `salt`, once all
    have committed. The vote `cheated` needs a `reason` if `reason_needed` of the dispute is true,
    else 422 `invalid-body` at `/reason`. Reasons are shown with the ruling.
    """
    body, court, called = call.body, services().disputes, _called(call, dispute_id)
    if "commit" in body:
        return change_response(court.commit_vote(called, body["commit"]))
    choice, reason = Vote(body["vote"]), body.get("reason")
    if "salt" not in body:
        return change_response(court.vote(called, choice, reason))
    return change_response(court.reveal_vote(called, vote=choice, salt=body["salt"], reason=reason))


@_command("appeal", NothingSchema)
def appeal(call: Call, dispute_id: UUID) -> Response:
    """
    Appeal against a ruling, once, as the side that lost; then other referees judge.

    After the time for appeals the ruling is final.
    """
    return change_response(services().disputes.appeal(_called(call, dispute_id)))


@_command("withdrawal", NothingSchema)
def withdraw(call: Call, dispute_id: UUID) -> Response:
    """
    Withdraw a dispute as its accuser, while it is unanswered.

    That is until the other side makes a statement or hands in a receipt, or a referee is seated.
    The dispute ends without a ruling, counts in the limit of the day, and the accuser cannot make
    the same charge again: 409 `dispute-withdrawn`.
    """
    return change_response(services().disputes.withdraw(_called(call, dispute_id)))


@operation(
    disputes,
    "GET",
    f"{DISPUTE}/collusion",
    answer=CollusionSchema,
    token=Token.NEEDED,
    scope=Scope.READ,
    refuses=("not-found", "forbidden", "unavailable"),
    headers=(InviteHeaders,),
    weight=BY_EVENTS,
)
def collusion(call: Call, dispute_id: UUID) -> Response:
    """
    Return for a referee whether the accused and the named partner spare each other.

    Only for disputes with the charge `collusion`. The figures are computed from public hands by a
    job: while `state` is `computing`, repeat the request in a moment. `shithead collusion` computes
    the same numbers from dumps.
    """
    return private(json_response(services().collusion.of_dispute(call.caller, call.by, dispute_id)))
