"""The options of `shithead admin`, which no server is needed to read."""

from __future__ import annotations

import getpass
import os
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from service.cli.admin import admin
from service.cli.admin_session import AdminOptions, operator_name


@pytest.mark.parametrize("after", [False, True])
def test_the_options_of_admin_are_understood_before_and_after_the_command(
    tmp_path: Path, *, after: bool
) -> None:
    """Its own message asks for --data."""
    own = ["--data", str(tmp_path), f"--key-file={tmp_path}/k", "--json"]
    words = ["stuck", *own, "--late", "5"] if after else [*own, "stuck", "--late", "5"]
    done = CliRunner().invoke(admin, words, env={"SHITHEAD_DATABASE_URL": ""})
    assert f"no server uses the folder {tmp_path}" in done.output
    assert done.exit_code == 1


def test_a_text_that_looks_like_an_option_is_a_text_after_two_hyphens(tmp_path: Path) -> None:
    game = "0d8b2c9a-0000-4000-8000-000000000000"
    words = ["--data", str(tmp_path), "answer", "--", game, "--yes"]
    done = CliRunner().invoke(admin, words, env={"SHITHEAD_DATABASE_URL": ""})
    assert "no server uses the folder" in done.output


def test_a_user_without_a_name_acts_under_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container the user has no entry in the list of users."""

    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found: 10001")

    monkeypatch.setattr(getpass, "getuser", unknown)
    assert operator_name(None) == f"uid {os.getuid()}"
    assert operator_name("Ada") == "Ada"


def test_the_archive_of_a_server_of_this_machine_is_in_its_data_folder(tmp_path: Path) -> None:
    options = AdminOptions(
        database_url=None, data=tmp_path, key_file=None, operator="Ada", yes=True, as_json=False
    )
    assert options.archive(None) == tmp_path / "archive"
    assert options.archive("s3://bucket/games") == "s3://bucket/games"
    with pytest.raises(click.UsageError, match="--to"):
        replace(options, database_url="postgresql:///games").archive(None)
