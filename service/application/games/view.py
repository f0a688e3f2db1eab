"""Views of games as JSON: for a seat, for the public, or of everything."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import orjson

from schemas.views import Facts, view_json
from service.application.games.cache import GameEntry, Names
from service.application.games.schedule import (
    WakeKind,
    entropy_time,
    next_wake,
    stands_in,
    window_until,
)
from service.application.quotas import listing, work
from service.application.signing import Receipts
from service.domain.commands import Move, Seat
from service.domain.game import Status
from service.domain.legal import legal_moves
from service.domain.view import Viewer, seen_by
from service.shx.canonical import format_time, parse_time


def shown(entry: GameEntry, viewer: Viewer, names: Names) -> dict[str, Any]:
    """
    Return the present view of a game for `viewer`, as JSON.

    Raises Refusal `rate-limited` or `unavailable` if a request may not list the moves of a very
    large hand.
    """
    record, game = entry.record, entry.record.game
    moves: tuple[Move, ...] = ()
    if isinstance(viewer, int):
        with work(listing(game, viewer)):
            moves = legal_moves(game, viewer)
    window = window_until(record, window_seconds=entry.window_seconds)
    facts = Facts(
        id=str(record.identity),
        head=record.head.hex(),
        ruleset_hash=record.created["ruleset_hash"],
        names=names.of(entry.players),
        stand_ins=stand_ins(entry),
        deadline=deadline(entry),
        window_until=format_time(window) if window else None,
    )
    return view_json(seen_by(game, viewer), viewer, facts, moves)


def moved(
    entry: GameEntry, lines: Sequence[bytes], seat: Seat, names: Names, receipts: Receipts
) -> bytes:
    """
    Return the answer to a move as JSON (api.md, section 4).

    `entry` is the game after the move, `lines` are its new events.
    """
    record = entry.record
    return b"".join(
        (
            b'{"version":%d,"events":[' % record.version,
            b",".join(lines),
            b'],"receipt":',
            orjson.dumps(receipts.issue(record).decode()),
            b',"game":',
            orjson.dumps(shown(entry, seat, names)),
            b"}",
        )
    )


def stand_ins(entry: GameEntry) -> frozenset[Seat]:
    """Return the seats for which a bot stands in."""
    game = entry.record.game
    if game.over:
        return frozenset()
    seats = range(len(game.seats))
    return frozenset(s for s in seats if stands_in(game, s, back=entry.back))


def deadline(entry: GameEntry) -> str | None:
    """
    Return the next deadline, computed from the public log; None if there is none.

    In the set-up it is that of the entropy, also without a clock.
    """
    record, game = entry.record, entry.record.game
    clock = game.setup.clock
    if game.status is Status.SHUFFLING:
        wake = next_wake(record, window_seconds=0, back=entry.back)
        if wake is None or wake.kind is not WakeKind.ENTROPY:
            return None
        return format_time(parse_time(record.created_at) + entropy_time(clock))
    if clock is None or game.over:
        return None
    since, seconds = record.turn_since, clock.turn_seconds
    if game.status is Status.SWAPPING:
        since, seconds = record.dealt_at, clock.swap_seconds
    return format_time(parse_time(since) + timedelta(seconds=seconds)) if since else None
