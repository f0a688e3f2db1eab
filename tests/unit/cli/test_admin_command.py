"""`shithead admin`: help, and invalid arguments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import click
import pytest

from service.cli.admin import admin
from service.cli.statuses import MISUSED
from service.keys import load_or_create
from tests.unit.cli.conftest import CommandOutput

PLAYER = str(uuid4())


@pytest.mark.parametrize("name", sorted(admin.commands))
def test_every_action_has_help_with_a_text_for_each_option(
    shithead: Callable[..., CommandOutput], name: str
) -> None:
    status, out, _ = shithead("admin", name, "--help")
    assert status == 0
    assert out.startswith(f"Usage: shithead admin {name} ")
    options = [p for p in admin.commands[name].params if isinstance(p, click.Option)]
    assert all(option.help for option in options)
    assert all(option.show_envvar for option in options if option.envvar), "in the help"


@pytest.mark.parametrize(
    "words",
    [
        ("erase",),
        ("erase", "Ada"),
        ("--as", " ", "erase", PLAYER),
        ("--as", "x" * 101, "erase", PLAYER),
        ("--as", "a\nb", "erase", PLAYER),
        ("stuck", "--late", "-1"),
        ("trail", "--limit", "0"),
        ("archive",),
        ("archive", "--older-than", "1", "--game", PLAYER),
        ("archive", "--older-than", "-1"),
        ("dance",),
    ],
)
def test_invalid_arguments_are_refused_before_any_action(
    shithead: Callable[..., CommandOutput], tmp_path: Path, words: tuple[str, ...]
) -> None:
    nowhere = "postgresql://nobody@/none?host=/nowhere"
    keys = tmp_path / "keys.json"
    load_or_create(keys)
    status, out, err = shithead("admin", "--database-url", nowhere, "--key-file", keys, *words)
    assert (status, out) == (MISUSED, "")
    assert "Error:" in err


@pytest.mark.parametrize("words", [("stuck",), ("trail",), ("revoke-token", PLAYER)])
def test_a_database_that_does_not_answer_is_one_message(
    shithead: Callable[..., CommandOutput], tmp_path: Path, words: tuple[str, ...]
) -> None:
    load_or_create(tmp_path / "keys.json")
    database = ("--database-url", "postgresql://nobody@/none?host=/nowhere")
    status, out, err = shithead("admin", *database, "--key-file", tmp_path / "keys.json", *words)
    assert (status, out) == (1, "")
    assert err == "Error: the database does not answer\n"
