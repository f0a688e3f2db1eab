"""The full-screen replay: keyboard, navigation, drawing."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from service.cli.load_game import ReplayStep
from service.domain.cards import HIDDEN, JOKER
from service.domain.view import Viewer
from service.replay.sentences import seat_number, seat_words

NAMES: Final = {
    b"\x1b[C": "right",
    b"\x1bOC": "right",
    b"\x1b[D": "left",
    b"\x1bOD": "left",
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x1b[H": "home",
    b"\x1bOH": "home",
    b"\x1b[1~": "home",
    b"\x1b[F": "end",
    b"\x1bOF": "end",
    b"\x1b[4~": "end",
    b"\x1b": "escape",
    b"\r": "enter",
    b"\n": "enter",
    b"\x7f": "backspace",
    b"\x08": "backspace",
    b"\x03": "q",
    b"\x04": "q",
}
"""Key names by the bytes that terminals send; another key is named by its character."""

_SEQUENCE: Final = re.compile(rb"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|[\x00-\xff]", re.DOTALL)

View = Mapping[str, Any]
"""A view of a game, or an object in it, as JSON."""

Reader = Callable[[float], list[str]]
"""Waits up to a number of seconds for keys, and returns their names."""


@contextmanager
def keyboard() -> Iterator[Reader]:
    """Yield a reader of keys; restore the terminal afterwards."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def read(seconds: float) -> list[str]:
        ready, _, _ = select.select([terminal], [], [], seconds)
        if not ready:
            return []
        data = os.read(terminal, 1024)
        return keys_of(data) if data else ["q"]  # the terminal was closed

    tty.setcbreak(terminal)
    try:
        yield read
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def keys_of(data: bytes) -> list[str]:
    """Return the names of the keys whose bytes a terminal sent."""
    found = (_name(sequence) for sequence in _SEQUENCE.findall(data))
    return [name for name in found if name]


def _name(sequence: bytes) -> str:
    known = NAMES.get(sequence)
    if known is not None:
        return known
    return sequence.decode("ascii") if b" " <= sequence < b"\x7f" and len(sequence) == 1 else ""


NEXT: Final = ("right", "down", "n", " ", "enter")
BACK: Final = ("left", "up", "p", "backspace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPosition:
    """The position in a replay: step, viewer, and a version being typed."""

    step: int = 0  # from 0
    viewer: int = 0  # index among the available viewers
    typed: str | None = None  # the digits of a version typed so far
    over: bool = False  # whether the user has quit


def after_key(place: ReplayPosition, key: str, *, steps: int, viewers: int) -> ReplayPosition:
    """Return the position after a key, in a replay of `steps` steps and `viewers` viewers."""
    if place.typed is not None:
        return _typing(place, key, place.typed, steps)
    last = steps - 1
    if key in NEXT:
        return replace(place, step=min(place.step + 1, last))
    if key in BACK:
        return replace(place, step=max(place.step - 1, 0))
    match key:
        case "home":
            return replace(place, step=0)
        case "end":
            return replace(place, step=last)
        case "g":
            return replace(place, typed="")
        case "v":
            return replace(place, viewer=(place.viewer + 1) % viewers)
        case "q" | "escape":
            return replace(place, over=True)
        case _:
            return place


def _typing(place: ReplayPosition, key: str, typed: str, steps: int) -> ReplayPosition:
    """
    Return the position after a key while a version number is typed.

    A number out of range selects the first or last version; escape, q and g cancel.
    """
    if key.isdecimal() and len(typed) < 6:
        return replace(place, typed=typed + key)
    match key:
        case "backspace":
            return replace(place, typed=typed[:-1])
        case "enter" if typed:
            return replace(place, typed=None, step=min(max(int(typed), 1), steps) - 1)
        case "enter" | "escape" | "q" | "g":
            return replace(place, typed=None)
        case _:
            return place


KEYS: Final = (
    ("→ n space", "next"),
    ("← p", "back"),
    ("home end", "first, last"),
    ("g", "go to"),
    ("v", "viewer"),
    ("q", "quit"),
)
DEMANDS: Final = {
    "anything": "any card may be played",
    "at_least": "asks for {rank} or more",
    "at_most": "asks for {rank} or less",
    "below": "asks for less than {rank}",
}
NEW: Final = "reverse"  # style of cards that the event moved
SUITS: Final = {"c": "green", "d": "bright_blue", "h": "red", "s": ""}
JOKERS: Final = "magenta"
"""Colours of the suits and of jokers on a terminal with colours."""
MAX_NAME_LENGTH: Final = 20
MAX_SEATS_NAMED: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The parts of a replay screen that do not depend on the step of the game."""

    viewer: Viewer
    versions: int
    typed: str | None = None
    warning: str | None = None


def screen(step: ReplayStep, shown: Shown) -> Layout:
    """Return the screen for a step, with the help on keys at the bottom."""
    head: list[RenderableType] = [_title(step, shown)]
    bar = ProgressBar(total=max(shown.versions - 1, 1), completed=step.seq, complete_style="green")
    head.append(bar)
    if shown.warning:
        head.append(Text(printable(shown.warning), style="bold red"))
    body = Group(
        Text(),
        Text(printable(step.caption), style="bold"),
        Text(),
        *_middle(step),
        Text(),
        seats_table(step.view, _moved(step)),
        *result_lines(step.view),
    )
    layout = Layout()
    layout.split_column(
        Layout(Group(*head), size=2 + 2 * bool(shown.warning)),
        Layout(body, name="body"),
        Layout(Group(Rule(style="dim"), _foot(shown)), size=2),
    )
    return layout


def viewer_name(viewer: Viewer) -> str:
    """Return a viewer as the command line names it."""
    return "public" if viewer is None else str(viewer)


def printable(text: str) -> str:
    """Return text with control characters replaced: logs are untrusted."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _title(step: ReplayStep, shown: Shown) -> Table:
    view = step.view
    line = Table.grid(expand=True)
    line.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    line.add_column(justify="right", no_wrap=True)
    line.add_row(
        Text(f"{printable(view['ruleset']['id'])}, hand {view['hand']}, {_seen(shown.viewer)}"),
        Text(f"version {step.seq + 1} of {shown.versions}", style="bold"),
    )
    return line


def _seen(viewer: Viewer) -> str:
    match viewer:
        case None:
            return "as the public sees it"
        case "all":
            return "all hands open"
        case _:
            return f"as {seat_words(viewer)} sees it"


def _middle(step: ReplayStep) -> Iterable[RenderableType]:
    yield Text(
        f"seq {step.seq}  {printable(step.type)}  {printable(step.at)}  "
        + ("by the server" if step.by is None else f"by {seat_words(step.by)}"),
        style="dim",
    )
    yield from situation(step.view, _moved(step))


def situation(view: View, new: frozenset[str]) -> Iterable[RenderableType]:
    """Yield the lines on stock, pile and demand; none during the shuffle."""
    if view["status"] == "shuffling":
        return
    burned = len(view["burned"])
    yield Text(f"stock {view['stock']}   burned {burned}{_direction(view)}")
    demand = view["demand"]
    playing = view["status"] == "playing"
    asks = DEMANDS[demand["kind"]].format(rank=demand["rank"]) if playing else ""
    besides = demand["besides"]
    asks += f", or {' or '.join(besides)}" if playing and besides else ""
    yield Text.assemble("pile  ", _cards(view["pile"], new), (f"  {asks}", "dim"))


def _direction(view: View) -> str:
    """Return the order in which the seats play; "" for two seats, which alternate in any case."""
    seats = range(len(view["seats"]))[:: view["direction"]]
    more = " …" if len(seats) > MAX_SEATS_NAMED else ""
    order = " → ".join(str(seat_number(seat)) for seat in seats[:MAX_SEATS_NAMED])
    return f"   play goes {order}{more}" * (len(seats) > 2)


def seats_table(view: View, new: frozenset[str], *, labels: Sequence[str] | None = None) -> Table:
    """Return the seats with their cards, those in `new` highlighted; `labels` names the seats."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("", "seat", "hand", "face up", "face down"):
        table.add_column(title, header_style="dim")
    for seat in view["seats"]:
        label = seat["bot"] or seat["kind"] if labels is None else labels[seat["seat"]]
        table.add_row(*_seat(seat, view, new, label))
    return table


def _seat(seat: View, view: View, new: frozenset[str], label: str) -> tuple[Text, ...]:
    number = seat["seat"]
    turn = Text("▶" if view["turn"] == number else " ", style="bold green")
    name = Text(f"{seat_number(number)} {printable(label)[:MAX_NAME_LENGTH]}")
    if view["dealer"] == number:
        name.append(" (dealer)", style="dim")
    if seat["out"] is not None:
        return turn, name, Text(f"out, in place {seat['out']}", style="green"), Text(), Text()
    up = Text("  ").join(_cards(stack, new, between="+") for stack in seat["up"])
    down = " ".join("##" if is_filled else "--" for is_filled in seat["down"])
    return turn, name, _hand(seat["hand"], new), up, Text(down, style="blue")


def _hand(hand: View, new: frozenset[str]) -> Text:
    cards = hand["cards"]
    if cards is None:
        cards = [*hand["known"], *[HIDDEN] * (hand["count"] - len(hand["known"]))]
    count = Text(f"{hand['count']:>2}: ", style="dim")
    return count + _cards(cards, new) if cards else Text("--", style="dim")


def _cards(cards: Sequence[str], new: frozenset[str], *, between: str = " ") -> Text:
    return Text(between).join(_card(card, new) for card in cards) if cards else Text("--")


def _card(card: str, new: frozenset[str]) -> Text:
    if card == HIDDEN:
        return Text(card, style="dim")
    colour = JOKERS if card.startswith(JOKER) else SUITS.get(card[1], "")
    return Text(card, style=f"{colour} {NEW}" if card in new else colour)


def _moved(step: ReplayStep) -> frozenset[str]:
    """Return the cards that the event names, to be highlighted."""
    if step.type == "deck_committed":
        return frozenset()
    named: list[Any] = []
    for field in ("cards", "with", "up", "hand", "stacks", "opening"):
        value = step.data.get(field)
        named += value if isinstance(value, list) else [value]
    return frozenset(_codes(named))


def _codes(named: Iterable[Any]) -> Iterable[str]:
    for value in named:
        match value:
            case str():
                yield value
            case {"card": str(card)}:
                yield card
            case list():
                yield from _codes(value)


def result_lines(view: View) -> Iterable[RenderableType]:
    """Yield the result of the hand; nothing while it is running."""
    result = view["result"]
    if result is not None:
        yield Text()
        yield Text(_ending(result), style="bold yellow")


def _ending(result: View) -> str:
    loser = "nobody" if result["shithead"] is None else seat_words(result["shithead"])
    out = [seat for seat in result["places"] if seat != result["shithead"]]
    places = ", ".join(str(seat_number(seat)) for seat in out)
    return (
        f"Over ({result['reason']}). Shithead: {loser}. Out, in this order: {places or 'nobody'}."
    )


def _foot(shown: Shown) -> Text:
    if shown.typed is not None:
        return Text.assemble(
            ("go to version ", "bold"), f"{shown.typed}_", ("   enter: go, escape: cancel", "dim")
        )
    words = [Text.assemble((key, "bold"), f" {effect}") for key, effect in KEYS]
    return Text("   ").join(words)


def coloured(text: str) -> Text:
    """Return text without control characters, with its cards in the colours of their suits."""
    shown = Text(printable(text))
    for suit, style in SUITS.items():
        shown.highlight_regex(rf"\b[2-9TJQKA]{suit}\b", style)
    shown.highlight_regex(r"\bX\d\b", JOKERS)
    return shown
