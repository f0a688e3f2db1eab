"""`shithead rulesets`: list the rulesets, print one, or compare two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.cli.connection import url_option
from service.cli.ruleset_argument import custom_rulesets, playable_ruleset, ruleset_named
from service.cli.screen import printable
from service.rulesets.catalogue import Definition, catalogue, known_by_name
from service.rulesets.labels import Difference, differences, label_of, value_in_words
from service.rulesets.rules_page import as_text, rules_page


@click.command(short_help="List the rulesets, print one as a page, or compare two.")
@click.argument("ruleset", required=False)
@click.argument("other", required=False)
@url_option
def rulesets(ruleset: str | None, other: str | None, url: str) -> None:
    """
    List the rulesets; print RULESET as a page; or compare RULESET with OTHER.

    \b
      shithead rulesets                  all of them, each with its base
      shithead rulesets --url URL        also the custom rulesets of a service
      shithead rulesets leeds            the rules of one: the deal, the opening, play,
                                         special cards, the end; each sentence has the id
                                         by which refusals and reports cite it
      shithead rulesets leeds threes     two side by side: the settings that differ, each
                                         with the statement that determines it
      shithead rulesets leeds mine.json  a file with a custom ruleset: the body of
                                         POST /v1/rulesets, or a server's answer
      shithead rulesets custom-…         the custom ruleset with this id at --url

    A statement marked as a reading is a decision of this project, because the source is silent
    or contradicts itself. A game is always judged by the ruleset with which it began.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    console = Console()
    if ruleset is None:
        source = click.get_current_context().get_parameter_source("url")
        own = [] if source is ParameterSource.DEFAULT else custom_rulesets(url)
        console.print(_list(own))
    elif other is None:
        click.echo(as_text(rules_page(ruleset_named(ruleset, url))), nl=False)
    else:
        one, two = playable_ruleset(ruleset, url), playable_ruleset(other, url)
        _compare(console, (ruleset, other), one, two)


def _list(custom: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("Ruleset", "Name", "Players", "Based on"):
        table.add_column(title, no_wrap=title != "Name")
    for one in catalogue().values():
        players = one.settings({})["players"]
        note = " (a reconstruction)" if one.reconstruction else ""
        table.add_row(one.id, one.name + note, _seats(players["min"], players["max"]), one.base)
    for unknown in known_by_name().values():
        table.add_row(unknown.id, f"{unknown.name} (rules unknown)", "-", "-", style="dim")
    for row in custom:
        seats = row["seats"]
        name, base = (Text(printable(str(row[key]))) for key in ("name", "base"))
        table.add_row(row["id"], name, _seats(seats["min"], seats["max"]), base)
    return table


def _seats(fewest: int, most: int) -> str:
    return str(fewest) if fewest == most else f"{fewest}–{most}"


def _compare(console: Console, named: tuple[str, str], one: Definition, two: Definition) -> None:
    found = differences(one, two)
    if not found:
        click.echo(f"{one.name} and {two.name} have the same settings.")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", ratio=4)
    table.add_column(Text(f"{one.name} [{one.id}]"), ratio=3)
    table.add_column(Text(f"{two.name} [{two.id}]"), ratio=3)
    for difference in found:
        table.add_row(*(Text(words) for words in _side_by_side(difference, one)))
    console.print(table)
    count = "1 setting differs" if len(found) == 1 else f"{len(found)} settings differ"
    click.echo(
        f"{count}, with the default options of both. The id in brackets is the statement that\n"
        "determines the value; to read it: "
        f"shithead rulesets {named[0]}, shithead rulesets {named[1]}"
    )


def _side_by_side(difference: Difference, one: Definition) -> tuple[str, str, str]:
    setting = difference.setting
    before = value_in_words(setting, difference.before)
    after = value_in_words(setting, difference.after)
    return (
        label_of(setting),
        f"{before} ({one.rule_of(setting)})",
        f"{after} ({difference.rule})",
    )
