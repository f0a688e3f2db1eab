"""The jobs that RQ runs; a job on a game carries its id and version, nothing else."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from uuid import UUID

from service.bootstrap import Services
from service.config import settings_from
from service.configured import services_from
from service.measures import JOBS
from service.rulesets.trials import play_trials


@lru_cache(maxsize=1)
def services() -> Services:
    """Return the services of this worker process, made when the first job needs them."""
    return services_from(settings_from())


def take_turn(game_id: str, version: int) -> str:
    """
    Make the moves that are due at `version` of a game, and those of bots that follow.

    Safe to run twice, late, or beside itself: whoever comes second finds the
    game past `version` and leaves it alone.
    """
    game = UUID(game_id)
    outcome = services().turns.take(game, version)
    JOBS.labels(outcome).inc()
    if outcome == "again":
        services().wake(game)
    return outcome


def make_findings(dispute_id: str) -> str:
    """
    Have the machine look at the game of a dispute.

    Safe to run twice or late: findings that are there are not made again.
    """
    return services().attendance.attend(UUID(dispute_id))


def try_ruleset(settings: dict[str, Any], hands: int) -> dict[str, str | None]:
    """Play trial hands by a player's own rules, and return why they cannot be played, or null."""
    return {"refusal": play_trials(settings, hands).refusal}
