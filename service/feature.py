"""The declaration of a feature: what a part of the service adds to all that is shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from prometheus_client import Counter, Gauge
from redis import Redis

from schemas.notices import NoticeType
from service.application.ports import JobKind
from service.application.quotas import Bound, Slice, Weight
from service.bootstrap import Services
from service.runtime.config import Setting

Work = Callable[[Slice], int]
"""Does a slice of the work; returns the number of rows, `Slice.rows` if more may be left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """
    Periodic work on shared tables, with all of its bounds.

    A slice that used up its rows or seconds is followed by the next after a rest; after one that
    failed the pause is the period, doubled with each further failure up to `longest_pause`.
    """

    name: str  # in metrics and logs
    period: float  # seconds from one slice to the next if nothing is left; 0: in each round, first
    seconds: float  # of a slice; work that is done row by row ends after the row
    rows: int  # of a slice
    longest_pause: float  # seconds
    begin: Callable[[Services], Work]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """The context of a job besides its arguments."""

    services: Callable[[], Services]  # of the process, made at the first call
    connection: Redis
    queue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, and the function that does it; safe to run twice, late or concurrently."""

    kind: JobKind
    run: Callable[..., object]  # takes a `JobContext` and the arguments


class Operations(Protocol):
    """A group of operations, as `service/api/operation.py` makes it."""

    name: str
    weights: Mapping[str, Weight]  # of each operation, by the name of its function


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """
    All that a feature adds, declared once (ops/decisions/0109).

    Application, scheduler and workers read the tuple `FEATURES` of `service/features/`, or another
    one that a test passes.
    """

    name: str
    operations: tuple[Operations, ...] = ()
    jobs: tuple[Job, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    notices: tuple[NoticeType, ...] = ()
    metrics: tuple[Counter | Gauge, ...] = ()
    settings: tuple[Setting[Any], ...] = ()
    quotas: Mapping[str, Bound] = field(default_factory=dict)  # lines of `x-limits`, by name


def weights_of(features: Iterable[Feature]) -> dict[str, Weight]:
    """Return the weight of each operation by its id."""
    return {
        f"{group.name}.{view}": weight
        for feature in features
        for group in feature.operations
        for view, weight in group.weights.items()
    }


def jobs_of(features: Iterable[Feature]) -> dict[str, Job]:
    """Return the jobs of all features by name."""
    return {job.kind.name: job for feature in features for job in feature.jobs}


def quotas_of(features: Iterable[Feature]) -> dict[str, Bound]:
    """Return the quotas of all features by name."""
    return {name: bound for feature in features for name, bound in feature.quotas.items()}


def settings_of(features: Iterable[Feature]) -> tuple[Setting[Any], ...]:
    """Return the settings of all features."""
    return tuple(setting for feature in features for setting in feature.settings)


def sweeps_of(features: Iterable[Feature]) -> tuple[Sweep, tuple[Sweep, ...]]:
    """Return the sweep that comes first in each round, and all others."""
    sweeps = [sweep for feature in features for sweep in feature.sweeps]
    [first] = [sweep for sweep in sweeps if not sweep.period]
    return first, tuple(sweep for sweep in sweeps if sweep.period)
