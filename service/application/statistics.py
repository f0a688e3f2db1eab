"""Statistics over games that are over: of the shuffle, and of a player's blind choices."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from service.application.callers import Caller, Player
from service.application.entries import Entries, GameEntry
from service.application.errors import Refusal
from service.application.readings import Readings
from service.audit.blind_evidence import FALSE_ALARM, THRESHOLD, Choice, e_value
from service.audit.facts import blind_facts, deal_fact
from service.audit.shuffle_evidence import Tally
from service.domain.game import Status
from service.event_store.directory import Directory
from service.event_store.disputes import (
    STATISTICS_TOPIC,
    BlindChoice,
    Facts,
    ShuffledDeck,
)
from service.event_store.protocol import StoreError
from service.event_store.rows import Cursor
from service.record.times import parse_time
from service.replay.rebuild import rebuild, sealed_deck

KEPT_SECONDS = 10.0
"""How old the figures on shuffles may be; they are worked out for all callers together."""

BATCH = 2000
LATE = timedelta(hours=1)
"""How long after its end a game is counted at the latest; later ones after a restart."""

OF_SHUFFLES = (
    "This cannot tell who did what, nor whether one single deck was fair: each game's own "
    "audit shows that its deck was fixed before play. A small p says that something like it "
    "happens that rarely by chance; among many figures a few are small by chance, one in a "
    "hundred lies outside low and high. Luck is luck: what people were dealt is no merit and "
    "no fault. With few games nothing is said."
)

OF_CHOICES = (
    "This cannot tell how somebody could know a card, nor that anybody cheated. An e-value "
    "grows where the cards chosen blind fit more often than the cards that lay there make "
    "likely; of honest players one in a thousand ever reaches the threshold, whenever one looks. "
    "A small value is no proof of honesty: there may be too few choices, or somebody may "
    "look without gaining from it. Choices made by bots or by the clock are left out."
)


class Statistics:
    """Counts games when they are over, and says what the counts can say."""

    def __init__(self, *, directory: Directory, entries: Entries, readings: Readings) -> None:
        self._directory = directory
        self._entries = entries
        self._readings = readings
        self._tallies: dict[tuple[str, tuple[str, ...]], Tally] = {}
        self._seen: dict[UUID, datetime] = {}
        self._latest: datetime | None = None
        self._read_at = -KEPT_SECONDS
        self._lock = threading.Lock()

    def uncounted(self, *, limit: int) -> Sequence[UUID]:
        """Return games that are over and not counted yet."""
        return self._directory.outbox_waiting(topic=STATISTICS_TOPIC, limit=limit)

    def count(self, game: UUID) -> None:
        """Keep the facts of a game that is over; doing it twice counts it once."""
        entry = self._entries.fresh(game)
        if entry is None or not entry.record.sealed:
            raise StoreError(f"game {game} is to be counted, and is not over")
        self._directory.keep_facts(self._facts(entry))

    def shuffles(self) -> dict[str, Any]:
        """Return what all decks together say of the shuffle."""
        with self._lock:
            if time.monotonic() - self._read_at > KEPT_SECONDS:
                self._read_new()
                self._read_at = time.monotonic()
            measures = [m for key in sorted(self._tallies) for m in self._tallies[key].measures()]
            finished = sum(tally.finished for tally in self._tallies.values())
        return {
            "n": finished,
            "measures": [
                {
                    "name": measure.name,
                    "ruleset": measure.ruleset,
                    "statistic": measure.statistic,
                    "df": measure.df,
                    "p": measure.p,
                    "low": measure.low,
                    "high": measure.high,
                    "n": measure.n,
                }
                for measure in measures
            ],
            "cannot_tell": OF_SHUFFLES,
        }

    def blind_choices(self, caller: Player, player: UUID) -> dict[str, Any]:
        """
        Return the e-value of a player's blind choices, to that player and to referees.

        Raises `forbidden` for others; what a referee reads is noted at the games in question.
        """
        if caller.id != player:
            judged = self._directory.games_judged(caller.id, player)
            if not judged:
                raise Refusal("forbidden", "this is for the player, and for referees")
            what = f"the statistics of blind choices of {player}"
            self._readings.note_person(judged, Caller(player=caller.id, what=what))
        choices = [_choice(row) for row in self._directory.blind_choices(player)]
        return {
            "player": str(player),
            "n": sum(choice.telling for choice in choices),
            "e_value": e_value(choices),
            "threshold": THRESHOLD,
            "false_alarm": FALSE_ALARM,
            "cannot_tell": OF_CHOICES,
        }

    def _facts(self, entry: GameEntry) -> Facts:
        record, seats = entry.record, entry.record.game.setup.seats
        log = rebuild(self._entries.lines(record.identity))
        players = {s: player for s, player in enumerate(entry.players) if player is not None}
        people = [seat for seat in players if seats[seat].bot is None]
        deck, ended_at = sealed_deck(log), parse_time(record.at)
        deal = deal_fact(log, deck, people)
        return Facts(
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
                    player=players[fact.seat],
                    slots=fact.choice.slots,
                    playable=fact.choice.playable,
                    fitted=fact.choice.fitted,
                )
                for fact in blind_facts(log, deck, people)
            ),
            ended_at=ended_at,
        )

    def _read_new(self) -> None:
        """Count the decks that have come since; a little further back, for some come late."""
        after = None if self._latest is None else Cursor(at=self._latest - LATE, id=UUID(int=0))
        while rows := self._directory.shuffled_decks(after=after, limit=BATCH):
            self._add(rows)
            after = Cursor(at=rows[-1].ended_at, id=rows[-1].game)
        if self._latest is not None:
            since = self._latest - 2 * LATE
            self._seen = {game: at for game, at in self._seen.items() if at > since}

    def _add(self, rows: Sequence[ShuffledDeck]) -> None:
        for row in rows:
            if row.game in self._seen:
                continue
            key = (row.ruleset, tuple(sorted(row.cards)))
            tally = self._tallies.setdefault(key, Tally(ruleset=row.ruleset, cards=key[1]))
            tally.add(row.cards, aborted=row.aborted, dealt=row.dealt, to_people=row.to_people)
            self._seen[row.game] = row.ended_at
            self._latest = max(self._latest or row.ended_at, row.ended_at)


def _choice(row: BlindChoice) -> Choice:
    return Choice(slots=row.slots, playable=row.playable, fitted=row.fitted)
