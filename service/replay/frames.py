"""Frames of a replay, the view after each event, as JSON and as a transcript."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from types import MappingProxyType
from typing import Any, Final

from schemas.events import type_of
from schemas.views import Json, ViewFacts, view_json
from service.domain.cards import Card
from service.domain.events import Event
from service.domain.game import Game, SeatState
from service.domain.view import Viewer, seen_by
from service.replay.captions import IN_CODES, Wording
from service.replay.history import Known, RecordedEvent, Step, steps_of, unknown_from
from service.replay.sentences import Sentence, prose, seat_words, sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One step of a replay: an event, its caption, and the game after it."""

    version: int
    event: Event
    game: Game  # masked for the viewer
    caption: str
    known: Known = Known.DECK  # the source of the game's cards

    @property
    def seq(self) -> int:
        """Return the number of the event in its log."""
        return self.version - 1


def frames(
    events: Iterable[Event],
    *,
    deck: tuple[Card, ...] | None = None,
    viewer: Viewer = None,
    first: int = 1,
    last: int | None = None,
) -> Iterator[Frame]:
    """
    Yield the frames of versions `first` to `last`, both included, as `viewer` may see them.

    `deck` may be the whole deck, because frames are masked: they show only those of its cards
    that the viewer was dealt or drew.
    """
    steps = enumerate(steps_of(events, deck), start=1)
    return frames_of(steps, viewer=viewer, first=first, last=last)


def frames_of(
    steps: Iterable[tuple[int, Step]],
    *,
    viewer: Viewer = None,
    first: int = 1,
    last: int | None = None,
    say: Wording = IN_CODES,
) -> Iterator[Frame]:
    """Yield the frames from the steps of a history, each with its version and a caption."""
    before: Game | None = None
    for version, step in steps:
        if last is not None and version > last:
            return
        if version < first - 1:
            continue
        after = seen_by(step.game, viewer)
        if version >= first:
            known = _known(step.known, viewer)
            text = _caption(step.event, before or after, after, known, say)
            yield Frame(version=version, event=step.event, game=after, caption=text, known=known)
        before = after


def _known(known: Known, viewer: Viewer) -> Known:
    """Return the source of the cards for a viewer; a public view needs no deck."""
    return Known.DECK if viewer is None and known is Known.EVENTS else known


def _caption(event: Event, before: Game, after: Game, known: Known, say: Wording) -> str:
    """Return the caption of an event, which may name a seat or card that does not exist."""
    try:
        return say.text(event, before, after)
    except LookupError:
        if known is not Known.NOTHING:
            raise
        return prose([Sentence(code="stated.absent", values={"kind": type_of(event)})])


def replay_items(
    log: Sequence[RecordedEvent],
    *,
    deck: tuple[Card, ...] | None,
    viewer: Viewer,
    first: int = 1,
    last: int | None = None,
) -> list[Json]:
    """
    Return the frames of versions `first` to `last` as JSON values.

    `log` is the game from its first event. Views of the past have no names and no moves, so
    that they never change.
    """
    steps = frames((r.event for r in log), deck=deck, viewer=viewer, first=first, last=last)
    return items_of(log, steps, viewer)


def items_of(log: Sequence[RecordedEvent], steps: Iterable[Frame], viewer: Viewer) -> list[Json]:
    """Return frames of a log as JSON values."""
    return [_item(log, step.seq, step.caption, step.game, viewer) for step in steps]


def past_view(log: Sequence[RecordedEvent], game: Game, viewer: Viewer) -> Json:
    """Return the view of an earlier state of a game (masked), made from its log alone."""
    facts = ViewFacts(
        id=log[0].fields["game"],
        head=log[game.version - 1].head,
        ruleset_hash=log[0].fields["data"]["ruleset_hash"],
    )
    return view_json(game, viewer, facts)


def _item(
    log: Sequence[RecordedEvent], seq: int, caption: str, game: Game, viewer: Viewer
) -> dict[str, Any]:
    record = log[seq]
    return {
        "version": record.version,
        "seq": seq,
        "at": record.at,
        "caption": caption,
        "event": record.fields,
        "view": past_view(log, game, viewer),
    }


INDENT = " " * 6
WIDTH: Final = 100
MARK: Final = "!     "
"""The beginning of each line of an objection to the log."""

Marks = Mapping[int, Sequence[str]]
"""Objections to events, by seq."""

NO_MARKS: Final[Marks] = MappingProxyType({})


def transcript(
    events: Iterable[Event],
    *,
    deck: tuple[Card, ...] | None = None,
    viewer: Viewer = None,
    marks: Marks = NO_MARKS,
) -> str:
    """
    Return a game as text: a line for each event, and under it each zone that changed.

    Equal games give equal text, because it has no times, names or ids. Objections to an event
    are printed under it. If the cards are unknown from an event on, a line above it states why.
    """
    return transcript_of(frames(events, deck=deck, viewer=viewer), marks)


def transcript_of(steps: Iterable[Frame], marks: Marks = NO_MARKS) -> str:
    """Return the transcript from all frames of a game."""
    lines: list[str] = []
    before: frozenset[str] = frozenset()
    known = Known.DECK
    for frame in steps:
        if frame.known is not known:
            known = frame.known
            lines += marked(unknown_from(frame.seq, known))
        lines.append(f"{frame.seq:>4}  {frame.caption}")
        lines += [line for text in marks.get(frame.seq, ()) for line in marked(text)]
        zones = list(_zones(frame.game))
        lines += [INDENT + zone for zone in zones if zone not in before]
        before = frozenset(zones)
    return "".join(f"{line}\n" for line in lines)


def marked(text: str) -> list[str]:
    """Return an objection as lines of at most WIDTH characters, each beginning with MARK."""
    return wrap(text, WIDTH, initial_indent=MARK, subsequent_indent=MARK + "  ")


def _zones(game: Game) -> Iterator[str]:
    """Yield a line for the middle of the table and one for each seat."""
    if not game.stock and not any(seat.down for seat in game.seats):
        return
    pile = " ".join(game.pile) or "-"
    yield _labelled(stock=len(game.stock), burned=len(game.burned), pile=pile)
    for number, seat in enumerate(game.seats):
        yield f"{seat_words(number)}: {_seat(seat)}"


def _seat(seat: SeatState) -> str:
    if seat.place is not None:
        return sentence("seat.out", {"n": seat.place})
    hand = " ".join(seat.hand) or "-"
    up = " ".join("+".join(stack) or "-" for stack in seat.up)
    down = " ".join("-" if position is None else "##" for position in seat.down)
    return _labelled(hand=hand, up=up, down=down)


def _labelled(**zones: int | str) -> str:
    """Return zones with their names and contents."""
    return " | ".join(f"{sentence(f'zones.{name}')} {shown}" for name, shown in zones.items())
