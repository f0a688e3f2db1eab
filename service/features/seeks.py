"""Seeks: a table with anybody who wants the same; the sweeper matches them."""

from __future__ import annotations

from typing import Final

from schemas.notices import NoticeType
from service.api.seeks import seeks
from service.application.quotas import bounds
from service.application.retention import Purging
from service.bootstrap import Services
from service.feature import Feature, Sweep, Work
from service.features.sweeping import purging
from service.store.events import QuotaKind


def matches(services: Services) -> Work:
    """Open tables for seeks that match, or whose time for bots has come."""
    return services.matchmaker.sweep


SEEKS: Final = Feature(
    name="seeks",
    operations=(seeks,),
    sweeps=(
        Sweep(name="seeks", period=0.5, seconds=0.5, rows=20, longest_pause=30, begin=matches),
        purging("seeks", Purging.seeks),
    ),
    notices=(NoticeType.SEEK_MATCHED,),
    quotas=bounds(QuotaKind.SEEKS, QuotaKind.NEW_SEEKS),
)
