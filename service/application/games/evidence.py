"""Evidence bundles, and the verification of stored games and uploads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from socket import socket
from typing import Any
from uuid import UUID

from service.application.access import AccessLog
from service.application.calls import Caller
from service.application.errors import Refusal
from service.application.games.cache import GameCache
from service.application.games.queries import Games
from service.application.games.record import GameRecord
from service.application.games.refused_moves import Refusals
from service.application.games.uploads import Upload, Work, audit_of, request_of
from service.application.quotas import work
from service.domain.view import ALL
from service.public_log.log import PublicLog
from service.replay.sentences import said
from service.runtime.recent import Recent
from service.shx.bundle import OPENINGS, PROOF, Bundle, write_bundle
from service.shx.canonical import canonical
from service.shx.tlog.checkpoint import CosignatureVerifier
from service.shx.tlog.notes import NoteVerifier
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Result
from service.verify.report import audit_object
from service.verify.verify import verify_bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Builds the bundles of SHX/1, section 7."""

    game_cache: GameCache
    games: Games
    refusals: Refusals
    dispute_files: Callable[[UUID], Mapping[str, bytes]]
    log: PublicLog
    access_log: AccessLog

    def bundle(self, caller: Caller, game: UUID, profile: str) -> tuple[str, bytes]:
        """
        Return the file name and bytes of a game's bundle, public or of the caller's seat.

        Raises Refusal `not-found`, or `not-seated` for a seat's bundle.
        """
        entry = self.games.entry(caller, game)
        lines = self.game_cache.lines(game, limit=entry.record.version)
        files = self._files(entry.record)
        seat = None
        if profile == "seat":
            seat = entry.seat_of(caller.player)
            if seat is None:
                raise Refusal("not-seated", said("request.not_seated"))
            if not entry.record.sealed:
                files[OPENINGS] = canonical(self.games.seat_openings(entry, seat))
        self.access_log.note(entry, caller, ALL if entry.record.sealed else None)
        name = "public" if seat is None else f"seat-{seat}"
        return f"{game}.shx", write_bundle(lines, profile=name, files=files)

    def public(self, record: GameRecord, lines: Sequence[bytes]) -> bytes:
        """
        Return the public bundle of a game with these lines for the archive, without access rules.

        Raises Refusal `unavailable` if some of the refused attempts named in the seal are
        missing: archiving deletes the rows of the game, and with them the remaining attempts.
        """
        if not self.refusals.is_complete(record):
            detail = said("operator.other_refusals", game=str(record.identity))
            raise Refusal("unavailable", detail)
        return self.stored(record, lines)

    def stored(self, record: GameRecord, lines: Sequence[bytes]) -> bytes:
        """Return the public bundle of a game with these lines and what is stored beside them."""
        return write_bundle(lines, files=self._files(record))

    def _files(self, record: GameRecord) -> dict[str, bytes]:
        files = dict(self.dispute_files(record.identity))
        proof = self.log.proof(record.identity, version=record.version)
        if proof is not None:
            files[PROOF] = proof
        files |= self.log.stamp(record.identity, version=record.version)
        return {**files, **self.refusals.file(record)}


MAX_AUDITS = 500
"""Maximum number of audit objects in the cache, of a few kilobytes each."""


def _audits() -> Recent[UUID, tuple[object, dict[str, Any]]]:
    """Return a cache of audit objects by game, each with the data that it was computed from."""
    return Recent(MAX_AUDITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifying:
    """Runs the offline checks for stored games and uploads; keys in a bundle are not trusted."""

    game_cache: GameCache
    games: Games
    refusals: Refusals
    log: PublicLog
    server_keys: Callable[[], Sequence[NoteVerifier]]
    witnesses: tuple[CosignatureVerifier, ...]
    work: Work
    _audits: Recent[UUID, tuple[object, dict[str, Any]]] = field(
        default_factory=_audits, init=False
    )

    def audit(self, caller: Caller, game: UUID) -> dict[str, Any]:
        """
        Return the audit object of a stored game, computed from its public evidence.

        Raises Refusal `not-found`.
        """
        entry = self.games.read(caller, game)
        version, keys = entry.record.version, tuple(self.server_keys())
        proof = self.log.proof(game, version=version)
        files = {**({} if proof is None else {PROOF: proof}), **self.refusals.file(entry.record)}
        made_of = (entry.record.head, files, keys)
        cached = self._audits.get(game)
        if cached is not None and cached[0] == made_of:
            return cached[1]
        with work(version):
            lines = self.game_cache.lines(game, limit=version)
            own = OutsideEvidence(server_keys=keys, witness_keys=self.witnesses)
            found = audit_object(verify_bundle(Bundle(lines=lines, files=files), own))
        self._audits.keep(game, (made_of, found))
        return found

    def is_final(self, audit: Mapping[str, Any]) -> bool:
        """
        Return whether the audit object of a stored game is final.

        It is final once the game is sealed and in the public log, and witnesses have cosigned.
        """
        [anchored] = [c["result"] for c in audit["checks"] if c["check"] == Check.ANCHOR.value]
        published = anchored == Result.PASS.value
        seen = audit["witnessed"] or not self.witnesses
        return bool(audit["sealed"] and published and seen)

    def verify(self, upload: Upload, callers: Sequence[socket] = ()) -> dict[str, Any]:
        """
        Return the audit object of an uploaded bundle or log, from the upload alone.

        The work stops after its time limit, or if the client closes all connections in
        `callers`. Raises Refusal `unavailable` in these cases, and the
        refusals of `Upload.audit`.
        """
        return audit_of(self.work(request_of(upload), callers))
