"""What the machine and silence do in disputes: findings, referees replaced, rulings made final."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from service.application.dispute_files import DisputeFiles, findings_key
from service.application.dispute_record import (
    DisputeRecord,
    dispute_append,
    moment_of,
    write_dispute,
)
from service.application.entries import Entries
from service.application.findings import findings_on
from service.application.ports import World
from service.application.rulebook import Rulebook
from service.domain.dispute_events import DisputeEvent, FindingsMade
from service.domain.judging import overdue
from service.event_store.directory import Directory
from service.event_store.protocol import Commit, EventStore, StreamConflict
from service.key_file import Keys
from service.record.canonical import canonical
from service.record.hashing import sha256
from service.record.times import format_time

ATTEMPTS = 20
FINDINGS_WITHIN = timedelta(seconds=3)
"""After which the sweeper makes findings that no worker made."""


class Attendance:
    """Sees to disputes that nobody attends to."""

    def __init__(
        self,
        *,
        store: EventStore,
        directory: Directory,
        entries: Entries,
        files: DisputeFiles,
        keyring: Keys,
        rulebook: Rulebook,
        world: World,
    ) -> None:
        self._store = store
        self._directory = directory
        self._entries = entries
        self._files = files
        self._keyring = keyring
        self._rulebook = rulebook
        self._world = world

    def due(self, *, limit: int) -> Sequence[UUID]:
        """Return the disputes that nobody attends to and that need it."""
        now = self._world.now()
        return self._directory.due_disputes(
            now=now, opened_before=now - FINDINGS_WITHIN, limit=limit
        )

    def attend(self, identity: UUID) -> str:
        """
        Make the findings that are missing, and do what silence has led to.

        Safe to run twice, late, or beside itself: it looks at what is there.
        """
        for _ in range(ATTEMPTS):
            record = self._files.record(identity)
            if record is None:
                return "gone"
            found, beside = self._looked_into(record)
            silence = overdue(record.dispute, moment_of(self._now()))
            if not found and not silence:
                return "nothing"
            done, lines = write_dispute(record, (*found, *silence), at=self._now())
            append = dispute_append(done, lines, expected=record.version, beside=beside)
            try:
                self._store.commit(Commit(appends=(append,)))
            except StreamConflict:
                continue
            return "done"
        return "again"

    def _looked_into(
        self, record: DisputeRecord
    ) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
        """Return new findings: on the frozen log first, on the whole one after the seal."""
        dispute, opened = record.dispute, record.dispute.opened
        entry = self._entries.fresh(record.game)
        if entry is None:
            return (), {}
        version = opened.version
        if entry.record.sealed:
            version = entry.record.version
        if dispute.found_at >= version:
            return (), {}
        pinned = entry.record.created["ruleset"]
        definition = self._rulebook.find(pinned["id"])
        lines = self._entries.lines(record.game, limit=version)
        cites = definition.cites_of(pinned["options"]) if definition else {}
        made = canonical(
            findings_on(record.game, lines, opened.seq, opened.charge, cites=cites)
        )
        key_id, sealed = self._keyring.seal(made, findings_key(record.identity))
        findings = {"found_at": version, "key_id": key_id, "sealed": sealed}
        event = FindingsMade(version=version, digest=sha256(made).hex())
        return (event,), {"findings": findings}

    def _now(self) -> str:
        return format_time(self._world.now())
