"""Deals the next hand of a table."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
from msgspec.structs import replace

from schemas.challenges import ChallengeStatus
from schemas.events import recorded_clock
from service.application.games.commits import new_game_summary, outbox_rows
from service.application.games.entry import GameEntry
from service.application.games.record import GAMES, GameRecord, load, shuffled, write
from service.application.games.schedule import next_wake
from service.application.ports import World
from service.application.tables.record import TABLES, TableRecord, table_summary
from service.domain.deal import deal
from service.domain.events import DeckCommitted, Entropy
from service.domain.game import EntropyState
from service.domain.ruleset import deck_of
from service.domain.table import HandDealt, SeatKind, Table, TableSeat
from service.keys import Keys
from service.rulesets.catalogue import read_ruleset
from service.runtime.version import VERSION
from service.shx.canonical import canonical, format_time, ruleset_hash
from service.shx.chain import encode_event, genesis
from service.shx.shuffle import server_commit
from service.store.events import Commit, SealedSecret, StreamAppend
from service.store.summaries import NewTableSummary


class DealtHand:
    """A new hand, written in the same commit as its table's event."""

    def __init__(
        self,
        record: GameRecord,
        lines: tuple[bytes, ...],
        table: TableRecord,
        *,
        invite_hash: bytes | None,
    ) -> None:
        self.record = record
        self.lines = lines
        conditions = table.table.conditions
        self.events = [
            HandDealt(game=str(record.identity), hand=record.game.setup.hand),
        ]
        self.entry = GameEntry(
            record=record,
            table=table.identity,
            host=UUID(table.table.host),
            public=conditions.public,
            invite_hash=invite_hash,
            window_seconds=conditions.window_seconds,
            players=tuple(UUID(seat.player) if seat.player else None for seat in table.table.seats),
            returned_seats=frozenset(),
        )

    def added_to(self, commit: Commit, table: TableRecord, keyring: Keys) -> Commit:
        """
        Return the commit with the hand's stream, sealed seed and outbox rows added.

        Raises ValueError if the record has no seed.
        """
        record, seed = self.record, self.record.seed
        if seed is None:
            raise ValueError("the record of a new hand has no seed")
        wake = next_wake(record, window_seconds=self.entry.window_seconds, back=frozenset())
        key_id, ciphertext = keyring.seal(seed, record.identity.bytes)
        summary = new_game_summary(record, wake, table)
        append = GAMES.append(record, self.lines, expected=0, summary=summary)
        return replace(
            commit,
            appends=(*commit.appends, append),
            secret=SealedSecret(game=record.identity, key_id=key_id, ciphertext=ciphertext),
            outbox=(*commit.outbox, *outbox_rows(record, since=0)),
        )


def table_append(
    record: TableRecord,
    lines: tuple[bytes, ...],
    *,
    expected: int,
    summary: NewTableSummary | None = None,
    ends: ChallengeStatus | None = None,
) -> StreamAppend:
    """
    Return the append of lines to a table's stream, with the columns of its row.

    With `ends` the open challenge for which the table was opened ends so.
    """
    columns = summary or table_summary(record)
    if ends is not None:
        columns["challenge_end"] = ends.value
    return TABLES.append(record, lines, expected=expected, summary=columns)


ENGINE = {"name": "shithead", "version": VERSION}


def new_hand(
    table_id: UUID, table: Table, world: World, *, not_before: str = ""
) -> tuple[GameRecord, tuple[bytes, ...]]:
    """
    Return the next hand of a table, dealt at once if no seat contributes entropy.

    Its time is at least `not_before`, the time of the table's last event: otherwise, after a
    clock was set back, the hand could begin before the end of the previous hand.
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
    """
    Return the record after the deal, and the lines of the deal.

    While entropy of a seat is missing, the record is unchanged and there are no lines.

    Raises ValueError if the record has no seed.
    """
    waiting = (EntropyState.WAITING, EntropyState.COMMITTED)
    if any(seat.entropy in waiting for seat in record.game.seats):
        return record, ()
    shuffle = shuffled(record).shuffle
    if shuffle is None:
        raise ValueError("the deck cannot be fixed without the seed")
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
        "clock": recorded_clock(conditions.clock),
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
