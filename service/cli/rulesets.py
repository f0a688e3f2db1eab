"""`shithead rulesets`: list the rulesets, print one, or compare two."""

from __future__ import annotations

import difflib

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.rulesets.catalogue import Definition, KnownByName, catalogue, known_by_name
from service.rulesets.labels import Difference, differences, label_of, value_in_words
from service.rulesets.rules_page import as_text, rules_page


@click.command(short_help="List the rulesets, print one as a page, or compare two.")
@click.argument("ruleset", required=False)
@click.argument("other", required=False)
def rulesets(ruleset: str | None, other: str | None) -> None:
    """
    List the rulesets; print RULESET as a page; or compare RULESET with OTHER.

    \b
      shithead rulesets                  all of them, each with its base
      shithead rulesets leeds            the rules of one: the deal, the opening, play,
                                         special cards, the end; each sentence has the id
                                         by which refusals and reports cite it
      shithead rulesets leeds threes     two side by side: the settings that differ, each
                                         with the statement that determines it

    A statement marked as a reading is a decision of this project, because the source is silent
    or contradicts itself. A game is always judged by the ruleset with which it began.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    console = Console()
    if ruleset is None:
        console.print(_list())
    elif other is None:
        click.echo(as_text(rules_page(_known(ruleset))), nl=False)
    else:
        _compare(console, _playable(ruleset), _playable(other))


def _list() -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("Ruleset", "Name", "Players", "Based on"):
        table.add_column(title, no_wrap=title != "Name")
    for one in catalogue().values():
        players = one.settings({})["players"]
        note = " (a reconstruction)" if one.reconstruction else ""
        table.add_row(one.id, one.name + note, _seats(players["min"], players["max"]), one.base)
    for name in known_by_name().values():
        table.add_row(name.id, f"{name.name} (rules unknown)", "-", "-", style="dim")
    return table


def _seats(fewest: int, most: int) -> str:
    return str(fewest) if fewest == most else f"{fewest}–{most}"


def _compare(console: Console, one: Definition, two: Definition) -> None:
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
        f"determines the value; to read it: shithead rulesets {one.id}, shithead rulesets {two.id}"
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


def _playable(identity: str) -> Definition:
    found = _known(identity)
    if isinstance(found, KnownByName):
        raise click.UsageError(f"the rules of {found.name} are unknown: nothing to compare")
    return found


def _known(identity: str) -> Definition | KnownByName:
    known: dict[str, Definition | KnownByName] = {**catalogue(), **known_by_name()}
    if identity not in known:
        near = difflib.get_close_matches(identity, known, n=3)
        guess = f"; did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(
            f"there is no ruleset {identity!r}{guess} (shithead rulesets lists them)"
        )
    return known[identity]
