"""The metrics, log lines, messages and sections named in the runbook exist."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import prometheus_client
import pytest

from service.api import observability
from service.features import FEATURES
from service.local import supervisor_metrics

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ops" / "runbook.md").read_text("utf-8")
SOURCES = ("service", "workers")

COMMANDS = (
    "shithead ",
    "ops/up",
    "curl ",
    "pip ",
    "docker ",
    "chmod ",
    "ls ",
    "python ",
    "python3 ",
    "compose ",
    "SELECT ",
    "sql ",
)
TOOLS = ("pgrep ", "ps ", "kill ", "tail ", "date ", "proxy_request_buffering ")

OF_OTHER_PROGRAMS = {
    "could not connect to Redis instance",
    "could not extend file",
    "could not write to file",
    "can't start new thread",
    "No space left on device",
    "Too many open files",
    "prepared statement",
    "too many clients already",
    "canceling statement due to user request",
    "canceling wait for synchronous replication",
    "does not exist",
}
"""Parts of messages of RQ, PostgreSQL and Python."""

LEAST_LITERAL = 4
"""Characters of a message that count as written in the code; shorter matches are by chance."""

VALUE = re.compile(r"\s*([\w./-]+( \d+| s)?)?\s*")
"""What stands between the written parts of a message: nothing, a word, or a number."""


def known_metrics() -> set[str]:
    """Return the names under which Prometheus finds the metrics of this service."""
    known = {
        *supervisor_metrics.DISK,
        *(name for name, _ in supervisor_metrics.MEMORY.values()),
        *supervisor_metrics.CHECKED,
        supervisor_metrics.BASE_BACKUP,
    }
    for family in (*prometheus_client.REGISTRY.collect(), *observability.SECONDS.collect()):
        known |= {family.name, *(family.name + end for end in ("_total", "_bucket", "_count"))}
    return known


def test_every_named_metric_exists() -> None:
    assert FEATURES, "their modules register metrics"
    known = known_metrics()
    named = set(re.findall(r"\bshithead_(?!(?:service|owner)\b)[a-z_]+", TEXT))
    assert named >= {"shithead_sweeper_lag_seconds", "shithead_outbox_age_seconds"}
    assert named - known == set()


def test_every_named_log_line_is_written_by_the_code() -> None:
    source = "".join(
        path.read_text("utf-8") for place in SOURCES for path in (ROOT / place).rglob("*.py")
    )
    events = set(re.findall(r'event "([^"]+)"', " ".join(TEXT.split())))
    assert len(events) > 5
    assert {event for event in events if f'"{event}' not in source} == set()


@cache
def templates() -> list[tuple[frozenset[str], tuple[str, ...]]]:
    """Return every text in the code: its words, and its written parts in order without values."""
    found = []
    for path in (path for place in SOURCES for path in (ROOT / place).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.JoinedStr(values=values):
                    parts = [str(v.value) for v in values if isinstance(v, ast.Constant)]
                case ast.Constant(value=str(text)):
                    parts = re.split(r"\{\w*\}", text)
                case _:
                    continue
            found.append(_template(parts))
    for path in (ROOT / "service/words").rglob("en.json"):
        for text in json.loads(path.read_text("utf-8")).values():
            found += [_template(re.split(r"\{\w*\}", form)) for form in text.split("|")]
    return [*dict.fromkeys(one for one in found if one[1])]


@cache
def texts_with() -> dict[str, list[int]]:
    """Return by word the places in `templates` of the texts that have it."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, (words, _) in enumerate(templates()):
        for word in words:
            places[word].append(place)
    return places


def _template(parts: list[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    written = tuple(part for part in parts if len(part) >= LEAST_LITERAL)
    return frozenset(" ".join(written).split()), written


def messages(text: str) -> Iterator[str]:
    """Yield the parts of the messages quoted in a page, which is Markdown."""
    prose = " ".join(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())
    for quoted in prose.split("`")[1::2]:
        if re.fullmatch(r"[a-zA-Z0-9…][^={}<>$\"]* [^={}<>$\"]*", quoted) and not quoted.startswith(
            (*COMMANDS, *TOOLS)
        ):
            yield from (part for part in re.split(r"…|: ", quoted) if " " in part.strip())


def printed_by(template: tuple[str, ...], part: str) -> bool:
    """Return whether a text of the code can contain a part of a message."""
    rest, values = part, []
    for written in template:
        sizes = range(len(written), LEAST_LITERAL - 1, -1)
        ends = (written[len(written) - size :] for size in sizes)
        starts = (written[:size] for size in sizes)
        inside = [part] if part in written else []
        for text in (*inside, written, *ends, *starts):
            if text in rest:
                value, _, rest = rest.partition(text)
                values.append(value)
                break
    return len(rest) < len(part) and all(VALUE.fullmatch(value) for value in (*values, rest))


def is_printed(part: str) -> bool:
    """Return whether some text of the code can contain a part of a message."""
    words = part.split()
    shared = Counter(place for word in words for place in texts_with().get(word, ()))
    every = range(len(templates())) if len(words) <= 2 else shared
    return any(
        printed_by(templates()[place][1], part)
        for place in every
        if 2 * shared[place] >= len(words) - 2
    )


@pytest.mark.heavy
def test_every_quoted_message_is_printed_by_the_code() -> None:
    """An operator searches the runbook for the message on the screen."""
    quoted = {part.strip(" ().;") for part in messages(TEXT)} - OF_OTHER_PROGRAMS
    assert len(quoted) > 40
    assert {part for part in quoted if not is_printed(part)} == set()


def test_a_changed_message_is_detected() -> None:
    template = ("its seed needs key ", ", which is not in the key file")
    assert printed_by(template, "its seed needs key k7, which is not in the key file")
    assert printed_by(template, "seed needs key")
    assert not printed_by(template, "its seed is under key k7, which is not in the key file")


def test_every_linked_section_exists() -> None:
    sections = set(re.findall(r"^## ([0-9]+) ", TEXT, re.MULTILINE))
    column = re.findall(r"\| ([0-9]+) \|$", TEXT, re.MULTILINE)
    assert {*re.findall(r"§ ([0-9]+)", TEXT), *column} - sections == set()
