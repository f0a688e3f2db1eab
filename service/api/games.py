"""Games: seen, listed, and played."""

from __future__ import annotations

from uuid import UUID

from flask import Response

from schemas.games_schema import GamePageSchema, GameQuery, GamesQuery, MovedSchema
from schemas.moves_request_schema import EntropyRequestSchema, MoveRequestSchema
from schemas.players_schema import NothingSchema
from schemas.view_schema import GameViewSchema
from service.api.blueprint import Blueprint, Call, Repeats, Token, operation
from service.api.context import context, services
from service.api.conventions import (
    answered,
    expected_versions,
    json_response,
    own,
    page,
    unchanging,
    versioned,
)
from service.api.headers import InviteHeaders, MatchHeaders, VersionHeaders
from service.api.limits import caller_address

games = Blueprint("games", __name__, "One hand each, from shuffle to shithead.")

GAME = "/games/<uuid:game_id>"
MOVING = ("not-found", "not-seated", "game-over", "rate-limited")


@operation(
    games,
    "GET",
    "/games",
    query=GamesQuery,
    answer=GamePageSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
)
def list_games(call: Call) -> Response:
    """Games of public tables, and the caller's own."""
    asked = call.query
    player = asked["player"]
    items, next_ = services().lists.games(
        call.caller,
        table=asked["table"],
        player=call.by.id if player == "me" else UUID(player) if player else None,
        ruleset=asked["ruleset"],
        status=asked["status"],
        limit=asked["limit"],
        cursor=asked["cursor"],
    )
    return own(json_response(page(items, next_)))


@operation(
    games,
    "GET",
    GAME,
    query=GameQuery,
    answer=GameViewSchema,
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders, VersionHeaders),
)
def game(call: Call, game_id: UUID) -> Response:
    """A game as the caller's seat sees it, or else the public; now, or at a version of the past."""
    as_, at = call.query["as_"], call.query["at"]
    if at is not None:
        return _past(call, game_id, at)
    entry = services().games.entry(call.caller, game_id)
    seat = entry.seat_of(call.caller.player)
    if as_ not in (None, "public", str(seat)):
        body, version = services().games.view_as(call.caller, game_id, as_)
        return versioned(own(json_response(body)), version)
    _wait(call, game_id, entry.record.version)
    body, version = services().games.view(call.caller, game_id, public=as_ == "public")
    return versioned(own(json_response(body)), version)


@operation(
    games,
    "POST",
    f"{GAME}/moves",
    body=MoveRequestSchema,
    answer=MovedSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    headers=(InviteHeaders, MatchHeaders),
    refuses=(
        *MOVING,
        *("bad-signature", "signature-required", "nonce-reused", "stale-version"),
        *("not-your-turn", "rule-refused", "unknown-card"),
    ),
)
def move(call: Call, game_id: UUID) -> Response:
    """Make a move; `If-Match` refuses it where somebody acted since that version."""
    return answered(
        services().moves.move(
            call.caller, game_id, call.body, expected=expected_versions(), request=call.repeat
        )
    )


@operation(
    games,
    "POST",
    f"{GAME}/entropy",
    body=EntropyRequestSchema,
    answer=MovedSchema,
    status=201,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=(*MOVING, "entropy-refused"),
    headers=(InviteHeaders,),
)
def entropy(call: Call, game_id: UUID) -> Response:
    """Commit to the caller's share of the shuffle, or reveal it."""
    return answered(
        services().entropy.give(
            call.caller,
            game_id,
            commit=call.body.get("commit"),
            value=call.body.get("value"),
            request=call.repeat,
        )
    )


@operation(
    games,
    "POST",
    f"{GAME}/back",
    body=NothingSchema,
    answer=GameViewSchema,
    token=Token.NEEDED,
    repeats=Repeats.ANSWERED,
    refuses=MOVING,
    headers=(InviteHeaders,),
)
def back(call: Call, game_id: UUID) -> Response:
    """Play for oneself again after a bot stood in; any move does the same."""
    return answered(services().stand_ins.back(call.caller, game_id, call.repeat), 200)


def _past(call: Call, game_id: UUID, at: int) -> Response:
    """Return a view of a version of the past; after the seal it never changes."""
    entry = services().games.entry(call.caller, game_id)
    as_ = call.query["as_"]
    response = json_response(services().games.view_at(call.caller, game_id, at, as_))
    fixed = as_ is not None and entry.record.sealed
    marked = unchanging(response, public=entry.public) if fixed else own(response)
    return versioned(marked, at)


def _wait(call: Call, game_id: UUID, version: int) -> None:
    after = version if call.query["after"] is None else call.query["after"]
    if not call.query["wait"] or version > after:
        return
    waiting = context().waiting
    with waiting.places.place(caller_address()) as free:
        if free:
            waiting.until_past(
                game_id,
                lambda: services().games.entry(call.caller, game_id).record.version,
                after,
                call.query["wait"],
            )
