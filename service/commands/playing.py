"""Playing a hand in the terminal: a person who is asked for moves, or a rule that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import click
from rich.console import Console

from service.client.api import Refused
from service.client.choosing import AUTOMATIC, HELP, Unclear, typed
from service.client.hand import Hand, View
from service.commands.play_screen import happened, moves_of, table_of
from service.commands.screen import printable
from service.verify.finding import Result
from service.verify.report import Report

OVER: Final = ("ended", "aborted")
TOO_LATE: Final = ("stale-version", "not-your-turn", "game-over", "entropy-refused")
"""Refusals that only say that somebody was faster."""


class Left(Exception):
    """The person left the program; the game goes on without them."""


class Chooser(Protocol):
    """Who plays."""

    def see(self, view: View) -> None:
        """Take in what there is to see."""

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Return the move to make, None to look again first; raises Left."""

    def refused(self, refused: Refused) -> None:
        """Take in that a move was refused, and why."""


def play_hand(hand: Hand, chooser: Chooser) -> View:
    """Play a hand to its end and return the last view; raises Contradicted where none fits."""
    view = hand.look()
    while view["status"] not in OVER:
        chooser.see(view)
        if _set_up(hand, view):
            view = hand.look()
        elif not view["moves"]:
            view = hand.look(after=view["version"])
        else:
            move = chooser.choose(view)
            if move is not None:
                _move(hand, view, move, chooser)
            view = hand.look()
    chooser.see(view)
    return view


def _set_up(hand: Hand, view: View) -> bool:
    try:
        return hand.set_up(view)
    except Refused as refused:
        if refused.kind not in TOO_LATE:
            raise
        return True


def _move(hand: Hand, view: View, move: Mapping[str, Any], chooser: Chooser) -> None:
    try:
        hand.move(view, move)
    except Refused as refused:
        chooser.refused(refused)


@dataclass(kw_only=True)
class Automatic:
    """Plays by itself, and shows the table once it is over."""

    rule: str
    console: Console

    def see(self, view: View) -> None:
        """Print the table at the end, nothing before."""
        if view["status"] in OVER:
            self.console.print(table_of(view))

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Return what the rule makes of the moves."""
        ready = [move for move in view["moves"] if move["type"] == "ready"]
        return ready[0] if ready else AUTOMATIC[self.rule](view["moves"])

    def refused(self, refused: Refused) -> None:
        """Go on where somebody was faster; a listed move that is refused is a fault."""
        if refused.kind not in TOO_LATE:
            raise refused


@dataclass(kw_only=True)
class Person:
    """Somebody at a terminal."""

    hand: Hand
    console: Console
    version: int = 0

    def see(self, view: View) -> None:
        """Print what happened since the last look, and the table."""
        if view["version"] == self.version:
            return
        if self.version:
            self.console.print(happened(self.hand.captions(self.version + 1, view["version"])))
        self.version = view["version"]
        self.console.print(table_of(view))

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Ask until something can be read as a move."""
        self.console.print(moves_of(view["moves"]))
        while True:
            try:
                text = self.console.input("[bold]move[/] (? for help): ").strip()
            except EOFError:
                raise Left from None
            match text:
                case "":
                    return None
                case "?" | "help":
                    self.console.print(HELP, markup=False, highlight=False)
                case "q" | "quit":
                    raise Left
                case _:
                    try:
                        return typed(text, view["moves"], swapping=view["status"] == "swapping")
                    except Unclear as unclear:
                        self.console.print(str(unclear), style="yellow", markup=False)

    def refused(self, refused: Refused) -> None:
        """Say why, with the statement that decides it."""
        self.console.print(f"refused: {printable(refused.told)}", style="yellow", markup=False)


def tell_report(hand: Hand, report: Report) -> bool:
    """Print what the evidence comes to, and return whether it holds."""
    for finding in report.findings:
        if finding.result is Result.FAIL:
            where = "" if finding.seq is None else f"seq {finding.seq}: "
            click.echo(printable(f"{finding.check} fails: {where}{finding.said}"))
    click.echo(f"from outside: {'; '.join(report.outside) or 'nothing'}")
    for said in (*report.unproven, *report.missing):
        click.echo(printable(f"not shown: {said}"))
    click.echo(f"kept in {hand.folder}")
    click.echo(printable(report.conclusion))
    return report.result is not Result.FAIL
