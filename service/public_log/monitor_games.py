"""What a monitor remembers of games, and what it holds against them: heads, hands, commitments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from service.record.canonical import RecordError
from service.record.chain import decode_event, genesis, head
from service.record.receipts import Receipt
from service.record.shuffle import server_commit
from service.record.times import format_time, parse_time

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
    """Remember a leaf; yield what is wrong with it beside the earlier leaves of its game."""
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
    """Return what is remembered, for a file."""
    return {identity: asdict(game) for identity, game in games.items()}


def from_json(value: Mapping[str, Mapping[str, Any]]) -> Games:
    """Return what a file remembers."""
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
