"""Like faults of a command line end every command with like statuses."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from service.cli.__main__ import COMMANDS
from service.cli.__main__ import shithead as group
from service.cli.statuses import MISUSED, UNDECIDED, UNREADABLE, ReadPath, Unreadable
from tests.unit.cli.conftest import CommandOutput

Run = Callable[..., CommandOutput]
ID = "00000000-0000-4000-8000-000000000000"

READING = (
    ("verify", "{}"),
    ("verify", "--dump", "{}"),
    ("verify", "--dump", ".", "--checkpoint", "{}"),
    ("audit", "{}", "--move", "1"),
    ("replay", "{}"),
    ("restore", "{}"),
    ("recover", "{}", "--data", "new"),
    ("dataset", "{}"),
    ("ratings", "{}"),
    ("collusion", "{}"),
    ("logs", "{}", "--request", "x"),
    ("admin", "lost", "{}"),
    ("dispute", "receipt", ID, "{}"),
    ("tables", "--token", "{}"),
)
"""Command lines that read a file or folder."""

CALLING = (
    ("tables",),
    ("challenges",),
    ("handle", "--find", "ada"),
    ("bots",),
    ("watch", ID),
    ("replay", ID),
    ("dispute", "show", ID),
    ("play", "--auto", "lowest"),
)
"""Command lines that call a service."""


@pytest.fixture
def nobody() -> Iterator[str]:
    """Return an address of this machine at which nothing answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_file_that_is_missing_is_status_3(
    shithead: Run,
    words: tuple[str, ...],
    nobody: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHITHEAD_URL", nobody)
    status, _, err = shithead(*(word.format(tmp_path / "missing") for word in words))
    assert status == UNREADABLE, err
    assert "missing" in err


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--data", "{}"),
        ("backup", "{}"),
        ("dump", "--month", "2026-11", "--data", "{}", "new"),
        ("monitor", "--log", "http://127.0.0.1:1", "--state", "{}", "--once"),
        ("witness", "--log", "http://127.0.0.1:1", "--key", "{}", "--state", "{}", "--once"),
    ],
    ids=" ".join,
)
def test_a_path_that_the_system_refuses_is_one_line_and_status_3(
    shithead: Run, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a folder of another user; here a name that is too long, which root cannot use either."""
    monkeypatch.chdir(tmp_path)
    refused = "/".join(("x" * 300, "file"))
    status, _, err = shithead(*(word.format(refused) for word in words))
    assert status == UNREADABLE, err
    assert err.startswith("Error: ")
    assert err.endswith("File name too long\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", CALLING, ids=" ".join)
def test_an_address_is_status_2_without_a_service_and_64_if_it_is_none(
    shithead: Run,
    words: tuple[str, ...],
    nobody: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHITHEAD_HOME", str(tmp_path))
    status, _, err = shithead(*words, "--url", nobody)
    assert status == UNDECIDED, err
    assert "start one with `shithead up`" in err
    for url in ("localhost:8080", "ftp://127.0.0.1"):
        status, _, err = shithead(*words, "--url", url)
        assert status == MISUSED, err
        assert "is not an address such as" in err


@pytest.mark.parametrize(
    "words", [("watch", "x"), ("dispute", "show", "x"), ("play", "--private", "x")]
)
def test_a_text_that_names_nothing_is_status_64(shithead: Run, words: tuple[str, ...]) -> None:
    assert shithead(*words)[0] == MISUSED


def test_every_command_reads_named_files_by_one_type() -> None:
    """click's own check of existence would end with another status."""
    context = click.Context(group)
    seen, kinds = [group.get_command(context, name) for name in COMMANDS], set()
    while seen:
        command = seen.pop()
        assert command is not None
        seen += command.commands.values() if isinstance(command, click.Group) else ()
        kinds |= {(type(one.type), getattr(one.type, "exists", None)) for one in command.params}
    assert (ReadPath, False) in kinds
    assert (click.Path, True) not in kinds


def test_what_is_read_must_be_of_its_kind(tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("x")
    assert ReadPath(file=True).convert(file, None, None) == file
    assert ReadPath(folder=True).convert(tmp_path, None, None) == tmp_path
    assert ReadPath(file=True, stream=True).convert("-", None, None) == Path("-")
    for kind, path in ((ReadPath(file=True), tmp_path), (ReadPath(folder=True), file)):
        with pytest.raises(Unreadable, match="is not a f"):
            kind.convert(path, None, None)
    if os.geteuid():
        file.chmod(0)
        with pytest.raises(Unreadable, match="Permission denied"):
            ReadPath(file=True).convert(file, None, None)


@pytest.mark.parametrize(
    ("words", "near"),
    [(("verfy",), "verify"), (("admin", "stuk"), "stuck"), (("dispute", "opne"), "open")],
)
def test_a_mistyped_command_is_told_the_nearest(
    shithead: Run, words: tuple[str, ...], near: str
) -> None:
    status, _, err = shithead(*words)
    assert status == MISUSED
    assert f"Did you mean {near}?" in err
    assert "Did you mean" not in shithead("dance")[2]
