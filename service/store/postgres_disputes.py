"""Data of disputes and statistics outside the streams, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import psycopg

from service.store.database import Database
from service.store.disputes import (
    Accusations,
    BlindChoice,
    DisputeRow,
    Facts,
    Found,
    SealedVote,
    ShuffledDeck,
    Words,
)
from service.store.events import StoreError
from service.store.rows import START, Cursor, Page
from service.store.summaries import as_json

FIRST = Cursor(at=datetime.min.replace(tzinfo=UTC, year=1900), id=UUID(int=0))
"""Before the oldest row."""


class PostgresDisputes:
    """The directory's part for disputes and statistics."""

    _database: Database

    def disputes_of(
        self, game: UUID, *, cursor: Cursor | None = None, limit: int = 50
    ) -> Page[DisputeRow]:
        """Return a page of the disputes about a game, newest first."""
        after = cursor or START
        rows = self._database.fetch("disputes_of_game", game, after.at, after.id, limit + 1)
        found = [DisputeRow(id=row[0], created_at=row[1]) for row in rows]
        return Page[DisputeRow].of(found, limit)

    def dispute_texts(self, dispute: UUID) -> Mapping[int, Words]:
        """Return what was said, by the seq of its event."""
        rows = self._database.fetch("dispute_texts", dispute)
        return {seq: Words(text=text, salt=salt) for seq, text, salt in rows}

    def dispute_bundle(self, dispute: UUID) -> bytes | None:
        """Return the frozen evidence."""
        rows = self._database.fetch("dispute_bundle", dispute)
        return bytes(rows[0][0]) if rows else None

    def dispute_findings(self, dispute: UUID) -> Found | None:
        """Return what the machine found last."""
        for version, key_id, sealed in self._database.fetch("dispute_findings", dispute):
            return Found(version=version, key_id=key_id, sealed=sealed)
        return None

    def dispute_votes(self, dispute: UUID) -> Mapping[int, SealedVote]:
        """Return the votes that the server keeps, by the number of the referee."""
        rows = self._database.fetch("dispute_votes", dispute)
        return {number: SealedVote(key_id=key, sealed=sealed) for number, key, sealed in rows}

    def due_disputes_of(self, player: UUID, *, now: datetime) -> Sequence[UUID]:
        """Return some disputes of a person, as accuser or accused, in which a period has ended."""
        return [row[0] for row in self._database.fetch("due_disputes_of", player, now)]

    def put_off_dispute(self, dispute: UUID, *, version: int, wake_at: datetime | None) -> bool:
        """Set when a dispute is due next; return False where it has moved on."""
        try:
            rows = self._database.change("put_off_dispute", dispute, version, wake_at)
        except psycopg.Error as error:
            raise StoreError(f"the database refused ({error.sqlstate})") from error
        return bool(rows[0][0])

    def running_disputes(self, game: UUID, move: int, charge: str) -> Sequence[UUID]:
        """Return the disputes of a game and charge that are not final and may be about a move."""
        return [row[0] for row in self._database.fetch("running_disputes", game, move, charge)]

    def disputes_of_server(self, *, limit: int) -> Sequence[UUID]:
        """Return disputes, not final, that accuse the server or perhaps a bot, oldest first."""
        return [row[0] for row in self._database.fetch("disputes_of_server", limit)]

    def due_disputes(self, *, now: datetime, opened_before: datetime, limit: int) -> Sequence[UUID]:
        """Return the disputes with something to do."""
        rows = self._database.fetch("due_disputes", now, opened_before, limit)
        return [dispute for (dispute,) in rows]

    def judges(self, player: UUID, *, game: UUID | None = None, table: UUID | None = None) -> bool:
        """Return whether a person is referee of a dispute about a game, or of a table's."""
        name, what = ("referee_at", table) if game is None else ("referee_of", game)
        return bool(self._database.fetch(name, what, player)[0][0])

    def games_judged(self, referee: UUID, accused: UUID) -> Sequence[UUID]:
        """Return the games about which a person judges an accused."""
        return [game for (game,) in self._database.fetch("games_judged", referee, accused)]

    def accusations(self, player: UUID, *, since: datetime) -> Accusations:
        """Return a person's record in disputes."""
        [row] = self._database.fetch("accusations_of", player, since)
        made, upheld, running, new, cad, known = row
        return Accusations(made=made, upheld=upheld, running=running, new=new, cad=cad, known=known)

    def outbox_waiting(self, *, topic: str, limit: int) -> Sequence[UUID]:
        """Return the streams of which something is to be told; the rows stay."""
        return [stream for (stream,) in self._database.fetch("outbox_waiting", topic, limit)]

    def outbox_since(self, *, topic: str) -> datetime | None:
        """Return since when the oldest row of a topic waits, None where there is none."""
        rows = self._database.fetch("outbox_since", topic)
        return rows[0][0] if rows else None

    def keep_facts(self, facts: Facts) -> None:
        """Keep what statistics need of a game, once, and take its row off the outbox."""
        deck = None if facts.deck is None else _json(_deck_json(facts.deck))
        choices = _json([_choice_json(c, facts.ended_at) for c in facts.choices])
        try:
            self._database.change("keep_facts", facts.game, deck, choices)
        except psycopg.Error as error:
            raise StoreError(f"the database refused ({error.sqlstate})") from error

    def shuffled_decks(
        self,
        *,
        after: Cursor | None,
        limit: int,
        public: bool | None = None,
        before: datetime | None = None,
    ) -> Sequence[ShuffledDeck]:
        """Return decks of games that are over, oldest first; of public or private ones, or all."""
        last = after or FIRST
        rows = self._database.fetch("shuffled_decks", last.at, last.id, limit, public, before)
        return [_deck(row) for row in rows]

    def blind_choices(self, player: UUID) -> Sequence[BlindChoice]:
        """Return a person's blind choices, oldest first."""
        rows = self._database.fetch("blind_choices_of", player)
        return [
            BlindChoice(game=r[0], seq=r[1], player=player, slots=r[2], playable=r[3], fitted=r[4])
            for r in rows
        ]


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _deck_json(deck: ShuffledDeck) -> dict[str, Any]:
    return {
        "ruleset_id": deck.ruleset,
        "aborted": deck.aborted,
        "deck": " ".join(deck.cards),
        "dealt": deck.dealt,
        "to_people": list(deck.to_people),
        "ended_at": as_json(deck.ended_at),
    }


def _choice_json(choice: BlindChoice, ended_at: datetime) -> dict[str, Any]:
    return {
        "seq": choice.seq,
        "player_id": str(choice.player),
        "slots": choice.slots,
        "playable": choice.playable,
        "fitted": choice.fitted,
        "ended_at": as_json(ended_at),
    }


def _deck(row: tuple[Any, ...]) -> ShuffledDeck:
    return ShuffledDeck(
        game=row[0],
        ruleset=row[1],
        aborted=row[2],
        cards=tuple(row[3].split(" ")),
        dealt=row[4],
        to_people=tuple(row[5]),
        ended_at=row[6],
    )
