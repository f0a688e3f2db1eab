"""Choosers of moves at a terminal: a person, and automatic players."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from rich.console import Console

from service.bots.bot import Chooser as BotChooser
from service.bots.bot import Move as BotMove
from service.bots.simple import GREEDY, LOWEST
from service.cli.move_menu import moves_in_order
from service.cli.narration import People
from service.cli.play_screen import Pane, Story, recent_events, table_of
from service.cli.screen import View, printable
from service.cli.typed_moves import HELP, Unclear, in_own_codes, parse_move
from service.client.answers import AbsentPlayer
from service.client.api import Refused
from service.client.hand import OVER, TOO_LATE

_CLAIMS: Final[Mapping[str, str]] = {
    "stand_in": "let a bot stand in",
    "end": "ask for the end of the hand, unrated, once all others do",
}


class Left(Exception):
    """The player quit the program; the game continues."""


class Chooser(Protocol):
    """Sees the views of a seat, and chooses its moves."""

    def see(self, view: View) -> None:
        """Receive a view."""

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Return the move to make, or None to fetch the view again; raises Left."""

    def claim(self, view: View, absent: Sequence[AbsentPlayer]) -> Mapping[str, Any] | None:
        """Return a claim about a player for whom the hand waits, or None to wait on."""

    def refused(self, refused: Refused) -> None:
        """Receive the refusal of a move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Automatic:
    """Plays automatically; prints the events, and the table at the end."""

    rule: str
    console: Console
    story: Story
    rng: random.Random = field(default_factory=random.Random)  # it keeps no secret

    def see(self, view: View) -> None:
        """Print the new events, and the table once the hand is over."""
        _print_lines(self.console, self.story.advance(view))
        if view["status"] in OVER:
            self.console.print(table_of(view, self.story.order, frozenset()))

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Return the move that the rule selects."""
        return AUTOMATIC[self.rule](view, view["moves"], self.rng)

    def claim(self, view: View, absent: Sequence[AbsentPlayer]) -> Mapping[str, Any] | None:
        """Wait on."""

    def refused(self, refused: Refused) -> None:
        """Ignore late moves; raise for others: a listed move must not be refused."""
        if refused.kind not in TOO_LATE:
            raise refused


def _print_lines(console: Console, lines: Sequence[str]) -> None:
    if lines:
        console.print(recent_events(lines))


@dataclass(kw_only=True)
class Person:
    """A player at the terminal."""

    pane: Pane
    notice: str = ""
    drawn: int = 0  # the version on the screen, 0 if it has to be redrawn

    def see(self, view: View) -> None:
        """Draw the table and the moves, if the version is new or a notice is waiting."""
        if view["version"] == self.drawn and not self.notice:
            return
        self.pane.show(view, self._moves(view), self.notice)
        self.drawn, self.notice = view["version"], ""

    def choose(self, view: View) -> Mapping[str, Any] | None:
        """Read lines until one is a move; return None if the screen has to be redrawn."""
        console = self.pane.console
        while True:
            try:
                text = console.input("[bold]your move[/] (? for help): ").strip()
            except EOFError:
                raise Left from None
            match text.lower():
                case "":
                    self.drawn = 0
                    return None
                case "?" | "help":
                    console.print(HELP, markup=False, highlight=False)
                case "q" | "quit":
                    raise Left
                case _:
                    move = self._parsed(text, view)
                    if move is not None:
                        self.pane.moving = True
                        return move

    def claim(self, view: View, absent: Sequence[AbsentPlayer]) -> Mapping[str, Any] | None:
        """Offer the claims about players who are away; without a terminal, wait on."""
        console, people = self.pane.console, People.of(view)
        offered = [(one, then) for one in absent for then in one["claims"]]
        if not offered or not console.is_terminal:
            return None
        for number, (one, then) in enumerate(offered, 1):
            away = f"{people(one['seat'])} has been away for {one['away_seconds'] // 60} min"
            console.print(
                f"{number}  {printable(away)}: {_CLAIMS[then]}", markup=False, highlight=False
            )
        try:
            text = console.input("[bold]your claim[/] (enter alone waits): ").strip()
        except EOFError:
            raise Left from None
        if text.lower() in ("q", "quit"):
            raise Left
        if not text.isdecimal() or not 0 < int(text) <= len(offered):
            return None
        one, then = offered[int(text) - 1]
        self.pane.moving = True
        return {"type": "claim_absence", "absent": one["seat"], "then": then}

    def refused(self, refused: Refused) -> None:
        """Store the reason, with the statement of the rules, for the next screen."""
        self.notice = f"refused: {refused.text}"

    def _parsed(self, text: str, view: View) -> Mapping[str, Any] | None:
        """Return the move in a line; for any other text, print the reason and return None."""
        try:
            move = parse_move(text, self._moves(view), swapping=view["status"] == "swapping")
            return in_own_codes(move, own_cards(view))
        except Unclear as unclear:
            self.pane.console.print(printable(str(unclear)), style="yellow", markup=False)
            return None

    def _moves(self, view: View) -> list[Mapping[str, Any]]:
        return moves_in_order(view["moves"], self.pane.story.order)


def own_cards(view: View) -> list[str]:
    """Return the cards of the viewer's hand and the face-up ones; none for a spectator."""
    if not isinstance(view.get("as"), int):
        return []
    seat = view["seats"][view["as"]]
    return [*(seat["hand"]["cards"] or ()), *(card for stack in seat["up"] for card in stack)]


def _first(_view: View, moves: Sequence[BotMove], _rng: random.Random) -> BotMove:
    return next((move for move in moves if move["type"] != "swap"), moves[0])


AUTOMATIC: Final[Mapping[str, BotChooser]] = {
    "first": _first,
    "greedy": GREEDY.choose,
    "lowest": LOWEST.choose,
}
"""The automatic players of `--auto`: two bots of the service, and the first move listed."""
