"""Counts and durations in words, for sentences of refusals and captions."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 card`, `3 cards`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration(seconds: int) -> str:
    """
    Return a duration in words: whole units of the largest that fits, rounded down.

    >>> duration(259_200), duration(86_400), duration(5_000), duration(1)
    ('3 days', '1 day', '1 hour', '1 second')
    """
    units = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
    size, unit = next(((size, unit) for size, unit in units if seconds >= size), (1, "second"))
    return counted(seconds // size, unit)
