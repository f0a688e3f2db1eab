"""Stored data of disputes and statistics, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from service.store.database import as_json
from service.store.disputes import (
    Accusations,
    BlindChoice,
    DisputeRow,
    SealedFindings,
    SealedVote,
    ShuffledDeck,
    StatementText,
    StatisticsInput,
)
from service.store.events import StreamKind
from service.store.summaries import START, Cursor, Page
from tests.memory.events import MemoryStore


class MemoryDisputes:
    """The directory's part for disputes and statistics, over a memory store."""

    _store: MemoryStore
    _facts: dict[UUID, StatisticsInput]

    def disputes_of(
        self, game: UUID, *, cursor: Cursor | None = None, limit: int = 50
    ) -> Page[DisputeRow]:
        after = cursor or START
        rows = [
            DisputeRow(id=dispute, created_at=_time(row["opened_at"]))
            for dispute, row in self._rows().items()
            if row["game_id"] == str(game)
        ]
        rows = [row for row in rows if (row.created_at, row.id) < (after.at, after.id)]
        rows.sort(key=lambda row: (row.created_at, row.id), reverse=True)
        return Page[DisputeRow].of(rows, limit)

    def dispute_texts(self, dispute: UUID) -> Mapping[int, StatementText]:
        texts = self._rows().get(dispute, {}).get("texts", ())
        return {t["seq"]: StatementText(text=t["words"], salt=_bytes(t["salt"])) for t in texts}

    def dispute_bundle(self, dispute: UUID) -> bytes | None:
        return _bytes(self._rows().get(dispute, {}).get("bundle"))

    def dispute_findings(self, dispute: UUID) -> SealedFindings | None:
        found = self._rows().get(dispute, {}).get("findings")
        if found is None:
            return None
        sealed = bytes.fromhex(found["sealed"].removeprefix("\\x"))
        return SealedFindings(version=found["found_at"], key_id=found["key_id"], sealed=sealed)

    def dispute_votes(self, dispute: UUID) -> Mapping[int, SealedVote]:
        votes = self._rows().get(dispute, {}).get("votes", ())
        return {
            v["referee"]: SealedVote(
                key_id=v["key_id"],
                sealed=_bytes(v["sealed"]) or b"",
                reason_key_id=v.get("reason_key_id"),
                reason=_bytes(v.get("reason")),
            )
            for v in votes
        }

    def due_disputes_of(self, player: UUID, *, now: datetime) -> Sequence[UUID]:
        return [
            dispute
            for dispute, row in self._rows().items()
            if str(player) in (row["accuser"], row["accused"])
            and row["state"] != "final"
            and row["wake_at"] is not None
            and _time(row["wake_at"]) <= now
        ]

    def set_dispute_due(self, dispute: UUID, *, version: int, wake_at: datetime | None) -> bool:
        with self._store.summaries(StreamKind.DISPUTE) as rows:
            return change_row(rows, dispute, version, {"wake_at": as_json(wake_at)})

    def running_disputes(self, game: UUID, move: int, charge: str) -> Sequence[UUID]:
        return [
            dispute
            for dispute, row in self._rows().items()
            if (row["game_id"], row["charge"]) == (str(game), charge)
            and row["state"] != "final"
            and row.get("move") in (None, move)
        ]

    def disputes_of_server(self, *, limit: int) -> Sequence[UUID]:
        rows = sorted(self._rows().items(), key=lambda item: _time(item[1]["opened_at"]))
        charges = ("wrong_deal", "altered_log")
        found = [
            dispute
            for dispute, row in rows
            if row["accused"] is None and row["charge"] in charges and row["state"] != "final"
        ]
        return found[:limit]

    def due_disputes(self, *, now: datetime, opened_before: datetime, limit: int) -> Sequence[UUID]:
        with self._store.summaries(StreamKind.GAME) as games:
            over = {str(game): row["version"] for game, row in games.items() if row.get("ended_at")}

        def due(row: Mapping[str, Any]) -> bool:
            found, wake = row.get("found_at") or 0, row.get("wake_at")
            return row["state"] != "final" and (
                (wake is not None and _time(wake) <= now)
                or (found == 0 and _time(row["opened_at"]) <= opened_before)
                or 0 < found < over.get(row["game_id"], 0)
            )

        rows = sorted(self._rows().items(), key=lambda item: _time(item[1]["opened_at"]))
        return [dispute for dispute, row in rows if due(row)][:limit]

    def judges(self, player: UUID, *, game: UUID | None = None, table: UUID | None = None) -> bool:
        if game is not None:
            games = {str(game)}
        else:
            with self._store.summaries(StreamKind.GAME) as rows:
                games = {str(g) for g, row in rows.items() if row["table_id"] == str(table)}
        disputes = self._rows().values()
        return any(row["game_id"] in games and _is_referee(row, player) for row in disputes)

    def games_judged(self, referee: UUID, accused: UUID) -> Sequence[UUID]:
        rows = self._rows().values()
        games = {
            row["game_id"]
            for row in rows
            if row["accused"] == str(accused) and _is_referee(row, referee)
        }
        return sorted(UUID(game) for game in games)

    def accusations(self, player: UUID, *, since: datetime) -> Accusations:
        with self._store.summaries(StreamKind.GAME) as games:
            public = {str(game) for game, row in games.items() if row["public"]}
        rows = list(self._rows().values())
        own = [row for row in rows if row["accuser"] == str(player)]
        final = [row for row in rows if row["state"] == "final"]
        cads = [row for row in final if row.get("verdict") == "cad"]
        upheld = [*cads, *(row for row in final if row.get("proven"))]
        ruled = [*upheld, *(row for row in final if row.get("verdict") is not None)]
        return Accusations(
            made=len(own),
            upheld=sum(row in upheld for row in own),
            running=sum(row["state"] != "final" for row in own),
            new=sum(_time(row["opened_at"]) > since for row in own),
            cad=any(row["accused"] == str(player) for row in cads),
            known=sum(row in ruled or row["game_id"] in public for row in own),
        )

    def outbox_waiting(self, *, topic: str, limit: int) -> Sequence[UUID]:
        return [row.stream for row in self._store.waiting(topic)][:limit]

    def oldest_outbox_time(self, *, topic: str) -> datetime | None:
        return self._store.waiting_since(topic)

    def connections_in_use(self) -> tuple[int, int]:
        return 0, 1

    def keep_facts(self, facts: StatisticsInput) -> None:
        self._facts.setdefault(facts.game, facts)
        self._store.take_off_outbox(facts.game, "statistics")

    def shuffled_decks(
        self,
        *,
        after: Cursor | None,
        limit: int,
        public: bool | None = None,
        before: datetime | None = None,
    ) -> Sequence[ShuffledDeck]:
        decks = [facts.deck for facts in self._facts.values() if facts.deck is not None]
        decks.sort(key=lambda deck: (deck.ended_at, deck.game))
        if after is not None:
            decks = [deck for deck in decks if (deck.ended_at, deck.game) > (after.at, after.id)]
        if before is not None:
            decks = [deck for deck in decks if deck.ended_at < before]
        if public is not None:
            with self._store.summaries(StreamKind.GAME) as rows:
                kinds = {game: row["public"] for game, row in rows.items()}
            decks = [deck for deck in decks if kinds.get(deck.game) is public]
        return decks[:limit]

    def blind_choices(self, player: UUID) -> Sequence[BlindChoice]:
        facts = sorted(self._facts.values(), key=lambda facts: (facts.ended_at, facts.game))
        return [choice for f in facts for choice in f.choices if choice.player == player]

    def forget_words(self, player: UUID) -> None:
        """Erase the statements of a person."""
        with self._store.summaries(StreamKind.DISPUTE) as rows:
            for row in rows.values():
                for text in row.get("texts", ()):
                    if text["author"] == str(player):
                        text |= {"words": None, "salt": None}
                judged = {
                    r["referee"] for r in row.get("referees", ()) if r["player_id"] == str(player)
                }
                for vote in row.get("votes", ()):
                    if vote["referee"] in judged:
                        vote |= {"reason_key_id": None, "reason": None}

    def in_disputes(self) -> set[UUID | None]:
        """Return all accusers and all present and former referees."""
        rows = self._rows().values()
        judges = {r["player_id"] for row in rows for r in row.get("referees", ())}
        return {UUID(player) for player in judges | {row["accuser"] for row in rows}}

    def _rows(self) -> dict[UUID, dict[str, Any]]:
        with self._store.summaries(StreamKind.DISPUTE) as rows:
            return {dispute: dict(row) for dispute, row in rows.items()}


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text.removeprefix("\\x"))


def _is_referee(row: Mapping[str, Any], player: UUID) -> bool:
    judges = row.get("referees", ())
    return any(r["player_id"] == str(player) and not r["recused"] for r in judges)


def change_row(
    rows: Mapping[UUID, dict[str, Any]], stream: UUID, version: int, columns: Mapping[str, Any]
) -> bool:
    """Set columns of the row of a game or dispute; return False if its version is not `version`."""
    row = rows.get(stream)
    if row is None or row["version"] != version:
        return False
    row |= columns
    return True
