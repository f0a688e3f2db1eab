"""When the clock is in doubt: it differs from another clock, jumped, or has no reference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.startup_checks import ClockWatch

BEGIN = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
DAY = timedelta(days=1)


class Machine:
    """A machine whose clock, monotonic clock, database and newest event are set by hand."""

    def __init__(self, newest: datetime | None = BEGIN) -> None:
        self.time, self.up, self.newest = BEGIN, 0.0, newest
        self.ahead = timedelta()  # of the database's clock
        self.watch = ClockWatch(
            clocks=lambda: (self.time + self.ahead, self.newest),
            now=lambda: self.time,
            monotonic=lambda: self.up,
        )

    def wait(self, length: timedelta) -> None:
        """Let time go by, with the service being used."""
        self.time += length
        self.up += length.total_seconds()
        if self.newest is not None:
            self.newest = self.time

    def doubt(self) -> str:
        return self.watch.doubt() or ""


def test_a_steady_clock_is_trusted() -> None:
    machine = Machine()
    for _ in range(5):
        assert machine.doubt() == ""
        machine.wait(timedelta(minutes=10))


@pytest.mark.parametrize("jump", [timedelta(days=400), timedelta(minutes=2), timedelta(hours=-1)])
def test_a_clock_that_jumps_with_the_database_is_in_doubt_for_a_day(jump: timedelta) -> None:
    machine = Machine()
    machine.wait(timedelta(minutes=10))
    assert machine.doubt() == ""
    machine.time += jump
    machine.newest = machine.time
    assert "jumped by" in machine.doubt()
    machine.wait(DAY / 2)
    assert "jumped by" in machine.doubt()
    machine.wait(DAY / 2)
    assert machine.doubt() == ""


def test_a_small_clock_step_is_accepted() -> None:
    machine = Machine()
    machine.time += timedelta(seconds=20)
    assert machine.doubt() == ""


def test_a_clock_that_differs_from_the_database_is_in_doubt_as_long_as_it_differs() -> None:
    machine = Machine()
    machine.ahead = timedelta(minutes=-3)
    assert "clocks of this machine and of the database" in machine.doubt()
    machine.wait(2 * DAY)
    assert "clocks of this machine and of the database" in machine.doubt()
    machine.ahead = timedelta()
    assert machine.doubt() == ""


@pytest.mark.parametrize(
    ("newest", "reason"), [(None, "no event yet"), (BEGIN - 30 * DAY, "newest event")]
)
def test_a_process_started_after_a_long_silence_waits_a_day(
    newest: datetime | None, reason: str
) -> None:
    """It may be an outage or a clock that jumped before the start; both look the same."""
    machine = Machine(newest)
    assert reason in machine.doubt()
    machine.time, machine.up = machine.time + DAY, machine.up + DAY.total_seconds()
    assert machine.doubt() == ""


def test_a_process_started_during_use_does_not_wait() -> None:
    assert Machine(BEGIN - timedelta(minutes=5)).doubt() == ""


def test_an_event_in_the_future_puts_the_clock_in_doubt() -> None:
    assert "behind the newest stored event" in Machine(BEGIN + DAY).doubt()
