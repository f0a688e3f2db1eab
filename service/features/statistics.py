"""Statistics of finished games, counted by a sweep."""

from __future__ import annotations

from typing import Final

from service.api.audit import statistics
from service.bootstrap import Services
from service.feature import Feature, Sweep, Work
from service.features.sweeping import MINUTE, each


def counts(services: Services) -> Work:
    """Count finished games in the statistics."""
    return each(services.statistics.count, services.statistics.uncounted)


STATISTICS: Final = Feature(
    name="statistics",
    operations=(statistics,),
    sweeps=(
        Sweep(name="statistics", period=2, seconds=1, rows=20, longest_pause=MINUTE, begin=counts),
    ),
)
