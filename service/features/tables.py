"""Tables: their seats, and the sweep that finds those that have to deal by themselves."""

from __future__ import annotations

from secrets import token_hex
from typing import Final
from uuid import UUID

from schemas.notices import NoticeType
from service.api.tables import tables
from service.application.ports import MAIN_QUEUE, JobKind
from service.application.quotas import MAX_TABLE_EVENTS, Bound, Slice, bounds
from service.application.tables.record import NEXT_HAND
from service.bootstrap import Services
from service.feature import Feature, Job, JobContext, Sweep, Work
from service.features.sweeping import Woken
from service.runtime.telemetry import JOBS
from service.store.events import QuotaKind

DEAL_NEXT: Final = JobKind(name="deal_next", queue=MAIN_QUEUE)


def ready_tables(services: Services) -> Work:
    """Wake a worker for each table that has to deal by itself."""
    woken = Woken()

    def work(part: Slice) -> int:
        since, count = services.world.now() - NEXT_HAND, 0
        ready = services.directory.ready_tables(since=since, limit=part.rows + woken.forget_old())
        for table in ready:
            if part.is_over(count):
                break
            if woken.is_new(table.id, table.version, table.since):
                key = f"deal-{table.id}-{table.version}-{token_hex(4)}"
                services.notifier.enqueue(DEAL_NEXT, str(table.id), table.version, key=key)
                count += 1
        return count

    return work


def deal_next(work: JobContext, table_id: str, version: int) -> str:
    """
    Deal the next hand of a table that does so by itself, if it is still at `version`.

    Returns the outcome. Safe to run twice, late or concurrently.
    """
    dealt = work.services().tables.deal_next(UUID(table_id), version)
    outcome = "dealt" if dealt else "late"
    JOBS.labels(outcome).inc()
    return outcome


TABLES: Final = Feature(
    name="tables",
    operations=(tables,),
    jobs=(Job(kind=DEAL_NEXT, run=deal_next),),
    sweeps=(
        Sweep(name="tables", period=1, seconds=1, rows=200, longest_pause=30, begin=ready_tables),
    ),
    notices=(
        NoticeType.HAND_DEALT,
        NoticeType.HAND_SEALED,
        NoticeType.SEAT_TAKEN,
        NoticeType.TABLE_CLOSED,
        NoticeType.INVITED,
    ),
    quotas={
        **bounds(QuotaKind.TABLES, QuotaKind.NEW_TABLES, QuotaKind.INVITATIONS),
        "table_events": Bound(
            of="table",
            most=MAX_TABLE_EVENTS,
            counts="events; then no seat is taken or changed",
        ),
    },
)
