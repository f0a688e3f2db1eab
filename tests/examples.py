"""Hypothesis profiles: how many examples a property is tried with, `ci` or `long`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_TIMES = {"ci": 1, "long": 25}
"""By what the number of examples is multiplied."""

# No example database and no deadline: a run depends neither on an earlier one nor on the machine.
settings.register_profile(
    "ci", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("ci"))


def choose_profile(name: str) -> None:
    """Use the profile `name` from here on."""
    settings.load_profile(name)


def examples(number: int) -> settings:
    """Return the settings of a property that is tried `number` times in the profile `ci`."""
    return settings(max_examples=number * _TIMES[settings.get_current_profile_name()])


def stride(number: int) -> int:
    """Return the step through cases that are alike: `number` in `ci`, 1 in `long`."""
    return number if settings.get_current_profile_name() == "ci" else 1
