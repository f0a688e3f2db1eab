"""The command line as a whole: help, and exit statuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from service.cli import __main__
from service.cli.__main__ import COMMANDS, run
from service.cli.__main__ import shithead as group
from service.cli.statuses import INTERRUPTED, MISUSED
from tests.unit.cli.conftest import SAMPLES, CommandOutput


def test_without_arguments_the_commands_are_listed(shithead: Callable[..., CommandOutput]) -> None:
    status, out, _ = shithead()
    assert status == 0
    for command in ("up", "verify", "replay", "simulate", "rulesets", "migrate"):
        assert f"\n  {command} " in out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_a_text_for_each_option(
    shithead: Callable[..., CommandOutput], name: str
) -> None:
    status, out, _ = shithead(name, "--help")
    assert status == 0
    assert "Exit status" in out or name == "rulesets"
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.name == name
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert all(option.help for option in options)
    assert all(option.show_envvar for option in options if option.envvar), "in the help"


@pytest.mark.parametrize(
    "words",
    [
        ("dance",),
        ("verify",),
        ("verify", "--receipts", "x"),
        ("simulate", "--hands", "none"),
        ("recover", str(SAMPLES)),  # without --data
    ],
)
def test_a_wrong_command_line_ends_with_a_status_that_no_report_uses(
    shithead: Callable[..., CommandOutput], words: tuple[str, ...]
) -> None:
    """Status 2 means that evidence is missing."""
    status, out, err = shithead(*words)
    assert (status, out) == (MISUSED, "")
    assert "Error:" in err


@pytest.mark.heavy
def test_the_program_exits_with_the_status_of_its_command(
    program: Callable[..., CommandOutput],
) -> None:
    assert program("verify", SAMPLES / "leeds.jsonl")[0] == 0
    assert program("verify", SAMPLES / "nothing.jsonl")[0] == 3
    assert program("verify")[0] == MISUSED


def test_ctrl_c_prints_one_word_and_no_traceback(
    shithead: Callable[..., CommandOutput], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("service.cli.verify.main_verify", interrupted)
    status, out, err = shithead("verify", "game.shx")
    assert (status, out, err.split()) == (INTERRUPTED, "", ["interrupted"])


def test_the_printed_version_is_the_one_in_logs(shithead: Callable[..., CommandOutput]) -> None:
    from service.application.tables.dealing import ENGINE

    assert shithead("--version")[1] == f"shithead {ENGINE['version']}\n"


def test_a_command_that_is_not_installed_is_not_listed(
    shithead: Callable[..., CommandOutput], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The distribution for referees has `verify`, and no `up`."""
    monkeypatch.setattr(__main__, "_installed", lambda name: name != "up")
    status, out, _ = shithead()
    assert status == 0
    assert "  up " not in out
    assert "shithead up" not in out
    assert "shithead verify game.shx" in out
    status, out, err = shithead("up")
    assert (status, out) == (MISUSED, "")
    assert "`up` needs the server" in err


def test_an_interrupt_while_python_starts_ends_without_a_traceback() -> None:
    """`ops/up` blocks the signal until the command can handle it."""
    program = (
        "import os, signal, sys;"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT});"
        "os.kill(os.getpid(), signal.SIGINT);"
        "os.execv(sys.executable, [sys.executable, '-m', 'service.cli', 'settings'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (INTERRUPTED, "", "interrupted")
    up = (Path(__file__).parents[3] / "ops" / "up").read_text()
    assert "SIG_BLOCK, {signal.SIGINT}" in up.partition("os.execv")[0]


def test_a_dump_of_no_month_says_so_before_it_looks_for_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also outside the checkout, where there are none."""
    words = ["dump", str(tmp_path / "dump"), "--month", "2026-13", "--data", str(tmp_path)]
    assert run(words) == 1
    error = capsys.readouterr().err
    assert "2026-13" in error
    assert "keys" not in error
