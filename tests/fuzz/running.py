"""Runs numbered fuzz cases on a target, and stops a case that does not end."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from tests.fuzz.targets import Target

ENDLESS_SECONDS = 60.0
"""CPU seconds after which a case counts as endless; usual ones take a few thousandths."""


class Endless(BaseException):
    """A case did not end; not an Exception, so that the target cannot catch it."""


def run_cases(name: str, target: Target, numbers: Iterator[int]) -> int:
    """Run the cases of these numbers on a target; return their count, raise at the first crash."""
    count = 0
    for number in numbers:
        try:
            with _ending():
                target(random.Random(f"{name} {number}"))
        except BaseException as error:
            error.add_note(f"case {number} of {name}")
            raise
        count += 1
    return count


@contextmanager
def _ending() -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Endless
