"""Legal lines of play from fixed positions of every ruleset, compared with stored counts."""

from __future__ import annotations

import json

import pytest

from tests.rules.lines import GOLDEN, every_ruleset, lines_of

EVERY = every_ruleset()


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(EVERY))
def test_the_counts_of_legal_lines_have_not_changed(name: str) -> None:
    """After an intended change of a rule run `python -m tests.rules.lines`, and review the diff."""
    assert lines_of(name, EVERY[name]) == json.loads(GOLDEN.read_text("utf-8"))[name]


def test_the_stored_counts_cover_every_ruleset_and_no_other() -> None:
    assert sorted(json.loads(GOLDEN.read_text("utf-8"))) == sorted(EVERY)
