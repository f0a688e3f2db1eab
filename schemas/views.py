"""Game views as JSON, built from masked games, and their fields in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from marshmallow import ValidationError, fields, validate

from schemas.event_fields import EventSchema
from schemas.moves import MoveSchema, listed_moves
from schemas.strict_fields import (
    Boolean,
    Chosen,
    Closed,
    Integer,
    card_list,
    described,
    hex_digits,
    time_field,
)
from service.domain.cards import JOKER
from service.domain.commands import Move, Seat
from service.domain.demand import ANYTHING, demand_of, fitting_ranks
from service.domain.events import EndReason, Entropy
from service.domain.game import EntropyState, Game, Result, SeatState, Status
from service.domain.ruleset import ALL_RANKS, Asks
from service.domain.view import ALL, Viewer
from service.shx.validators import MAX_SEATS


def _seat_field(text: str, *, allow_none: bool = False) -> Integer:
    return Integer(high=MAX_SEATS - 1, allow_none=allow_none, **described(text))


def _rank(text: str, *, allow_none: bool = False) -> Chosen:
    return Chosen(*(str(rank) for rank in ALL_RANKS), allow_none=allow_none, **described(text))


def _check_viewer(value: Any) -> None:
    if value in ("public", "all"):
        return
    if type(value) is not int or not 0 <= value < MAX_SEATS:
        raise ValidationError("is neither a seat, nor public, nor all")


class RulesetRefSchema(Closed):
    """The ruleset of a game or table."""

    id = fields.String(**described("the id of the ruleset, as in /v1/rulesets/{id}"))
    hash = hex_digits(64, **described("the ruleset hash with these options"))
    options = fields.Dict(keys=fields.String(), **described("the options that the table chose"))


class ClockSchema(Closed):
    """The time limits of a game."""

    turn_seconds = Integer(**described("seconds for a turn"))
    swap_seconds = Integer(**described("seconds for set-up and exchange phase"))


class SetupSeatSchema(Closed):
    """The progress of one seat's entropy during the shuffle."""

    seat = _seat_field("the seat")
    entropy = Chosen(
        *(mode.value for mode in Entropy),
        **described("none, a value, or a commitment that is revealed later"),
    )
    state = Chosen(
        *(state.value for state in EntropyState),
        **described("waiting, committed, revealed, or none for a seat without entropy"),
    )


class DemandSchema(Closed):
    """The demand of the pile on the next play."""

    kind = Chosen(
        *(asks.value for asks in Asks if asks is not Asks.TRANSPARENT),
        **described("the kind of demand"),
    )
    rank = _rank("the rank that the demand refers to, null for `anything`", allow_none=True)
    ranks = fields.List(_rank("a rank"), **described("the ranks with which a play may begin"))


class HandSchema(Closed):
    """The hand of a seat."""

    count = Integer(**described("the number of cards"))
    cards = card_list(
        allow_none=True,
        metadata={"description": "the cards, in code order; null if the viewer cannot see them"},
    )
    known = card_list(metadata={"description": "the cards that every player knows to be in it"})


class SeatViewSchema(Closed):
    """One seat of a game."""

    seat = _seat_field("the number of the seat")
    name = fields.String(
        allow_none=True, **described("the player's name; null for bots, and in past views")
    )
    kind = Chosen("human", "bot", **described("whether a player or a bot has the seat"))
    bot = fields.String(allow_none=True, **described("the name of the bot, null for a player"))
    stand_in = Boolean(**described("whether a bot plays for the player at present"))
    key = Boolean(**described("whether the seat signs its moves"))
    entropy = Chosen(
        *(mode.value for mode in Entropy), **described("how the seat contributes to the shuffle")
    )
    ready = Boolean(**described("whether the seat has finished the exchange phase"))
    out = Integer(
        low=1, allow_none=True, **described("the place if the seat has no cards left, else null")
    )
    hand = fields.Nested(HandSchema, **described("the hand"))
    up = fields.List(card_list(), **described("the face-up cards of each slot"))
    down = fields.List(
        fields.Boolean(required=True), **described("whether each slot has a face-down card")
    )


class ResultSchema(Closed):
    """The result of a hand."""

    reason = Chosen(*(reason.value for reason in EndReason), **described("how the hand ended"))
    shithead = _seat_field("the seat that lost, null if none did", allow_none=True)
    places = fields.List(
        _seat_field("a seat"),
        **described(
            "seats in the order in which they went out; with reason `shithead` the shithead last"
        ),
    )


class GameViewSchema(Closed):
    """A game as one seat or the public sees it; with `all`, after the seal, with every card."""

    id = fields.UUID(**described("the id of the game"))
    table = fields.UUID(**described("the id of its table"))
    hand = Integer(low=1, **described("the number of the hand at the table, from 1"))
    ruleset = fields.Nested(RulesetRefSchema, **described("the ruleset"))
    status = Chosen(
        *(status.value for status in Status),
        **described("`shuffling` is the set-up, `swapping` the exchange phase"),
    )
    version = Integer(**described("the number of events in the log"))
    head = hex_digits(64, **described("the hash of the last event"))
    as_ = fields.Raw(
        required=True,
        data_key="as",
        validate=_check_viewer,
        metadata={
            "description": "whose view this is: a seat, `public`, or `all` after the seal",
            "oneOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "enum": ["public", "all"]},
            ],
        },
    )
    dealer = _seat_field("the dealer, null until one is drawn", allow_none=True)
    turn = _seat_field(
        "the seat whose turn it is, null if several may act or none", allow_none=True
    )
    direction = fields.Integer(
        strict=True,
        validate=validate.OneOf([1, -1]),
        **described("the direction of play: 1 to rising seat numbers, -1 to falling ones"),
    )
    deadline = time_field(
        allow_none=True,
        **described(
            "the time of the default move, or in the set-up the time at which it is aborted; null "
            "if there is none"
        ),
    )
    window_until = time_field(
        allow_none=True,
        **described(
            "until when bots wait so that players can open or follow up; null if they do not"
        ),
    )
    clock = fields.Nested(ClockSchema, allow_none=True, **described("the time limits, or null"))
    commit = hex_digits(64, **described("the server's commitment to its seed"))
    prev_game = fields.UUID(allow_none=True, **described("the previous game of the table"))
    setup = fields.List(
        fields.Nested(SetupSeatSchema),
        allow_none=True,
        **described("the progress of the shuffle; null once the deck is fixed"),
    )
    stock = Integer(**described("the number of cards in the stock"))
    pile = card_list(metadata={"description": "the pile, bottom card first"})
    demand = fields.Nested(DemandSchema, **described("the demand of the pile on the next play"))
    burned = card_list(metadata={"description": "the burned cards"})
    seats = fields.List(fields.Nested(SeatViewSchema), **described("the seats, in order"))
    moves = fields.List(
        fields.Nested(MoveSchema),
        **described(
            "the legal moves of the caller, each as it can be posted, in one order of cards"
        ),
    )
    result = fields.Nested(
        ResultSchema, allow_none=True, **described("the result; null until the hand has ended")
    )


class FrameSchema(Closed):
    """One step of a replay."""

    version = Integer(**described("the version after the event"))
    seq = Integer(**described("the seq of the event"))
    at = time_field(**described("the time of the event"))
    caption = fields.String(**described("the event as a sentence"))
    event = fields.Nested(EventSchema, **described("the event, as in /events"))
    view = fields.Nested(GameViewSchema, **described("the view after the event"))


Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """
    Data of a view that is not in the state of the game.

    Views of the past have no names, stand-ins and times, which would be those of the present.
    Times are in the text form of SHX/1.
    """

    id: str
    head: str  # of the last event seen, in hex
    ruleset_hash: str
    names: Sequence[str | None] = ()
    stand_ins: frozenset[Seat] = frozenset()
    deadline: str | None = None
    window_until: str | None = None


def view_json(game: Game, viewer: Viewer, facts: Facts, moves: Sequence[Move] = ()) -> Json:
    """
    Return the view of `game`, which `seen_by(…, viewer)` has masked.

    `moves` are the legal moves of the viewer, from the unmasked game: a masked one lacks some.
    """
    setup, clock = game.setup, game.setup.clock
    return {
        "id": facts.id,
        "table": setup.table,
        "hand": setup.hand,
        "ruleset": {
            "id": setup.ruleset.id,
            "hash": facts.ruleset_hash,
            "options": dict(setup.ruleset.options),
        },
        "status": game.status.value,
        "version": game.version,
        "head": facts.head,
        "as": "public" if viewer is None else viewer,
        "dealer": game.dealer,
        "turn": game.turn,
        "direction": game.direction,
        "deadline": facts.deadline,
        "window_until": facts.window_until,
        "clock": None
        if clock is None
        else {"turn_seconds": clock.turn_seconds, "swap_seconds": clock.swap_seconds},
        "commit": setup.commit,
        "prev_game": setup.prev_game,
        "setup": _setup(game),
        "stock": len(game.stock),
        "pile": list(game.pile),
        "demand": _demand(game),
        "burned": list(game.burned),
        "seats": [_seat(game, seat, viewer, facts) for seat in range(len(game.seats))],
        "moves": listed_moves(moves),
        "result": _result(game.result),
    }


def _setup(game: Game) -> list[Json] | None:
    """Return the state of each seat's entropy, None after the set-up."""
    if game.status is not Status.SHUFFLING:
        return None
    both = zip(game.setup.seats, game.seats, strict=True)
    return [
        {"seat": number, "entropy": seat.entropy.value, "state": state.entropy.value}
        for number, (seat, state) in enumerate(both)
    ]


def _demand(game: Game) -> Json:
    """
    Return what the pile asks of the next play.

    A card that has to be covered asks nothing of its cover. Ranks that need a companion are
    always listed, because they need not satisfy the demand themselves.
    """
    ruleset = game.ruleset
    demand = ANYTHING if game.covering else demand_of(ruleset, game.pile)
    ranks = fitting_ranks(ruleset, demand)
    return {
        "kind": demand.kind.value,
        "rank": demand.rank,
        "ranks": [rank for rank in ranks if rank != JOKER or game.setup.jokers],
    }


def _seat(game: Game, number: Seat, viewer: Viewer, facts: Facts) -> Json:
    setup, state = game.setup.seats[number], game.seats[number]
    return {
        "seat": number,
        "name": facts.names[number] if facts.names else None,
        "kind": setup.kind,
        "bot": setup.bot,
        "stand_in": number in facts.stand_ins,
        "key": setup.key is not None,
        "entropy": setup.entropy.value,
        "ready": state.ready,
        "out": state.place,
        "hand": _hand(state, own=viewer in (number, ALL)),
        "up": [list(stack) for stack in state.up],
        "down": [position is not None for position in state.down],
    }


def _hand(state: SeatState, *, own: bool) -> Json:
    return {
        "count": len(state.hand),
        "cards": sorted(state.hand) if own else None,
        "known": sorted(state.known),
    }


def _result(result: Result | None) -> Json | None:
    """Return how the hand ended; None for an aborted game, which has only its status."""
    if result is None or result.reason is None:
        return None
    return {
        "reason": result.reason.value,
        "shithead": result.shithead,
        "places": list(result.places),
    }
