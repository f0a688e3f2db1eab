"""Checks of a monitor: is a checkpoint fresh, and cosigned by witnesses?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from service.public_log.log_client import ListedGame
from service.shx.canonical import RecordError, format_time, parse_time
from service.shx.tlog.cosignature import CosignatureVerifier, cosignatures
from service.shx.tlog.notes import parse_note

LEAF_WITHIN: Final = timedelta(minutes=10)
"""A game has a leaf when it is dealt; after so long without one the log shown is old."""

LOOKED_BACK: Final = timedelta(days=7)
"""Games dealt longer ago are not looked for: the monitor forgets those that are over."""

AHEAD: Final = timedelta(minutes=5)
"""A cosignature of a later time than this from now has a wrong clock behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a monitor expects of checkpoints; None or no keys: nothing."""

    fresh_within: timedelta | None = None  # in which the log grows
    witnesses: Sequence[CosignatureVerifier] = ()
    quorum: int | None = None  # of these; None: all
    cosigned_within: timedelta = timedelta(hours=1)

    @property
    def wanted(self) -> int:
        """Return how many witnesses have to have cosigned."""
        return len(self.witnesses) if self.quorum is None else self.quorum


@dataclass(slots=True, kw_only=True)
class Times:
    """When a monitor saw the log grow, and saw it cosigned, by its own clock."""

    grown: str | None = None
    cosigned: str | None = None


def stale(size: int, times: Times, expected: Expected, now: datetime) -> Iterator[str]:
    """Yield that the same checkpoint has been shown for too long."""
    if expected.fresh_within is None or times.grown is None:
        return
    if now - parse_time(times.grown) > expected.fresh_within:
        yield f"stale: the log shows the same {size} leaves since {times.grown}"


def left_out(
    games: Iterable[ListedGame], known: Collection[str], size: int, now: datetime
) -> Iterator[str]:
    """Yield the public games that the service lists and the log does not name."""
    for game in games:
        try:
            age = now - parse_time(game.created_at)
        except RecordError:
            continue
        if LEAF_WITHIN < age < LOOKED_BACK and game.id not in known:
            yield (
                f"stale: game {game.id} was dealt at {game.created_at}, and the log of {size} "
                "leaves does not name it"
            )


def cosigned(
    note: bytes, size: int, times: Times, expected: Expected, now: datetime
) -> Iterator[str]:
    """Yield what is wrong with the cosignatures of a checkpoint; remember when all was right."""
    if not expected.witnesses:
        return
    try:
        found = cosignatures(parse_note(note), expected.witnesses)
    except RecordError as error:
        yield f"cosignatures: a cosignature that does not hold: {error.detail}"
        return
    made = [datetime.fromtimestamp(min(one.timestamp, 1 << 37), UTC) for one in found]
    if any(time > now + AHEAD for time in made):
        yield f"cosignatures: the checkpoint of {size} leaves is cosigned in the future"
    if len(found) >= expected.wanted:
        times.cosigned = format_time(now)
    times.cosigned = times.cosigned or format_time(now)
    if now - parse_time(times.cosigned) > expected.cosigned_within:
        yield (
            f"cosignatures: {len(found)} of {expected.wanted} witnesses cosigned the checkpoint "
            f"of {size} leaves; the last one with enough of them was seen at {times.cosigned}"
        )


def cosigned_at(note: bytes, witnesses: Sequence[CosignatureVerifier]) -> datetime | None:
    """Return the time of the newest cosignature, None where there is none that holds."""
    try:
        found = cosignatures(parse_note(note), witnesses)
    except RecordError:
        return None
    times = [datetime.fromtimestamp(min(one.timestamp, 1 << 37), UTC) for one in found]
    return max(times, default=None)
