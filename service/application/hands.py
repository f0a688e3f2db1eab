"""The beginning of a hand: its first event, the shared shuffle, the deal."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson

from service.application.game_record import GameRecord, load, shuffled, write
from service.application.ports import World
from service.domain.deal import deal
from service.domain.events import DeckCommitted, Entropy
from service.domain.game import EntropyState
from service.domain.ruleset import deck_of
from service.domain.table import SeatKind, Table, TableSeat
from service.record.canonical import canonical
from service.record.chain import encode_event, genesis
from service.record.hashing import ruleset_hash
from service.record.shuffle import server_commit
from service.record.times import format_time
from service.rulesets.reading import read_ruleset
from service.version import VERSION

ENGINE = {"name": "shithead", "version": VERSION}


def new_hand(
    table_id: UUID, table: Table, world: World, *, not_before: str = ""
) -> tuple[GameRecord, tuple[bytes, ...]]:
    """
    Return the next hand of a table, as far as it goes without its players.

    Where no seat contributes entropy the deck is fixed and dealt at once. It begins no
    earlier than `not_before`, the time of the table's last event: a clock that was set
    back must not make it look as if it had been dealt while the hand before was played.
    """
    identity, seed = world.identity(), world.random(32)
    at = max(format_time(world.now()), not_before)
    line = encode_event(
        game=identity,
        seq=0,
        prev=genesis(identity),
        at=at,
        by=None,
        type="game_created",
        data=_created(identity, seed, table_id, table),
    )
    record = load(identity, [line], seed=seed)
    record, lines = deal_when_ready(record, at=at)
    return record, (line, *lines)


def deal_when_ready(record: GameRecord, *, at: str) -> tuple[GameRecord, tuple[bytes, ...]]:
    """Return the record with deck and deal, once all entropy is in; unchanged before."""
    waiting = (EntropyState.WAITING, EntropyState.COMMITTED)
    if any(seat.entropy in waiting for seat in record.game.seats):
        return record, ()
    shuffle = shuffled(record).shuffle
    if shuffle is None:
        raise ValueError("a deck is fixed only by the one who holds the seed")
    cards = tuple(commitment.hex() for commitment in shuffle.commitments())
    record, first = write(record, [DeckCommitted(cards=cards)], at=at)
    seats, dealer = len(record.game.seats), record.game.dealer
    if dealer is None:
        dealer = shuffle.dealer(seats)
    record, rest = write(record, deal(record.game, dealer), at=at)
    return record, first + rest


def _created(identity: UUID, seed: bytes, table_id: UUID, table: Table) -> dict[str, Any]:
    conditions, hand = table.conditions, table.next_hand
    pinned = orjson.loads(canonical(dict(conditions.ruleset)))
    ruleset = read_ruleset(pinned, hand)
    decks, jokers, partial = deck_of(ruleset, len(table.seats))
    clock = conditions.clock
    return {
        "table": str(table_id),
        "hand": hand,
        "ruleset": pinned,
        "ruleset_hash": ruleset_hash(pinned).hex(),
        "deck": {"decks": decks, "jokers": jokers, "partial": list(partial)},
        "engine": ENGINE,
        "seats": [_seat(seat) for seat in table.seats],
        "dealer": table.next_dealer,
        "prev_game": table.last_game,
        "commit": server_commit(identity, seed).hex(),
        "clock": None
        if clock is None
        else {"turn_seconds": clock.turn_seconds, "swap_seconds": clock.swap_seconds},
        "turn_limit": conditions.turn_limit,
    }


def _seat(seat: TableSeat) -> dict[str, Any]:
    human = seat.kind is SeatKind.HUMAN
    return {
        "kind": "human" if human else "bot",
        "bot": seat.bot,
        "key": seat.key if human else None,
        "entropy": (seat.entropy if human else Entropy.NONE).value,
    }
