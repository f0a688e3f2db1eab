"""Rulesets, the players' own among them, and the bots that play them."""

from __future__ import annotations

import time
from typing import Any, Final

import structlog

from service.api.rulesets import bots, rulesets
from service.application.quotas import bounds
from service.feature import Feature, Job, JobContext
from service.job_queue import TRY_RULESET, note_outcome
from service.simulation.trials import play_trials
from service.store.events import QuotaKind

_log = structlog.stdlib.get_logger("worker")


def try_ruleset(work: JobContext, settings: dict[str, Any], hands: int) -> dict[str, str | None]:
    """
    Play trial hands with a player's ruleset; return `{"refusal": reason}`.

    The reason says why the ruleset cannot be played, and is None if it can. It is stored in Redis
    for the waiting request and its repetitions. The time limit counts CPU seconds, so that a busy
    machine does not make rules fail.
    """
    try:
        refusal = play_trials(settings, hands, now=time.process_time).refusal
    except Exception:  # noqa: BLE001 - an error in one trial must not stop the others
        refusal = "the trial hands failed"
        _log.exception("a trial failed")
    note_outcome(work.connection, settings, refusal)
    return {"refusal": refusal}


RULESETS: Final = Feature(
    name="rulesets",
    operations=(rulesets, bots),
    jobs=(Job(kind=TRY_RULESET, run=try_ruleset),),
    quotas=bounds(QuotaKind.RULESETS),
)
