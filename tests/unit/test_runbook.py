"""The runbook names nothing that is not there: commands, options, settings, measures, log lines."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import click
import prometheus_client
import pytest

from service.api import metrics
from service.cli import shithead
from service.config import Settings, variable

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ops" / "runbook.md").read_text("utf-8")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:shithead [a-z]|ops/up\b)[^#]*")
PLACES = ("service", "workers")


def commands() -> list[str]:
    """Return every command line in the text, and what of one is named in a sentence."""
    lines = "\n".join(FENCE.findall(TEXT)).splitlines()
    inline = re.findall(r"`([^`]+)`", FENCE.sub("", TEXT))
    found = [COMMAND.match(" ".join(words.split())) for words in (*lines, *inline)]
    return sorted({match[0].strip() for match in found if match})


def parsed(line: str) -> tuple[click.Command, dict[str, object], list[str]]:
    """Return the command of a line, its options and what is left; raises click.UsageError."""
    words = shlex.split(line)
    if words[0] == "ops/up":
        words = ["shithead", "up", *words[1:]]
    command: click.Command = shithead
    given: dict[str, object] = {}
    context, rest = click.Context(shithead), words[1:]
    while True:
        options, rest, _ = command.make_parser(context).parse_args(args=list(rest))
        given |= options
        if not isinstance(command, click.Group) or not rest:
            return command, given, rest
        name, *rest = rest
        found = command.get_command(context, name)
        if found is None:
            raise click.UsageError(f"there is no command {name}")
        command, context = found, click.Context(found, parent=context, info_name=name)


@pytest.mark.parametrize("line", commands())
def test_every_command_is_there_with_its_options(line: str) -> None:
    parsed(line)


def test_the_commands_are_found() -> None:
    """A text that was laid out anew must not leave the test with nothing to look at."""
    names = {parsed(line)[0].name for line in commands()}
    kept = {"backup", "restore", "check", "migrate", "monitor", "witness", "rotate-keys", "up"}
    assert names >= kept | {"stuck", "abort", "archive", "revoke-token", "erase", "close", "trail"}


@pytest.mark.parametrize("line", ["shithead chekc", "shithead check --depe", "ops/up --porte 1"])
def test_what_is_not_there_is_seen(line: str) -> None:
    with pytest.raises(click.UsageError):
        parsed(line)


def test_every_setting_is_there() -> None:
    named = set(re.findall(r"\bSHITHEAD_[A-Z_]+", TEXT))
    assert named - {variable(setting.name) for setting in fields(Settings)} == set()


def test_every_measure_is_there_with_its_labels() -> None:
    known = set()
    for family in (*prometheus_client.REGISTRY.collect(), *metrics.SECONDS.collect()):
        known |= {family.name, *(family.name + end for end in ("_total", "_bucket", "_count"))}
    named = set(re.findall(r"\bshithead_(?!service\b)[a-z_]+", TEXT))
    assert named >= {"shithead_sweeper_lag_seconds", "shithead_outbox_age_seconds"}
    assert named - known == set()


def test_every_log_line_is_written_somewhere() -> None:
    source = "".join(
        path.read_text("utf-8") for place in PLACES for path in (ROOT / place).rglob("*.py")
    )
    events = set(re.findall(r'event "([^"]+)"', " ".join(TEXT.split())))
    assert len(events) > 5
    assert {event for event in events if f'"{event}' not in source} == set()


def test_every_section_that_is_pointed_to_is_there() -> None:
    sections = set(re.findall(r"^## ([0-9]+) ", TEXT, re.MULTILINE))
    column = re.findall(r"\| ([0-9]+) \|$", TEXT, re.MULTILINE)
    assert {*re.findall(r"§ ([0-9]+)", TEXT), *column} - sections == set()
