"""Repository of the data of disputes and statistics that is not in event streams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final
from uuid import UUID

import orjson

from service.domain.dispute_rules import MAX_JUDGED
from service.store.database import Repository, as_json, queries
from service.store.summaries import OLDEST, START, Cursor, Page

STATISTICS_TOPIC = "statistics"
"""Outbox topic of finished games whose data the statistics do not have yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeRow:
    """A dispute in a list."""

    id: UUID
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """The subject of a dispute: a charge about a move, or of collusion of two players."""

    charge: str
    move: int | None  # seq of the first event of the move
    accused: UUID | None = None  # collusion alone, as `partner`
    partner: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementText:
    """A statement of a side of a dispute, with its commitment's salt; both None once erased."""

    text: str | None
    salt: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """The record of a referee, from public games alone."""

    registered_at: datetime
    hands: int  # finished at public tables
    judged: int  # disputes with a ruling in which the vote counted, at most MAX_JUDGED


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFindings:
    """Encrypted findings about a game at `version`."""

    version: int
    key_id: str
    sealed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedVote:
    """A referee's vote and the reason for it, encrypted by the server; no reason once erased."""

    key_id: str
    sealed: bytes
    reason_key_id: str | None = None
    reason: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accusations:
    """The counts of a player's disputes."""

    made: int
    upheld: int  # by a final ruling
    running: int
    new: int  # opened after the time in the query
    cad: bool  # a final ruling calls the player a cad
    known: int  # of those made: about public games, or with a final ruling


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledDeck:
    """The deck of a game that is over."""

    game: UUID
    ruleset: str
    aborted: bool
    cards: tuple[str, ...]
    dealt: int  # cards that left the deck in the deal
    to_people: tuple[int, ...]  # positions dealt to seats of people
    ended_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindChoice:
    """A person chose one of `slots` face-down cards, `playable` of which fitted."""

    game: UUID
    seq: int
    player: UUID
    slots: int
    playable: int
    fitted: bool  # whether the chosen card was playable


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsInput:
    """The data of a finished game that statistics need."""

    game: UUID
    deck: ShuffledDeck | None  # None if the game was aborted before the deal
    choices: tuple[BlindChoice, ...]
    ended_at: datetime


class DisputeRepository(Repository):
    """Disputes, the outbox, and the data of finished games for statistics."""

    def disputes_of(
        self, game: UUID, *, cursor: Cursor | None = None, limit: int = 50
    ) -> Page[DisputeRow]:
        """Return a page of the disputes about a game, newest first."""
        after = cursor or START
        rows = self._database.fetch("disputes_of_game", game, after.at, after.id, limit + 1)
        found = [DisputeRow(id=row[0], created_at=row[1]) for row in rows]
        return Page[DisputeRow].of(found, limit)

    def list_disputes(
        self,
        *,
        viewer: UUID | None,
        invite: bytes | None = None,
        state: str | None = None,
        now: datetime,
        cursor: Cursor | None = None,
        limit: int = 50,
    ) -> Page[DisputeRow]:
        """
        Return a page of the disputes that a player or holder of an invite may see, newest first.

        `state` selects disputes that may be in that state `now`: a row has the state at the last
        event, and a period may have ended after it.
        """
        after = cursor or START
        rows = self._database.fetch(
            "list_disputes", viewer, invite, state, now, after.at, after.id, limit + 1
        )
        found = [DisputeRow(id=row[0], created_at=row[1]) for row in rows]
        return Page[DisputeRow].of(found, limit)

    def list_own_disputes(
        self,
        player: UUID,
        *,
        state: str | None = None,
        now: datetime,
        cursor: Cursor | None = None,
        limit: int = 50,
    ) -> Page[DisputeRow]:
        """Return a page of a player's disputes, as a side or referee; `state` as in the list."""
        after = cursor or START
        rows = self._database.fetch(
            "list_own_disputes", player, state, now, after.at, after.id, limit + 1
        )
        found = [DisputeRow(id=row[0], created_at=row[1]) for row in rows]
        return Page[DisputeRow].of(found, limit)

    def dispute_texts(self, dispute: UUID) -> Mapping[int, StatementText]:
        """Return the statements, by the seq of their events."""
        rows = self._database.fetch("dispute_texts", dispute)
        return {seq: StatementText(text=text, salt=salt) for seq, text, salt in rows}

    def dispute_bundle(self, dispute: UUID) -> bytes | None:
        """Return the evidence bundle of a dispute; None if none is stored."""
        rows = self._database.fetch("dispute_bundle", dispute)
        return bytes(rows[0][0]) if rows else None

    def dispute_findings(self, dispute: UUID) -> SealedFindings | None:
        """Return the newest findings of a dispute; None if none are stored."""
        for version, key_id, sealed in self._database.fetch("dispute_findings", dispute):
            return SealedFindings(version=version, key_id=key_id, sealed=sealed)
        return None

    def dispute_votes(self, dispute: UUID) -> Mapping[int, SealedVote]:
        """Return the stored votes, by the number of the referee."""
        rows = self._database.fetch("dispute_votes", dispute)
        return {
            number: SealedVote(key_id=key, sealed=sealed, reason_key_id=reason_key, reason=reason)
            for number, key, sealed, reason_key, reason in rows
        }

    def experience_of(self, players: Sequence[UUID]) -> Mapping[UUID, Experience]:
        """Return what some referees have done before; unknown players are left out."""
        rows = self._database.fetch("experience_of", list(players), MAX_JUDGED)
        return {
            player: Experience(registered_at=registered_at, hands=hands, judged=judged)
            for player, registered_at, hands, judged in rows
        }

    def due_disputes_of(self, player: UUID, *, now: datetime) -> Sequence[UUID]:
        """Return at most 20 disputes of a player, as either side, in which a period has ended."""
        return [row[0] for row in self._database.fetch("due_disputes_of", player, now)]

    def set_dispute_due(self, dispute: UUID, *, version: int, wake_at: datetime | None) -> bool:
        """Set when a dispute is due next; return False if it is no longer at `version`."""
        return bool(self._write("put_off_dispute", dispute, version, wake_at))

    def running_disputes(self, game: UUID, charged: Charged) -> Sequence[UUID]:
        """Return the disputes of a game about the same that are not final."""
        rows = self._database.fetch(
            "running_disputes",
            game,
            charged.charge,
            charged.move,
            charged.accused,
            charged.partner,
        )
        return [row[0] for row in rows]

    def withdrawn_dispute(self, game: UUID, accuser: UUID, charged: Charged) -> UUID | None:
        """Return the dispute about the same that this accuser withdrew, None without one."""
        rows = self._database.fetch(
            "withdrawn_dispute",
            game,
            accuser,
            charged.charge,
            charged.move,
            charged.accused,
            charged.partner,
        )
        return rows[0][0] if rows else None

    def disputes_of_server(self, *, limit: int) -> Sequence[UUID]:
        """Return the disputes against the server that are not final, oldest first."""
        return [row[0] for row in self._database.fetch("disputes_of_server", limit)]

    def due_disputes(self, *, now: datetime, opened_before: datetime, limit: int) -> Sequence[UUID]:
        """
        Return disputes in which a period has ended, or whose findings are missing.

        Findings are missing if there are none for a dispute opened before `opened_before`, or
        none on the whole log of a sealed game.
        """
        rows = self._database.fetch("due_disputes", now, opened_before, limit)
        return [dispute for (dispute,) in rows]

    def judges(self, player: UUID, *, game: UUID | None = None, table: UUID | None = None) -> bool:
        """Return whether a player is a referee of a dispute about a game, or a table's games."""
        name, subject = ("referee_at", table) if game is None else ("referee_of", game)
        return bool(self._database.fetch(name, subject, player)[0][0])

    def games_judged(self, referee: UUID, accused: UUID) -> Sequence[UUID]:
        """Return the games with a dispute in which this referee judges this accused player."""
        return [game for (game,) in self._database.fetch("games_judged", referee, accused)]

    def accusations(self, player: UUID, *, since: datetime) -> Accusations:
        """Return the counts of a player's disputes; those opened after `since` are new."""
        [row] = self._database.fetch("accusations_of", player, since)
        made, upheld, running, new, cad, known = row
        return Accusations(made=made, upheld=upheld, running=running, new=new, cad=cad, known=known)

    def outbox_waiting(self, *, topic: str, limit: int) -> Sequence[UUID]:
        """Return the streams of the oldest outbox rows of a topic; the rows are not removed."""
        return [stream for (stream,) in self._database.fetch("outbox_waiting", topic, limit)]

    def oldest_outbox_time(self, *, topic: str) -> datetime | None:
        """Return the time of the oldest outbox row of a topic, None if there is none."""
        rows = self._database.fetch("oldest_outbox_time", topic)
        return rows[0][0] if rows else None

    def connections_in_use(self) -> tuple[int, int]:
        """Return the number of sessions of the database server, and how many it allows."""
        [(used, most)] = self._database.fetch("connections_in_use")
        return used, most

    def cleanup_held(self) -> tuple[float, float]:
        """Return the seconds of the oldest transaction, and the bytes of WAL that slots hold."""
        [(seconds, size)] = self._database.fetch("cleanup_held")
        return seconds, size

    def query_times(self) -> dict[str, tuple[int, float]]:
        """
        Return calls and seconds of the queries that took most time, across restarts.

        By the names of `sql/queries/`, at most 50; statements of others count as `other`. It is
        empty without pg_stat_statements.
        """
        found: dict[str, tuple[int, float]] = {}
        for text, calls, seconds in self._database.fetch("query_times", MOST_QUERIES):
            name = _names_of_queries().get(_without_values(text), "other")
            before = found.get(name, (0, 0.0))
            found[name] = (before[0] + calls, before[1] + seconds)
        return found

    def keep_facts(self, facts: StatisticsInput) -> None:
        """Store the data of a game, once, and remove its row from the outbox."""
        deck = None if facts.deck is None else _json(_deck_json(facts.deck))
        choices = _json([_choice_json(c, facts.ended_at) for c in facts.choices])
        self._write("keep_facts", facts.game, deck, choices)

    def shuffled_decks(
        self,
        *,
        after: Cursor | None,
        limit: int,
        public: bool | None = None,
        before: datetime | None = None,
    ) -> Sequence[ShuffledDeck]:
        """
        Return decks of games that ended `before` a time, oldest first.

        `public` selects public games (True), private ones (False) or both (None).
        """
        last = after or OLDEST
        rows = self._database.fetch("shuffled_decks", last.at, last.id, limit, public, before)
        return [_deck(row) for row in rows]

    def blind_choices(self, player: UUID) -> Sequence[BlindChoice]:
        """Return a player's blind choices, oldest first."""
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


MOST_QUERIES: Final = 50
"""Queries of which the times are shown: those that took most of it."""


_VALUE: Final = r"'(?:[^']|'')*'|\$\d+|\b\d+(?:\.\d+)?\b|\b(?:true|false|null)\b"


@cache
def _names_of_queries() -> Mapping[str, str]:
    return {_without_values(text.decode()): name for name, text in queries().items()}


def _without_values(statement: str) -> str:
    """Return what a statement of pg_stat_statements and our query have in common."""
    text = re.sub(r"--[^\n]*", " ", statement)
    text = re.sub(_VALUE, "?", text, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", text).strip(" ;")
