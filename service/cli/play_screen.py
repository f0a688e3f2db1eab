"""The screen of `shithead play` and `watch`: the table, and the events since the last move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from schemas.settings import SettingsError
from service.cli.move_menu import in_rank_order, moves_of
from service.cli.narration import Event, People, narrated, result_of, stalemate
from service.cli.screen import View, coloured, printable, seats_table, situation
from service.client.hand import OVER
from service.rulesets.catalogue import OptionError, read_ruleset

FEWEST_LINES: Final = 3

LINES_AT_FIRST: Final = 6
"""Number of the newest sentences shown when the player joins a running game."""

_USUAL_ORDER: Final = "23456789TJQKA"


@dataclass(kw_only=True)
class Story:
    """
    The events of a game as sentences, up to the version that was shown last.

    `events` returns the events of the game so far, at least up to the version of each view.
    """

    events: Callable[[], Sequence[Event]]
    version: int = 0
    people: People = field(default_factory=lambda: People(names=()))
    held: frozenset[str] = frozenset()  # the reader's hand at that version
    drawn: frozenset[str] = frozenset()  # the cards that the last events added to it

    def advance(self, view: View) -> list[str]:
        """Return the sentences on the events after the last view, up to this one."""
        self.people = People.of(view)
        course = self.events()[: view["version"]]
        events = course[self.version :]
        joined, self.version = self.version == 0, view["version"]
        self.drawn = self._new_cards(view)
        took = any(event["data"].get("taker") == self.people.me for event in events)
        named = [] if joined or took else in_rank_order([*self.drawn], self.order)
        lines = narrated(events, self.people, named)
        if any(event["type"] == "game_ended" for event in events):
            lines += stalemate(course, self.people)
        return lines[-LINES_AT_FIRST:] if joined else lines

    @property
    def order(self) -> Sequence[str]:
        """Return the ranks of the game's ruleset, low to high."""
        first = self.events()[0]["data"] if self.events() else None
        if first is None:
            return _USUAL_ORDER
        try:
            return read_ruleset(first["ruleset"], first["hand"]).order
        except (KeyError, SettingsError, OptionError):
            return _USUAL_ORDER  # this program does not know the ruleset

    def _new_cards(self, view: View) -> frozenset[str]:
        """Return the cards that the hand has gained since the last view; store the hand."""
        if self.people.me is None:
            return frozenset()
        hand = frozenset(view["seats"][self.people.me]["hand"]["cards"] or ())
        before, self.held = self.held, hand
        return hand - before if before else frozenset()


def table_of(view: View, order: Sequence[str], new: frozenset[str]) -> RenderableType:
    """Return the table with hands in the order of ranks; the cards in `new` are highlighted."""
    people = People.of(view)
    title = Rule(f"{printable(view['ruleset']['id'])}, hand {view['hand']}", style="dim")
    if view["status"] == "shuffling":
        return Group(title, _setup(view, people))
    seats = [{**seat, "hand": _sorted(seat["hand"], order)} for seat in view["seats"]]
    labels = [people(seat) for seat in range(len(seats))]
    shown = {**view, "seats": seats}
    result = result_of(view, people)
    over = [] if result is None else [Text(), Text(printable(result), style="bold yellow")]
    return Group(
        title, *situation(view, new), Text(), seats_table(shown, new, labels=labels), *over
    )


def _sorted(hand: View, order: Sequence[str]) -> View:
    cards = hand["cards"]
    own = None if cards is None else in_rank_order(cards, order)
    return {**hand, "cards": own, "known": in_rank_order(hand["known"], order)}


def _setup(view: View, people: People) -> Text:
    """Return the progress of the shuffle, seat by seat."""
    states = (f"{people(s['seat'])}: {s['entropy']}, {s['state']}" for s in view["setup"] or ())
    return Text("shuffling   " + printable("   ".join(states)))


def time_limits(view: View) -> str:
    """
    Return until when the seat on turn has its turn and its reserve; "" without a clock.

    >>> time_limits({"deadline": "2026-03-01T12:04:00.000000Z", "status": "playing",
    ...     "reserve_from": "2026-03-01T12:01:00.000000Z", "clock": {}, "turn": 0})
    'time: turn until 12:01:00 UTC, reserve until 12:04:00'
    """
    deadline, reserve = view["deadline"], view["reserve_from"]
    if view["clock"] is None or deadline is None or view["status"] in OVER:
        return ""
    ends = deadline[11:19]
    if reserve is None:
        return f"time: until {ends} UTC"
    return f"time: turn until {reserve[11:19]} UTC, reserve until {ends}"


def recent_events(lines: Sequence[str]) -> RenderableType:
    """Return the sentences on the events since the last view."""
    return Group(*(Text("  ") + coloured(line) for line in lines))


@dataclass(kw_only=True)
class Pane:
    """
    A table that is redrawn after each event, with the sentences since the reader's last move.

    On a terminal it is drawn in place; otherwise each state is printed below the previous one.
    """

    console: Console
    story: Story
    lines: list[str] = field(default_factory=list)  # since the reader's last move
    new: frozenset[str] = frozenset()  # the cards added to the hand since then
    moving: bool = False  # whether the next sentences begin with a move of the reader

    def show(self, view: View, moves: Sequence[Mapping[str, Any]], notice: str = "") -> None:
        """Draw the table, the new sentences and the moves."""
        lines = self._new_lines(view)
        table = table_of(view, self.story.order, self.new)
        menu = list(self._below(view, moves, notice))
        if not self.console.is_terminal:
            self.console.print(Group(recent_events(lines), table, *menu))
            return
        fixed = Group(table, *menu)
        height = len(self.console.render_lines(fixed, pad=False))
        room = max(FEWEST_LINES, self.console.height - height - 2)
        self.console.clear()
        self.console.print(Group(table, recent_events(self.lines[-room:]), *menu))

    def _new_lines(self, view: View) -> list[str]:
        """Return the sentences since the last view; a move of the reader begins a new list."""
        if view["version"] == self.story.version:
            return []
        lines = self.story.advance(view)
        if self.moving:
            self.lines, self.new, self.moving = [], frozenset(), False
        self.lines += lines
        self.new |= self.story.drawn
        return lines

    def _below(
        self, view: View, moves: Sequence[Mapping[str, Any]], notice: str
    ) -> Iterator[RenderableType]:
        if notice:
            yield Text(printable(notice), style="yellow")
        limits = time_limits(view)
        if limits:
            yield Text(limits, style="dim")
        if moves:
            yield moves_of(moves, self.console.width)
        elif view["status"] not in OVER:
            turn = view["turn"]
            others = "the others" if turn is None else self.story.people(turn)
            yield Text(f"waiting for {others}", style="dim")
