"""`shithead settings`: every environment variable with its default, unit and effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum

import click

from service.config import DESCRIBED, OTHERS, Settings, variable

_HEAD = "| Variable | Default | Unit or form | Effect |\n| --- | --- | --- | --- |"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A variable as the settings page shows it."""

    variable: str
    default: str
    unit: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the settings page."""

    title: str
    rows: tuple[Described, ...]


def settings_page() -> tuple[Section, ...]:
    """Return all variables, those of the service first."""
    fixed = {
        one.name: _text(one.default)
        for one in fields(Settings)
        if one.default is not MISSING and one.default is not None
    }
    return (*_sections(DESCRIBED, fixed), *_sections(OTHERS, {}))


def markdown() -> str:
    """Return the page as Markdown, for the runbook."""
    lines = []
    for section in settings_page():
        lines += [f"### {section.title}", "", _HEAD]
        lines += [
            f"| `{row.variable}` | {row.default} | {row.unit} | {row.effect} |"
            for row in section.rows
        ]
        lines.append("")
    return "\n".join(lines)


@click.command(short_help="List all settings with default, unit and effect.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the tables of the runbook.")
def settings(*, as_markdown: bool) -> None:
    """
    List all environment variables: default, unit or form, and effect.

    The service reads them when it starts, and refuses to start with an invalid value or an
    unknown name. `shithead up` sets the addresses of its own servers, the port and the
    number of workers from its options. It stores the key file and the archive in its data
    folder, and chooses a free port of 127.0.0.1 for the metrics, unless these are set.

    Exit status: 0.
    """
    if as_markdown:
        click.echo(markdown(), nl=False)
        return
    for section in settings_page():
        click.echo(f"{section.title}\n")
        for row in section.rows:
            click.echo(f"  {row.variable:<34} {row.default} ({row.unit})\n      {row.effect}")
        click.echo()


def _sections(text: str, fixed: dict[str, str]) -> Iterator[Section]:
    """Yield the sections of a description; `fixed` has the defaults that it does not name."""
    for block in text.strip().removeprefix("= ").split("\n= "):
        title, *lines = block.splitlines()
        yield Section(title=title, rows=tuple(_row(line, fixed) for line in lines))


def _row(line: str, fixed: dict[str, str]) -> Described:
    name, default, unit, effect = (cell.strip() for cell in line.split("|"))
    standard = name.isupper()  # of OpenTelemetry, without our prefix
    return Described(
        variable=name if standard else variable(name),
        default=default or fixed[name],
        unit=unit,
        effect=effect,
    )


def _text(default: object) -> str:
    """Return a default as it is written in the environment."""
    if isinstance(default, bool):
        return "on" if default else "off"
    return default.value if isinstance(default, StrEnum) else str(default)
