"""When a bot's move is made: at the end of a beat, however long the bot thought."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

BEAT_SECONDS = 0.02
"""Longer than all but a few decisions take; ops/bench/results/bot-timing.md has the figures."""

Rest = Callable[[], None]
"""Returns at the end of the beat that it was begun in."""


class Beat:
    """
    Makes the time of an answer tell nothing of the cards it was thought out with.

    A decision over many legal moves takes longer than one over few. What is decided within
    a beat is made known at its end, and what takes longer at the end of a later one.
    """

    def __init__(
        self,
        seconds: float = BEAT_SECONDS,
        *,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep

    def begin(self) -> Rest:
        """Begin a beat; return what waits for its end."""
        begun = self._clock()

        def rest() -> None:
            past = self._clock() - begun
            beats = max(1, math.ceil(past / self._seconds))
            self._sleep(max(0.0, beats * self._seconds - past))

        return rest


def at_once() -> None:
    """Return: the rest of a beat that has no length."""


def no_beat() -> Rest:
    """Begin a beat of no length: for tables of bots alone, and where time stands still."""
    return at_once
