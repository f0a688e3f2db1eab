"""Whether this process can do its work: database, migrations and keys; Redis is told only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Check = Callable[[], None]
"""Raises where a part is not fit for use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """The parts that the service needs, and those that it can do without."""

    needed: Mapping[str, Check]
    wanted: Mapping[str, Check]

    def check(self) -> tuple[bool, dict[str, str]]:
        """Return whether all needed parts are there, and a word on every part."""
        needed = {name: _word(check) for name, check in self.needed.items()}
        wanted = {name: _word(check) for name, check in self.wanted.items()}
        return all(word == "ok" for word in needed.values()), {**needed, **wanted}


ALWAYS = Readiness(needed={}, wanted={})
"""Of services in memory."""


def _word(check: Check) -> str:
    try:
        check()
    except Exception as error:  # noqa: BLE001 - whatever it is, the part is not ready
        # The kind of the error, not its text: that can hold addresses and passwords.
        return f"failed: {type(error).__name__}"
    return "ok"
