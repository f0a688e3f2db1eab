"""Check `signatures`: seats with keys signed their moves, each for its place in the game."""

from __future__ import annotations

from base64 import b64decode
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from service.replay.history import MoveKind, RecordedMove
from service.replay.sentences import Sentence
from service.shx.curve import is_weak, key_fault
from service.shx.event_shapes import ACTIONS, EXCHANGE
from service.shx.keys import KeyChange, key_follows
from service.shx.moves import intent_is_signed
from service.verify.finding import Answer, Failed, Position, not_applicable
from service.verify.log import Log

Event = Mapping[str, Any]

OTHER_MOVE: Final = "signatures.move"
"""The code of a move that is another one than the signed one."""


def check_signatures(
    log: Log, outside_keys: Mapping[int, str], changes: Sequence[KeyChange], position: Position
) -> Answer:
    """
    Check that every move of a seat with a key is signed, `seen` is right, and no nonce repeats.

    `outside_keys` are keys of seats from outside the log: each must be the pinned key of the seat,
    or lead to it by signed `changes`. The text of the answer lists the seats that gave up or left
    without a signature of their own.

    Raises Unanswered if no seat has a key.
    """
    position.seq = 0
    keys = pinned_keys(log)
    for seat, key in sorted(keys.items()):
        if is_weak(b64decode(key)):
            position.note(0, "signatures.weak", seat=seat)
        elif fault := key_fault(b64decode(key)):
            position.note(0, "signatures.no_key", seat=seat, detail=fault)
    for seat, key in sorted(outside_keys.items()):
        if seat not in keys or not is_key_of_seat(
            log.created["table"], seat, key, keys[seat], changes
        ):
            position.note(0, "signatures.other_key", seat=seat)
    nonces: set[str] = set()
    actions, collecting = _Actions(log), position.collecting_failures()
    for move in log.moves:  # all of them: later signatures show that an event was inserted
        for seq in range(move.first, move.last + 1):
            position.seq = seq
            with collecting:
                _check_auth(log, move, seq, keys, nonces, actions)
    departures = tuple(_departures(log))
    if not keys:
        raise not_applicable("open.no_keys", notes=departures)
    return Answer(notes=departures)


def pinned_keys(log: Log) -> dict[int, str]:
    """Return the keys that `game_created` pins, by seat."""
    setups = enumerate(log.created["seats"])
    return {seat: setup["key"] for seat, setup in setups if setup["key"] is not None}


def is_key_of_seat(table: str, seat: int, old: str, new: str, changes: Sequence[KeyChange]) -> bool:
    """Return whether a seat's key is the old one, or follows from it by signed changes."""
    return key_follows(b64decode(old), b64decode(new), changes, table=UUID(table), seat=seat)


def unproven(log: Log) -> list[Sentence]:
    """Return the moves made after time-outs, and the unsigned ends: see `_departures`."""
    timed_out = [move for move in log.grouped[0] if move.timed_out]
    made = [_unsigned("unsigned.timed_out", move) for move in timed_out]
    return [*made, *_departures(log)]


def _unsigned(code: str, move: RecordedMove) -> Sentence:
    return Sentence(code=code, values={"at": move.first, "seat": move.seat})


def _departures(log: Log) -> Iterator[Sentence]:
    """
    Yield the seats that gave up, agreed to end or left without a signature of their own.

    An agreement counts if it ended the hand; one that was taken back, or stood alone, did nothing.
    """
    keys, agreements = pinned_keys(log), _agreements(log)
    for move in log.grouped[0]:
        if move.kind is MoveKind.FORFEIT and move.seat not in keys:
            yield _unsigned("unsigned.forfeit", move)
        elif move.kind is MoveKind.LEAVING:
            event = log.events[move.first]
            claimed = event["type"] == "absence_claimed"
            if move.seat not in keys and (claimed or move.first in agreements):
                yield _unsigned("unsigned.claimed" if claimed else "unsigned.agreed", move)
            if claimed:
                values = {"at": move.first, "seat": event["data"]["absent"]}
                yield Sentence(code="unsigned.absent", values=values)
        elif move.kind is MoveKind.ABORT and log.events[move.first]["data"]["cause"] == "left":
            yield _unsigned("unsigned.left", move)


def _agreements(log: Log) -> set[int]:
    """Return the events of the agreements that ended the hand, the last one of each seat."""
    last = {e["data"]["seat"]: e["seq"] for e in log.events if e["type"] == "end_agreed"}
    aborted = [e["data"]["cause"] for e in log.events if e["type"] == "game_aborted"]
    return set(last.values()) if "agreed" in aborted else set()


def signers(log: Log) -> set[int]:
    """
    Return the seats that signed a move of this hand for which they had seen the deal.

    A move names the head that its seat had seen, so even a `ready` binds deck and deal. A
    signature over an earlier head is valid with any deck, so it does not count.
    """
    dealt = next((e["seq"] for e in log.events if e["type"] == "cards_dealt"), log.count)
    return {
        move.seat
        for move in log.grouped[0]
        if move.seat is not None
        and _is_made(move)
        and "auth" in (event := log.events[move.first])
        and event["auth"]["intent"]["seen"]["seq"] >= dealt
    }


def moves_after_time_outs(log: Log) -> dict[int, int]:
    """Return the number of moves made for each human seat after its time-outs, if there are any."""
    humans = {s for s, setup in enumerate(log.created["seats"]) if setup["kind"] == "human"}
    seats = (move.seat for move in log.grouped[0] if move.timed_out)
    return dict(sorted(Counter(seat for seat in seats if seat in humans).items()))


class _Actions:
    """
    The actions of the seats; finds the first action that a seat had not seen.

    Events are identified by their stated `seq`, which in a log with a gap is not their place.
    """

    def __init__(self, log: Log) -> None:
        self.log = log

    @cached_property
    def places(self) -> Mapping[int, list[int]]:
        """Return the places of the events that state each seq."""
        places: dict[int, list[int]] = {}
        for place, event in enumerate(self.log.events):
            places.setdefault(event["seq"], []).append(place)
        return places

    @cached_property
    def all(self) -> _SeqIndex:
        """Return all actions."""
        actions = _SeqIndex()
        for place, event in enumerate(self.log.events):
            if event["type"] in ACTIONS:
                actions.add(place, event["seq"])
        return actions

    @cached_property
    def own(self) -> Mapping[int, _SeqIndex]:
        """Return the actions of each seat."""
        return self._by_seat(ACTIONS)

    @cached_property
    def exchanges(self) -> Mapping[int, _SeqIndex]:
        """Return the actions of each seat in the exchange phase."""
        return self._by_seat(EXCHANGE)

    def _by_seat(self, kinds: frozenset[str]) -> Mapping[int, _SeqIndex]:
        found: dict[int, _SeqIndex] = {}
        for place, event in enumerate(self.log.events):
            if event["type"] in kinds:
                own = found.setdefault(event["data"]["seat"], _SeqIndex())
                own.add(place, event["seq"])
        return found

    def place(self, seq: int, before: int) -> int | None:
        """Return the place of the last event before a place that states `seq`, if there is one."""
        places = self.places.get(seq, [])
        at = bisect_left(places, before)
        return places[at - 1] if at else None

    def between(self, seen: int, move: RecordedMove) -> int | None:
        """Return the first action after `seen` that the seat must have seen before its move."""
        if move.kind is MoveKind.FORFEIT or move.seat is None:
            return None
        match move.kind:
            case MoveKind.EXCHANGE:
                actions = self.exchanges.get(move.seat, _SeqIndex())
            case MoveKind.LEAVING:
                actions = self.own.get(move.seat, _SeqIndex())
            case _:
                actions = self.all
        missed = actions.first_after(seen)
        return missed if missed is not None and missed < move.first else None


class _SeqIndex:
    """Places of events in ascending order, each with the greatest `seq` stated so far."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.greatest: list[int] = []

    def add(self, place: int, seq: int) -> None:
        self.places.append(place)
        self.greatest.append(max(seq, self.greatest[-1]) if self.greatest else seq)

    def first_after(self, seq: int) -> int | None:
        """Return the first place of an event that states a greater `seq`."""
        at = bisect_right(self.greatest, seq)
        return self.places[at] if at < len(self.places) else None


def _check_auth(
    log: Log,
    move: RecordedMove,
    seq: int,
    keys: Mapping[int, str],
    nonces: set[str],
    actions: _Actions,
) -> None:
    event = log.events[seq]
    key = keys.get(-1 if move.seat is None else move.seat)
    due = key is not None and seq == move.first and _is_made(move)
    auth = event.get("auth")
    if auth is None:
        if due:
            raise Failed(seq, "signatures.unsigned", seat=move.seat)
        return
    if not due or key is None:
        raise Failed(seq, "signatures.nobodys")
    intent = auth["intent"]
    if intent["game"] != str(log.game) or intent["seat"] != move.seat:
        raise Failed(seq, "signatures.other")
    # Before the content of the intent is judged: with a forged signature it proves nothing.
    if not intent_is_signed(b64decode(key), auth):
        raise Failed(seq, "signatures.forged", seat=move.seat)
    if intent["nonce"] in nonces:
        raise Failed(seq, "signatures.nonce", seat=move.seat)
    nonces.add(intent["nonce"])
    if not _same_move(intent["move"], event):
        raise Failed(seq, OTHER_MOVE, seat=move.seat)
    _check_seen(log, move, intent["seen"], actions)


def _is_made(move: RecordedMove) -> bool:
    """Return whether the seat made a move itself, so that its key must sign it."""
    return move.kind in _MADE and not move.timed_out


_MADE: Final = (MoveKind.EXCHANGE, MoveKind.PLAY, MoveKind.FORFEIT, MoveKind.LEAVING)


def _check_seen(log: Log, move: RecordedMove, seen: Mapping[str, Any], actions: _Actions) -> None:
    """Check that no action lies between the seen event and the move (SHX/1, section 5)."""
    place = actions.place(seen["seq"], move.first)
    if place is None or log.heads[place].hex() != seen["head"]:
        raise Failed(move.first, "signatures.seen", seat=move.seat)
    missed = actions.between(seen["seq"], move)
    if missed is not None:
        raise Failed(move.first, "signatures.stale", seat=move.seat, between=missed)


def _same_move(move: Mapping[str, Any], event: Event) -> bool:
    """Return whether an event records a move; plays and pick-ups may list cards in any order."""
    data, kind = event["data"], event["type"]
    match move["type"]:
        case "play":
            cards = sorted(move["cards"]) == sorted(data.get("cards", ()))
            in_sight = kind == "cards_played" and data["zone"] in ("hand", "up")
            return bool(in_sight and cards)
        case "play_blind":
            blind = kind == "blind_failed" or (kind == "cards_played" and data["zone"] == "down")
            return bool(blind and data["slot"] == move["slot"])
        case "try_stock":
            tried = kind == "cards_played" and data["zone"] == "stock"
            return bool(kind == "stock_failed" or tried)
        case "pick_up":
            along = kind == "pile_picked_up" and sorted(data["with"]) == sorted(move["with"])
            return bool(along)
        case "swap":
            pairs = data.get("up") == move["up"] and data.get("hand") == move["hand"]
            return bool(kind == "cards_swapped" and pairs)
        case "claim_absence":
            claim = kind == "absence_claimed" and data["absent"] == move["absent"]
            return bool(claim and data["then"] == move["then"])
        case "lay":
            return bool(kind == "table_laid" and data["stacks"] == move["stacks"])
        case other:
            return bool(kind == _PLAIN.get(other))


_PLAIN = {
    "pass": "turn_passed",
    "ready": "seat_ready",
    "forfeit": "game_ended",
    "agree_end": "end_agreed",
}
"""The types of the events of moves that have no further fields."""
