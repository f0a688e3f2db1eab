"""Handles, and the sweep that frees those that were given up or erased long ago."""

from __future__ import annotations

from typing import Final

from service.api.handles import handles
from service.application.quotas import bounds
from service.application.retention import MANY, Purging
from service.feature import Feature, Sweep
from service.features.sweeping import HOUR, purge
from service.store.events import QuotaKind

HANDLES: Final = Feature(
    name="handles",
    operations=(handles,),
    sweeps=(
        Sweep(
            name="old handles",
            period=HOUR,
            seconds=1,
            rows=MANY,
            longest_pause=HOUR,
            begin=purge("handles", Purging.handles),
        ),
    ),
    quotas=bounds(QuotaKind.HANDLES),
)
