"""A log followed to its end, also one that its deck, or the game itself, contradicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from service.domain.cards import Card
from service.domain.events import Event
from service.domain.evolve import evolve, fold
from service.domain.game import Game
from service.domain.replacing import replace


class Known(StrEnum):
    """From what the game after an event is known."""

    DECK = "deck"  # the deck as far as it was given, and the events
    EVENTS = "events"  # the events alone: hidden cards are not known
    NOTHING = "nothing"  # it is the last game that the events led to


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """An event, the game after it, and from what that game is known."""

    event: Event
    game: Game
    known: Known


class NotFollowed(ValueError):
    """An event takes from a game what is not there."""


def followed(game: Game, event: Event) -> Game:
    """Return `game` after `event`; raises NotFollowed where no game follows."""
    try:
        return evolve(game, event)
    except (ValueError, LookupError, TypeError) as error:
        raise NotFollowed("the event takes what is not there") from error


def parted(seq: int, known: Known) -> str:
    """Return in words what is not known of a game from the event `seq` on, and why."""
    if known is Known.EVENTS:
        why = "hidden cards are not known: the event there does not fit the deck"
        rest = "what follows is told from what all could see"
    else:
        why = "nobody can tell where the cards lie: the event there takes what is not there"
        rest = "what follows is what each event says of itself"
    return f"From seq {seq} on {why}; {rest}."


def follow(events: Iterable[Event], deck: tuple[Card, ...] | None = None) -> Iterator[Followed]:
    """
    Yield every event with the game after it; of a log that holds, just what folding it gives.

    Events state outcomes, so where the deck contradicts one the public story goes on
    without the deck (SHX/1, section 2). Where even that cannot go on, the game stays as
    it was, and what the events say of themselves is all that is left.
    """
    past: list[Event] = []
    known, game = Known.DECK, None
    for event in events:
        past.append(event)
        if game is None:
            game = fold(past, deck)
        elif known is Known.NOTHING:
            game = _stayed(game)
        else:
            game, known = _next(game, known, past)
        yield Followed(event=event, game=game, known=known)


def _next(game: Game, known: Known, past: list[Event]) -> tuple[Game, Known]:
    try:
        return followed(game, past[-1]), known
    except NotFollowed:
        if known is Known.DECK:
            try:
                return _without_deck(past), Known.EVENTS
            except NotFollowed:
                pass
        return _stayed(game), Known.NOTHING


def _without_deck(past: list[Event]) -> Game:
    game = fold(past[:1])
    for event in past[1:]:
        game = followed(game, event)
    return game


def _stayed(game: Game) -> Game:
    """Return a game that an event did not lead on, at the version after it."""
    return replace(game, version=game.version + 1)
