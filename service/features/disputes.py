"""Disputes: accusations, findings and rulings; their periods end by a sweep."""

from __future__ import annotations

from typing import Final

from schemas.notices import NoticeType
from service.api.disputes import disputes
from service.application.quotas import Bound, Slice, bounds
from service.bootstrap import Services
from service.domain.dispute_rules import MAX_RECEIPTS, MAX_REFEREES, MAX_STATEMENTS
from service.feature import Feature, Sweep, Work
from service.features.sweeping import HOUR, MINUTE, each
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


DISPUTES: Final = Feature(
    name="disputes",
    operations=(disputes,),
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
)
