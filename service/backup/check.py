"""`shithead check`: compares all stored data with the events from which it follows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import orjson

from schemas.tables import table_event_of
from service.application.disputes.record import DISPUTES, dispute_append
from service.application.games.commits import game_summary
from service.application.games.record import GameRecord, load
from service.application.tables.record import TABLES, table_summary
from service.backup.check_attached import (
    attached_to_dispute,
    choices_of_game,
    differing_ratings,
    differing_results,
    disputes_of_table,
    refusals_of_game,
)
from service.domain.table import HandDealt, Table, fold_table
from service.keys import Keys
from service.public_log.log import RESTORES
from service.runtime.atomic_files import write_whole
from service.shx.bundle import Bundle
from service.shx.canonical import RecordError, parse
from service.shx.chain import genesis, head
from service.shx.receipts import receipt_body
from service.shx.restores import restore_in
from service.shx.tlog.checkpoint import open_checkpoint, parse_checkpoint
from service.shx.tlog.notes import NoteVerifier, parse_note
from service.shx.tlog.tiles import EMPTY, TreeEdge, grow
from service.shx.tlog.tree import leaf_hash
from service.store.archive import Bundles
from service.store.database import Database, as_json
from service.store.events import EventStore, StoreError, StoreUnavailable, StreamKind, StreamSlice
from service.store.postgres_events import PostgresStore
from service.verify.finding import Result
from service.verify.verify import verify_bundle

MAX_FAULTS: Final = 1000
"""Maximum number of listed faults; further ones are only counted."""

_FORMAT: Final = 1
_BEFORE_ALL: Final = UUID(int=0)


class StateError(Exception):
    """The file is not the saved state of a check with these options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """
    A difference between stored data and its events.

    `check` is a check of SHX/1, or one of: stream, chain, head, row, bundle, refusals, leaf, tile,
    root, signature.
    """

    where: str  # a stream or a leaf
    check: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of a running check: the last stream, the tree so far, and the faults found."""

    deep: bool
    stream: UUID = _BEFORE_ALL
    streams: int = 0
    edge: TreeEdge = EMPTY
    faults: tuple[Fault, ...] = field(default=())
    unlisted: int = 0  # the number of further faults

    def with_faults(self, *faults: Fault) -> Progress:
        """Return the state with more faults."""
        if not faults:
            return self
        room = MAX_FAULTS - len(self.faults)
        listed, others = faults[:room], faults[room:]
        return replace(self, faults=self.faults + listed, unlisted=self.unlisted + len(others))


def load_progress(path: Path, *, deep: bool) -> Progress:
    """
    Return the saved state of a check that was stopped; the initial state if there is no file.

    Raises StateError if the file is not the state of a check with the same `deep`.
    """
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Progress(deep=deep)
    except (OSError, ValueError):
        raise StateError(f"{path} is not the state of a check") from None
    try:
        progress = _decoded(value)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise StateError(f"{path} is not the state of a check") from None
    if progress.deep is not deep:
        raise StateError(
            f"{path} is the state of a check {'with' if progress.deep else 'without'} --deep"
        )
    return progress


def save_progress(path: Path, progress: Progress) -> None:
    """Save the state of a check atomically."""
    value = {
        "v": _FORMAT,
        "deep": progress.deep,
        "stream": str(progress.stream),
        "streams": progress.streams,
        "leaves": progress.edge.size,
        "edge": [[one.hex() for one in level] for level in progress.edge.levels],
        "faults": [asdict(fault) for fault in progress.faults],
        "unlisted": progress.unlisted,
    }
    write_whole(path, json.dumps(value).encode())


def _decoded(value: Mapping[str, Any]) -> Progress:
    if value["v"] != _FORMAT:
        raise ValueError
    levels = tuple(tuple(map(bytes.fromhex, level)) for level in value["edge"])
    return Progress(
        deep=bool(value["deep"]),
        stream=UUID(value["stream"]),
        streams=int(value["streams"]),
        edge=TreeEdge(size=int(value["leaves"]), levels=levels),
        faults=tuple(Fault(**fault) for fault in value["faults"]),
        unlisted=int(value["unlisted"]),
    )


LOG_BATCH: Final = 500
MAX_UNLOGGED: Final = 1000


class LogCheck:
    """
    Computes the tree of the public log from its leaves, and compares the stored log with it.

    Every leaf must be the head of its game at that version. Every hash in a tile, every tree
    head and every signed checkpoint must follow from the leaves. `keys` are the keys of the
    service; without them signatures are not checked.
    """

    def __init__(
        self, database: Database, store: EventStore, keys: Sequence[NoteVerifier] | None
    ) -> None:
        self._database = database
        self._store = store
        self._keys = keys

    def run(self, progress: Progress) -> Iterator[Progress]:
        """Check the leaves after those in `progress`; yield the new state after each batch."""
        while rows := self._database.fetch("check_leaves", progress.edge.size, LOG_BATCH):
            heads = self._database.fetch(
                "check_heads", progress.edge.size, progress.edge.size + len(rows)
            )
            for row in rows:
                faults = tuple(self._leaf(progress.edge.size, row))
                is_wrong = any(fault.check == "leaf" for fault in faults)
                # Where the leaf was changed, its stored hash keeps one fault from being many.
                hashed = row[4] if is_wrong and row[4] else leaf_hash(row[3])
                progress = self._grown(progress.with_faults(*faults), bytes(hashed))
                while heads and heads[0][0] <= progress.edge.size:
                    progress = progress.with_faults(*self._head(progress, *heads.pop(0)))
            yield progress
        yield progress.with_faults(*self._end(progress))

    def _leaf(self, index: int, row: tuple[Any, ...]) -> Iterator[Fault]:
        found, game, version, data, stored, line = row
        where = f"leaf {index}"
        if found != index:
            yield Fault(where=where, check="leaf", reason="no leaf has this number")
        if stored != leaf_hash(data):
            yield Fault(where=where, check="tile", reason="the tile has a different hash")
        line = line or self._line(game, version)
        origin = data.partition(b"/g/")[0].decode(errors="replace")
        try:
            expected = line and receipt_body(origin, game, version - 1, head(line)).encode()
            expected = restore_in(data, index).body.encode() if game == RESTORES else expected
        except RecordError as error:
            expected = error.detail.encode()
        if expected is None:
            reason = f"game {game} has no version {version}"
            yield Fault(where=where, check="leaf", reason=reason)
        elif expected != data:
            reason = f"it is not the head of game {game} at version {version}"
            yield Fault(where=where, check="leaf", reason=reason)

    def _line(self, game: UUID, version: int) -> bytes | None:
        """Return the last event of a version of an archived game; None if it cannot be read."""
        try:
            found = self._store.read(game, after=version - 1, limit=1)
        except StoreUnavailable:
            raise
        except StoreError:
            return None
        return found.events[0] if found is not None and found.events else None

    def _grown(self, progress: Progress, hashed: bytes) -> Progress:
        edge, added = grow(progress.edge, [hashed])
        faults = []
        for level, position, made in added:
            if level and self._database.fetch("check_hash", level, position) != [(made,)]:
                where = f"tile level {level}, position {position}"
                reason = "it does not match its leaves"
                faults.append(Fault(where=where, check="tile", reason=reason))
        return replace(progress, edge=edge).with_faults(*faults)

    def _head(self, found: Progress, size: int, root: bytes, note: bytes | None) -> Iterator[Fault]:
        where = f"head of {size} leaves"
        if size != found.edge.size or root != found.edge.root:
            yield Fault(where=where, check="root", reason="it does not match its leaves")
        if note is None:
            return
        try:
            signed = parse_checkpoint(parse_note(note).text)
            if self._keys is not None:
                open_checkpoint(note, self._keys)
        except RecordError as error:
            yield Fault(where=where, check="signature", reason=error.detail)
            return
        if (signed.size, signed.root) != (found.edge.size, found.edge.root):
            yield Fault(where=where, check="signature", reason="the signed tree is a different one")

    def _end(self, progress: Progress) -> Iterator[Fault]:
        """Yield faults of heads beyond the last leaf, and of games whose end has no leaf."""
        size = progress.edge.size
        if not self._database.fetch("check_heads", size - 1, size):
            yield Fault(where=f"head of {size} leaves", check="root", reason="it is missing")
        for size, _, _ in self._database.fetch("check_heads", progress.edge.size, 2**62):
            reason = f"the log has only {progress.edge.size} leaves"
            yield Fault(where=f"head of {size} leaves", check="root", reason=reason)
        for (game,) in self._database.fetch("check_unlogged", MAX_UNLOGGED):
            reason = "its end is neither in the public log nor in the outbox"
            yield Fault(where=f"game {game}", check="leaf", reason=reason)


_NOT_COMPARED: Final = frozenset({"wake_kind", "wake_at", "back", "found_at"})
"""Columns for the next action, the players back from a bot, and the version of the findings."""

_ROWS: Final[Mapping[StreamKind, str]] = {
    StreamKind.GAME: "check_game_row",
    StreamKind.TABLE: "check_table_row",
    StreamKind.DISPUTE: "check_dispute_row",
}


def row_faults(
    database: Database, kind: StreamKind, stream: UUID, lines: Sequence[bytes], where: str
) -> Iterator[Fault]:
    """
    Yield a fault for each column of a summary that does not follow from its events.

    While the service runs, a row may be older than the events: it is compared with the events
    up to its version. The players of a hand are in the stream of its table, and are compared
    there. Tokens, names and invites are in no stream.
    """
    found = database.fetch(_ROWS[kind], stream) if kind in _ROWS else []
    if not found:
        return
    [(version, row, list_column)] = found
    if not 0 < version <= len(lines):
        return  # reported by the check of versions
    try:
        expected = _expected(kind, stream, lines[:version])
        hands = _hands(lines) if kind is StreamKind.TABLE else {}
    except Exception as error:  # noqa: BLE001 - a changed event can cause any error in the fold
        reason = f"its events are invalid ({type(error).__name__}), so its row cannot be compared"
        yield Fault(where=where, check="row", reason=reason)
        return
    for column, value in expected.items():
        stored = (list_column or []) if column in ("seats", "referees") else row.get(column)
        if _comparable(stored) != _comparable(value):
            reason = f"{column} is {_short(stored)}; by its events it is {_short(value)}"
            yield Fault(where=where, check="row", reason=reason)
    if kind is StreamKind.TABLE:
        yield from _hand_faults(database, stream, hands)


def _expected(kind: StreamKind, stream: UUID, lines: Sequence[bytes]) -> dict[str, Any]:
    """Return the columns that are compared, computed from the events, as JSON."""
    summary: Mapping[str, Any]
    match kind:
        case StreamKind.GAME:
            summary = _of_game(load(stream, lines, seed=None))
        case StreamKind.TABLE:
            record = TABLES.load(stream, lines)
            conditions = record.table.conditions
            summary = {
                **table_summary(record),
                "public": conditions.public,
                "ruleset_id": conditions.ruleset["id"],
                "created_at": orjson.loads(lines[0])["at"],
            }
        case _:
            summary = _of_dispute(stream, lines)
    return {name: as_json(value) for name, value in summary.items() if name not in _NOT_COMPARED}


def _of_game(record: GameRecord) -> dict[str, Any]:
    created = record.created
    return {
        **game_summary(record, None),
        "table_id": created["table"],
        "hand": created["hand"],
        "ruleset_id": created["ruleset"]["id"],
        "created_at": record.created_at,
        "seats": [
            {"seat": number, "kind": seat["kind"], "bot": seat.get("bot")}
            for number, seat in enumerate(created["seats"])
        ],
    }


def _of_dispute(stream: UUID, lines: Sequence[bytes]) -> dict[str, Any]:
    """Return the columns of a dispute."""
    record = DISPUTES.load(stream, lines)
    return dict(dispute_append(record, (), expected=record.version).summary or {})


def _hands(lines: Sequence[bytes]) -> dict[UUID, tuple[int, Table]]:
    """Return the hands that a table dealt: the number of each, and the table as it was dealt."""
    events = [table_event_of(e["type"], e["data"]) for e in map(orjson.loads, lines)]
    return {
        UUID(event.game): (event.hand, fold_table(events[: at + 1]))
        for at, event in enumerate(events)
        if isinstance(event, HandDealt)
    }


def _hand_faults(
    database: Database, table: UUID, hands: Mapping[UUID, tuple[int, Table]]
) -> Iterator[Fault]:
    """Yield faults of rows of hands that differ from the events of their table."""
    rows = database.fetch("check_hands_of_table", table)
    for game in sorted(hands.keys() - {row[0] for row in rows}):
        reason = f"table {table} dealt it, and it has no row"
        yield Fault(where=f"game {game}", check="row", reason=reason)
    for game, hand, public, ruleset, players in rows:
        if game not in hands:
            continue  # dealt after the events were read
        number, dealt = hands[game]
        conditions = dealt.conditions
        for name, shown, expected in (
            ("hand", hand, number),
            ("public", public, conditions.public),
            ("ruleset_id", ruleset, conditions.ruleset["id"]),
            ("players", as_json(players), [seat.player for seat in dealt.seats]),
        ):
            if shown != expected:
                reason = f"{name} is {_short(shown)}; by its table it is {_short(expected)}"
                yield Fault(where=f"game {game}", check="row", reason=reason)


def _comparable(value: Any) -> Any:
    """Return a value with times parsed, because the database formats them differently."""
    if isinstance(value, str) and value[:2] == "20" and "T" in value:
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return value
    return value


def _short(value: Any) -> str:
    return orjson.dumps(value).decode()[:300]


STREAM_BATCH: Final = 50


def check_streams(
    database: Database,
    store: PostgresStore,
    progress: Progress,
    keyring: Keys | None = None,
    *,
    refusals_after: datetime | None = None,
) -> Iterator[Progress]:
    """
    Check all streams after the last one of `progress`; yield the new state after each.

    Streams may grow meanwhile: each is read in one snapshot. A new stream whose id the check
    has passed already is left to the next check.
    """
    while rows := database.fetch("check_streams", progress.stream, STREAM_BATCH):
        for stream, kind, version, shown in rows:
            where = f"{kind} {stream}"
            faults = list(
                _stream(
                    database,
                    store,
                    stream,
                    where,
                    keyring,
                    deep=progress.deep,
                    refusals_after=refusals_after,
                )
            )
            if shown != version:
                row = "it has no row" if shown is None else f"its row has version {shown}"
                reason = f"{row}; the stream has version {version}"
                faults.append(Fault(where=where, check="row", reason=reason))
            progress = replace(progress, stream=stream, streams=progress.streams + 1)
            progress = progress.with_faults(*faults)
            yield progress


def _stream(
    database: Database,
    store: PostgresStore,
    stream: UUID,
    where: str,
    keyring: Keys | None,
    *,
    deep: bool,
    refusals_after: datetime | None,
) -> Iterator[Fault]:
    try:
        found = store.read(stream)
        bundle = store.bundle(stream)
    except StoreUnavailable:
        raise
    except StoreError as error:
        yield Fault(where=where, check="bundle", reason=str(error))
        return
    if found is None:
        yield Fault(where=where, check="head", reason="it was deleted during the check")
        return
    broken = broken_chain(stream, found.events)
    if broken is not None:
        yield Fault(where=where, check="chain", reason=broken)
    if reason := _other_end(found):
        yield Fault(where=where, check="head", reason=reason)
    if broken is None and (reason := _other_kind(found)):
        yield Fault(where=where, check="row", reason=reason)
    if deep and found.kind is StreamKind.GAME:
        yield from _verified(bundle or Bundle(lines=found.events), where)
        due = None if bundle is not None else refusals_after
        for reason in refusals_of_game(database, stream, found.events, keyring, after=due):
            yield Fault(where=where, check="refusals", reason=reason)
    if deep:
        yield from row_faults(database, found.kind, stream, found.events, where)
    if deep and broken is None:
        yield from _attached(database, store, stream, found, keyring, where)


def _attached(
    database: Database,
    store: PostgresStore,
    stream: UUID,
    found: StreamSlice,
    keyring: Keys | None,
    where: str,
) -> Iterator[Fault]:
    """Yield a fault for data beside a stream that does not follow from it."""
    if found.kind is StreamKind.TABLE:
        for dispute, reason in disputes_of_table(store, found.events):
            yield Fault(where=f"dispute {dispute}", check="stream", reason=reason)
    reasons: list[str] = []
    try:
        if found.kind is StreamKind.DISPUTE:
            reasons = list(attached_to_dispute(database, stream, found.events, keyring))
        elif found.kind is StreamKind.GAME:
            reasons = list(choices_of_game(database, stream, found.events))
    except StoreError:
        raise
    except Exception:  # noqa: BLE001 - a changed event can cause any error; its row is reported
        return
    if not reasons:
        return
    present = store.read(stream)
    if present is not None and present.version == found.version:  # else it changed meanwhile
        yield from (Fault(where=where, check="row", reason=reason) for reason in reasons)


def broken_chain(stream: UUID, lines: Sequence[bytes]) -> str | None:
    """Return where the hash chain of a stream breaks, and why; None if it is intact."""
    before, at = genesis(stream), ""
    for seq, line in enumerate(lines):
        try:
            event = parse(line)
        except RecordError as error:
            return f"seq {seq}: {error.detail}"
        if not isinstance(event, dict) or event.get("game") != str(stream):
            return f"seq {seq}: an event of another stream"
        if event.get("seq") != seq:
            return f"seq {seq}: the event has the number {event.get('seq')}"
        if event.get("prev") != before.hex():
            which = f"seq {seq - 1} or {seq} was changed" if seq else "it was changed"
            return f"seq {seq}: prev is not the head of the event before: {which}"
        if str(event.get("at")) < at:
            return f"seq {seq}: earlier than the event before"
        before, at = head(line), str(event.get("at"))
    return None


def _other_end(found: StreamSlice) -> str | None:
    """Return why the last event is not the one in the stream's row; None if it is."""
    if len(found.events) != found.version:
        return f"it has {len(found.events)} events, and its version is {found.version}"
    if not found.events or head(found.events[-1]) != found.head:
        return "its last event does not have the recorded head"
    return None


def _missing_streams(database: Database, known: Sequence[Fault]) -> Iterator[Fault]:
    """Yield a fault for each stream that a row names and that does not exist, unless known."""
    for kind, stream in database.fetch("check_missing_streams", MAX_FAULTS):
        fault = Fault(
            where=f"{kind} {stream}", check="stream", reason="a row names it; it is missing"
        )
        if fault not in known:  # a check that was stopped here finds it again
            yield fault


_KINDS: Final[Mapping[str, StreamKind]] = {
    "game_created": StreamKind.GAME,
    "table_opened": StreamKind.TABLE,
    "dispute_opened": StreamKind.DISPUTE,
}
"""The kind of a stream by its first event."""


def _other_kind(found: StreamSlice) -> str | None:
    """Return why the kind of a stream, which selects its checks, is wrong; None if it is right."""
    first = parse(found.events[0]).get("type") if found.events else None
    kind = _KINDS.get(str(first))
    if found.kind is kind:
        return None
    if kind is None:
        return f"its first event is {first!r}, with which no stream begins"
    return f"its kind is {found.kind.value}; by its first event it is {kind.value}"


def _verified(bundle: Bundle, where: str) -> Iterator[Fault]:
    for finding in verify_bundle(bundle).findings:
        if finding.result is Result.FAIL:
            place = "" if finding.seq is None else f"seq {finding.seq}: "
            yield Fault(where=where, check=finding.check.value, reason=f"{place}{finding.reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSize:
    """The numbers of streams and leaves to check."""

    streams: int
    leaves: int


def size_of_check(database: Database) -> CheckSize:
    """Return the numbers of streams and leaves to check."""
    [(streams, leaves)] = database.fetch("check_extent")
    return CheckSize(streams=streams, leaves=leaves)


def whole_check(
    database: Database,
    archive: Path | str | None,
    keys: Sequence[NoteVerifier] | None,
    progress: Progress,
    keyring: Keys | None = None,
    *,
    refusals_after: datetime | None = None,
) -> Iterator[Progress]:
    """
    Run a check to its end, from `progress` on; yield the new state after each step.

    With a keyring the stored refused attempts are decrypted and compared with the seals. Those of
    games that ended after `refusals_after` are not deleted yet; None: they may all be deleted.
    """
    store = PostgresStore(database, Bundles(archive))
    for step in check_streams(database, store, progress, keyring, refusals_after=refusals_after):
        yield (progress := step)
    progress = progress.with_faults(*_missing_streams(database, progress.faults))
    for step in LogCheck(database, store, keys).run(progress):
        yield (progress := step)
    wrong = (*differing_results(database), *differing_ratings(database)) if progress.deep else ()
    yield progress.with_faults(*(Fault(where=w, check="row", reason=r) for w, r in wrong))
