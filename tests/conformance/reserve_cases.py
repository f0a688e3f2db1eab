"""Cases of `legality` and `bytes` about the reserve of a clock: exact to the microsecond."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from service.shx.canonical import format_time, parse_time
from tests.conformance.case import CLOCK, Case, created, fails, passes, played, raw_lines
from tests.tamper import Forgery

RESERVE = 45
TURN = CLOCK["turn_seconds"]
EARLY = timedelta(microseconds=1)


def cases() -> Iterator[Case]:
    """Yield every case of the reserve."""
    yield from _shape()
    yield from _time_outs()
    yield from _own_turns()
    yield from _without_a_seat()


def waited(f: Forgery, seq: int, seconds: float, *, less: timedelta = timedelta()) -> None:
    """Let the move that begins at `seq` come so long after the event before it."""
    due = parse_time(f.events[seq - 1]["at"]) + timedelta(seconds=seconds) - less
    later = due - parse_time(f.events[seq]["at"])
    for event in f.events[seq:]:
        event["at"] = format_time(parse_time(event["at"]) + later)


def _silent(ruleset: str = "shithead", *, seat: int = 1, after: int = 7) -> Forgery:
    clock = {**CLOCK, "reserve_seconds": RESERVE}
    return played(ruleset, clock=clock, silent=seat, silent_after=after, turn_limit=12)


def _time_out(f: Forgery, n: int) -> int:
    """Return the seq of a time-out in play."""
    start = f.find("play_started")
    return f.find("turn_timed_out", lambda event: event["seq"] > start, n)


def _shape() -> Iterator[Case]:
    for name, says, reserve in (
        ("reserve-0", "a reserve of 0 seconds, which has to be absent", 0),
        ("reserve-null", "a reserve that is null", None),
        ("reserve-text", "a reserve as text", "45"),
    ):
        f = created(clock={**CLOCK, "reserve_seconds": reserve})
        yield fails(f"bytes/{name}", says, raw_lines(f), bytes=0)


def _time_outs() -> Iterator[Case]:
    """A time-out takes the whole reserve, so the next one comes after the turn alone."""
    f = _silent()
    waited(f, _time_out(f, 0), TURN + RESERVE)
    waited(f, _time_out(f, 1), TURN)
    says = "a time-out after turn and reserve, and one without a reserve left"
    yield passes("legality/reserve", says, f.lines())
    f = _silent()
    seq = _time_out(f, 0)
    waited(f, seq, TURN + RESERVE, less=EARLY)
    says = "timed out a microsecond before the end of the reserve"
    yield fails("legality/reserve-left", says, f.lines(), legality=seq)
    f = _silent()
    waited(f, _time_out(f, 0), TURN + RESERVE)
    seq = _time_out(f, 1)
    waited(f, seq, TURN, less=EARLY)
    says = "no reserve is left, and the turn was a microsecond too short"
    yield fails("legality/reserve-spent", says, f.lines(), legality=seq)


def _own_turns() -> Iterator[Case]:
    """Turns of the seat itself use its reserve, once they take longer than a turn."""

    def moved(seconds: float) -> tuple[Forgery, int]:
        f = _silent()
        own = f.find("cards_played", lambda event: event["by"] == 1)
        waited(f, own, seconds)
        return f, _time_out(f, 0)

    for name, took, used in (("used", 50.5, 20.5), ("not-used", 30, 0), ("used-up", 600, RESERVE)):
        f, seq = moved(took)
        waited(f, seq, TURN + RESERVE - used)
        says = f"a turn of {took} s before a time-out in due time"
        yield passes(f"legality/reserve-{name}", says, f.lines())
        f, seq = moved(took)
        waited(f, seq, TURN + RESERVE - used, less=EARLY)
        says = f"a turn of {took} s before a time-out that is a microsecond early"
        yield fails(f"legality/reserve-{name}-early", says, f.lines(), legality=seq)


def _without_a_seat() -> Iterator[Case]:
    """The reserve is not used in the exchange, nor at a first-come opening."""
    f = _silent(after=0)
    waited(f, f.find("turn_timed_out"), CLOCK["swap_seconds"])
    says = "a time-out in the exchange, with a whole reserve"
    yield passes("legality/reserve-exchange", says, f.lines())
    f = _silent("threes", seat=0, after=0)
    seq = _time_out(f, 0)
    assert f.data(seq - 1) == {"turn": None}
    waited(f, seq, TURN)
    says = "a time-out at a first-come opening, with a whole reserve"
    yield passes("legality/reserve-first-come", says, f.lines())
