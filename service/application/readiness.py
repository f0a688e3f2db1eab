"""Readiness: database, migrations and keys are required; Redis and the clock are reported only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Check = Callable[[], None]
"""Raises an exception if a part is not ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """The checks of required parts, and of parts that are only reported."""

    needed: Mapping[str, Check]
    wanted: Mapping[str, Check]

    def check(self) -> tuple[bool, dict[str, str]]:
        """Return whether all required parts are ready, and the status of every part."""
        needed = {name: _word(check) for name, check in self.needed.items()}
        wanted = {name: _word(check) for name, check in self.wanted.items()}
        return all(word == "ok" for word in needed.values()), {**needed, **wanted}


ALWAYS = Readiness(needed={}, wanted={})
"""For services in memory: always ready."""


def _word(check: Check) -> str:
    try:
        check()
    except Exception as error:  # noqa: BLE001 - after any error the part is not ready
        # The type of the error only: its text can contain addresses and passwords.
        return f"failed: {type(error).__name__}"
    return "ok"
