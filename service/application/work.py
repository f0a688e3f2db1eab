"""Work limits: events that a request folds or goes through are counted before it does so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Final

from service.domain.commands import Seat
from service.domain.game import Game

Limit = Callable[[int], AbstractContextManager[None]]
"""Returns a context manager for processing so many events; it may raise Refusal."""

LARGE_HAND: Final = 100
"""Cards of a hand above which listing its legal moves is counted as work."""

A_CARD: Final = 15
"""Events that count for each card of such a hand, so that every such list needs a slot."""

ORDINARY_DECK: Final = 104
"""Cards of a deck up to which an event counts once where every card is followed."""

_LIMIT: Final[ContextVar[Limit | None]] = ContextVar("limit", default=None)
_UNLIMITED: Final = nullcontext()


@contextmanager
def limited_by(limit: Limit) -> Iterator[None]:
    """Apply a limit to all work of this thread while the block runs."""
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def work(events: int) -> AbstractContextManager[None]:
    """
    Return a context manager for processing so many events of stored logs.

    Every fold of a stored log, and everything else whose cost grows with a log, runs in such
    a block. A request of the API is limited (`service/api/long_games.py`): entering the block
    raises Refusal `rate-limited` or `unavailable`. Jobs and commands are not.
    """
    limit = _LIMIT.get()
    return _UNLIMITED if limit is None or not events else limit(events)


def listing(game: Game, seat: Seat | None = None) -> int:
    """Return the work of listing the legal moves of a seat, by default of the largest hand."""
    seats = game.seats if seat is None else (game.seats[seat],)
    cards = max(len(state.hand) for state in seats)
    return A_CARD * cards if cards > LARGE_HAND else 0


def following(game: Game, events: int) -> int:
    """Return the work of following every card of a game's deck through so many events."""
    return events * max(1, len(game.deck) // ORDINARY_DECK)
