"""Webhooks: a player's own events as requests to a receiver."""

from __future__ import annotations

from typing import Final

from service.api.webhooks import webhooks
from service.application.quotas import Bound, Slice
from service.bootstrap import Services
from service.feature import Feature, Sweep, Work
from service.features.sweeping import MINUTE, seconds_since
from service.runtime.telemetry import WEBHOOK_JOBS, WEBHOOKS_IN_USE, WEBHOOKS_LAG


def measures(services: Services) -> Work:
    """Set the metrics of webhooks: those in use, and for how long they wait."""

    def work(_part: Slice) -> int:
        found = services.directory.webhooks_in_use()
        WEBHOOKS_IN_USE.labels("all").set(found.used)
        WEBHOOKS_IN_USE.labels("failing").set(found.failing)
        WEBHOOKS_LAG.set(seconds_since(found.due, services.world.now()))
        return 0

    return work


WEBHOOKS: Final = Feature(
    name="webhooks",
    operations=(webhooks,),
    sweeps=(
        Sweep(name="webhooks", period=5, seconds=1, rows=1, longest_pause=MINUTE, begin=measures),
    ),
    metrics=(WEBHOOK_JOBS, WEBHOOKS_IN_USE, WEBHOOKS_LAG),
    quotas={
        "webhooks": Bound(
            of="player",
            most=1,
            counts="webhook; a new one replaces it",
            rows=("webhooks", "webhook_deliveries"),
            problem=None,
        )
    },
)
