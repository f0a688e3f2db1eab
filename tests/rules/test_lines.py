"""A change of any rule shows: legal lines are counted from fixed positions of every ruleset."""

from __future__ import annotations

import json

import pytest

from tests.rules.lines import GOLDEN, every_ruleset, lines_of

EVERY = every_ruleset()


@pytest.mark.parametrize("name", sorted(EVERY))
def test_the_legal_lines_are_those_counted_before(name: str) -> None:
    """Where a rule was meant to change: `python -m tests.rules.lines`, and read the difference."""
    assert lines_of(name, EVERY[name]) == json.loads(GOLDEN.read_text("utf-8"))[name]


def test_every_ruleset_is_counted() -> None:
    """None is forgotten, none is left over."""
    assert sorted(json.loads(GOLDEN.read_text("utf-8"))) == sorted(EVERY)
