"""Disputes: accusations, findings and rulings; their periods end by a sweep."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from schemas.notices import NoticeType
from service.api.disputes import disputes
from service.application.disputes.disputes import PERIODS
from service.application.disputes.findings import MAKE_FINDINGS
from service.application.quotas import Bound, Slice, bounds
from service.bootstrap import Services
from service.domain.dispute_rules import MAX_RECEIPTS, MAX_REFEREES, MAX_STATEMENTS
from service.feature import Feature, Job, JobContext, Sweep, Work
from service.features.sweeping import HOUR, MINUTE, each
from service.job_queue import COMPARE_PLAYERS, note_figures
from service.runtime.telemetry import UNANSWERED
from service.store.events import QuotaKind


def due_disputes(services: Services) -> Work:
    """Store missing findings of disputes, and the events of ended periods."""
    jobs = services.dispute_jobs
    return each(jobs.process, jobs.due)


def unanswered(services: Services) -> Work:
    """Count the disputes that wait for the operator."""

    def work(part: Slice) -> int:
        UNANSWERED.set(services.disputes.unanswered(limit=part.rows))
        return 0

    return work


def make_findings(work: JobContext, dispute_id: str) -> str:
    """
    Run the checks for a dispute and store its findings, and the events of ended periods.

    Returns the outcome, as `DisputeJobs.process`. Safe to run twice or late: findings are made
    again only if there is further evidence.
    """
    return work.services().dispute_jobs.process(UUID(dispute_id))


def compare_players(work: JobContext, dispute_id: str) -> None:
    """
    Compute the figures of a dispute about collusion, and store them in Redis for its referees.

    Safe to run twice: equal logs have equal figures.
    """
    dispute = UUID(dispute_id)
    note_figures(work.connection, dispute, work.services().collusion.compute(dispute))


DISPUTES: Final = Feature(
    name="disputes",
    operations=(disputes,),
    jobs=(
        Job(kind=MAKE_FINDINGS, run=make_findings),
        Job(kind=COMPARE_PLAYERS, run=compare_players),
    ),
    sweeps=(
        Sweep(
            name="disputes",
            period=2,
            seconds=1,
            rows=20,
            longest_pause=MINUTE,
            begin=due_disputes,
        ),
        Sweep(
            name="unanswered",
            period=60,
            seconds=1,
            rows=100,
            longest_pause=HOUR,
            begin=unanswered,
        ),
    ),
    notices=(
        NoticeType.DISPUTE_OPENED,
        NoticeType.VOTE_OPENED,
        NoticeType.PERIOD_ENDING,
        NoticeType.REFEREE_WANTED,
    ),
    metrics=(UNANSWERED,),
    quotas={
        **bounds(QuotaKind.DISPUTES, QuotaKind.NEW_DISPUTES),
        "statements": Bound(
            of="side and dispute",
            most=MAX_STATEMENTS,
            counts="statements",
            rows=("dispute_texts",),
            problem="forbidden",
        ),
        "receipts": Bound(
            of="side and dispute",
            most=MAX_RECEIPTS,
            counts="receipts handed in",
            problem="forbidden",
        ),
        "referees": Bound(
            of="dispute",
            most=MAX_REFEREES,
            counts="offers to judge, with a reason each",
            rows=("dispute_referees",),
            problem="forbidden",
        ),
    },
    settings=PERIODS,
)
