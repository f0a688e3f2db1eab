"""The public log in PostgreSQL: append-only, enforced by triggers."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
import psycopg

from service.public_log.log import (
    RESTORES,
    Batch,
    Damage,
    Head,
    Leaf,
    LogMoved,
    SignedHead,
    StampedHead,
    WaitingGame,
)
from service.shx.tlog.tiles import Tile
from service.store.database import Database
from service.store.events import StoreError

MOVED = "SH409"


class PostgresWal:
    """
    The WAL of the primary, and an archive that follows it.

    `archive` is the replication slot from which a program such as pg_receivewal writes it, or
    "archiver" for PostgreSQL's archive_command.
    """

    def __init__(self, database: Database, archive: str) -> None:
        self._database = database
        self._archive = archive

    @property
    def archive(self) -> str:
        """Return the name of the slot, or "archiver"."""
        return self._archive

    def position(self) -> str:
        """Return the flushed position; raises StoreError on a replica."""
        [(position,)] = self._database.fetch("wal_position")
        if position is None:
            raise StoreError("this server is a replica, which archives nothing")
        return str(position)

    def cluster(self) -> str:
        """Return the system identifier of the database."""
        [(cluster,)] = self._database.fetch("wal_cluster")
        return str(cluster)

    def holds(self, position: str) -> bool:
        """Return whether the archive holds the WAL up to a position; false without the archive."""
        [(held,)] = self._database.fetch("wal_archived", self._archive, position)
        return bool(held)


class PostgresLog:
    """The rows of the log, read by queries and written by SQL functions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def head(self) -> Head:
        """Return the current tree."""
        [(size, root, note)] = self._database.fetch("log_head")
        return Head(size=size, root=root, note=note)

    def published(self) -> SignedHead | None:
        """Return the newest signed head."""
        return _signed(self._database.fetch("log_published"))

    def early_head(self, index: int) -> SignedHead | None:
        """Return the head with most cosignatures, of the first 50 signed ones that cover a leaf."""
        return _signed(self._database.fetch("log_covering", index))

    def waiting(self, *, limit: int, last_leaf_before: datetime) -> Sequence[WaitingGame]:
        """Return the games that wait for a leaf: those with an outbox row, then running games."""
        rows = self._database.fetch("log_waiting", last_leaf_before, limit)
        return [
            WaitingGame(game=game, version=version, head=head, in_outbox=in_outbox, in_log=in_log)
            for game, version, head, in_outbox, in_log in rows
        ]

    def append(self, batch: Batch) -> None:
        """
        Append a batch.

        Raises LogMoved if it was made for another tree, StoreError if the database refuses it.
        """
        try:
            self._database.change("append_log", _encoded(batch))
        except psycopg.Error as error:
            if error.sqlstate == MOVED:
                raise LogMoved(str(error.diag.message_primary)) from error
            raise StoreError(f"the database refused the batch ({error.sqlstate})") from error

    def sign(self, size: int, note: bytes) -> None:
        """Store the signed checkpoint of a tree; raises StoreError."""
        try:
            [(recorded,)] = self._database.change("sign_log_head", size, note)
        except psycopg.Error as error:
            raise StoreError(f"the database refused the note ({error.sqlstate})") from error
        if not recorded:
            raise StoreError(f"there is no tree of {size} leaves")

    def keep_cosignature(self, size: int, witness: str, line: str) -> None:
        """Store the cosignature of a witness."""
        self._database.change("keep_cosignature", size, witness, line)

    def cosigned_size(self, witness: str) -> int:
        """Return the size of the largest tree that a witness cosigned, 0 if there is none."""
        return int(self._database.fetch("log_cosigned_size", witness)[0][0])

    def hashes(self, tile: Tile) -> bytes:
        """Return the hashes of a tile of the tree, concatenated, 32 bytes each."""
        [(found,)] = self._database.fetch("log_hashes", tile.level, tile.first, tile.width)
        return bytes(found)

    def entries(self, tile: Tile) -> Sequence[bytes]:
        """Return the data of the leaves in an entry bundle."""
        rows = self._database.fetch("log_entries", tile.first, tile.width)
        return [bytes(data) for (data,) in rows]

    def leaf_of(self, game: UUID, *, size: int) -> Leaf | None:
        """Return the last leaf of a game in the tree of the first `size` leaves."""
        for index, version, data in self._database.fetch("log_leaf_of_game", game, size):
            return Leaf(index=index, game=game, version=version, data=data)
        return None

    def heads(self, above: int, end: int) -> Sequence[Head]:
        """Return the trees of more than `above` leaves, up to `end`, the smallest first."""
        rows = self._database.fetch("log_heads_between", above, end)
        return [Head(size=size, root=root, note=note) for size, root, note in rows]

    def stamped(self, limit: int) -> Sequence[StampedHead]:
        """Return the newest stamped checkpoints."""
        rows = self._database.fetch("log_stamped", limit)
        return [
            StampedHead(size=size, authority=by, at=at, added_at=added, answer=bytes(answer))
            for size, by, at, added, answer in rows
        ]

    def keep_stamp(self, stamp: StampedHead) -> None:
        """Store the token of a checkpoint, unless it has one of this authority."""
        self._database.change(
            "keep_time_stamp", stamp.size, stamp.authority, stamp.at, stamp.added_at, stamp.answer
        )

    def stamp_over(self, index: int) -> StampedHead | None:
        """Return the stamp of the smallest stamped tree that has a leaf; None without one."""
        for size, by, at, added, answer in self._database.fetch("log_stamp_over", index):
            return StampedHead(size=size, authority=by, at=at, added_at=added, answer=bytes(answer))
        return None

    def newest_dispute(self) -> datetime | None:
        """Return when the newest running dispute was opened; None without one."""
        [(opened,)] = self._database.fetch("log_newest_dispute")
        return opened if isinstance(opened, datetime) else None

    def damage(self) -> Sequence[Damage]:
        """Return all damage that is stored, by part and place."""
        rows = self._database.fetch("log_damage")
        return [Damage(part=part, place=place, reason=reason) for part, place, reason in rows]

    def keep_damage(self, part: str, found: Sequence[Damage]) -> None:
        """Replace the stored damage of a part of the log; of all parts at most 1,000 are stored."""
        rows = [{"place": one.place, "reason": one.reason} for one in found]
        self._database.change("keep_log_damage", part, orjson.dumps(rows).decode())

    def restores(self) -> Sequence[Leaf]:
        """Return the leaves that declare restores, oldest first."""
        rows = self._database.fetch("log_restores", RESTORES)
        return [
            Leaf(index=index, game=RESTORES, version=version, data=bytes(data))
            for index, version, data in rows
        ]


def _signed(rows: list[tuple[Any, ...]]) -> SignedHead | None:
    for size, root, note, lines in rows:
        return SignedHead(size=size, root=root, note=note, cosignatures=tuple(lines))
    return None


def _encoded(batch: Batch) -> str:
    return orjson.dumps(
        {
            "size": batch.size,
            "root": b64encode(batch.root).decode("ascii"),
            "at": batch.at.isoformat(),
            "leaves": [
                {"game": str(leaf.game), "version": leaf.version, "data": leaf.data.decode()}
                for leaf in batch.leaves
            ],
            "hashes": [
                {"level": level, "position": position, "hash": b64encode(one).decode("ascii")}
                for level, position, one in batch.hashes
            ],
            "done": [
                {"stream": str(game), "version": version} for game, version in batch.outbox_rows
            ],
        }
    ).decode()
