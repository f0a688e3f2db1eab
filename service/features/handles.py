"""Handles, and the sweep that frees those that were given up or erased long ago."""

from __future__ import annotations

from typing import Final

from service.api.handles import handles
from service.application.quotas import bounds
from service.application.retention import Purging
from service.feature import Feature
from service.features.sweeping import HOUR, purging
from service.store.events import QuotaKind

HANDLES: Final = Feature(
    name="handles",
    operations=(handles,),
    sweeps=(purging("handles", Purging.handles, period=HOUR),),
    quotas=bounds(QuotaKind.HANDLES),
)
