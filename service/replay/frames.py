"""A replay is the fold with every step kept, each as its viewer may see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemas.events import type_of
from service.domain.cards import Card
from service.domain.events import Event
from service.domain.following import Known, follow
from service.domain.game import Game
from service.domain.view import Viewer, seen_by
from service.replay.captions import caption


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One step of a replay: what happened, and the game after it."""

    version: int
    event: Event
    game: Game  # masked for the viewer
    caption: str
    known: Known = Known.DECK  # from what the game is known

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

    `deck` may be the whole deck: frames are masked, so they show of it only what
    the viewer was dealt or drew.
    """
    before: Game | None = None
    for version, step in enumerate(follow(events, deck), start=1):
        if last is not None and version > last:
            return
        if version < first - 1:
            continue
        after = seen_by(step.game, viewer)
        if version >= first:
            known = _known(step.known, viewer)
            text = _caption(step.event, before or after, after, known)
            yield Frame(version=version, event=step.event, game=after, caption=text, known=known)
        before = after


def _known(known: Known, viewer: Viewer) -> Known:
    """Return from what a viewer knows the game: the public misses no deck."""
    return Known.DECK if viewer is None and known is Known.EVENTS else known


def _caption(event: Event, before: Game, after: Game, known: Known) -> str:
    """Return the sentence for an event, also for one that speaks of what is not in the game."""
    try:
        return caption(event, before, after)
    except LookupError:
        if known is not Known.NOTHING:
            raise
        return f"{type_of(event)}, of a seat or card that is not there."
