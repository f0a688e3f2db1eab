"""Statistics of finished games: the shuffle, and a player's blind choices."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from service.application.access import AccessLog
from service.application.calls import Caller, RegisteredPlayer
from service.application.errors import Refusal
from service.application.games.cache import GameCache
from service.application.games.record import GameRecord
from service.application.quotas import Slots
from service.audit.statistics import (
    FALSE_ALARM,
    THRESHOLD,
    Choice,
    Tally,
    blind_facts,
    deal_fact,
    e_value,
)
from service.domain.game import Status
from service.replay.history import decode_log, sealed_deck
from service.replay.sentences import said
from service.shx.canonical import parse_time
from service.store.disputes import (
    STATISTICS_TOPIC,
    BlindChoice,
    DisputeRepository,
    ShuffledDeck,
    StatisticsInput,
)
from service.store.events import StoreError
from service.store.summaries import Cursor

KEPT_SECONDS = 10.0
"""Cache time of the shuffle statistics, which are the same for all callers."""

BATCH = 2000
LATE = timedelta(hours=1)
"""Games counted later than this after their end appear only after a restart."""


class Statistics:
    """Counts finished games, and returns the statistics of all counted games."""

    def __init__(
        self,
        *,
        directory: DisputeRepository,
        game_cache: GameCache,
        access_log: AccessLog,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._now = now
        self._directory = directory
        self._game_cache = game_cache
        self._access_log = access_log
        self._tallies: dict[tuple[str, tuple[str, ...]], Tally] = {}
        self._seen: dict[bool, dict[UUID, datetime]] = {True: {}, False: {}}  # by public
        self._latest: dict[bool, datetime] = {}
        self._read_at = -KEPT_SECONDS
        self._lock = threading.Lock()
        self._shuffles: dict[str, Any] | None = None
        self._first = Slots("statistics", 4, per_address=4)

    def uncounted(self, *, limit: int) -> Sequence[UUID]:
        """Return finished games that are not counted yet."""
        return self._directory.outbox_waiting(topic=STATISTICS_TOPIC, limit=limit)

    def count(self, game: UUID) -> None:
        """
        Store the data of a finished game; safe to repeat.

        Raises StoreError if the game is unknown or not over.
        """
        entry = self._game_cache.fresh(game)
        if entry is None or not entry.record.sealed:
            raise StoreError(f"game {game} is to be counted but is not over")
        lines = self._game_cache.lines(game)
        self._directory.keep_facts(statistics_input(entry.record, lines, entry.players))

    def shuffles(self) -> dict[str, Any]:
        """
        Return the statistics of the shuffle over all decks.

        While one call reads new decks, other calls return the last answer. Raises Refusal
        `unavailable` if too many calls wait for the first answer of this process.
        """
        last = self._shuffles
        if last is None:
            with self._first.slot("") as free:
                if not free:
                    raise Refusal("unavailable", said("request.statistics_busy"), retry_after=1)
                with self._lock:
                    return self._newest()
        if not self._lock.acquire(blocking=False):
            return last
        try:
            return self._newest()
        finally:
            self._lock.release()

    def _newest(self) -> dict[str, Any]:
        """Return the statistics, recomputed if they are older than KEPT_SECONDS."""
        if self._shuffles is None or time.monotonic() - self._read_at > KEPT_SECONDS:
            self._read_new()
            self._shuffles = self._summary()
            self._read_at = time.monotonic()
        return self._shuffles

    def _summary(self) -> dict[str, Any]:
        measures = [m for key in sorted(self._tallies) for m in self._tallies[key].measures()]
        finished = sum(tally.finished for tally in self._tallies.values())
        return {
            "n": finished,
            "measures": [asdict(measure) for measure in measures],
            "cannot_tell": " ".join(said(key).text for key in ("about.shuffles", "about.p")),
        }

    def blind_choices(self, caller: RegisteredPlayer, player: UUID) -> dict[str, Any]:
        """
        Return the e-value of a player's blind choices.

        Only that player, and referees of disputes against the player, may read it; a referee's
        read is recorded in the access log of the games judged. Raises Refusal `forbidden`.
        """
        if caller.id != player:
            judged = self._directory.games_judged(caller.id, player)
            if not judged:
                raise Refusal("forbidden", said("request.own_statistics"))
            what = said("access.choices", player=str(player)).text
            self._access_log.note_person(judged, Caller(player=caller.id, what=lambda: what))
        choices = [_choice(row) for row in self._directory.blind_choices(player)]
        return {
            "player": str(player),
            "n": sum(choice.informative for choice in choices),
            "e_value": e_value(choices),
            "threshold": THRESHOLD,
            "false_alarm": FALSE_ALARM,
            "cannot_tell": said("about.choices").text,
        }

    def _read_new(self) -> None:
        """
        Add the decks stored since the last call, and those stored late.

        Decks of private hands are added from the next day (UTC) on: a count that grows at
        once would reveal when such a hand ends.
        """
        midnight = self._now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        for public, before in ((True, None), (False, midnight)):
            latest = self._latest.get(public)
            after = None if latest is None else Cursor(at=latest - LATE, id=UUID(int=0))
            while rows := self._directory.shuffled_decks(
                after=after, limit=BATCH, public=public, before=before
            ):
                self._add(rows, public=public)
                after = Cursor(at=rows[-1].ended_at, id=rows[-1].game)
            if (latest := self._latest.get(public)) is not None:
                since, seen = latest - 2 * LATE, self._seen[public]
                self._seen[public] = {game: at for game, at in seen.items() if at > since}

    def _add(self, rows: Sequence[ShuffledDeck], *, public: bool) -> None:
        seen = self._seen[public]
        for row in rows:
            if row.game in seen:
                continue
            key = (row.ruleset, tuple(sorted(row.cards)))
            tally = self._tallies.setdefault(key, Tally(ruleset=row.ruleset, cards=key[1]))
            tally.add(row.cards, aborted=row.aborted, dealt=row.dealt, to_people=row.to_people)
            seen[row.game] = row.ended_at
            self._latest[public] = max(self._latest.get(public, row.ended_at), row.ended_at)


def statistics_input(
    record: GameRecord, lines: Sequence[bytes], players: Sequence[UUID | None]
) -> StatisticsInput:
    """Return what statistics need of a finished game; `players` are those of its seats."""
    seats, log = record.game.setup.seats, decode_log(lines)
    seated = {s: player for s, player in enumerate(players) if player is not None}
    people = [seat for seat in seated if seats[seat].bot is None]
    deck, ended_at = sealed_deck(log), parse_time(record.at)
    deal = deal_fact(log, deck, people)
    return StatisticsInput(
        game=record.identity,
        deck=None
        if deal is None
        else ShuffledDeck(
            game=record.identity,
            ruleset=record.created["ruleset"]["id"],
            aborted=record.game.status is Status.ABORTED,
            cards=deal.deck,
            dealt=deal.dealt,
            to_people=deal.to_people,
            ended_at=ended_at,
        ),
        choices=tuple(
            BlindChoice(
                game=record.identity,
                seq=fact.seq,
                player=seated[fact.seat],
                slots=fact.choice.slots,
                playable=fact.choice.playable,
                fitted=fact.choice.fitted,
            )
            for fact in blind_facts(log, deck, people)
        ),
        ended_at=ended_at,
    )


def _choice(row: BlindChoice) -> Choice:
    return Choice(slots=row.slots, playable=row.playable, fitted=row.fitted)
