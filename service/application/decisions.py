"""Decisions of sealed public hands: stored in the order of the public log, and searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import structlog

from service.application.errors import invalid
from service.application.games.cache import GameCache
from service.application.games.refused_moves import Refusals
from service.application.quotas import Slice
from service.audit.decisions import Decided, DecisionFilter, decisions_of, shares_of
from service.public_log.log import LogStore
from service.replay.history import History, decode_log, sealed_deck
from service.replay.sentences import said
from service.store.decisions import (
    MOST,
    DecisionRepository,
    StoredDecision,
    names_of,
    who_of,
)
from service.store.events import PlayerErased, StoreUnavailable
from service.store.logged_hands import LoggedHand, LoggedHandRepository

LEAVES: Final = 500
"""Leaves of the log that are read in one step; most of them are not the end of a public hand."""

_log = structlog.get_logger("decisions")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilling:
    """Stores the decisions of public hands; of several processes, one stores those of a hand."""

    decisions: DecisionRepository
    hands: LoggedHandRepository
    log: LogStore
    game_cache: GameCache
    refusals: Refusals

    def advance(self, part: Slice) -> int:
        """Store the decisions of the next hands; return their number, `part.rows` if more wait."""
        published = self.log.published()
        size = 0 if published is None else published.size
        before = self.decisions.reached()
        end, done = min(size, before + LEAVES), 0
        if end <= before:
            return 0
        for hand in self.hands.logged_hands(before, end):
            if part.is_over(done):
                return part.rows
            if not self._store(hand, before):
                return 0  # another process is at it
            before, done = hand.leaf + 1, done + 1
        if before < end and not self.decisions.keep(before, end):
            return 0
        return part.rows if end < size else done

    def _store(self, hand: LoggedHand, before: int) -> bool:
        """Store the decisions of a hand; of one that cannot be read none, so that others follow."""
        players = [seat.player for seat in hand.seats]
        try:
            found = [] if hand.aborted else self._decided(hand.game)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - see above
            _log.exception("the decisions of a hand are left out", game=str(hand.game))
            found = []
        named = [
            (one, names_of(one, hand.ruleset, who_of(one.bot, players[one.seat]))) for one in found
        ]
        people = {str(who_of(None, one)): one for one in players if one is not None}
        try:
            return self.decisions.keep(before, hand.leaf + 1, named, people)
        except PlayerErased:
            return False  # at this moment: the next step reads the hand without the player

    def _decided(self, game: UUID) -> list[Decided]:
        entry = self.game_cache.fresh(game)
        if entry is None:
            raise LookupError(f"game {game} is in the public log, but not stored")
        log = decode_log(self.game_cache.lines(game))
        refused = self.refusals.shown(entry.record)
        return list(decisions_of(History(log, sealed_deck(log)), refused))


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSearch:
    """Searches the stored decisions."""

    decisions: DecisionRepository

    def find(self, wanted: DecisionFilter, *, after: str | None, limit: int) -> dict[str, Any]:
        """
        Return a page of the newest decisions that meet conditions; on the first page the counts.

        Raises Refusal `invalid-body` for another cursor.
        """
        before = None if after is None else _place(after)
        found = self.decisions.find(wanted, before=before, limit=limit + 1)
        page = found.page[:limit]
        more = len(found.page) > limit
        return {
            "decisions": found.total,
            "hands": found.hands,
            "limited": found.total >= MOST,
            "choices": None if after is not None else shares_of(found.choices),
            "items": [_item(one) for one in page],
            "cannot_tell": said("about.decisions").text,
            "next": f"{page[-1].leaf}.{page[-1].event}" if more else None,
        }


def _place(cursor: str) -> tuple[int, int]:
    leaf, dot, event = cursor.partition(".")
    if not (dot and leaf.isdecimal() and event.isdecimal() and len(cursor) < 20):
        raise invalid("/cursor", said("request.no_cursor"))
    return int(leaf), int(event)


def _item(one: StoredDecision) -> Mapping[str, Any]:
    played = one.choice.partition(" ")[2]
    return {
        "game": str(one.game),
        "event": one.event,
        "seat": one.seat,
        "player": None if one.player is None else str(one.player),
        "bot": one.bot,
        "ruleset": one.ruleset,
        **one.values,
        "rank": played.partition(" ")[0] or None,
        "milliseconds": one.milliseconds,
    }
