"""The check of everything that is stored: all streams first, then the public log over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from service.event_store.bundles import Bundles
from service.event_store.database import Database
from service.event_store.postgres import PostgresStore
from service.keeping.check_log import LogCheck
from service.keeping.check_streams import check_streams
from service.keeping.faults import Progress
from service.record.notes import NoteVerifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much there is to check."""

    streams: int
    leaves: int


def extent_of(database: Database) -> Extent:
    """Return how much there is to check."""
    [(streams, leaves)] = database.fetch("check_extent")
    return Extent(streams=streams, leaves=leaves)


def whole_check(
    database: Database,
    archive: Path | None,
    keys: Sequence[NoteVerifier] | None,
    progress: Progress,
) -> Iterator[Progress]:
    """Go on with a check to its end; yield after each step how far it is and what it found."""
    store = PostgresStore(database, Bundles(archive))
    for step in check_streams(database, store, progress):
        yield (progress := step)
    yield from LogCheck(database, store, keys).run(progress)
