"""Figures for disputes about collusion: whether the accused and the partner spare each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol
from uuid import UUID

from service.application.calls import Caller, RegisteredPlayer
from service.application.disputes.commands import DisputeCommands
from service.application.disputes.record import DisputeRecord, text_of
from service.application.errors import Refusal
from service.application.games.cache import GameCache
from service.audit.collusion import FALSE_ALARM, MARGIN, THRESHOLD, Pair
from service.bots.sparing import Decision, decisions
from service.domain.commands import Seat
from service.domain.dispute import Charge
from service.replay.history import History, decode_log, sealed_deck
from service.replay.sentences import said
from service.shx.canonical import parse_time
from service.store.directory import Directory

MAX_HANDS: Final = 200
"""Maximum number of hands for one pair, the last ones before the dispute: a few seconds of work."""


class Comparisons(Protocol):
    """Computes the figures of disputes outside of requests."""

    def figures(self, dispute: UUID) -> Sequence[Mapping[str, Any]] | None:
        """Return the figures of a dispute; None while a job computes them, which is enqueued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collusion:
    """Computes and shows the figures (statistics.md, section 3)."""

    commands: DisputeCommands
    directory: Directory
    game_cache: GameCache
    comparisons: Comparisons

    def of_dispute(self, caller: Caller, player: RegisteredPlayer, dispute: UUID) -> dict[str, Any]:
        """
        Return the figures of a dispute about collusion for one of its referees.

        Raises Refusal `not-found`; `forbidden` for other callers and other disputes; `unavailable`
        without a worker.
        """
        record = self.commands.visible(caller, dispute)
        opened = record.dispute.opened
        if opened.charge is not Charge.COLLUSION:
            raise Refusal("forbidden", said("collusion.other_charge"))
        if record.dispute.referee_of(str(player.id)) is None:
            raise Refusal("forbidden", said("collusion.not_a_referee"))
        pairs = self.comparisons.figures(dispute)
        return {
            "dispute": str(dispute),
            "state": "computing" if pairs is None else "done",
            "pairs": pairs or [],
            "threshold": THRESHOLD,
            "false_alarm": FALSE_ALARM,
            "margin": MARGIN,
            "cannot_tell": said("about.collusion").text,
        }

    def compute(self, dispute: UUID) -> list[dict[str, Any]]:
        """
        Return the figures of the accused with the partner whom the dispute names.

        They rest on public hands alone: the last MAX_HANDS with one of the two that were over when
        the dispute was opened, or when the disputed hand was sealed. Raises Refusal `not-found`.
        """
        record = self.commands.record(dispute)
        opened, read = record.dispute.opened, _Read(self.game_cache)
        if opened.accused is None or opened.partner is None or opened.partner_seat is None:
            return []
        seat = opened.partner_seat
        return [self._compared(opened.accused, opened.partner, seat, _until(record), read)]

    def _compared(
        self, accused: str, other: str, seat: Seat, until: datetime, read: _Read
    ) -> dict[str, Any]:
        hands = self.directory.hands_of_pair(
            UUID(accused), UUID(other), until=until, limit=MAX_HANDS
        )
        pair = Pair(accused, other)
        for hand in hands:
            players = [None if one is None else str(one) for one in hand.players]
            pair.count(players, partial(read.decisions, hand.game))
        leaves = [hands[0].leaf, hands[-1].leaf] if hands else None
        return {"seat": seat, "leaves": leaves, **pair.numbers}


class _Read:
    """Decisions of hands, each seat's computed once for all pairs."""

    def __init__(self, game_cache: GameCache) -> None:
        self._game_cache = game_cache
        self._known: dict[tuple[UUID, Seat], Sequence[Decision]] = {}

    def decisions(self, game: UUID, seat: Seat) -> Sequence[Decision]:
        """Return the decisions of a seat."""
        if (game, seat) not in self._known:
            log = decode_log(self._game_cache.lines(game))
            history = History(log, sealed_deck(log))
            self._known[game, seat] = tuple(decisions(history, seat, game=str(game)))
        return self._known[game, seat]


def _until(record: DisputeRecord) -> datetime:
    """Return the time after which no hand counts: the opening, or the seal of the disputed hand."""
    opened = record.dispute.opened_at
    return parse_time(text_of(max(opened, record.outside.sealed_at or opened)))
