"""Transcript: a game as text, with the changed zones under each event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from types import MappingProxyType
from typing import Final

from service.domain.cards import Card
from service.domain.events import Event
from service.domain.game import Game, SeatState
from service.domain.view import Viewer
from service.replay.frames import Frame, frames
from service.replay.history import Known, unknown_from

INDENT = " " * 6
WIDTH: Final = 100
MARK: Final = "!     "
"""What stands before a line that speaks against the log."""

Marks = Mapping[int, Sequence[str]]
"""Objections to events, by seq."""

NOTHING_AGAINST_IT: Final[Marks] = MappingProxyType({})


def transcript(
    events: Iterable[Event],
    *,
    deck: tuple[Card, ...] | None = None,
    viewer: Viewer = None,
    marks: Marks = NOTHING_AGAINST_IT,
) -> str:
    """
    Return a game as text, a line an event and under it each zone that changed.

    Equal games give equal text: it has no times, no names and no ids in it. Under an
    event stands what is said against it, and where the game cannot be followed any
    more, that it cannot.
    """
    return transcript_of(frames(events, deck=deck, viewer=viewer), marks)


def transcript_of(steps: Iterable[Frame], marks: Marks = NOTHING_AGAINST_IT) -> str:
    """Return the same from all frames of a game."""
    lines: list[str] = []
    before: frozenset[str] = frozenset()
    known = Known.DECK
    for frame in steps:
        if frame.known is not known:
            known = frame.known
            lines += marked(unknown_from(frame.seq, known))
        lines.append(f"{frame.seq:>4}  {frame.caption}")
        lines += [line for said in marks.get(frame.seq, ()) for line in marked(said)]
        zones = list(_zones(frame.game))
        lines += [INDENT + zone for zone in zones if zone not in before]
        before = frozenset(zones)
    return "".join(f"{line}\n" for line in lines)


def marked(said: str) -> list[str]:
    """Return the lines that say something against a log: each begins with !, none is long."""
    return wrap(said, WIDTH, initial_indent=MARK, subsequent_indent=MARK + "  ")


def _zones(game: Game) -> Iterator[str]:
    """Yield a line for the middle of the table and one for each seat."""
    if not game.stock and not any(seat.down for seat in game.seats):
        return
    pile = " ".join(game.pile) or "-"
    yield f"stock {len(game.stock)} | burned {len(game.burned)} | pile {pile}"
    for number, seat in enumerate(game.seats):
        yield f"seat {number}: {_seat(seat)}"


def _seat(seat: SeatState) -> str:
    if seat.place is not None:
        return f"out, in place {seat.place}"
    hand = " ".join(seat.hand) or "-"
    up = " ".join("+".join(stack) or "-" for stack in seat.up)
    down = " ".join("-" if position is None else "##" for position in seat.down)
    return f"hand {hand} | up {up} | down {down}"
