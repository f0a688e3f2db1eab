"""Every stored stream against its recorded head, and with `deep` every game by all its rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from service.event_store.database import Database
from service.event_store.postgres import PostgresStore
from service.event_store.protocol import StoreError, StoreUnavailable, StreamKind, StreamSlice
from service.keeping.faults import Fault, Progress
from service.record.bundle import Bundle
from service.record.canonical import RecordError, parse
from service.record.chain import genesis, head
from service.verify.finding import Result
from service.verify.verify import verify_bundle

BATCH: Final = 50


def check_streams(
    database: Database, store: PostgresStore, progress: Progress
) -> Iterator[Progress]:
    """
    Check all streams after the one that `progress` names; yield it after each.

    Streams may grow meanwhile: each is read in one snapshot. One that begins after the
    check has passed its id is left to the next check.
    """
    while rows := database.fetch("check_streams", progress.stream, BATCH):
        for stream, kind, version, shown in rows:
            where = f"{kind} {stream}"
            faults = list(_stream(store, stream, where, deep=progress.deep))
            if kind != StreamKind.ACCESS and shown != version:
                said = "none" if shown is None else f"version {shown}"
                reason = f"its row shows {said}, the stream is at {version}"
                faults.append(Fault(where=where, check="row", reason=reason))
            progress = replace(progress, stream=stream, streams=progress.streams + 1)
            progress = progress.found(*faults)
            yield progress


def _stream(store: PostgresStore, stream: UUID, where: str, *, deep: bool) -> Iterator[Fault]:
    try:
        found = store.read(stream)
        bundle = store.bundle(stream)
    except StoreUnavailable:
        raise
    except StoreError as error:
        yield Fault(where=where, check="bundle", reason=str(error))
        return
    if found is None:
        yield Fault(where=where, check="head", reason="it was there a moment ago")
        return
    broken = broken_chain(stream, found.events)
    if broken is not None:
        yield Fault(where=where, check="chain", reason=broken)
    if reason := _other_end(found):
        yield Fault(where=where, check="head", reason=reason)
    if deep and found.kind is StreamKind.GAME:
        yield from _verified(bundle or Bundle(lines=found.events), where)


def broken_chain(stream: UUID, lines: Sequence[bytes]) -> str | None:
    """Return where the events of a stream do not follow from one another; None where all do."""
    before, at = genesis(stream), ""
    for seq, line in enumerate(lines):
        try:
            event = parse(line)
        except RecordError as error:
            return f"seq {seq}: {error.detail}"
        if not isinstance(event, dict) or event.get("game") != str(stream):
            return f"seq {seq}: an event of something else"
        if event.get("seq") != seq:
            return f"seq {seq}: it calls itself {event.get('seq')}"
        if event.get("prev") != before.hex():
            return f"seq {seq}: prev is not the head of the event before"
        if str(event.get("at")) < at:
            return f"seq {seq}: earlier than the event before"
        before, at = head(line), str(event.get("at"))
    return None


def _other_end(found: StreamSlice) -> str | None:
    if len(found.events) != found.version:
        return f"it has {len(found.events)} events, and {found.version} are recorded"
    if not found.events or head(found.events[-1]) != found.head:
        return "its last event has another head than the one recorded"
    return None


def _verified(bundle: Bundle, where: str) -> Iterator[Fault]:
    for finding in verify_bundle(bundle).findings:
        if finding.result is Result.FAIL:
            place = "" if finding.seq is None else f"seq {finding.seq}: "
            yield Fault(where=where, check=finding.check.value, reason=f"{place}{finding.reason}")
