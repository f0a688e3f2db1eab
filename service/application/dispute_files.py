"""The files of disputes: the evidence as it is frozen, and what goes into a game's bundle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from service.application.dispute_record import DisputeRecord, load_dispute
from service.application.dispute_view import dispute_json
from service.application.entries import Entries, GameEntry
from service.application.refusals import Refusals
from service.event_store.directory import Directory
from service.event_store.protocol import EventStore, StreamKind
from service.key_file import Keys
from service.record.bundle import REFUSALS, write_bundle
from service.record.canonical import canonical, parse

MOST_FINDINGS_BYTES = 1 << 20
MOST_IN_A_BUNDLE = 20
"""The newest disputes of a game; more would make its bundle a heap of copies."""

MOST_COPIED = 16 << 20
"""Bytes of frozen evidence in a bundle, the newest first: with more, no reader would take it."""


class DisputeFiles:
    """Reads disputes and what is kept beside them."""

    def __init__(
        self,
        *,
        store: EventStore,
        directory: Directory,
        keyring: Keys,
        entries: Entries,
        refusals: Refusals,
    ) -> None:
        self._store = store
        self._directory = directory
        self._keyring = keyring
        self._entries = entries
        self._refusals = refusals

    def record(self, identity: UUID) -> DisputeRecord | None:
        """Return a dispute as the store has it now."""
        found = self._store.read(identity)
        if found is None or found.kind is not StreamKind.DISPUTE:
            return None
        return load_dispute(identity, found.events)

    def findings(self, identity: UUID) -> list[dict[str, Any]]:
        """Return what the machine found last; nothing where it has not looked yet."""
        found = self._directory.dispute_findings(identity)
        if found is None:
            return []
        opened = self._keyring.open(found.key_id, found.sealed, findings_key(identity))
        return list(parse(opened, limit=MOST_FINDINGS_BYTES))

    def frozen(self, entry: GameEntry) -> bytes:
        """Return the public bundle of a game as it is now."""
        record = entry.record
        lines = self._entries.lines(record.identity, limit=record.version)
        files = {}
        if record.sealed and (rows := self._refusals.of(record.identity)):
            files[REFUSALS] = b"".join(canonical(row) + b"\n" for row in rows)
        return write_bundle(lines, files=files)

    def of_game(self, game: UUID) -> Mapping[str, bytes]:
        """
        Return the files about disputes for a game's bundle.

        Without the words: what was written into a bundle could not be erased.
        """
        files: dict[str, bytes] = {}
        left = MOST_COPIED
        for row in self._directory.disputes_of(game, limit=MOST_IN_A_BUNDLE).items:
            record, bundle = self.record(row.id), self._directory.dispute_bundle(row.id)
            if record is None or bundle is None:
                continue
            shown = dispute_json(record, findings=self.findings(row.id), words=None)
            files[f"dispute/{row.id}.json"] = canonical(shown)
            if len(bundle) <= left:
                files[f"dispute/{row.id}.shx"] = bundle
                left -= len(bundle)
        return files


def findings_key(identity: UUID) -> bytes:
    """Return what the findings of a dispute are encrypted together with."""
    return b"findings" + identity.bytes
