"""Sealed games leave the database as bundles, which serve their readers from then on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from service.application.entries import Entries
from service.application.errors import Refusal, not_found
from service.application.evidence import Evidence
from service.application.operating import Operating
from service.application.ports import World
from service.event_store.bundles import Bundles
from service.event_store.owner import Owner
from service.keyring import KeyringError
from service.record.bundle import read_bundle
from service.record.hashing import sha256
from service.record.stored_zip import NotABundle


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedGame:
    """A game that has left the database."""

    id: UUID
    path: Path
    size: int  # bytes


class Archiving:
    """Moves games, one at a time: stopped anywhere, the next run goes on."""

    def __init__(
        self,
        *,
        operating: Operating,
        owner: Owner,
        entries: Entries,
        evidence: Evidence,
        bundles: Bundles,
        world: World,
    ) -> None:
        self._operating = operating
        self._owner = owner
        self._entries = entries
        self._evidence = evidence
        self._bundles = bundles
        self._world = world

    def waiting(self, *, older_than: timedelta) -> int:
        """Return how many games `all_older` would move."""
        return len(self._owner.archivable(ended_before=self._world.now() - older_than))

    def all_older(self, *, older_than: timedelta) -> Iterator[ArchivedGame | Refusal]:
        """Move the games that have been over for so long; yield each, or why it stays."""
        before = self._world.now() - older_than
        games = self._operating.noted(
            "archive", None, lambda: self._owner.archivable(ended_before=before)
        )
        for game in games:
            try:
                yield self.one(game)
            except Refusal as refusal:
                yield refusal

    def one(self, game: UUID) -> ArchivedGame:
        """
        Move a game; raises Refusal where it is not there, runs, or is still to be told of.

        The bundle is on the disk and was read back before the events go, in the transaction
        that records its hash. The game's stream is held meanwhile: of two who archive at the
        same time the second finds it done, and cannot have written over the first one's file.
        """
        return self._operating.noted("archive", game, lambda: self._move(game))

    def _move(self, game: UUID) -> ArchivedGame:
        held = self._owner.hold(game)
        if held is None:
            raise not_found("game")
        if held.archived:
            raise Refusal("archived", f"game {game} is archived already")
        if not held.over:
            raise Refusal("hand-running", f"game {game} is being played")
        if held.untold:
            raise Refusal("untold", f"game {game} is still to be told of: try again in a minute")
        entry = self._entries.fresh(game)
        if entry is None:
            raise not_found("game")
        try:
            data = self._evidence.public(entry)
        except NotABundle as error:
            raise Refusal("too-large", f"game {game} does not fit into a bundle: {error}") from None
        except KeyringError as error:
            raise Refusal("unavailable", f"what was refused in game {game}: {error}") from None
        if read_bundle(data).lines != self._entries.lines(game):
            raise Refusal("unavailable", f"the bundle of game {game} is not its log")
        path = self._bundles.keep(game, data)
        self._owner.archive(game, sha256(data))
        return ArchivedGame(id=game, path=path, size=len(data))
