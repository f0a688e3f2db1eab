"""One step of a replay as a screen: what happened, the middle of the table, the seats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from schemas.views import Json
from service.commands.recording import Step
from service.domain.cards import HIDDEN, JOKER
from service.domain.view import Viewer

KEYS: Final = (
    ("→ n space", "next"),
    ("← p", "back"),
    ("home end", "first, last"),
    ("g", "go to"),
    ("v", "viewer"),
    ("q", "quit"),
)
DEMANDS: Final = {
    "anything": "asks nothing",
    "at_least": "asks for {rank} or more",
    "at_most": "asks for {rank} or less",
    "below": "asks for less than {rank}",
}
NEW: Final = "reverse"
MOST_OF_A_NAME: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a screen shows beside its step."""

    viewer: Viewer
    versions: int
    typed: str | None = None
    warning: str | None = None


def screen(step: Step, shown: Shown) -> Layout:
    """Return the screen for a step; its foot stays where it is, however long the rest."""
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
    """A log is somebody else's text: nothing in it may steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _title(step: Step, shown: Shown) -> Table:
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
            return "every card open"
        case _:
            return f"as seat {viewer} sees it"


def _middle(step: Step) -> Iterable[RenderableType]:
    yield Text(
        f"seq {step.seq}  {printable(step.type)}  {printable(step.at)}  "
        + ("by the server" if step.by is None else f"by seat {step.by}"),
        style="dim",
    )
    yield from situation(step.view, _moved(step))


def situation(view: Json, new: frozenset[str]) -> Iterable[RenderableType]:
    """Yield the lines on what lies in the middle and what it asks for; none before the deal."""
    if view["status"] == "shuffling":
        return
    way = "rising" if view["direction"] == 1 else "falling"
    burned = len(view["burned"])
    yield Text(f"stock {view['stock']}   burned {burned}   the turn goes to {way} numbers")
    demand = view["demand"]
    playing = view["status"] == "playing"
    asks = DEMANDS[demand["kind"]].format(rank=demand["rank"]) if playing else ""
    yield Text.assemble("pile  ", _cards(view["pile"], new), (f"  {asks}", "dim"))


def seats_table(view: Json, new: frozenset[str], *, names: bool = False) -> Table:
    """Return the seats with their cards, those in `new` set off; `names` of people if asked."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("", "seat", "hand", "face up", "face down"):
        table.add_column(title, header_style="dim")
    for seat in view["seats"]:
        table.add_row(*_seat(seat, view, new, names=names))
    return table


def _seat(seat: Json, view: Json, new: frozenset[str], *, names: bool) -> tuple[Text, ...]:
    number = seat["seat"]
    turn = Text("▶" if view["turn"] == number else " ", style="bold green")
    called = (seat["name"] if names else None) or seat["bot"] or seat["kind"]
    name = Text(f"{number} {printable(called)[:MOST_OF_A_NAME]}")
    if view["dealer"] == number:
        name.append(" (dealer)", style="dim")
    if seat["out"] is not None:
        return turn, name, Text(f"out, in place {seat['out']}", style="green"), Text(), Text()
    up = Text("  ").join(_cards(stack, new, between="+") for stack in seat["up"])
    down = " ".join("##" if there else "--" for there in seat["down"])
    return turn, name, _hand(seat["hand"], new), up, Text(down, style="blue")


def _hand(hand: Json, new: frozenset[str]) -> Text:
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
    colour = "magenta" if card.startswith(JOKER) else "red" if card[1] in "dh" else ""
    return Text(card, style=f"{colour} {NEW}" if card in new else colour)


def _moved(step: Step) -> frozenset[str]:
    """Return the cards that the event names, to be set off."""
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


def result_lines(view: Json) -> Iterable[RenderableType]:
    """Yield how the hand ended, nothing while it goes on."""
    result = view["result"]
    if result is not None:
        yield Text()
        yield Text(_ending(result), style="bold yellow")


def _ending(result: Json) -> str:
    loser = "nobody" if result["shithead"] is None else f"seat {result['shithead']}"
    places = ", ".join(str(seat) for seat in result["places"])
    return (
        f"Over ({result['reason']}). Shithead: {loser}. Out, in this order: {places or 'nobody'}."
    )


def _foot(shown: Shown) -> Text:
    if shown.typed is not None:
        return Text.assemble(
            ("go to version ", "bold"), f"{shown.typed}_", ("   enter goes, escape stays", "dim")
        )
    words = [Text.assemble((key, "bold"), f" {what}") for key, what in KEYS]
    return Text("   ").join(words)
