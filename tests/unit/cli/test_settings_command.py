"""`shithead settings` and the runbook list every SHITHEAD_* variable that is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any

import pytest

from service.cli.run import markdown, settings_page
from service.feature import settings_of
from service.features import FEATURES
from service.runtime.config import settings_from, shared_settings, variable
from tests.unit.cli.conftest import ROOT, CommandOutput

NAME = re.compile(r"\bSHITHEAD_[A-Z_]*[A-Z]\b")
MISSPELT = "SHITHEAD_PROT"
"""A misspelt variable, which some tests use."""

ROWS = {row.variable: row for section in settings_page() for row in section.rows}


def programs() -> list[Path]:
    """Return the files that can read an environment variable."""
    scripts = [ROOT / "ops" / "up", ROOT / "ops" / "test", ROOT / ".ci" / "run"]
    for folder in ("service", "workers", "schemas", "ops", "tests"):
        scripts += (ROOT / folder).rglob("*.py")
    return scripts


def test_every_variable_in_the_code_is_listed() -> None:
    used = {name: path for path in programs() for name in NAME.findall(path.read_text("utf-8"))}
    assert len(used) > 15
    assert {n: str(p) for n, p in used.items() if n not in ROWS and n != MISSPELT} == {}


def test_every_setting_is_listed_once_and_nothing_else() -> None:
    listed = [row.variable for section in settings_page() for row in section.rows]
    assert len(listed) == len(set(listed))
    settings = {variable(one.name) for one in shared_settings()}
    settings |= {variable(one.name) for one in settings_of(FEATURES)}
    others = {row.variable for section in settings_page()[-3:] for row in section.rows}
    assert set(listed) == settings | others
    assert not settings & others


@pytest.mark.parametrize("setting", shared_settings(), ids=lambda one: one.name)
def test_a_listed_default_is_the_one_that_is_used(setting: Field[Any]) -> None:
    """A fixed default is read back as the default; a computed default is described."""
    name, default = setting.name, setting.default
    listed = ROWS[variable(name)].default
    if default is MISSING or default is None:
        assert not listed.isdecimal()
        return
    needed = {"SHITHEAD_DATABASE_URL": "postgresql://h/d", "SHITHEAD_KEYS": "{}"}
    assert getattr(settings_from({**needed, variable(name): listed}), name) == default


def test_every_variable_has_a_unit_and_an_effect() -> None:
    assert [row for row in ROWS.values() if not (row.unit and row.effect)] == []


def test_the_runbook_has_the_same_tables() -> None:
    """After a change: `shithead settings --markdown` prints the end of the runbook."""
    assert (ROOT / "ops/runbook.md").read_text("utf-8").rstrip().endswith(markdown().rstrip())


def test_the_command_prints_them_all(shithead: Callable[..., CommandOutput]) -> None:
    status, out, _ = shithead("settings")
    assert status == 0
    for row in ROWS.values():
        assert re.search(
            rf"{row.variable} +{re.escape(row.default)} \({re.escape(row.unit)}\)\n +"
            + re.escape(row.effect),
            out,
        )
    assert shithead("settings", "--markdown") == (0, markdown(), "")
    assert max(map(len, out.splitlines())) <= 100


def test_the_page_says_that_a_dispute_keeps_its_settings() -> None:
    [disputes] = [one for one in settings_page() if "SHITHEAD_VOTE_SECONDS" in str(one.rows)]
    assert "keeps the values with which it was opened" in disputes.title
