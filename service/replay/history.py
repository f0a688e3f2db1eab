"""A game's log as steps: its events, the game after each, and its moves."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import orjson
from msgspec import Struct
from msgspec.structs import replace

from schemas.events import event_of
from service.domain.cards import Card
from service.domain.commands import (
    AgreeEnd,
    ClaimAbsence,
    Forfeit,
    Lay,
    Leave,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Seat,
    Swap,
    TryStock,
)
from service.domain.events import (
    AbsenceClaimed,
    BlindFailed,
    CardsPlayed,
    CardsSwapped,
    EndAgreed,
    Event,
    GameEnded,
    PilePickedUp,
    SeatReady,
    StockFailed,
    TableLaid,
    TurnPassed,
    Zone,
)
from service.domain.evolve import evolve, fold
from service.domain.game import Game
from service.replay.sentences import Value, sentence
from service.rulesets.catalogue import read_ruleset
from service.shx.chain import head
from service.shx.event_shapes import ACTIONS, EXCHANGE, LEAVING, Role, types_of

_T = TypeVar("_T")


class MoveKind(StrEnum):
    """The part of a game that a move belongs to."""

    SETUP = "setup"  # creation, entropy, the deck
    DEAL = "deal"  # the deal, and each throw after it
    EXCHANGE = "exchange"
    PLAY = "play"
    FORFEIT = "forfeit"
    LEAVING = "leaving"  # a person's word on the end of the hand
    ABORT = "abort"


class RecordedMove(Struct, frozen=True, kw_only=True):
    """The events `first` to `last` of a log: one action of a seat, or one step of the server."""

    first: int
    last: int
    kind: MoveKind
    seat: Seat | None
    timed_out: bool
    command: Move | None = None  # the move as a player would request it; None for other steps

    @property
    def action(self) -> int:
        """Return the seq of the action: the first event, or the one after `turn_timed_out`."""
        return min(self.first + self.timed_out, self.last)

    def __contains__(self, seq: int) -> bool:
        """Return whether an event belongs to the move."""
        return self.first <= seq <= self.last


class NotAMove(ValueError):
    """An event begins no move, or a move has no end; `seq` is that of the event at fault."""

    def __init__(self, seq: int, code: str, **values: Value) -> None:
        super().__init__(code)
        self.seq = seq
        self.code = code
        self.values = values


_SETUP: Final = types_of(Role.SET_UP, Role.ENTROPY)
_DEAL: Final = types_of(Role.DEAL)

_ENDING: Final = ("game_ended", "game_sealed")
_TAILS: Final = {
    "seat_ready": ("play_started",),
    "cards_played": ("cards_drawn", "pile_burned", "seat_out", *_ENDING),
    "pile_picked_up": _ENDING,
    "blind_failed": _ENDING,
    "stock_failed": _ENDING,
    "turn_passed": _ENDING,
}
_FOLLOWING: Final = frozenset(kind for tail in _TAILS.values() for kind in tail)
_ENDED_BY: Final = {"end_agreed": "agreed", "absence_claimed": "left"}
"""The cause of the abort that belongs to the move of an event with which people end a hand."""
"""The types of events that only follow from an action."""


def moves_of(events: Sequence[Any]) -> tuple[tuple[RecordedMove, ...], NotAMove | None]:
    """
    Return the moves before the first event that belongs to none, and the fault of that event.

    The fault is None if every event belongs to a move.

    `events` are objects of SHX/1 with a type and data (SHX/1, section 2).

    >>> events = [
    ...     {"type": "cards_played", "data": {"seat": 1}},
    ...     {"type": "pile_burned", "data": {"seat": 1}},
    ...     {"type": "pile_burned", "data": {"seat": 1}},
    ... ]
    >>> moves, fault = moves_of(events)
    >>> [(move.first, move.last, move.seat) for move in moves]
    [(0, 1, 1)]
    >>> fault
    NotAMove('order.begins_none')
    """
    moves: list[RecordedMove] = []
    at = 0
    while at < len(events):
        try:
            move = _move(events, at)
        except NotAMove as fault:
            return tuple(moves), fault
        moves.append(move)
        at = move.last + 1
    return tuple(moves), None


def every_move(events: Sequence[Any]) -> Iterator[RecordedMove]:
    """
    Yield moves that cover every event of a log, also of one that breaks the order of events.

    An event that can only follow from an action belongs to the move before it. Any other
    event that is not part of a move is one by itself; so is a forfeit without a seal.
    """
    waiting: RecordedMove | None = None
    at = 0
    while at < len(events):
        try:
            move = _move(events, at)
        except NotAMove:
            type_, data = events[at]["type"], events[at]["data"]
            forfeit = type_ == "game_ended" and data["reason"] == "forfeit"
            if waiting is not None and type_ in _FOLLOWING and not forfeit:
                waiting = replace(waiting, last=at)
                at += 1
                continue
            move = RecordedMove(
                first=at,
                last=at,
                kind=_kind(type_, forfeit=forfeit),
                seat=data["shithead"] if forfeit else data.get("seat"),
                timed_out=type_ == "turn_timed_out",
            )
        if waiting is not None:
            yield waiting
        waiting, at = move, move.last + 1
    if waiting is not None:
        yield waiting


def _kind(type_: str, *, forfeit: bool) -> MoveKind:
    """Return the kind of a move that consists of one event."""
    if forfeit:
        return MoveKind.FORFEIT
    return MoveKind.EXCHANGE if type_ in EXCHANGE else MoveKind.PLAY


def move_around(lines: Sequence[bytes], seq: int) -> RecordedMove:
    """
    Return the move or step that contains the event `seq`, read from a log's stored lines.

    Only the events around it are read: a log may have 100,000.

    Raises LookupError if the log has no such event.
    """
    if not 0 <= seq < len(lines):
        raise LookupError(f"there is no event {seq}")
    action = seq
    while action > 0 and orjson.loads(lines[action])["type"] in _FOLLOWING:
        action -= 1
    start = max(0, action - _BEFORE_THE_LAST_ACTION)
    end = seq + _LONGEST
    while end < len(lines) and orjson.loads(lines[end])["type"] in _FOLLOWING:
        end += 1
    events = [orjson.loads(line) for line in lines[start:end]]
    move = next(move for move in every_move(events) if start + move.last >= seq)
    seat = None if move.kind in (MoveKind.DEAL, MoveKind.ABORT) else move.seat
    return replace(move, first=start + move.first, last=start + move.last, seat=seat)


_BEFORE_THE_LAST_ACTION: Final = 2
"""The most events of a move before its last action: `turn_timed_out` and `table_laid`."""

_LONGEST: Final = 7
"""The most events of a move: a time-out, a play, and all that may follow from it."""


def move_behind(event: Event) -> Move | None:
    """Return the move that led to an event; None for an event that only follows from another."""
    match event:
        case CardsPlayed(zone=Zone.DOWN, slot=slot) if slot is not None:
            return PlayBlind(seat=event.seat, slot=slot)
        case CardsPlayed(zone=Zone.STOCK) | StockFailed():
            return TryStock(seat=event.seat)
        case CardsPlayed():
            return Play(seat=event.seat, cards=event.cards)
        case PilePickedUp():
            return PickUp(seat=event.seat, along=event.along)
        case BlindFailed():
            return PlayBlind(seat=event.seat, slot=event.slot)
        case TurnPassed():
            return Pass(seat=event.seat)
        case CardsSwapped():
            return Swap(seat=event.seat, up=event.up, hand=event.hand)
        case TableLaid():
            return Lay(seat=event.seat, stacks=event.stacks)
        case SeatReady():
            return Ready(seat=event.seat)
        case _:
            return _leave_behind(event)


def _leave_behind(event: Event) -> Leave | None:
    match event:
        case GameEnded(shithead=seat, reason="forfeit") if seat is not None:
            return Forfeit(seat=seat)
        case EndAgreed(seat=seat):
            return AgreeEnd(seat=seat)
        case AbsenceClaimed(seat=seat, absent=absent, then=then):
            return ClaimAbsence(seat=seat, absent=absent, then=then)
        case _:
            return None


def _move(events: Sequence[Any], first: int) -> RecordedMove:
    kind = events[first]["type"]
    seat = events[first]["data"].get("seat")
    if kind in _SETUP or kind in _DEAL:
        group = MoveKind.SETUP if kind in _SETUP else MoveKind.DEAL
        return RecordedMove(first=first, last=first, kind=group, seat=seat, timed_out=False)
    if kind == "game_aborted":
        return RecordedMove(
            first=first, last=first, kind=MoveKind.ABORT, seat=seat, timed_out=False
        )
    if kind == "game_ended":
        return _forfeit(events, first)
    if kind in LEAVING:
        return _leaving(events, first)
    timed_out = kind == "turn_timed_out"
    action = first + timed_out
    if action >= len(events) or events[action]["type"] not in ACTIONS:
        raise NotAMove(first, "order.begins_none")
    if timed_out and events[action]["data"]["seat"] != seat:
        raise NotAMove(action, "order.timed_out", seat=seat)
    last = _last(events, action, timed_out=timed_out)
    group = MoveKind.EXCHANGE if events[action]["type"] in EXCHANGE else MoveKind.PLAY
    return RecordedMove(first=first, last=last, kind=group, seat=seat, timed_out=timed_out)


def _forfeit(events: Sequence[Any], first: int) -> RecordedMove:
    data = events[first]["data"]
    if data["reason"] != "forfeit":
        raise NotAMove(first, "order.begins_none")
    last = _tail(events, first, ("game_sealed",))
    if last == first:
        raise NotAMove(first, "order.incomplete")
    return RecordedMove(
        first=first, last=last, kind=MoveKind.FORFEIT, seat=data["shithead"], timed_out=False
    )


def _leaving(events: Sequence[Any], first: int) -> RecordedMove:
    event, following = events[first], events[first + 1 : first + 2]
    ends = bool(following) and following[0]["type"] == "game_aborted"
    if ends:
        ends = following[0]["data"]["cause"] == _ENDED_BY[event["type"]]
    seat = event["data"]["seat"]
    return RecordedMove(
        first=first, last=first + ends, kind=MoveKind.LEAVING, seat=seat, timed_out=False
    )


def _last(events: Sequence[Any], action: int, *, timed_out: bool) -> int:
    """Return the seq of the last event of a move."""
    kind, seat = events[action]["type"], events[action]["data"]["seat"]
    following = events[action + 1 : action + 2]
    if timed_out and kind == "table_laid" and following:
        # A silent seat's cards are laid and it is made ready in one move.
        made_ready = following[0]["type"] == "seat_ready"
        if made_ready and following[0]["data"]["seat"] == seat:
            return _tail(events, action + 1, _TAILS["seat_ready"])
    last = _tail(events, action, _TAILS.get(kind, ()))
    if events[last]["type"] == "game_ended":
        raise NotAMove(last, "order.incomplete")
    return last


def _tail(events: Sequence[Any], at: int, allowed: tuple[str, ...]) -> int:
    """Return the last seq after `at` of events of these types, each at most once and in order."""
    for kind in allowed:
        following = events[at + 1] if at + 1 < len(events) else None
        if following is None or following["type"] != kind:
            continue
        if kind == "game_ended" and following["data"]["reason"] == "forfeit":
            break
        if kind == "game_sealed" and events[at]["type"] != "game_ended":
            break
        at += 1
    return at


class Known(StrEnum):
    """The basis on which the game after an event is known."""

    DECK = "deck"  # the events and the deck, as far as the deck was supplied
    EVENTS = "events"  # the events alone: hidden cards are not known
    NOTHING = "nothing"  # unknown: the last game before the contradiction is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An event, the game after it, and the basis on which that game is known."""

    event: Event
    game: Game
    known: Known


class Contradiction(ValueError):
    """An event moves a card, or names a seat, that the game before it does not have."""


def next_game(game: Game, event: Event) -> Game:
    """
    Return `game` after `event`.

    Raises Contradiction if the game does not have the cards or seats of the event.
    """
    try:
        return evolve(game, event)
    except (ValueError, LookupError, TypeError) as error:
        raise Contradiction("the event names an absent card or seat") from error


def unknown_from(seq: int, known: Known) -> str:
    """
    Return a sentence about the cards that are unknown from the event `seq` on, and why.

    >>> print(unknown_from(17, Known.NOTHING))
    From seq 17 on the places of the cards are not known: the event names an absent card or \
seat. \
The sentences after it repeat what each event states.
    """
    code = "unknown.cards" if known is Known.EVENTS else "unknown.places"
    return sentence(code, {"at": seq})


def steps_of(events: Iterable[Event], deck: tuple[Card, ...] | None = None) -> Iterator[Step]:
    """
    Yield every event with the game after it; for a valid log, the same games as folding it.

    Events state outcomes. If the deck contradicts an event, the game goes on without the
    deck (SHX/1, section 2). If even that is impossible, the game stays as it was.
    """
    past: list[Event] = []
    known, game = Known.DECK, None
    for event in events:
        past.append(event)
        if game is None:
            game = fold(past, deck)
        elif known is Known.NOTHING:
            game = _unchanged(game)
        else:
            game, known = _next(game, known, past)
        yield Step(event=event, game=game, known=known)


def _next(game: Game, known: Known, past: list[Event]) -> tuple[Game, Known]:
    try:
        return next_game(game, past[-1]), known
    except Contradiction:
        if known is Known.DECK:
            try:
                return _without_deck(past), Known.EVENTS
            except Contradiction:
                pass
        return _unchanged(game), Known.NOTHING


def _without_deck(past: list[Event]) -> Game:
    game = fold(past[:1])
    for event in past[1:]:
        game = next_game(game, event)
    return game


def _unchanged(game: Game) -> Game:
    """Return a game that an event could not change, at the version after the event."""
    return replace(game, version=game.version + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEvent:
    """One event of a log, with the stored envelope around it."""

    seq: int
    at: str
    by: Seat | None
    type: str
    event: Event
    fields: Mapping[str, Any] = field(repr=False)  # the whole object, as stored
    line: bytes = field(repr=False)

    @property
    def version(self) -> int:
        """Return the version of the game after this event."""
        return self.seq + 1

    @property
    def head(self) -> str:
        """Return the head after this event, in hex."""
        return head(self.line).hex()


def decode_log(lines: Iterable[bytes]) -> tuple[RecordedEvent, ...]:
    """
    Return the events of a log from its stored lines.

    The lines must be the service's own, which it checked when it wrote them. Lines from
    elsewhere go through `service.shx.chain` and `service.verify`.
    """
    return tuple(decode_line(line) for line in lines)


def decode_line(line: bytes) -> RecordedEvent:
    """Return the event of one stored line."""
    fields = orjson.loads(line)
    return RecordedEvent(
        seq=fields["seq"],
        at=fields["at"],
        by=fields["by"],
        type=fields["type"],
        event=event_of(fields["type"], fields["data"], read_ruleset),
        fields=fields,
        line=line,
    )


def sealed_deck(log: Sequence[RecordedEvent]) -> tuple[Card, ...] | None:
    """Return the deck that the last event publishes; None before the seal, or without a deal."""
    if not log or log[-1].type not in ("game_sealed", "game_aborted"):
        return None
    deck = log[-1].fields["data"]["deck"]
    return None if deck is None else tuple(Card(code) for code in deck)


class History:
    """
    The events of a log, the game after each event, and the moves.

    `deck` has the cards that the viewer may know and HIDDEN elsewhere; None hides all of
    them. Before the seal every answer to a viewer is made from such a deck, so it cannot
    reveal other cards. `cites` are the statements of a custom ruleset, which no log pins.
    `known` is the basis of each game: in a valid log it is the deck throughout.
    """

    def __init__(
        self,
        log: Sequence[RecordedEvent],
        deck: tuple[Card, ...] | None = None,
        *,
        cites: Mapping[str, str] | None = None,
    ) -> None:
        self.log = tuple(log)
        self.deck = deck
        steps = tuple(steps_of((record.event for record in log), deck))
        self.games = tuple(_citing((step.game for step in steps), cites))
        self.known = tuple(step.known for step in steps)
        self.cites = cites
        self._moves_before: tuple[RecordedMove, ...] = ()  # already read in a shorter history
        self.carried: dict[Hashable, Any] = {}  # results that stay valid in longer histories
        self._cached: dict[Hashable, Any] = {}

    def extended(self, more: Sequence[RecordedEvent], deck: tuple[Card, ...] | None) -> History:
        """
        Return the history with further events, for which more of the deck may be known.

        The earlier games keep the deck as it was known then: each card that a seat saw by an
        event was already known at that event.
        """
        if self.known[-1] is not Known.DECK:
            return History((*self.log, *more), deck, cites=self.cites)
        games, game = [], self.games[-1] if deck is None else replace(self.games[-1], deck=deck)
        try:
            for record in more:
                game = next_game(game, record.event)
                games.append(game)
        except Contradiction:
            return History((*self.log, *more), deck, cites=self.cites)
        longer = History((), deck, cites=self.cites)
        longer.log = (*self.log, *more)
        longer.games = (*self.games, *games)
        longer.known = (*self.known, *(Known.DECK for _ in more))
        longer.carried = {**self.carried}
        longer._moves_before = self.moves[:-1] if "moves" in self.__dict__ else self._moves_before
        return longer

    def cached(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the result of `make`, computed once for this history and stored under `key`."""
        if key not in self._cached:
            self._cached[key] = make()
        return cast("_T", self._cached[key])

    def is_cached(self, key: Hashable) -> bool:
        """Return whether a result is stored under `key`."""
        return key in self._cached

    @property
    def end(self) -> int:
        """Return the seq of the last event."""
        return len(self.log) - 1

    def unknown(self, seq: int) -> str | None:
        """Return why cards are unknown after an event; None if the log is consistent up to it."""
        known = self.known[seq]
        return None if known is Known.DECK else unknown_from(self.known.index(known), known)

    @cached_property
    def moves(self) -> tuple[RecordedMove, ...]:
        """Return the moves and the server's steps in order; together they cover every event."""
        start = self._moves_before[-1].last + 1 if self._moves_before else 0
        later = every_move([record.fields for record in self.log[start:]])
        return (*self._moves_before, *(self._with_command(move, start) for move in later))

    def move_at(self, seq: int) -> RecordedMove:
        """
        Return the move or step that an event belongs to.

        Raises LookupError if the log has no such event.
        """
        return self.moves[self._number(seq)]

    def moves_before(self, seq: int) -> Iterator[RecordedMove]:
        """
        Yield the moves and steps before the move of an event, the latest first.

        Raises LookupError if the log has no such event.
        """
        for number in range(self._number(seq) - 1, -1, -1):
            yield self.moves[number]

    def _with_command(self, move: RecordedMove, start: int) -> RecordedMove:
        """Return a move counted from `start` with its place in this log, and its command."""
        command = move_behind(self.log[start + move.action].event)
        seat = None if move.kind is MoveKind.DEAL else move.seat
        return replace(
            move,
            first=start + move.first,
            last=start + move.last,
            seat=seat if command is None else command.seat,
            command=command,
        )

    def _number(self, seq: int) -> int:
        """Return the index in `moves` of the move or step that an event belongs to."""
        if not 0 <= seq <= self.end:
            raise LookupError(f"there is no event {seq}")
        return bisect_right(self.moves, seq, key=lambda move: move.first) - 1


def _citing(games: Iterable[Game], cites: Mapping[str, str] | None) -> Iterator[Game]:
    """Yield games with the statements that their settings rest on, if there are any."""
    ruleset = None
    for game in games:
        if cites is not None:
            ruleset = ruleset or dataclasses.replace(game.ruleset, cites=cites)
        yield game if ruleset is None else replace(game, ruleset=ruleset)
