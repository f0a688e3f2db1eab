"""The keys of a terminal, one at a time, by name."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

NAMES: Final = {
    b"\x1b[C": "right",
    b"\x1bOC": "right",
    b"\x1b[D": "left",
    b"\x1bOD": "left",
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x1b[H": "home",
    b"\x1bOH": "home",
    b"\x1b[1~": "home",
    b"\x1b[F": "end",
    b"\x1bOF": "end",
    b"\x1b[4~": "end",
    b"\x1b": "escape",
    b"\r": "enter",
    b"\n": "enter",
    b"\x7f": "backspace",
    b"\x08": "backspace",
    b"\x03": "q",
    b"\x04": "q",
}
"""What terminals send; anything else is the character itself, or nothing."""

_SEQUENCE: Final = re.compile(rb"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|[\x00-\xff]", re.DOTALL)

Reader = Callable[[float], list[str]]
"""Waits so many seconds for keys and returns them, none where none came."""


@contextmanager
def keyboard() -> Iterator[Reader]:
    """Give a reader of the keys typed, and the terminal back as it was."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def read(seconds: float) -> list[str]:
        ready, _, _ = select.select([terminal], [], [], seconds)
        if not ready:
            return []
        data = os.read(terminal, 1024)
        return keys_of(data) if data else ["q"]  # the terminal is gone

    tty.setcbreak(terminal)
    try:
        yield read
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def keys_of(data: bytes) -> list[str]:
    """Return the names of the keys whose bytes a terminal sent."""
    found = (_name(sequence) for sequence in _SEQUENCE.findall(data))
    return [name for name in found if name]


def _name(sequence: bytes) -> str:
    known = NAMES.get(sequence)
    if known is not None:
        return known
    return sequence.decode("ascii") if b" " <= sequence < b"\x7f" and len(sequence) == 1 else ""
