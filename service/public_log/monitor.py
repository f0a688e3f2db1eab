"""A monitor: reads every entry of a public log, and says what does not fit."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from service.public_log.log_client import LogClient, NotThere, Unreachable
from service.public_log.monitor_games import (
    Games,
    WatchedGame,
    as_json,
    check_tables,
    from_json,
    note_leaf,
    read_lines,
    unsealed,
)
from service.public_log.monitor_memory import MOST_FINDINGS, forget
from service.record.canonical import RecordError
from service.record.checkpoint import Checkpoint, open_checkpoint
from service.record.notes import NoteVerifier
from service.record.receipts import parse_receipt_body
from service.record.tiles import EMPTY, WIDTH, Edge, entry_tiles, grow
from service.record.tree import leaf_hash
from service.whole_files import write_whole


@dataclass(slots=True, kw_only=True)
class MonitorState:
    """What a monitor has seen; the edge of the tree is all that it takes to hold the rest to it."""

    keys: list[NoteVerifier] = field(default_factory=list)
    edge: Edge = EMPTY
    note: bytes = b""  # the last checkpoint that fitted
    games: Games = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)  # games whose events are still to be read
    findings: list[str] = field(default_factory=list)
    more: bool = False  # whether there were findings beyond those that are kept


class Monitor:
    """
    Follows one log. A finding is told once and kept.

    It rebuilds the tree out of the entries themselves, so whatever the log changes,
    drops or shows to others only makes another root than the one it signed.
    """

    def __init__(
        self,
        client: LogClient,
        state: MonitorState,
        *,
        now: Callable[[], datetime],
        unsealed_after: timedelta,
        remember: timedelta = timedelta(days=730),
        keep: Callable[[bytes], None] = lambda _note: None,
    ) -> None:
        self._client = client
        self.state = state
        self._now = now
        self._unsealed_after = unsealed_after
        self._remember = max(remember, unsealed_after)
        self._keep = keep

    def look(self) -> None:
        """Read what is new and add to the findings; raises Unreachable with those kept so far."""
        state = self.state
        state.keys = self._client.keys(state.keys)
        self._add(self._follow())
        self._add(self._read_games())
        self._add(unsealed(state.games, self._now(), self._unsealed_after))
        forget(state.games, pending=state.pending, now=self._now(), remember=self._remember)

    def _add(self, said: Iterator[str]) -> None:
        for one in said:
            if one in self.state.findings:
                continue
            if len(self.state.findings) < MOST_FINDINGS:
                self.state.findings.append(one)
            else:
                self.state.more = True

    def _follow(self) -> Iterator[str]:
        """Go on to the newest checkpoint, if it continues what was seen."""
        note, edge = self._client.checkpoint(), self.state.edge
        try:
            checkpoint, _, _ = open_checkpoint(note, self.state.keys)
        except RecordError as error:
            self._keep(note)
            yield f"signature: a checkpoint that does not hold: {error.detail}"
            return
        if checkpoint.size < edge.size:
            self._keep(note)
            yield f"rollback: the log shows {checkpoint.size} leaves, and had {edge.size}"
            return
        try:
            entries = self._entries(edge.size, checkpoint.size)
        except (NotThere, RecordError) as error:
            yield f"truncated: entries of the tree of {checkpoint.size} leaves are missing: {error}"
            return
        grown, _ = grow(edge, [leaf_hash(entry) for entry in entries])
        if grown.root != checkpoint.root:
            self._keep(note)
            yield f"fork: the tree of {checkpoint.size} leaves is not the one that was seen before"
            return
        self.state.edge, self.state.note = grown, note
        yield from self._note_leaves(checkpoint, entries)

    def _entries(self, first: int, end: int) -> list[bytes]:
        found: list[bytes] = []
        for tile in entry_tiles(first, end):
            found += self._client.entries(tile)
        return found[first - first // WIDTH * WIDTH :] if first < end else []

    def _note_leaves(self, checkpoint: Checkpoint, entries: Sequence[bytes]) -> Iterator[str]:
        state = self.state
        for index, entry in enumerate(entries, start=checkpoint.size - len(entries)):
            try:
                receipt = parse_receipt_body(entry.decode("utf-8", "replace"))
            except RecordError:
                yield f"leaf: leaf {index} is not the body of a receipt"
                continue
            if receipt.origin != checkpoint.origin:
                yield f"leaf: leaf {index} is of another log, {receipt.origin}"
                continue
            yield from note_leaf(state.games, receipt, self._now())
            if str(receipt.game) not in state.pending:
                state.pending.append(str(receipt.game))

    def _read_games(self) -> Iterator[str]:
        """Read the events of games with new leaves; what is not reached waits for the next time."""
        state, changed = self.state, list[str]()
        while state.pending:
            identity = state.pending[0]
            game = state.games[identity]
            try:
                yield from self._read_game(identity, game)
            except NotThere:
                game.private = True
                game.leaves.clear()
                if game.table:
                    yield f"withdrawn: game {identity} could be read before, and cannot any more"
            except Unreachable as error:
                yield from self._tables(changed)
                raise Unreachable(f"game {identity}: {error}") from None
            state.pending.pop(0)
            changed.append(identity)
        yield from self._tables(changed)

    def _read_game(self, identity: str, game: WatchedGame) -> Iterator[str]:
        while game.leaves:
            before = game.version
            lines = self._client.events(identity, before)
            yield from read_lines(identity, game, lines)
            if not lines:
                yield f"fork: game {identity} has {before} events, fewer than the log says"
            if game.version == before:
                game.leaves.clear()

    def _tables(self, changed: Sequence[str]) -> Iterator[str]:
        return check_tables(self.state.games, changed)


def load_state(path: Path) -> MonitorState:
    """Return what a file remembers, a new state where there is none."""
    if not path.exists():
        return MonitorState()
    try:
        said = json.loads(path.read_bytes())
        levels = tuple(tuple(map(b64decode, level)) for level in said["edge"])
        return MonitorState(
            keys=[NoteVerifier(name=n, public=b64decode(p)) for n, p in said["keys"]],
            edge=Edge(size=said["size"], levels=levels),
            note=b64decode(said["note"]),
            games=from_json(said["games"]),
            pending=list(said["pending"]),
            findings=list(said["findings"]),
            more=bool(said.get("more", False)),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise RecordError("bad_monitor", f"{path} is not the state of a monitor") from None


def save_state(path: Path, state: MonitorState) -> None:
    """Write the state, whole or not at all."""
    said: dict[str, Any] = {
        "v": 1,
        "keys": [[key.name, _text(key.public)] for key in state.keys],
        "size": state.edge.size,
        "edge": [[_text(one) for one in level] for level in state.edge.levels],
        "note": _text(state.note),
        "games": as_json(state.games),
        "pending": state.pending,
        "findings": state.findings,
        "more": state.more,
    }
    write_whole(path, json.dumps(said).encode() + b"\n")


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
