"""Games for the tests of the audit: the samples, and games played at random."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from schemas.events import type_of
from service.domain.cards import Card
from service.domain.events import Event
from service.replay.history import History, RecordedEvent, decode_log, sealed_deck
from tests.tamper import LOGS, sample_lines
from tests.unit.playing import Played

AT = "2026-11-21T02:46:00.000000Z"
NAMES = [path.stem for path in LOGS]

OF_THE_RECORD: Final = {
    "entropy_committed",
    "deck_committed",
    "entropy_revealed",
    "game_sealed",
    "game_aborted",
}
"""Events about which no ruleset says anything; a hand that a player left cites a statement."""


def line(seq: int, event: Event) -> RecordedEvent:
    """Return an event of a game that was never stored."""
    named = ("seat", "reason", "shithead")
    data = {"ruleset_hash": "11" * 32, **{name: getattr(event, name, None) for name in named}}
    game = "528c9a92-6e09-40f9-ac4e-4c01aef56252"
    return RecordedEvent(
        seq=seq,
        at=AT,
        by=None,
        type=type_of(event),
        event=event,
        fields={"game": game, "type": type_of(event), "data": data},
        line=b"",
    )


@lru_cache(maxsize=8)
def sample(name: str) -> History:
    """Return the history of a sample log, with its deck."""
    log = decode_log(sample_lines(name))
    return History(log, sealed_deck(log))


def history_of(
    game: Played, deck: tuple[Card, ...] | None = None, *, version: int | None = None
) -> History:
    """Return a game played at random, up to a version."""
    lines = [line(seq, event) for seq, event in enumerate(game.events[:version])]
    return History(lines, deck)
