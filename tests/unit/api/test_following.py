"""When a stream sends a heartbeat, waits, looks again and ends; with a clock of the test."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from service.api import following
from service.api.context import Context
from service.api.following import Following, Send, Step, Wait
from service.application.calls import Caller

RETRY, QUIET = b"retry: 2000\n\n", b": nothing new\n\n"


class Clock:
    """The time of the test, in seconds."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(following, "time", made)
    return made


class Scripted(Following):
    """Sends at each look what the test says, and asks for another look after `seconds`."""

    def __init__(self, looks: Sequence[bytes | None], seconds: float) -> None:
        self.ending = SimpleNamespace(ended=False)
        services = SimpleNamespace(first_reads=None)
        parts = SimpleNamespace(waiting=self.ending, services=services, streams=None)
        super().__init__(cast("Context", parts), Caller(), "slot")
        self.looks, self.seconds = list(looks), seconds

    def look(self) -> Generator[Step, Any, float | None]:
        if not self.looks:
            return None
        if frame := self.looks.pop(0):
            yield self.send((frame,))
        return self.seconds


def carried_out(follower: Following, clock: Clock) -> list[bytes | float]:
    """Return what a stream sends and how long it waits, while the clock goes on by its waits."""
    found: list[bytes | float] = []
    for step in follower.steps():
        if isinstance(step, Send):
            found.extend(step.frames)
        elif isinstance(step, Wait):
            found.append(step.seconds)
            clock.now += step.seconds
    return found


def test_a_heartbeat_follows_five_seconds_after_the_last_frame(clock: Clock) -> None:
    silent = Scripted([b"a", None, b"b", None, None, None, None], 2.0)
    assert carried_out(silent, clock) == [
        *(RETRY, b"a", 2.0, 2.0, b"b"),
        *(2.0, 2.0, 1.0, QUIET, 2.0, 2.0),
    ]


def test_a_stream_that_is_behind_looks_again_without_a_wait(clock: Clock) -> None:
    assert carried_out(Scripted([b"a", b"b"], 0.0), clock) == [RETRY, b"a", b"b"]


def test_a_stop_of_the_process_ends_a_stream_after_its_look(clock: Clock) -> None:
    """What was committed before the stop is sent; the rest comes from another process."""
    stopped = Scripted([b"a", b"b"], 2.0)
    stopped.ending.ended = True
    assert carried_out(stopped, clock) == [RETRY, b"a"]
