"""A replay is the fold with every step kept, each as its viewer may see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from service.domain.cards import Card
from service.domain.events import Event
from service.domain.evolve import evolve, fold
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
    game: Game | None = None
    before: Game | None = None
    for version, event in enumerate(events, start=1):
        if last is not None and version > last:
            return
        game = fold((event,), deck) if game is None else evolve(game, event)
        if version < first - 1:
            continue
        after = seen_by(game, viewer)
        if version >= first:
            text = caption(event, before or after, after)
            yield Frame(version=version, event=event, game=after, caption=text)
        before = after
