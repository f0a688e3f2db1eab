"""Game endpoints: list, view, move, contribute entropy."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flask import Response

from schemas.disputes import ReceiptRequestSchema
from schemas.games import (
    AbsencesSchema,
    EntropyRequestSchema,
    GamePageSchema,
    GameQuery,
    GamesQuery,
    MovedSchema,
)
from schemas.moves import MoveSchema
from schemas.players import NothingSchema
from schemas.tokens import Scope
from schemas.views import GameViewSchema
from service.api.context import context, services
from service.api.conventions.caching import immutable, private
from service.api.conventions.etags import expected_versions, versioned
from service.api.conventions.idempotency import change_response
from service.api.conventions.paging import listed
from service.api.conventions.responses import json_response
from service.api.following import slot_for_poll
from service.api.operation import (
    Call,
    InviteHeaders,
    MatchHeaders,
    Repeats,
    Token,
    blueprint,
    operation,
)
from service.application.games.entry import GameEntry
from service.application.quotas import BY_EVENTS, BY_SEATS
from service.store.games import GameFilter

games = blueprint("games", __name__, "Games: one hand each, from the shuffle to the shithead.")

GAME = "/games/<uuid:game_id>"
MOVED = "/v1/games/{game[id]}/events?after={events[0][seq]}"
"""The events that a move created, for the header Location."""

MOVE_REFUSALS = ("not-found", "not-seated", "game-over")


def _find_seat(call: Call, game_id: UUID) -> None:
    """
    Find the seat of the caller, before the body of a move is validated.

    Raises Refusal `not-found` or `not-seated`.
    """
    call.seat = services().moves.seat_of(call.caller, game_id)


def hand_filters(call: Call) -> dict[str, Any]:
    """Return the filters of a list of hands, for a GameFilter; raises `not-found`."""
    names = ("since", "until", "ended_since", "ended_until", "ruleset", "result")
    query, beside = call.query, call.player_named(call.query["with_"])
    if query["ruleset"] is not None:
        services().rulebook.check_known(query["ruleset"])
    if beside is not None:
        services().players.check_known(beside)
    return {**{name: query[name] for name in names}, "beside": beside}


@operation(
    games,
    "GET",
    "/games",
    query=GamesQuery,
    answer=GamePageSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_SEATS,
)
def list_games(call: Call) -> Response:
    """
    List the games that the caller can see, newest first.

    Filters combine. `your_turn` states whether the caller may act in a game.
    """
    query = call.query
    player = call.player_named(query["player"])
    if player is not None and player != call.caller.player:
        services().players.check_known(player)
    items, next_ = services().lists.games(
        call.caller,
        which=GameFilter(
            table=query["table"],
            player=player,
            status=query["status"],
            **hand_filters(call),
        ),
        limit=query["limit"],
        cursor=query["cursor"],
    )
    return private(listed(items, next_))


@operation(
    games,
    "GET",
    GAME,
    query=GameQuery,
    answer=GameViewSchema,
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    tagged=True,
    weight=BY_EVENTS,
    deferred=True,
)
def game(call: Call, game_id: UUID) -> Response:
    """
    Return a game as the caller's seat or the public sees it, at present or at a past version.

    With `wait` it is answered as soon as the version is not `after`. Views of other seats can be
    read after the seal.
    """
    as_, at = call.query["as_"], call.query["at"]
    if at is not None:
        return _past(call, game_id, at)
    games = services().games
    entry = _awaited(call, game_id) if call.query["wait"] else games.entry(call.caller, game_id)
    body, version = games.view_of(entry, call.caller, as_)
    return versioned(private(json_response(body)), version)


@operation(
    games,
    "POST",
    f"{GAME}/moves",
    body=MoveSchema,
    answer=MovedSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    headers=(InviteHeaders, MatchHeaders),
    refuses=(
        *MOVE_REFUSALS,
        *("bad-signature", "signature-required", "nonce-reused", "stale-version"),
        "limit-reached",
        *("not-your-turn", "rule-refused", "unknown-card", "not-away"),
    ),
    location=MOVED,
    tagged=True,
    deferred=True,
    admits=_find_seat,
    weight=BY_EVENTS,
)
def move(call: Call, game_id: UUID) -> Response:
    """
    Make a move; with `If-Match` it is refused if any seat has acted since that version.

    During the exchange of cards, and for `agree_end` and `claim_absence`, it is refused only if the
    caller's own seat has acted since. A forfeit is refused only with a version that the game never
    had. A claim is refused unless the player is away (`GET /v1/games/{game_id}/absences`).
    """
    return change_response(
        services().moves.move(
            call.caller,
            game_id,
            call.body,
            seat=call.seat,
            expected=expected_versions,
            request=call.repeat,
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
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=(*MOVE_REFUSALS, "entropy-refused"),
    headers=(InviteHeaders,),
    location=MOVED,
    tagged=True,
    deferred=True,
    admits=_find_seat,
    weight=BY_EVENTS,
)
def entropy(call: Call, game_id: UUID) -> Response:
    """
    Commit to the caller's entropy for the shuffle, or reveal it.

    With the entropy `commit` a seat commits first and reveals later, with `value` it reveals at
    once; both are possible before the deal only.
    """
    return change_response(
        services().entropy.give(
            call.caller,
            game_id,
            commit=call.body.get("commit"),
            value=call.body.get("value"),
            seat=call.seat,
            request=call.repeat,
        )
    )


@operation(
    games,
    "POST",
    f"{GAME}/receipts",
    body=ReceiptRequestSchema,
    answer=MovedSchema,
    status=201,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=(*MOVE_REFUSALS, "not-lost"),
    headers=(InviteHeaders,),
    location=MOVED,
    tagged=True,
    admits=_find_seat,
    weight=BY_EVENTS,
)
def lost_move(call: Call, game_id: UUID) -> Response:
    """
    Hand in the receipt of a move that was lost in a declared restore: the game is aborted.

    The declarations are in `restores` of `/v1/keys`. The receipt must be signed with a key of this
    server and belong to this game, else 422 `invalid-body` at `/receipt`. It ends nothing if the
    game has its move, or once the caller's seat has moved after the restore.
    """
    return change_response(
        services().lost_moves.hand_in(
            call.caller, game_id, call.body["receipt"], seat=call.seat, request=call.repeat
        )
    )


@operation(
    games,
    "POST",
    f"{GAME}/back",
    body=NothingSchema,
    answer=GameViewSchema,
    token=Token.NEEDED,
    scope=Scope.PLAY,
    repeats=Repeats.ANSWERED,
    refuses=MOVE_REFUSALS,
    headers=(InviteHeaders,),
    tagged=True,
    weight=BY_EVENTS,
)
def back(call: Call, game_id: UUID) -> Response:
    """
    Take over from the bot that plays for the caller's seat; any move does the same.

    A bot stands in for a player who has let deadlines pass. The answer is the caller's view.
    """
    return change_response(services().stand_ins.back(call.caller, game_id, call.repeat), 200)


@operation(
    games,
    "GET",
    f"{GAME}/absences",
    answer=AbsencesSchema,
    token=Token.NEEDED,
    refuses=("not-found", "not-seated"),
    headers=(InviteHeaders,),
    weight=BY_EVENTS,
)
def absences(call: Call, game_id: UUID) -> Response:
    """
    List the players that a hand without a clock waits for and who are away, with possible claims.

    A player is away who has neither called nor had an open stream for `after_seconds`, while the
    hand waited.
    """
    return private(json_response(services().absences.seen_by(call.caller, game_id)))


def _past(call: Call, game_id: UUID, at: int) -> Response:
    """Return a view of a past version; with an explicit `as` it never changes after the seal."""
    entry = services().games.entry(call.caller, game_id)
    as_ = call.query["as_"]
    response = json_response(services().games.view_at(call.caller, game_id, at, as_))
    is_final = as_ is not None and entry.record.sealed
    cached = immutable(response, public=entry.public) if is_final else private(response)
    return versioned(cached, at)


def _awaited(call: Call, game_id: UUID) -> GameEntry:
    """
    Return a game as soon as its version is not `after`, unless another seat's view is requested.

    Nothing is read before the wait if this process knows `after` as the newest version.
    """
    games, waiting = services().games, context().waiting
    as_, after = call.query["as_"], call.query["after"]
    ticket = waiting.ticket(game_id)  # before the read whose change is awaited
    entry = None
    if after is not None and as_ is None and waiting.newest(game_id) == after:
        entry = games.unread(call.caller, game_id)
    if entry is None or entry.version != after:
        entry = games.entry(call.caller, game_id)
        after = entry.version if after is None else after
        own = (None, "public", str(entry.seat_of(call.caller.player)))
        if entry.version != after or as_ not in own:
            return entry
    found = [entry]

    def version() -> int:
        found[:] = [games.entry(call.caller, game_id)]
        return found[0].version

    with slot_for_poll() as free:
        if free:
            waiting.until_not(game_id, version, after, ticket, call.query["wait"])
        else:
            version()
    return found[0]
