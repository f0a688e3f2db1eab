"""Interface to data of disputes and statistics outside the streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from service.store.rows import Cursor, DisputeRow, Page

__all__ = [
    "STATISTICS_TOPIC",
    "Accusations",
    "BlindChoice",
    "DisputeRow",
    "Disputes",
    "Facts",
    "Found",
    "SealedVote",
    "ShuffledDeck",
    "Words",
]

STATISTICS_TOPIC = "statistics"
"""Outbox rows of games that are over and not yet counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a side said, with the salt of its commitment; both None once erased."""

    text: str | None
    salt: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The machine's findings, sealed, about a game as it was at `version`."""

    version: int
    key_id: str
    sealed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedVote:
    """A vote that the server keeps for a referee, encrypted."""

    key_id: str
    sealed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Accusations:
    """A person's record in disputes."""

    made: int
    upheld: int  # by a final ruling
    running: int
    new: int  # opened after a given time
    cad: bool  # by a final ruling
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
    fitted: bool  # whether the one chosen did


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What statistics keep of a game that is over."""

    game: UUID
    deck: ShuffledDeck | None  # None where it was aborted before there was one
    choices: tuple[BlindChoice, ...]
    ended_at: datetime


class Disputes(Protocol):
    """The part of the directory that serves disputes and statistics."""

    def disputes_of(
        self, game: UUID, *, cursor: Cursor | None = None, limit: int = 50
    ) -> Page[DisputeRow]:
        """Return a page of the disputes about a game, newest first."""

    def dispute_texts(self, dispute: UUID) -> Mapping[int, Words]:
        """Return what was said, by the seq of its event."""

    def dispute_bundle(self, dispute: UUID) -> bytes | None:
        """Return the frozen evidence."""

    def dispute_findings(self, dispute: UUID) -> Found | None:
        """Return what the machine found last."""

    def dispute_votes(self, dispute: UUID) -> Mapping[int, SealedVote]:
        """Return the votes that the server keeps, by the number of the referee."""

    def due_disputes_of(self, player: UUID, *, now: datetime) -> Sequence[UUID]:
        """Return some disputes of a person, as accuser or accused, in which a period has ended."""

    def put_off_dispute(self, dispute: UUID, *, version: int, wake_at: datetime | None) -> bool:
        """Set when a dispute is due next; return False where it has moved on."""

    def running_disputes(self, game: UUID, move: int, charge: str) -> Sequence[UUID]:
        """
        Return the disputes of a game and charge that are not final and may be about a move.

        Rows of earlier releases do not say which move they are about.
        """

    def disputes_of_server(self, *, limit: int) -> Sequence[UUID]:
        """Return disputes, not final, that accuse the server or perhaps a bot, oldest first."""

    def due_disputes(self, *, now: datetime, opened_before: datetime, limit: int) -> Sequence[UUID]:
        """Return the disputes with something to do; findings are awaited until `opened_before`."""

    def judges(self, player: UUID, *, game: UUID | None = None, table: UUID | None = None) -> bool:
        """Return whether a person is referee of a dispute about a game, or of a table's."""

    def games_judged(self, referee: UUID, accused: UUID) -> Sequence[UUID]:
        """Return the games about which a person judges an accused."""

    def accusations(self, player: UUID, *, since: datetime) -> Accusations:
        """Return a person's record in disputes; those opened after `since` count as new."""

    def outbox_waiting(self, *, topic: str, limit: int) -> Sequence[UUID]:
        """Return the streams of which something is to be told; the rows stay."""

    def outbox_since(self, *, topic: str) -> datetime | None:
        """Return since when the oldest row of a topic waits, None where there is none."""

    def keep_facts(self, facts: Facts) -> None:
        """Keep what statistics need of a game, once, and take its row off the outbox."""

    def shuffled_decks(
        self,
        *,
        after: Cursor | None,
        limit: int,
        public: bool | None = None,
        before: datetime | None = None,
    ) -> Sequence[ShuffledDeck]:
        """Return decks of games that are over, oldest first; of public or private ones, or all."""

    def blind_choices(self, player: UUID) -> Sequence[BlindChoice]:
        """Return a person's blind choices, oldest first."""
