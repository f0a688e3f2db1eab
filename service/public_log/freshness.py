"""A monitor's checks that a checkpoint is fresh and cosigned by witnesses."""

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
"""Age from which a game without a leaf is reported: each deal is logged at once."""

MAX_GAME_AGE: Final = timedelta(days=7)
"""Age up to which games are checked: the monitor drops older finished games from its state."""

CLOCK_SKEW: Final = timedelta(minutes=5)
"""A cosignature dated further in the future than this is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a monitor requires of checkpoints; an unset field disables its check."""

    fresh_within: timedelta | None = None  # longest time without a new leaf
    witnesses: Sequence[CosignatureVerifier] = ()
    quorum: int | None = None  # number of witnesses that must cosign; None: all
    cosigned_within: timedelta = timedelta(hours=1)

    @property
    def wanted(self) -> int:
        """Return the number of witnesses that must have cosigned."""
        return len(set(self.witnesses)) if self.quorum is None else self.quorum


@dataclass(slots=True, kw_only=True)
class Times:
    """When the log last grew, and when a monitor last saw a checkpoint with its quorum."""

    grown: str | None = None
    cosigned: str | None = None


def stale(size: int, times: Times, expected: Expected, now: datetime) -> Iterator[str]:
    """Yield a finding if the log has not grown for longer than `expected.fresh_within`."""
    if expected.fresh_within is None or times.grown is None:
        return
    if now - parse_time(times.grown) > expected.fresh_within:
        yield f"stale: the log shows the same {size} leaves since {times.grown}"


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
    """Yield the faults of a checkpoint's cosignatures; set `times.cosigned` if there are enough."""
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
            f"of {size} leaves; a checkpoint with enough cosignatures was last seen at "
            f"{times.cosigned}"
        )


def cosigned_at(note: bytes, witnesses: Sequence[CosignatureVerifier]) -> datetime | None:
    """Return the time of the newest cosignature; None if there is none or one is invalid."""
    try:
        found = cosignatures(parse_note(note), witnesses)
    except RecordError:
        return None
    times = [datetime.fromtimestamp(min(line.timestamp, 1 << 37), UTC) for line in found]
    return max(times, default=None)
