"""Tables: their seats, and the sweep that finds those that have to deal by themselves."""

from __future__ import annotations

from typing import Final

from schemas.notices import NoticeType
from service.api.tables import tables
from service.application.quotas import MAX_TABLE_EVENTS, Bound, Slice, bounds
from service.application.tables.record import NEXT_HAND
from service.bootstrap import Services
from service.feature import Feature, Sweep, Work
from service.features.sweeping import Woken
from service.store.events import QuotaKind


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
                services.notifier.deal(table.id, table.version)
                count += 1
        return count

    return work


TABLES: Final = Feature(
    name="tables",
    operations=(tables,),
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
