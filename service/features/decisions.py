"""Decisions of sealed public hands, stored by a sweep as the public log has their ends."""

from __future__ import annotations

from typing import Final

from service.api.decisions import decisions
from service.application.decisions import DecisionFilling
from service.bootstrap import Services
from service.feature import Feature, Sweep, Work
from service.features.sweeping import MINUTE
from service.store.decisions import DecisionRepository


def filling(services: Services) -> Work:
    """Store the decisions of hands that the public log has, and the table has not."""
    return DecisionFilling(
        decisions=DecisionRepository(services.directory.database),
        hands=services.directory,
        log=services.log_store,
        game_cache=services.game_cache,
        refusals=services.refusals,
    ).advance


DECISIONS: Final = Feature(
    name="decisions",
    operations=(decisions,),
    sweeps=(
        Sweep(name="decisions", period=1, seconds=1, rows=20, longest_pause=MINUTE, begin=filling),
    ),
)
