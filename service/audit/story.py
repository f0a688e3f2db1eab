"""A log told over: the game after every event, and which events are one move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

from service.domain.asked import move_behind
from service.domain.cards import Card
from service.domain.commands import Move, Seat
from service.domain.events import (
    CardsDrawn,
    CardsThrown,
    EndReason,
    Event,
    GameEnded,
    GameSealed,
    PileBurned,
    PlayStarted,
    SeatOut,
    SeatReady,
    TableLaid,
    TurnTimedOut,
)
from service.domain.following import Known, follow, parted
from service.domain.game import Game
from service.domain.replacing import replace

_CONSEQUENCES: Final = (PlayStarted, CardsDrawn, PileBurned, SeatOut, GameSealed)


class Recorded(Protocol):
    """An event of a log with what surrounds it, as `service.replay.rebuild` gives it."""

    @property
    def seq(self) -> int:
        """Return its number in the log."""

    @property
    def at(self) -> str:
        """Return when it happened."""

    @property
    def event(self) -> Event:
        """Return the event itself."""

    @property
    def head(self) -> str:
        """Return the head after it, in hex."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return the whole object, as stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The events `first` to `last`, which are one move or one step of the server's."""

    first: int
    last: int
    seat: Seat | None  # whose move or entropy it is
    timed_out: bool
    move: Move | None  # None: nothing that a player posts as a move


class Story:
    """
    The events of a log, and the game after each of them.

    `deck` is the deck as far as whoever asks may know it, with HIDDEN elsewhere;
    None hides all of it. Whatever is told of a game before its seal is told from
    a story with such a deck: what the deck does not hold cannot be told. `cites`
    are the statements of a ruleset of a player's own, which no log pins. `known` says
    of each game from what it is known: it is the deck throughout in a log that holds.
    """

    def __init__(
        self,
        log: Sequence[Recorded],
        deck: tuple[Card, ...] | None = None,
        *,
        cites: Mapping[str, str] | None = None,
    ) -> None:
        self.log = tuple(log)
        self.deck = deck
        steps = tuple(follow((record.event for record in log), deck))
        self.games = tuple(_citing((step.game for step in steps), cites))
        self.known = tuple(step.known for step in steps)

    @property
    def end(self) -> int:
        """Return the seq of the last event."""
        return len(self.log) - 1

    def unknown(self, seq: int) -> str | None:
        """Return in words what is not known of the game after an event, and since when."""
        known = self.known[seq]
        return None if known is Known.DECK else parted(self.known.index(known), known)

    @cached_property
    def done(self) -> tuple[Done, ...]:
        """Return the log's moves and steps in order."""
        groups: list[list[Recorded]] = []
        for record in self.log:
            if groups and _goes_on(groups[-1], record.event):
                groups[-1].append(record)
            else:
                groups.append([record])
        return tuple(_done(group) for group in groups)

    def done_at(self, seq: int) -> Done:
        """Return the move or step that an event belongs to."""
        return next(done for done in self.done if done.first <= seq <= done.last)


def _citing(games: Iterable[Game], cites: Mapping[str, str] | None) -> Iterator[Game]:
    """Yield games with the statements that their settings rest on, where they are given."""
    ruleset = None
    for game in games:
        if cites is not None:
            ruleset = ruleset or replace(game.ruleset, cites=cites)
        yield game if ruleset is None else replace(game, ruleset=ruleset)


def _goes_on(group: Sequence[Recorded], event: Event) -> bool:
    """Return whether an event belongs to the move before it (SHX/1, section 2)."""
    first, last = group[0].event, group[-1].event
    if isinstance(event, _CONSEQUENCES):
        return True
    if isinstance(event, GameEnded):
        return event.reason is not EndReason.FORFEIT
    if not isinstance(first, TurnTimedOut):
        return False
    # A silent seat's cards are laid and it is made ready in one move.
    if isinstance(last, TableLaid) and isinstance(event, SeatReady):
        return event.seat == last.seat
    return len(group) == 1


def _done(group: Sequence[Recorded]) -> Done:
    timed_out = isinstance(group[0].event, TurnTimedOut)
    action = group[min(int(timed_out), len(group) - 1)].event
    move = move_behind(action)
    seat: Seat | None = None if isinstance(action, CardsThrown) else getattr(action, "seat", None)
    return Done(
        first=group[0].seq,
        last=group[-1].seq,
        seat=seat if move is None else move.seat,
        timed_out=timed_out,
        move=move,
    )
