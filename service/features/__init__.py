"""
The features of the service, one literal tuple.

`games`, `tables`, `challenges`, `seeks`, `disputes`, `decisions`, `statistics`, `players`,
`handles`, `public_log`, `rulesets`, `webhooks` and `upkeep` declare those with work of their own;
`sweeping` has parts of sweeps, `due_turns` the threads of games. The others stand in the tuple
itself.
"""

from __future__ import annotations

from typing import Final

from service.api.audit import audit
from service.api.evidence import evidence
from service.api.hands import hands
from service.api.moments import moments
from service.api.notes import notes
from service.api.own_stream import own_stream
from service.api.ratings import ratings
from service.application.moments import MOMENTS_OF_PLAYER
from service.application.quotas import MAX_STREAMS_OF_ADDRESS, MAX_STREAMS_OF_PLAYER, Bound, bounds
from service.application.ratings import LEAVES
from service.application.retention import KEEP_REFUSALS, Purging
from service.feature import Feature, Sweep
from service.features.challenges import CHALLENGES
from service.features.decisions import DECISIONS
from service.features.disputes import DISPUTES
from service.features.games import GAMES
from service.features.handles import HANDLES
from service.features.players import PLAYERS
from service.features.public_log import PUBLIC_LOG
from service.features.rulesets import RULESETS
from service.features.seeks import SEEKS
from service.features.statistics import STATISTICS
from service.features.sweeping import MINUTE, purging
from service.features.tables import TABLES
from service.features.upkeep import UPKEEP
from service.features.webhooks import WEBHOOKS
from service.store.events import QuotaKind

FEATURES: Final = (
    PLAYERS,
    HANDLES,
    Feature(name="hands", operations=(hands,)),
    Feature(
        name="own stream",
        operations=(own_stream,),
        quotas={
            "streams_of_address": Bound(
                of="address",
                most=MAX_STREAMS_OF_ADDRESS,
                counts="open streams",
                problem="rate-limited",
            ),
            "streams_of_player": Bound(
                of="player",
                most=MAX_STREAMS_OF_PLAYER,
                counts="open streams",
                problem="rate-limited",
            ),
        },
    ),
    WEBHOOKS,
    RULESETS,
    TABLES,
    CHALLENGES,
    SEEKS,
    GAMES,
    Feature(
        name="evidence",
        operations=(evidence, audit),
        sweeps=(purging("refusals", Purging.refusals),),
        settings=(KEEP_REFUSALS,),
        quotas=bounds(QuotaKind.READINGS),
    ),
    Feature(
        name="notes",
        operations=(notes,),
        quotas=bounds(QuotaKind.NOTES, QuotaKind.NOTES_OF_GAME, QuotaKind.ALL_NOTES),
    ),
    Feature(name="moments", operations=(moments,), quotas={"moments": MOMENTS_OF_PLAYER}),
    DISPUTES,
    STATISTICS,
    Feature(
        name="ratings",
        operations=(ratings,),
        sweeps=(
            Sweep(
                name="ratings",
                period=1,
                seconds=1,
                rows=LEAVES,
                longest_pause=MINUTE,
                begin=lambda services: lambda part: part.rows if services.ratings.advance() else 0,
            ),
        ),
    ),
    DECISIONS,
    PUBLIC_LOG,
    UPKEEP,
)
"""All features; the order is that of the groups in the API document."""
