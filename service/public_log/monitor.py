"""A monitor: verifies every entry of a public log and the games behind them."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from service.public_log.log_client import ListedGame, LogClient, NotPublished, Unreachable
from service.runtime.atomic_files import write_whole
from service.shx.canonical import RecordError, format_time, parse_time
from service.shx.chain import decode_event, genesis, head
from service.shx.keys import followed, is_over
from service.shx.receipts import Receipt, parse_receipt_body
from service.shx.restores import restore_in
from service.shx.shuffle import server_commit
from service.shx.tlog.checkpoint import (
    Checkpoint,
    CosignatureVerifier,
    cosignatures,
    open_checkpoint,
)
from service.shx.tlog.notes import NoteVerifier, parse_note
from service.shx.tlog.tiles import EMPTY, TreeEdge, grow
from service.shx.tlog.tree import leaf_hash

LEAF_WITHIN: Final = timedelta(minutes=10)
"""Age from which a game without a leaf is reported: each deal is logged at once."""

MAX_GAME_AGE: Final = timedelta(days=7)
"""Age up to which a game without a leaf is reported: older ones may have left the state."""

CLOCK_SKEW: Final = timedelta(minutes=5)
"""A cosignature dated further in the future than this is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Requirements for checkpoints: a maximum age of the last leaf, and cosignatures."""

    fresh_within: timedelta | None = None  # maximum time without a new leaf; None: not checked
    witnesses: Sequence[CosignatureVerifier] = ()  # empty: cosignatures are not checked
    quorum: int | None = None  # number of witnesses that must cosign; None: all
    cosigned_within: timedelta = timedelta(hours=1)

    @property
    def wanted(self) -> int:
        """Return the number of witnesses that must have cosigned."""
        return len(set(self.witnesses)) if self.quorum is None else self.quorum


@dataclass(slots=True, kw_only=True)
class Times:
    """Times from which a monitor counts; None before its first check."""

    grown: str | None = None  # when the log last grew
    cosigned: str | None = None  # last checkpoint with a quorum, or the first check


SEALS: Final = frozenset({"game_sealed", "game_aborted"})


@dataclass(slots=True, kw_only=True)
class WatchedGame:
    """A game with leaves in the log, and the facts read from its events so far."""

    leaves: dict[int, str] = field(default_factory=dict)  # version → head, not yet compared
    leaf: int = 0  # the version of the last leaf
    leaf_head: str = ""
    private: bool = False
    version: int = 0  # events read
    head: str = ""
    at: str = ""
    seal: str | None = None  # the type of the event that sealed it
    table: str = ""
    hand: int = 0
    prev: str | None = None
    commit: str = ""
    seen: str = ""  # when this monitor read the last leaf


Games = dict[str, WatchedGame]


def note_leaf(games: Games, receipt: Receipt, now: datetime) -> Iterator[str]:
    """Store a leaf; yield a finding if it contradicts earlier leaves of its game."""
    game = games.setdefault(str(receipt.game), WatchedGame())
    game.seen = format_time(now)
    version, found = receipt.seq + 1, receipt.head.hex()
    if version < game.leaf:
        yield (
            f"order: the log has version {version} of game {receipt.game} after version {game.leaf}"
        )
        return
    if version == game.leaf:
        same = "with the same head" if found == game.leaf_head else "with another head"
        yield f"twice: the log has version {version} of game {receipt.game} twice, {same}"
        return
    if game.seal is not None:
        yield f"sealed: the log has version {version} of game {receipt.game} after its seal"
    game.leaf, game.leaf_head = version, found
    game.leaves[version] = found


def declared(entry: bytes, index: int, origin: str) -> str:
    """Return the finding for a leaf that is no receipt: a declared restore, or a fault."""
    try:
        restore = restore_in(entry, index)
    except RecordError:
        return f"leaf: leaf {index} is not the body of a receipt or of its declaration"
    if restore.origin != origin:
        return f"leaf: leaf {index} belongs to another log, {restore.origin}"
    return (
        f"restored: leaf {index} declares that the service was restored at {restore.at}: moves "
        f"after {restore.since} may be missing"
    )


def read_lines(identity: str, game: WatchedGame, lines: Sequence[bytes]) -> Iterator[str]:
    """
    Read further events of a game; yield findings for those that contradict the log's leaves.

    Events after the last leaf are left for a later poll, when a leaf covers them.
    """
    for line in lines[: game.leaf - game.version]:
        try:
            event = decode_event(line)
        except RecordError as error:
            yield f"events: game {identity} has no event at seq {game.version}: {error.detail}"
            return
        before = game.head or genesis(UUID(identity)).hex()
        if (event["game"], event["seq"], event["prev"]) != (identity, game.version, before):
            yield f"fork: event {game.version} of game {identity} does not continue the chain"
            return
        if game.seal is not None:
            yield f"sealed: game {identity} has an event after its seal, at seq {game.version}"
        game.version, game.head, game.at = game.version + 1, head(line).hex(), event["at"]
        if event["type"] == "game_created":
            data = event["data"]
            game.table, game.hand = data["table"], data["hand"]
            game.prev, game.commit = data["prev_game"], data["commit"]
        if event["type"] in SEALS:
            game.seal = event["type"]
            yield from _check_seed(identity, game, event["data"]["seed"])
        logged = game.leaves.pop(game.version, None)
        if logged not in (None, game.head):
            yield (
                f"fork: at version {game.version} of game {identity} the log and the service "
                "have different heads"
            )


def check_tables(games: Mapping[str, WatchedGame], changed: Iterable[str]) -> Iterator[str]:
    """Yield findings that concern several games: reused commitments, missing or repeated hands."""
    commits = _games_by(games, lambda game: game.commit)
    after = _games_by(games, lambda game: f"{game.table} {game.prev}")
    for identity in changed:
        game = games[identity]
        if not game.table:
            continue
        if len(commits[game.commit]) > 1:
            both = " and ".join(sorted(commits[game.commit]))
            yield f"commitment: games {both} have the same server commitment"
        if len(after[f"{game.table} {game.prev}"]) > 1:
            both = " and ".join(sorted(after[f"{game.table} {game.prev}"]))
            yield f"hands: games {both} of table {game.table} follow the same game"
        yield from _check_hand(games, identity, game)


def unsealed(games: Mapping[str, WatchedGame], now: datetime, limit: timedelta) -> Iterator[str]:
    """Yield a finding for each public game without a seal and without events for `limit`."""
    for identity, game in games.items():
        if game.table and game.seal is None and now - parse_time(game.at) > limit:
            yield f"unsealed: game {identity} has no seal, and no event since {game.at}"


def as_json(games: Games) -> dict[str, Any]:
    """Return the watched games as JSON."""
    return {identity: asdict(game) for identity, game in games.items()}


def from_json(value: Mapping[str, Mapping[str, Any]]) -> Games:
    """Return the watched games from JSON."""
    return {
        identity: WatchedGame(
            **{**saved, "leaves": {int(version): text for version, text in saved["leaves"].items()}}
        )
        for identity, saved in value.items()
    }


def _check_hand(
    games: Mapping[str, WatchedGame], identity: str, game: WatchedGame
) -> Iterator[str]:
    where = f"game {identity}, hand {game.hand} of table {game.table},"
    if game.prev is None:
        if game.hand != 1:
            yield f"hands: {where} names no previous game"
        return
    before = games.get(game.prev)
    if before is None:
        yield f"hands: {where} follows game {game.prev}, {_unknown(games, identity, game)}"
        return
    if not before.table:
        return  # its events could not be read
    expected = before.hand if before.seal == "game_aborted" else before.hand + 1
    if before.table != game.table or game.hand != expected:
        yield f"hands: {where} follows hand {before.hand} of table {before.table}"
    if before.seal is None:
        yield f"hands: {where} began before the previous game was sealed"


def _unknown(games: Mapping[str, WatchedGame], identity: str, game: WatchedGame) -> str:
    """Return why a previous game may be unknown: it is missing, or the monitor dropped it."""
    table = {name: other.hand for name, other in games.items() if other.table == game.table}
    later = [hand for name, hand in table.items() if name != identity]
    if later:
        return (
            "which is missing from the log, or was dropped by this monitor "
            f"because hand {max(later)} followed it"
        )
    return "which is missing from the log, or was dropped by this monitor because of its age"


def _check_seed(identity: str, game: WatchedGame, seed: str) -> Iterator[str]:
    """
    Yield a finding if the seed does not open the commitment of the game.

    The commitment binds the id of the game, so a seed cannot open it for two games.
    """
    if server_commit(UUID(identity), bytes.fromhex(seed)).hex() != game.commit:
        yield f"commitment: the seed of game {identity} does not match its commitment"


def _games_by(games: Mapping[str, WatchedGame], key: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for identity, game in games.items():
        if game.table:
            found.setdefault(key(game), []).append(identity)
    return found


RECENT: Final = timedelta(days=30)
"""How long finished and private games are remembered after their last leaf."""

MAX_FINDINGS: Final = 1000
"""Maximum number of findings saved in the state; further ones only set `more`."""


def forget(games: Games, *, pending: Collection[str], now: datetime, remember: timedelta) -> None:
    """
    Drop the games that no later check needs.

    A game is retained while it is in `pending`, and for RECENT after its last leaf. The last
    known game of each table and games without a seal are retained for `remember`: with them the
    next hand shows whether a hand is missing or was dealt twice. Reused commitments are found
    without earlier games: a commitment binds the id of its game, and each seed is checked
    against it.
    """
    followed = {game.prev for game in games.values()}
    for identity, game in list(games.items()):
        game.seen = game.seen or format_time(now)
        last = bool(game.table) and (identity not in followed or game.seal is None)
        retention = max(RECENT, remember) if last else RECENT
        if identity not in pending and now - parse_time(game.seen) > retention:
            del games[identity]


JUST_RETIRED: Final = timedelta(seconds=60)
"""How long after a rotation the monitor waits for the first signature of the new key."""

LASTING: Final = frozenset({"signature", "rollback", "truncated", "fork", "stale", "cosignatures"})
"""Kinds of findings about the log that every poll would repeat while the fault lasts."""

NOTHING_EXPECTED: Final = Expected()


@dataclass(slots=True, kw_only=True)
class MonitorState:
    """State of a monitor; `edge` suffices to check that the log continues the same tree."""

    keys: list[NoteVerifier] = field(default_factory=list)
    edge: TreeEdge = EMPTY
    note: bytes = b""  # the last valid checkpoint
    games: Games = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)  # games whose events are still to be read
    findings: list[str] = field(default_factory=list)
    more: bool = False  # whether there were more than MAX_FINDINGS
    retired: dict[NoteVerifier, str] = field(default_factory=dict)  # key → its signed end
    lasting: dict[str, str] = field(default_factory=dict)  # "kind size" → finding
    times: Times = field(default_factory=Times)


class Monitor:
    """
    Follows one log, and reports each finding once.

    It rebuilds the tree from the entries, so an entry that was changed, dropped, or shown only to
    other readers leads to another root than the signed one. `keep` stores each checkpoint that
    proves a fault.
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
        expected: Expected = NOTHING_EXPECTED,
    ) -> None:
        self._expected = expected
        self._client = client
        self.state = state
        self._now = now
        self._unsealed_after = unsealed_after
        self._remember = max(remember, unsealed_after)
        self._keep = keep

    def poll(self) -> None:
        """
        Poll the log once and store the findings.

        Raises Unreachable if a read fails; the findings before it are stored.
        """
        state, now = self.state, self._now()
        self._learn_keys()
        self._add(self._follow(), about_log=True)
        self._add(self._fresh(now), about_log=True)
        self._add(self._read_games())
        if state.note:
            newest = self._client.newest_games()
            self._add(left_out(newest, state.games, now))
        self._add(unsealed(state.games, self._now(), self._unsealed_after))
        forget(state.games, pending=state.pending, now=self._now(), remember=self._remember)

    def _learn_keys(self) -> None:
        """Accept keys and end dates signed by current keys; an end date is never moved later."""
        state, listed, now = self.state, self._client.key_list(), self._now()
        if not state.keys:
            state.keys = [
                key.verifier
                for key in listed.keys
                if key.until is None or not is_over(key.until, now)
            ]
        new = followed(self._current_keys(), listed.keys)
        state.keys = list(dict.fromkeys([*state.keys, *new]))
        for key, until in listed.retired(self._current_keys()).items():
            state.retired[key] = min(until, state.retired.get(key, until))

    def _current_keys(self) -> list[NoteVerifier]:
        ends, now = self.state.retired, self._now()
        return [key for key in self.state.keys if key not in ends or not is_over(ends[key], now)]

    def _add(self, findings: Iterator[str], *, about_log: bool = False) -> None:
        """Store new findings; for each tree size only one of each LASTING kind about the log."""
        state = self.state
        for finding in findings:
            kind = finding.partition(":")[0]
            if about_log and kind in LASTING:
                before = state.lasting.setdefault(f"{kind} {state.edge.size}", finding)
                if before in state.findings:
                    continue
            if finding in state.findings:
                continue
            if len(state.findings) < MAX_FINDINGS:
                state.findings.append(finding)
            else:
                state.more = True

    def _fresh(self, now: datetime) -> Iterator[str]:
        """Check the age and the cosignatures of the last valid checkpoint."""
        state, expected = self.state, self._expected
        if state.note:
            size = state.edge.size
            yield from cosigned(state.note, size, state.times, expected, now)
            yield from stale(size, state.times, expected, now)

    def _follow(self) -> Iterator[str]:
        """Read up to the newest checkpoint, and accept it if it continues the tree seen."""
        note, edge = self._client.checkpoint(), self.state.edge
        try:
            checkpoint, _, _ = open_checkpoint(note, self._current_keys())
        except RecordError as error:
            self._wait_for_new_key(note)
            self._keep(note)
            yield f"signature: invalid checkpoint: {error.detail}"
            return
        if checkpoint.size < edge.size:
            self._keep(note)
            yield f"rollback: the log has {checkpoint.size} leaves, and had {edge.size} before"
            return
        try:
            entries = self._client.leaves(edge.size, checkpoint.size)
        except (NotPublished, RecordError) as error:
            yield f"truncated: entries of the tree of {checkpoint.size} leaves are missing: {error}"
            return
        hashes = [leaf_hash(entry) for entry in entries]
        grown, _ = grow(edge, hashes)
        if grown.root != checkpoint.root:
            self._keep(note)
            hashes = self._client.leaf_hashes(edge.size, checkpoint.size)
            grown, _ = grow(edge, hashes)
        if grown.root != checkpoint.root:
            yield f"fork: the tree of {checkpoint.size} leaves does not continue the one before"
            return
        self.state.lasting = {
            key: finding
            for key, finding in self.state.lasting.items()
            if key.endswith(f" {checkpoint.size}")
        }
        if self.state.times.grown is None or checkpoint.size > edge.size:
            seen = cosigned_at(note, self._expected.witnesses)
            self.state.times.grown = format_time(min(self._now(), seen or self._now()))
        self.state.edge, self.state.note = grown, note
        yield from self._note_leaves(checkpoint, entries, hashes)

    def _wait_for_new_key(self, note: bytes) -> None:
        """Raise Unreachable just after a rotation: the new key signs within seconds."""
        soon = [
            key
            for key, until in self.state.retired.items()
            if self._now() - parse_time(until) < JUST_RETIRED
        ]
        try:
            open_checkpoint(note, soon)
        except RecordError:
            return
        raise Unreachable("the new key of the log has not signed yet")

    def _note_leaves(
        self, checkpoint: Checkpoint, entries: Sequence[bytes], hashes: Sequence[bytes]
    ) -> Iterator[str]:
        state = self.state
        first = checkpoint.size - len(entries)
        for index, entry in enumerate(entries, start=first):
            if leaf_hash(entry) != hashes[index - first]:
                yield f"damaged: leaf {index} is not the entry that the signed tree has there"
                continue
            try:
                receipt = parse_receipt_body(entry.decode("utf-8", "replace"))
            except RecordError:
                yield declared(entry, index, checkpoint.origin)
                continue
            if receipt.origin != checkpoint.origin:
                yield f"leaf: leaf {index} belongs to another log, {receipt.origin}"
                continue
            yield from note_leaf(state.games, receipt, self._now())
            if str(receipt.game) not in state.pending:
                state.pending.append(str(receipt.game))

    def _read_games(self) -> Iterator[str]:
        """Read the events of games with new leaves; unread games stay pending for the next poll."""
        state, changed = self.state, list[str]()
        while state.pending:
            identity = state.pending[0]
            game = state.games[identity]
            try:
                yield from self._read_game(identity, game)
            except NotPublished:
                game.private = True
                game.leaves.clear()
                if game.table:
                    yield f"withdrawn: game {identity} was public, and can no longer be read"
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
                yield f"fork: game {identity} has {before} events, fewer than its leaves state"
            if game.version == before:
                game.leaves.clear()

    def _tables(self, changed: Sequence[str]) -> Iterator[str]:
        return check_tables(self.state.games, changed)


def load_state(path: Path) -> MonitorState:
    """Return the state in a file, or a new one; raises RecordError if it is invalid."""
    if not path.exists():
        return MonitorState()
    try:
        saved = json.loads(path.read_bytes())
        levels = tuple(tuple(map(b64decode, level)) for level in saved["edge"])
        return MonitorState(
            keys=[NoteVerifier(name=n, public=b64decode(p)) for n, p in saved["keys"]],
            edge=TreeEdge(size=saved["size"], levels=levels),
            note=b64decode(saved["note"]),
            games=from_json(saved["games"]),
            pending=list(saved["pending"]),
            findings=list(saved["findings"]),
            more=bool(saved.get("more", False)),
            retired={
                NoteVerifier(name=n, public=b64decode(p)): until
                for n, p, until in saved.get("retired", ())
            },
            lasting=dict(saved.get("lasting", {})),
            times=Times(**saved.get("times", {})),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise RecordError("bad_monitor", f"{path} is not the state of a monitor") from None


def save_state(path: Path, state: MonitorState) -> None:
    """Write the state atomically."""
    saved: dict[str, Any] = {
        "v": 1,
        "keys": [[key.name, _text(key.public)] for key in state.keys],
        "size": state.edge.size,
        "edge": [[_text(one) for one in level] for level in state.edge.levels],
        "note": _text(state.note),
        "games": as_json(state.games),
        "pending": state.pending,
        "findings": state.findings,
        "more": state.more,
        "retired": [[k.name, _text(k.public), until] for k, until in state.retired.items()],
        "lasting": state.lasting,
        "times": asdict(state.times),
    }
    write_whole(path, json.dumps(saved).encode() + b"\n")


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def stale(size: int, times: Times, expected: Expected, now: datetime) -> Iterator[str]:
    """Yield a finding if the log has not grown for longer than `expected.fresh_within`."""
    if expected.fresh_within is None or times.grown is None:
        return
    if now - parse_time(times.grown) > expected.fresh_within:
        yield f"stale: the log has shown the same {size} leaves since {times.grown}"


def left_out(games: Iterable[ListedGame], known: Collection[str], now: datetime) -> Iterator[str]:
    """Yield a finding for each public game that the service lists and the log does not contain."""
    for game in games:
        try:
            age = now - parse_time(game.created_at)
        except RecordError:
            continue
        if LEAF_WITHIN < age < MAX_GAME_AGE and game.id not in known:
            # Without the size of the log, so that it is one finding while the log grows.
            yield (
                f"stale: game {game.id} was dealt at {game.created_at}, but the log does not "
                "contain it"
            )


def cosigned(
    note: bytes, size: int, times: Times, expected: Expected, now: datetime
) -> Iterator[str]:
    """
    Yield the faults of a checkpoint's cosignatures.

    Sets `times.cosigned` if there are enough, and at the first call, from which the time counts.
    """
    if not expected.witnesses:
        return
    try:
        found = cosignatures(parse_note(note), expected.witnesses)
    except RecordError as error:
        yield f"cosignatures: invalid cosignature: {error.detail}"
        return
    made = [datetime.fromtimestamp(min(line.timestamp, 1 << 37), UTC) for line in found]
    if any(time > now + CLOCK_SKEW for time in made):
        yield f"cosignatures: the checkpoint of {size} leaves has a cosignature with a future time"
    if len(found) >= expected.wanted:
        times.cosigned = format_time(now)
    times.cosigned = times.cosigned or format_time(now)
    if now - parse_time(times.cosigned) > expected.cosigned_within:
        yield (
            f"cosignatures: {len(found)} of {expected.wanted} witnesses cosigned the checkpoint "
            f"of {size} leaves; no checkpoint has had enough cosignatures since {times.cosigned}"
        )


def cosigned_at(note: bytes, witnesses: Sequence[CosignatureVerifier]) -> datetime | None:
    """Return the time of the newest cosignature; None if there is none or one is invalid."""
    try:
        found = cosignatures(parse_note(note), witnesses)
    except RecordError:
        return None
    times = [datetime.fromtimestamp(min(line.timestamp, 1 << 37), UTC) for line in found]
    return max(times, default=None)
