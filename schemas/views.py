"""Game views as JSON, built from masked games, and their fields in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from marshmallow import ValidationError, fields, validate
from msgspec import Struct

from schemas.event_fields import EventSchema
from schemas.moves import MoveSchema, listed_moves
from schemas.strict_fields import (
    Boolean,
    Chosen,
    Closed,
    Integer,
    about,
    card_list,
    described,
    hex_digits,
    list_of,
    seat_field,
    time_field,
)
from service.domain.cards import JOKER
from service.domain.commands import Move, Seat
from service.domain.demand import ANYTHING, demand_of, fitting_ranks, is_named
from service.domain.events import Clock, EndReason, Entropy
from service.domain.game import EntropyState, Game, Status
from service.domain.ruleset import ALL_RANKS, Asks
from service.domain.view import ALL, Viewer
from service.shx.validators import MAX_SEATS


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
    ruleset_hash = hex_digits(64, **described("the hash of id, options and settings"))
    options = fields.Dict(keys=fields.String(), **described("the options that the table chose"))


class ClockSchema(Closed):
    """The time limits of a game."""

    turn_seconds = Integer(**described("seconds for a turn"))
    swap_seconds = Integer(**described("seconds for set-up and exchange phase"))
    reserve_seconds = Integer(
        **described("seconds of each seat for the turns of the hand that last longer")
    )


class SetupSeatSchema(Closed):
    """The progress of one seat's entropy during the shuffle."""

    seat = seat_field("the seat")
    entropy = Chosen(
        *Entropy,
        **described("none, a value, or a commitment that is revealed later"),
    )
    state = Chosen(
        *EntropyState,
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
    besides = fields.List(
        _rank("a rank"),
        **described("those of `ranks` that `kind` and `rank` do not name, such as a two"),
    )


class HandSchema(Closed):
    """The hand of a seat."""

    count = Integer(**described("the number of cards"))
    cards = card_list(
        allow_none=True,
        **about("the cards, in code order; null if the viewer cannot see them"),
    )
    known = card_list(**about("the cards that every player knows to be in it"))


class SeatViewSchema(Closed):
    """One seat of a game."""

    seat = seat_field("the number of the seat")
    name = fields.String(
        allow_none=True,
        **described("the player's name; null for bots, erased players, and in past views"),
    )
    kind = Chosen("human", "bot", **described("whether a player or a bot has the seat"))
    bot = fields.String(allow_none=True, **described("the name of the bot, null for a player"))
    stand_in = Boolean(**described("whether a bot plays for the player at present"))
    reserve_seconds = Integer(
        allow_none=True,
        **described(
            "whole seconds of its reserve that it had left when the present turn began; null "
            "without a reserve, and in past views"
        ),
    )
    agrees_end = Boolean(
        **described("whether the player has agreed to end the hand, without a move since")
    )
    key = Boolean(**described("whether the seat signs its moves"))
    entropy = Chosen(*Entropy, **described("how the seat contributes to the shuffle"))
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

    reason = Chosen(*EndReason, **described("how the hand ended"))
    shithead = seat_field("the seat that lost, null if none did", allow_none=True)
    places = fields.List(
        seat_field("a seat"),
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
        *Status,
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
    dealer = seat_field("the dealer, null until one is drawn", allow_none=True)
    turn = seat_field("the seat whose turn it is, null if several may act or none", allow_none=True)
    direction = fields.Integer(
        strict=True,
        validate=validate.OneOf([1, -1]),
        **described("the direction of play: 1 to rising seat numbers, -1 to falling ones"),
    )
    deadline = time_field(
        allow_none=True,
        **described(
            "the time of the default move; in the set-up, the time at which the game is aborted; "
            "null if there is none"
        ),
    )
    reserve_from = time_field(
        allow_none=True,
        **described(
            "the time at which the turn's own seconds are over and the reserve of its seat begins "
            "to run, until `deadline`; null if it has none left"
        ),
    )
    window_until = time_field(
        allow_none=True,
        **described(
            "the time until which bots wait so that players can open or follow up; null if no "
            "bot waits"
        ),
    )
    clock = fields.Nested(ClockSchema, allow_none=True, **described("the time limits, or null"))
    commit = hex_digits(64, **described("the server's commitment to its seed"))
    prev_game = fields.UUID(allow_none=True, **described("the previous game of the table"))
    setup = list_of(
        SetupSeatSchema, "the progress of the shuffle; null once the deck is fixed", allow_none=True
    )
    stock = Integer(**described("the number of cards in the stock"))
    pile = card_list(**about("the pile, bottom card first"))
    demand = fields.Nested(DemandSchema, **described("the demand of the pile on the next play"))
    burned = card_list(**about("the burned cards"))
    seats = list_of(SeatViewSchema, "the seats, in order")
    moves = list_of(
        MoveSchema,
        "the legal moves of the seat `as`, which can be posted unchanged; a set of cards is "
        "listed in one order only; empty for other viewers and in past views",
    )
    result = fields.Nested(
        ResultSchema, allow_none=True, **described("the result; null until the hand has ended")
    )


class FrameSchema(Closed):
    """One step of a replay."""

    version = Integer(**described("the version after the event"))
    seq = Integer(**described("the seq of the event"))
    at = time_field(**described("the time of the event"))
    caption = fields.String(**described("the event as a sentence; seats from 1"))
    event = fields.Nested(EventSchema, **described("the event, as in /events"))
    view = fields.Nested(GameViewSchema, **described("the view after the event"))


Json = dict[str, Any]


class ViewFacts(Struct, frozen=True, kw_only=True):
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
    reserve_from: str | None = None
    reserves: Sequence[int] = ()  # seconds left to each seat
    window_until: str | None = None
    settings: Mapping[str, Any] | None = None  # of a custom ruleset; only bots get them in a view


class ViewSource(Struct, frozen=True, kw_only=True):
    """The source of a view: a game that `seen_by(…, viewer)` has masked, and the moves."""

    game: Game
    viewer: Viewer
    facts: ViewFacts
    moves: Sequence[Move] = ()  # of the viewer; found in the unmasked game


Parts = Mapping[str, Callable[[ViewSource], Any]]
"""The names of the parts of a view, in order, and the functions that make them."""


def view_json(game: Game, viewer: Viewer, facts: ViewFacts, moves: Sequence[Move] = ()) -> Json:
    """
    Return the view of `game`, which `seen_by(…, viewer)` has masked.

    `moves` are the legal moves of the viewer, found in the unmasked game: from the masked game
    some of them could not be found.
    """
    seen = ViewSource(game=game, viewer=viewer, facts=facts, moves=moves)
    return {name: part(seen) for name, part in VIEW_PARTS.items()}


class LazyView(Mapping[str, Any]):
    """
    A view with each part made when it is first read; it has no reference to the unmasked game.

    `parts` is VIEW_PARTS, or a copy in which some functions are replaced.
    """

    __slots__ = ("_made", "_parts", "_seen")

    def __init__(self, seen: ViewSource, parts: Parts) -> None:
        self._seen = seen
        self._parts = parts
        self._made: Json = {}

    def __getitem__(self, name: str) -> Any:
        """Return a part; raises KeyError for a name that no view has."""
        made = self._made
        if name not in made:
            made[name] = self._parts[name](self._seen)
        return made[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names of all parts, in the order of `view_json`."""
        return iter(self._parts)

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self._parts)


class LazySeats:
    """The seats of a view, each made when it is first read."""

    __slots__ = ("_made", "_seen")

    def __init__(self, seen: ViewSource) -> None:
        self._seen = seen
        self._made: dict[Seat, Json] = {}

    def __len__(self) -> int:
        """Return the number of seats."""
        return len(self._seen.game.seats)

    def __getitem__(self, number: Seat) -> Json:
        """Return a seat; raises IndexError for one that the game does not have."""
        if number not in self._made:
            self._made[number] = _seat(self._seen, number)
        return self._made[number]


def ruleset_json(seen: ViewSource) -> Json:
    """Return the reference to the ruleset of a game."""
    ruleset = seen.game.setup.ruleset
    options = dict(ruleset.options)
    return {"id": ruleset.id, "ruleset_hash": seen.facts.ruleset_hash, "options": options}


def clock_json(clock: Clock | None) -> Json | None:
    """Return a clock as answers have it."""
    return None if clock is None else asdict(clock)


def _setup(seen: ViewSource) -> list[Json] | None:
    """Return the state of each seat's entropy, None after the set-up."""
    game = seen.game
    if game.status is not Status.SHUFFLING:
        return None
    both = zip(game.setup.seats, game.seats, strict=True)
    return [
        {"seat": number, "entropy": seat.entropy.value, "state": state.entropy.value}
        for number, (seat, state) in enumerate(both)
    ]


def _demand(seen: ViewSource) -> Json:
    """
    Return what the pile asks of the next play.

    A card that has to be covered asks nothing of its cover. Ranks that need a companion are
    always listed, because they need not satisfy the demand themselves.
    """
    game, ruleset = seen.game, seen.game.ruleset
    demand = ANYTHING if game.covering else demand_of(ruleset, game.pile)
    found = fitting_ranks(ruleset, demand)
    ranks = [rank for rank in found if rank != JOKER or game.setup.jokers]
    return {
        "kind": demand.kind.value,
        "rank": demand.rank,
        "ranks": ranks,
        "besides": [rank for rank in ranks if not is_named(ruleset, rank, demand)],
    }


def _seats(seen: ViewSource) -> list[Json]:
    return [_seat(seen, number) for number in range(len(seen.game.seats))]


def _seat(seen: ViewSource, number: Seat) -> Json:
    setup, state, facts = seen.game.setup.seats[number], seen.game.seats[number], seen.facts
    own = seen.viewer in (number, ALL)
    return {
        "seat": number,
        "name": facts.names[number] if facts.names else None,
        "kind": setup.kind,
        "bot": setup.bot,
        "stand_in": number in facts.stand_ins,
        "reserve_seconds": facts.reserves[number] if facts.reserves else None,
        "agrees_end": number in seen.game.agreed,
        "key": setup.key is not None,
        "entropy": str(setup.entropy),
        "ready": state.ready,
        "out": state.place,
        "hand": {
            "count": len(state.hand),
            "cards": sorted(state.hand) if own else None,
            "known": sorted(state.known),
        },
        "up": list(map(list, state.up)),
        "down": [position is not None for position in state.down],
    }


def _result(seen: ViewSource) -> Json | None:
    """Return how the hand ended; None for an aborted game, which has only its status."""
    result = seen.game.result
    if result is None or result.reason is None:
        return None
    return {
        "reason": result.reason.value,
        "shithead": result.shithead,
        "places": list(result.places),
    }


VIEW_PARTS: Final[Parts] = {
    "id": lambda seen: seen.facts.id,
    "table": lambda seen: seen.game.setup.table,
    "hand": lambda seen: seen.game.setup.hand,
    "ruleset": ruleset_json,
    "status": lambda seen: seen.game.status.value,
    "version": lambda seen: seen.game.version,
    "head": lambda seen: seen.facts.head,
    "as": lambda seen: "public" if seen.viewer is None else seen.viewer,
    "dealer": lambda seen: seen.game.dealer,
    "turn": lambda seen: seen.game.turn,
    "direction": lambda seen: seen.game.direction,
    "deadline": lambda seen: seen.facts.deadline,
    "reserve_from": lambda seen: seen.facts.reserve_from,
    "window_until": lambda seen: seen.facts.window_until,
    "clock": lambda seen: clock_json(seen.game.setup.clock),
    "commit": lambda seen: seen.game.setup.commit,
    "prev_game": lambda seen: seen.game.setup.prev_game,
    "setup": _setup,
    "stock": lambda seen: len(seen.game.stock),
    "pile": lambda seen: list(seen.game.pile),
    "demand": _demand,
    "burned": lambda seen: list(seen.game.burned),
    "seats": _seats,
    "moves": lambda seen: listed_moves(seen.moves),
    "result": _result,
}
"""The parts of the views of games."""
