"""The files, links, commands, options and settings in the documents exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from service.cli.__main__ import shithead
from service.cli.run import settings_page

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "ops/*.md", "ops/decisions/*.md", "ops/spec/*.md")
NAMES = [str(p.relative_to(ROOT)) for place in DOCUMENTS for p in sorted(ROOT.glob(place))]
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)  # indented in a list
COMMAND = re.compile(r"(?:\.venv/bin/)?((?:shithead [a-z]|ops/up\b)[^#|]*)")
FOLDER = r"(?:service|schemas|sql|workers|ops|tests)/"
FILE = re.compile(FOLDER + r"[\w./*<>-]*|[\w*]+\.(?:py|sql|toml|md)")


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def quoted(text: str) -> list[str]:
    """Return the text between backticks, without code blocks."""
    return [" ".join(words.split()) for words in re.findall(r"`([^`]+)`", FENCE.sub("", text))]


def files(text: str) -> Iterator[tuple[str, str]]:
    """Yield the files named in a text; a bare name is in the folder of the file before it."""
    folder = ""
    for name in quoted(text):
        if FILE.fullmatch(name):
            if "/" in name:
                folder = name.rpartition("/")[0]
            yield folder, name


def is_there(folder: str, name: str) -> bool:
    pattern = re.sub(r"<[^>]+>", "*", name if "/" in name else f"{folder}/{name}")
    return name == "pyproject.toml" or any(ROOT.glob(pattern.rstrip("/")))


def commands(text: str) -> list[str]:
    """Return every command line in a text, and those quoted in sentences."""
    blocks = [*FENCE.findall(text), *re.findall(r"^    \S.*$", text, re.MULTILINE)]
    lines = [line.strip() for line in "\n".join(blocks).splitlines()]
    found = [COMMAND.match(words) for words in (*lines, *quoted(text))]
    return sorted({match[1].strip() for match in found if match})


def parsed(line: str) -> tuple[click.Command, dict[str, object], list[str]]:
    """Return the command of a line, its options and other arguments; raises click.UsageError."""
    words = shlex.split(line)
    if words[0] == "ops/up":
        words = ["shithead", "up", *words[1:]]
    command: click.Command = shithead
    values: dict[str, object] = {}
    context, rest = click.Context(shithead), words[1:]
    while True:
        options, rest, _ = command.make_parser(context).parse_args(args=list(rest))
        values |= options
        if not isinstance(command, click.Group) or not rest:
            return command, values, rest
        name, *rest = rest
        found = command.get_command(context, name)
        if found is None:
            raise click.UsageError(f"there is no command {name}")
        command, context = found, click.Context(found, parent=context, info_name=name)


@pytest.mark.parametrize("name", NAMES)
def test_every_named_file_exists(name: str) -> None:
    named = list(files(text_of(name)))
    assert [file for folder, file in named if not is_there(folder, file)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_link_has_a_target(name: str) -> None:
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", text_of(name))
    assert [link for link in linked if not (ROOT / name).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize(
    "line", sorted({line for name in NAMES for line in commands(text_of(name))})
)
def test_every_named_command_exists_with_its_options(line: str) -> None:
    parsed(line)


@pytest.mark.parametrize("name", NAMES)
def test_every_named_setting_exists(name: str) -> None:
    named = {n for n in re.findall(r"\bSHITHEAD_[A-Z_]+", text_of(name)) if n.strip("_") == n}
    known = {row.variable for section in settings_page() for row in section.rows}
    assert named - known == set()


def test_files_and_commands_are_found_in_the_documents() -> None:
    """Otherwise a new layout of the documents could leave these tests without input."""
    assert len(list(files(text_of("README.md")))) > 40
    of_readme = {parsed(line)[0].name for line in commands(text_of("README.md"))}
    assert of_readme >= {"play", "verify", "replay", "simulate", "rulesets"}
    of_runbook = {parsed(line)[0].name for line in commands(text_of("ops/runbook.md"))}
    running = {"backup", "restore", "check", "migrate", "monitor", "witness", "rotate-keys", "up"}
    intervening = {"stuck", "abort", "archive", "revoke-token", "erase", "close", "trail"}
    assert of_runbook >= running | intervening


@pytest.mark.parametrize("line", ["shithead chekc", "shithead check --depe", "ops/up --porte 1"])
def test_a_missing_command_is_detected(line: str) -> None:
    with pytest.raises(click.UsageError):
        parsed(line)


def test_a_missing_file_is_detected() -> None:
    text = "`service/domain/plays.py`, `demand.py`, `gone.py`, `service/rulesets/<id>.toml`"
    assert [is_there(*file) for file in files(text)] == [True, True, False, True]


def test_each_decision_has_a_number_of_its_own_and_is_listed_once() -> None:
    """A page that was only a diary goes, and its number with it."""
    pages = sorted(path.name for path in (ROOT / "ops/decisions").glob("[0-9]*.md"))
    assert len({name[:4] for name in pages}) == len(pages)
    rows = re.findall(
        r"^\| \[(\d+)\]\((\S+)\) \| (.+) \|$", text_of("ops/decisions/README.md"), re.MULTILINE
    )
    titles = [text_of(f"ops/decisions/{name}").splitlines()[0] for name in pages]
    assert rows == [
        (name[:4], name, title.removeprefix(f"# {name[:4]}: "))
        for name, title in zip(pages, titles, strict=True)
    ]
