"""Sitting down, leaving, and choosing entropy and key between hands."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from service.application.callers import Player
from service.application.errors import Refusal, invalid
from service.domain.commands import Seat
from service.domain.events import Entropy
from service.domain.table import (
    SeatChanged,
    SeatKind,
    SeatLeft,
    SeatTaken,
    Table,
    TableClosed,
    TableStatus,
)
from service.record.moves import key_change_holds


def seat_taken(
    table: Table, player: Player, seat: Seat | None, *, entropy: Entropy, key: str | None
) -> SeatTaken:
    """Return that a player sits down; raises Refusal where the seat is not free."""
    if table.status is TableStatus.CLOSED:
        raise Refusal("forbidden", "the table is closed")
    if seat is not None and not 0 <= seat < len(table.seats):
        raise invalid("/seat", "the table has no such seat")
    if table.seat_of(str(player.id)) is not None:
        raise Refusal("seat-taken", "you sit at this table already")
    free = [n for n, s in enumerate(table.seats) if s.kind is SeatKind.OPEN]
    if not free or (seat is not None and seat not in free):
        raise Refusal("seat-taken", "the seat is not free")
    taken = free[0] if seat is None else seat
    return SeatTaken(seat=taken, player=str(player.id), entropy=entropy, key=key)


def seat_left(table: Table, player: Player) -> SeatLeft:
    """Return that a player leaves; raises Refusal during a hand."""
    return SeatLeft(seat=_own_seat(table, player))


def changed_seat(
    identity: UUID, table: Table, player: Player, changes: dict[str, Any]
) -> Sequence[SeatChanged]:
    """
    Return another choice of entropy or key, nothing where all stays as it is.

    What `changes` leaves out stays. A signature by the old key ties the new one to it;
    without one the change is allowed and reports call the key new. Asking again for what
    has been changed changes nothing: the key that signed it is gone by then.
    """
    seat = _own_seat(table, player)
    state = table.seats[seat]
    key, sig = changes.get("key", state.key), changes.get("sig")
    entropy = Entropy(changes.get("entropy", state.entropy))
    if (entropy, key) == (state.entropy, state.key) and sig in (None, state.key_sig):
        return []
    if sig is not None:
        signed = (
            state.key is not None
            and key is not None
            and key_change_holds(
                b64decode(state.key), sig, table=identity, seat=seat, key=b64decode(key)
            )
        )
        if not signed:
            raise Refusal("bad-signature", "the new key is not signed by the old one")
    return [SeatChanged(seat=seat, entropy=entropy, key=key, sig=sig)]


def table_closed(table: Table, expected: Collection[int] | None = None) -> Sequence[TableClosed]:
    """
    Return that a table is closed, nothing where it is; raises Refusal during a hand.

    `expected` are the versions that the caller saw, None for whatever there is.
    """
    if expected is not None and table.version not in expected:
        raise Refusal("stale-version", "the table has changed", version=table.version)
    not_playing(table)
    return [] if table.closed else [TableClosed()]


def _own_seat(table: Table, player: Player) -> Seat:
    seat = table.seat_of(str(player.id))
    if seat is None:
        raise Refusal("not-seated", "you do not sit at this table")
    not_playing(table)
    return seat


def not_playing(table: Table) -> None:
    """Refuse what is done between hands only."""
    if table.status is TableStatus.PLAYING:
        raise Refusal("hand-running", "a hand is being played")


def ready_to_deal(table: Table) -> None:
    """Refuse a deal where a hand is being played, a seat is open, or all is over."""
    match table.status:
        case TableStatus.PLAYING:
            raise Refusal("hand-running", "a hand is being played")
        case TableStatus.OPEN:
            raise Refusal("table-not-full", "there are open seats")
        case TableStatus.CLOSED:
            raise Refusal("forbidden", "the table is closed")
        case TableStatus.BETWEEN:
            return
