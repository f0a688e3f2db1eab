"""A monitor: verifies every entry of a public log and the games behind them."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from service.atomic_files import write_whole
from service.public_log.freshness import (
    Expected,
    Times,
    cosigned,
    cosigned_at,
    left_out,
    stale,
)
from service.public_log.log_client import LogClient, NotThere, Unreachable
from service.shx.canonical import RecordError, format_time, parse_time
from service.shx.chain import decode_event, genesis, head
from service.shx.keys import followed, is_over
from service.shx.receipts import Receipt, parse_receipt_body
from service.shx.shuffle import server_commit
from service.shx.tlog.checkpoint import Checkpoint, open_checkpoint
from service.shx.tlog.notes import NoteVerifier
from service.shx.tlog.tiles import EMPTY, WIDTH, Edge, entry_tiles, grow
from service.shx.tlog.tree import leaf_hash

SEALS: Final = frozenset({"game_sealed", "game_aborted"})


@dataclass(slots=True, kw_only=True)
class WatchedGame:
    """A game that the log has leaves of; what its own events said, as far as they were read."""

    leaves: dict[int, str] = field(default_factory=dict)  # version → head, not yet held against it
    leaf: int = 0  # the version of the last leaf
    leaf_head: str = ""
    private: bool = False
    version: int = 0  # events read
    head: str = ""
    at: str = ""
    seal: str | None = None  # the type of the event that ended it
    table: str = ""
    hand: int = 0
    prev: str | None = None
    commit: str = ""
    seen: str = ""  # when the last leaf was read here


Games = dict[str, WatchedGame]


def note_leaf(games: Games, receipt: Receipt, now: datetime) -> Iterator[str]:
    """Store a leaf; yield its contradictions with earlier leaves of its game."""
    game = games.setdefault(str(receipt.game), WatchedGame())
    game.seen = format_time(now)
    version, found = receipt.seq + 1, receipt.head.hex()
    if version < game.leaf:
        yield f"order: the log names version {version} of game {receipt.game} after {game.leaf}"
        return
    if version == game.leaf:
        same = "the same head" if found == game.leaf_head else "another head"
        yield f"twice: the log names version {version} of game {receipt.game} again, {same}"
        return
    if game.seal is not None:
        yield f"sealed: the log names version {version} of game {receipt.game}, which was sealed"
    game.leaf, game.leaf_head = version, found
    game.leaves[version] = found


def read_lines(identity: str, game: WatchedGame, lines: Sequence[bytes]) -> Iterator[str]:
    """
    Go on in the events of a game; yield where they are not what the log says.

    No further than the log's last leaf: what comes later is held against a later leaf.
    """
    for line in lines[: game.leaf - game.version]:
        try:
            event = decode_event(line)
        except RecordError as error:
            yield f"events: game {identity} has at seq {game.version} no event: {error.detail}"
            return
        before = game.head or genesis(UUID(identity)).hex()
        if (event["game"], event["seq"], event["prev"]) != (identity, game.version, before):
            yield f"fork: the events of game {identity} do not go on at seq {game.version}"
            return
        if game.seal is not None:
            yield f"sealed: game {identity} goes on at seq {game.version}, after its seal"
        game.version, game.head, game.at = game.version + 1, head(line).hex(), event["at"]
        if event["type"] == "game_created":
            data = event["data"]
            game.table, game.hand = data["table"], data["hand"]
            game.prev, game.commit = data["prev_game"], data["commit"]
        if event["type"] in SEALS:
            game.seal = event["type"]
            yield from _check_seed(identity, game, event["data"]["seed"])
        said = game.leaves.pop(game.version, None)
        if said not in (None, game.head):
            yield f"fork: the log and the service give game {identity} two heads at {game.version}"


def check_tables(games: Mapping[str, WatchedGame], changed: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong between games: commitments used twice, hands missing or doubled."""
    commits = _holders(games, lambda game: game.commit)
    after = _holders(games, lambda game: f"{game.table} {game.prev}")
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
    """Yield the public games that have stood still for long without a seal."""
    for identity, game in games.items():
        if game.table and game.seal is None and now - parse_time(game.at) > limit:
            yield f"unsealed: nothing has happened in game {identity} since {game.at}"


def as_json(games: Games) -> dict[str, Any]:
    """Return the watched games as JSON."""
    return {identity: asdict(game) for identity, game in games.items()}


def from_json(value: Mapping[str, Mapping[str, Any]]) -> Games:
    """Return the watched games from JSON."""
    return {
        identity: WatchedGame(
            **{**said, "leaves": {int(version): one for version, one in said["leaves"].items()}}
        )
        for identity, said in value.items()
    }


def _check_hand(
    games: Mapping[str, WatchedGame], identity: str, game: WatchedGame
) -> Iterator[str]:
    where = f"game {identity}, hand {game.hand} of table {game.table},"
    if game.prev is None:
        if game.hand != 1:
            yield f"hands: {where} follows no game"
        return
    before = games.get(game.prev)
    if before is None:
        yield f"hands: {where} follows game {game.prev}, which {_unknown(games, identity, game)}"
        return
    if not before.table:
        return  # its events could not be read
    expected = before.hand if before.seal == "game_aborted" else before.hand + 1
    if before.table != game.table or game.hand != expected:
        yield f"hands: {where} follows hand {before.hand} of table {before.table}"
    if before.seal is None:
        yield f"hands: {where} began before the game in front of it was sealed"


def _unknown(games: Mapping[str, WatchedGame], identity: str, game: WatchedGame) -> str:
    """Return what to say of a game before that is not known here: never there, or long over."""
    table = {name: other.hand for name, other in games.items() if other.table == game.table}
    later = [hand for name, hand in table.items() if name != identity]
    if later:
        return f"the log does not have, or which hand {max(later)} came after long ago"
    return "the log does not have, or had longer ago than is remembered"


def _check_seed(identity: str, game: WatchedGame, seed: str) -> Iterator[str]:
    """The seed is what was committed to; so no commitment can serve two games."""
    if server_commit(UUID(identity), bytes.fromhex(seed)).hex() != game.commit:
        yield f"commitment: the seed of game {identity} is not what was committed to"


def _holders(games: Mapping[str, WatchedGame], key: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for identity, game in games.items():
        if game.table:
            found.setdefault(key(game), []).append(identity)
    return found


RECENT: Final = timedelta(days=30)
"""For so long after its last leaf a finished game is remembered, and a private one."""

MOST_FINDINGS: Final = 1000
"""Most findings remembered, so that none is reported twice; the rest is shown as "more"."""


def forget(games: Games, *, pending: Collection[str], now: datetime, remember: timedelta) -> None:
    """
    Drop the games that nothing will be held against any more.

    Kept are: what is recent; what is still to be read; the last known game of each table,
    for `remember`, since a hand left out or dealt twice shows in what follows it; and, as
    long, games without a seal. That a commitment comes twice needs no memory: it binds the
    game's id, so the seed of one of the two cannot open it, and each seed is checked.
    """
    followed = {game.prev for game in games.values()}
    for identity, game in list(games.items()):
        game.seen = game.seen or format_time(now)
        last = bool(game.table) and (identity not in followed or game.seal is None)
        kept = max(RECENT, remember) if last else RECENT
        if identity not in pending and now - parse_time(game.seen) > kept:
            del games[identity]


JUST_RETIRED: Final = timedelta(seconds=60)
LASTING: Final = frozenset({"signature", "rollback", "truncated", "fork", "stale", "cosignatures"})
"""Findings about the log itself, which every look would repeat while they last."""

NOTHING_EXPECTED: Final = Expected()


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
    retired: dict[NoteVerifier, str] = field(default_factory=dict)  # keys whose end is signed
    lasting: dict[str, str] = field(default_factory=dict)  # findings by kind and size of the tree
    times: Times = field(default_factory=Times)


class Monitor:
    """
    Follows one log. A finding is reported once and kept.

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
        expected: Expected = NOTHING_EXPECTED,
    ) -> None:
        self._expected = expected
        self._client = client
        self.state = state
        self._now = now
        self._unsealed_after = unsealed_after
        self._remember = max(remember, unsealed_after)
        self._keep = keep

    def look(self) -> None:
        """Read what is new and add to the findings; raises Unreachable with those kept so far."""
        state, now = self.state, self._now()
        self._learn_keys()
        self._add(self._follow(), about_log=True)
        self._add(self._fresh(now), about_log=True)
        self._add(self._read_games())
        if state.note:
            newest = self._client.newest_games()
            self._add(left_out(newest, state.games, state.edge.size, now))
        self._add(unsealed(state.games, self._now(), self._unsealed_after))
        forget(state.games, pending=state.pending, now=self._now(), remember=self._remember)

    def _learn_keys(self) -> None:
        """Accept keys that live ones signed, and ends that are signed; no end is taken back."""
        state, listed, now = self.state, self._client.key_list(), self._now()
        if not state.keys:
            state.keys = [
                key.verifier
                for key in listed.keys
                if key.until is None or not is_over(key.until, now)
            ]
        new = followed(self._live(), listed.keys)
        state.keys = list(dict.fromkeys([*state.keys, *new]))
        for key, until in listed.retired(self._live()).items():
            state.retired[key] = min(until, state.retired.get(key, until))

    def _live(self) -> list[NoteVerifier]:
        ends, now = self.state.retired, self._now()
        return [key for key in self.state.keys if key not in ends or not is_over(ends[key], now)]

    def _add(self, said: Iterator[str], *, about_log: bool = False) -> None:
        """Keep findings; one about the log is kept once for each tree, whatever its numbers."""
        state = self.state
        for one in said:
            kind = one.partition(":")[0]
            if about_log and kind in LASTING:
                before = state.lasting.setdefault(f"{kind} {state.edge.size}", one)
                if before in state.findings:
                    continue
            if one in state.findings:
                continue
            if len(state.findings) < MOST_FINDINGS:
                state.findings.append(one)
            else:
                state.more = True

    def _fresh(self, now: datetime) -> Iterator[str]:
        """Look at the age and the cosignatures of the last checkpoint that fitted."""
        state, expected = self.state, self._expected
        if state.note:
            size = state.edge.size
            yield from cosigned(state.note, size, state.times, expected, now)
            yield from stale(size, state.times, expected, now)

    def _follow(self) -> Iterator[str]:
        """Go on to the newest checkpoint, if it continues what was seen."""
        note, edge = self._client.checkpoint(), self.state.edge
        try:
            checkpoint, _, _ = open_checkpoint(note, self._live())
        except RecordError as error:
            self._wait_for_new_key(note)
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
        self.state.lasting = {
            key: said
            for key, said in self.state.lasting.items()
            if key.endswith(f" {checkpoint.size}")
        }
        if self.state.times.grown is None or checkpoint.size > edge.size:
            seen = cosigned_at(note, self._expected.witnesses)
            self.state.times.grown = format_time(min(self._now(), seen or self._now()))
        self.state.edge, self.state.note = grown, note
        yield from self._note_leaves(checkpoint, entries)

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
    """Return the state in a file, or a new one; raises RecordError if it is invalid."""
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
            retired={
                NoteVerifier(name=n, public=b64decode(p)): until
                for n, p, until in said.get("retired", ())
            },
            lasting=dict(said.get("lasting", {})),
            times=Times(**said.get("times", {})),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise RecordError("bad_monitor", f"{path} is not the state of a monitor") from None


def save_state(path: Path, state: MonitorState) -> None:
    """Write the state atomically."""
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
        "retired": [[k.name, _text(k.public), until] for k, until in state.retired.items()],
        "lasting": state.lasting,
        "times": asdict(state.times),
    }
    write_whole(path, json.dumps(said).encode() + b"\n")


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
