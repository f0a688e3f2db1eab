"""Challenges, and the sweep that ends those that have expired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from schemas.notices import NoticeType
from service.api.challenges import challenges
from service.application.quotas import bounds
from service.application.retention import Purging
from service.bootstrap import Services
from service.feature import Feature, Sweep, Work
from service.features.sweeping import MINUTE, each, purging
from service.store.events import QuotaKind


def over(services: Services) -> Work:
    """End the challenges that have expired, with their tables."""

    def found(*, limit: int) -> Sequence[UUID]:
        return services.directory.expired_challenges(now=services.world.now(), limit=limit)

    return each(services.challenges.expire, found)


CHALLENGES: Final = Feature(
    name="challenges",
    operations=(challenges,),
    sweeps=(
        Sweep(name="challenges", period=5, seconds=1, rows=50, longest_pause=MINUTE, begin=over),
        purging("challenges", Purging.challenges),
    ),
    notices=(NoticeType.CHALLENGED, NoticeType.CHALLENGE_ANSWERED),
    quotas=bounds(
        QuotaKind.CHALLENGES,
        QuotaKind.NEW_CHALLENGES,
        QuotaKind.CHALLENGES_OF_PAIR,
        QuotaKind.CHALLENGED,
    ),
)
