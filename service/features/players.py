"""Players, their tokens and blocks; unused and erased players."""

from __future__ import annotations

from typing import Final

from service.api.players import players
from service.api.tokens import tokens
from service.application.quotas import bounds
from service.application.retention import FEW, KEEP_UNUSED_PLAYERS, Purging
from service.bootstrap import Services
from service.feature import Feature, Sweep, Work
from service.features.sweeping import DAY, MINUTE, purge
from service.store.events import QuotaKind


def erasures(services: Services) -> Work:
    """Add erased players to the list outside the database."""
    return lambda part: services.erasures.record(most=part.rows)


PLAYERS: Final = Feature(
    name="players",
    operations=(players, tokens),
    sweeps=(
        Sweep(
            name="erasures",
            period=5,
            seconds=1,
            rows=1000,
            longest_pause=MINUTE,
            begin=erasures,
        ),
        Sweep(  # each slice looks at all players
            name="unused players",
            period=DAY,
            seconds=5,
            rows=FEW,
            longest_pause=DAY,
            begin=purge("players", Purging.players),
        ),
    ),
    quotas=bounds(QuotaKind.TOKENS, QuotaKind.BLOCKS),
    settings=(KEEP_UNUSED_PLAYERS,),
)
