"""Retention: temporary data is deleted after its period, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from service.application.retention import DEFAULT_RETENTION, Purging, Retention, retention_of
from service.feature import settings_of
from service.features import FEATURES
from service.runtime.config import settings_from
from service.store.events import OutboxRow
from tests.streams import answer, append, commit, new_game, refused, register
from tests.unit.application.conftest import SharedStore

ENOUGH = {"SHITHEAD_DATABASE_URL": "postgresql://u@h/d", "SHITHEAD_KEY_FILE": "/keys.json"}
DAY = timedelta(days=1)
SHORT = Retention(answers=DAY, wake_ups=2 * DAY, refusals=3 * DAY, unused_players=100 * DAY)


class RetainedData:
    """Data of each kind, stored just now."""

    def __init__(self, deployment: SharedStore, kept: Retention) -> None:
        self.world, self.store, self.url = deployment.world, deployment.store, deployment.url
        self.world.time = self.begin = datetime.now(UTC)
        self.directory = deployment.directory
        self.purging = Purging(
            store=self.store, directory=self.directory, world=self.world, retention=kept
        )
        game = new_game(self.store)
        self.directory.record_refusal(game, refused(at=self.begin))
        rows = [OutboxRow(stream=game, version=2, topic=t) for t in ("game", "log", "statistics")]
        ended = {"status": "ended", "ended_at": self.begin}
        over = append(game, b"b", expected=1, after=self.store, summary=ended)
        self.store.commit(commit(over, answer=answer(), outbox=tuple(rows)))

    def deleted_after(self, days: float) -> set[str]:
        """Return the kinds of data that are deleted at an age of `days` days."""
        age = timedelta(days=days)
        with psycopg.connect(self.url) as owner:
            owner.execute("UPDATE answers SET created_at = now() - %s", (age,))
            owner.execute("UPDATE outbox SET created_at = now() - %s", (age,))
            owner.execute("UPDATE refusals SET at = now() - %s", (age,))
            owner.execute("UPDATE games SET ended_at = now() - %s", (age,))
        purging = self.purging
        purges = {
            "answers": purging.answers,
            "wake-ups": purging.wake_ups,
            "seeks": purging.seeks,
            "refusals": purging.refusals,
            "players": purging.players,
        }
        return {kind for kind, purge in purges.items() if purge()}


def test_each_kind_of_data_is_deleted_after_its_period(deployment: SharedStore) -> None:
    kept = RetainedData(deployment, SHORT)
    assert kept.deleted_after(0.9) == set()
    assert kept.deleted_after(1.1) == {"answers"}
    assert kept.deleted_after(2.1) == {"wake-ups"}
    assert kept.deleted_after(3.1) == {"refusals"}
    assert kept.deleted_after(3.2) == set()


def test_unfinished_work_is_never_deleted(deployment: SharedStore) -> None:
    """Otherwise a game would never get its leaf in the public log, or never be counted."""
    kept = RetainedData(deployment, SHORT)
    assert kept.deleted_after(3000) >= {"wake-ups"}
    waiting = {
        topic: len(kept.directory.outbox_waiting(topic=topic, limit=9))
        for topic in ("game", "log", "statistics")
    }
    assert waiting == {"game": 0, "log": 1, "statistics": 1}


def test_refusals_and_unused_players_are_not_deleted_by_default(deployment: SharedStore) -> None:
    kept = RetainedData(deployment, DEFAULT_RETENTION)
    register(kept.directory)
    assert kept.deleted_after(30_000) == {"answers", "wake-ups"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {"answers": DAY, "refusals": 365 * DAY, "unused_players": 365 * DAY, "wake_ups": DAY}),
        ({"SHITHEAD_KEEP_ANSWERS_HOURS": "48"}, {"answers": 2 * DAY}),
        ({"SHITHEAD_KEEP_WAKE_UPS_HOURS": "1"}, {"wake_ups": DAY / 24}),
        ({"SHITHEAD_KEEP_REFUSALS_DAYS": "0"}, {"refusals": None}),
        ({"SHITHEAD_KEEP_UNUSED_PLAYERS_DAYS": "0"}, {"unused_players": None}),
    ],
)
def test_retention_periods_are_settings(more: dict[str, str], expected: dict[str, Any]) -> None:
    found = retention_of(settings_from(ENOUGH | more, settings_of(FEATURES)))
    assert {name: getattr(found, name) for name in expected} == expected
