"""Relay: repeats notifications in the outbox, for readers and for the webhooks of players."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

import structlog

from service.application.games.commits import GAME_TOPIC
from service.application.ports import GameVersion
from service.application.webhooks import SEND_WEBHOOK
from service.bootstrap import Services
from service.runtime import tracing
from service.runtime.telemetry import ROUNDS
from service.runtime.tracing import SpanName
from service.store.events import StoreUnavailable

INTERVAL = 0.5  # seconds between two rounds
AFTER_FAILURE = 1.0  # the same after an error
BATCH = 500  # rows of a round
OLDER_THAN = timedelta(seconds=1)
"""Minimum age of a row; most commits have notified the readers, so new rows can wait."""


class Relay:
    """Repeats notifications for live readers, and wakes the webhooks that they concern."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._log = structlog.get_logger("relay")

    def pass_on(self) -> int:
        """
        Publish the newest versions in the outbox, wake webhooks, remove the rows; return how many.

        In this order: a row whose relay dies or fails in between is passed on again, by it or
        by another one. Readers listen to the id alone, so tables and disputes are published as
        games are.
        """
        store, before = self._services.store, self._services.world.now() - OLDER_THAN
        rows = store.outbox(topic=GAME_TOPIC, limit=BATCH, older_than=before)
        versions: dict[UUID, list[int]] = {}
        for row in sorted(rows, key=lambda row: row.version):
            versions.setdefault(row.stream, []).append(row.version)
        traces = self._traces(versions)
        for game, passed in versions.items():
            known = [traces[game, one] for one in passed if (game, one) in traces]
            with tracing.continued(SpanName.RELAY, known):
                self._services.notifier.moved(game, passed[-1], wake=False)
        self._services.webhooks.wake(versions.keys())
        store.drop_outbox(rows)
        return len(rows)

    def enqueue_webhooks(self) -> int:
        """Enqueue a job for each webhook that is due; return their number."""
        claimed = self._services.webhooks.claim()
        for player, claim in claimed:
            key = f"webhook-{player}-{claim}"
            self._services.notifier.enqueue(SEND_WEBHOOK, str(player), claim, key=key)
        return len(claimed)

    def _traces(self, versions: Mapping[UUID, Sequence[int]]) -> Mapping[GameVersion, str]:
        """Return the stored trace contexts of these versions; none if tracing is off."""
        if not tracing.is_on():
            return {}
        return self._services.notifier.traces(
            [(game, version) for game, passed in versions.items() for version in passed]
        )

    def run(self, stopped: Callable[[], bool]) -> None:
        """Run rounds until `stopped` returns true."""
        while not stopped():
            passed, claimed = self._guarded(self.pass_on), self._guarded(self.enqueue_webhooks)
            if passed is not None and claimed is not None:
                ROUNDS.labels("relay").set_to_current_time()
            if passed != BATCH:
                time.sleep(INTERVAL if passed is not None else AFTER_FAILURE)

    def _guarded(self, part: Callable[[], int]) -> int | None:
        """Return what a part of a round returns; None after an error, which ends nothing."""
        try:
            return part()
        except StoreUnavailable as error:
            self._log.warning("database does not answer", error=str(error))
        except Exception:  # noqa: BLE001 - the rows stay; an alarm reports missing successes
            self._log.exception("a round of the relay failed")
        return None
