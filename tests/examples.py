"""Hypothesis profiles `ci` and `long`, which set the number of examples of a property."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_TIMES = {"ci": 1, "long": 25}
"""The factor for the number of examples, by profile."""

# No example database and no deadline: a run depends neither on an earlier one nor on the machine.
settings.register_profile(
    "ci", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("ci"))


def choose_profile(name: str) -> None:
    """Activate the profile `name`."""
    settings.load_profile(name)


def examples(number: int) -> settings:
    """Return settings with `number` examples in the profile `ci`, and more in `long`."""
    return settings(max_examples=number * _TIMES[settings.get_current_profile_name()])


def repeated(number: int) -> int:
    """Return how often a race is repeated: `number` times in `ci`, four times that in `long`."""
    return number * (1 if settings.get_current_profile_name() == "ci" else 4)


def is_long() -> bool:
    """Return whether the profile is `long`."""
    return settings.get_current_profile_name() == "long"


def stride(number: int) -> int:
    """Return the step through similar cases: `number` in `ci`, 1 in `long`."""
    return number if settings.get_current_profile_name() == "ci" else 1


def spread(cases: Iterable[Any], step: int) -> list[Any]:
    """Return parameters of a test: every `step`th case, and those between in a long run only."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        if number % step
        else case
        for number, case in enumerate(cases)
    ]
