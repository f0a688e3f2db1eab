"""Games for the tests of the audit: the samples, and games played at random."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from service.audit.story import Story
from service.domain.cards import Card
from service.domain.events import Event
from service.replay.rebuild import rebuild, sealed_deck
from tests.unit.playing import Played

AT = "2026-11-21T02:46:00.000000Z"
SAMPLES = Path(__file__).resolve().parents[2] / "golden" / "samples"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


@dataclass(frozen=True, kw_only=True)
class Line:
    """An event of a game that was never stored."""

    seq: int
    event: Event
    at: str = AT
    head: str = "00" * 32
    fields: dict[str, Any] = field(
        default_factory=lambda: {
            "game": "528c9a92-6e09-40f9-ac4e-4c01aef56252",
            "data": {"ruleset_hash": "11" * 32},
        }
    )


@lru_cache(maxsize=8)
def sample(name: str) -> Story:
    """Return a sample log, told with its deck."""
    log = rebuild((SAMPLES / f"{name}.jsonl").read_bytes().splitlines())
    return Story(log, sealed_deck(log))


def story_of(
    game: Played, deck: tuple[Card, ...] | None = None, *, version: int | None = None
) -> Story:
    """Return a game played at random, up to a version."""
    lines = [Line(seq=seq, event=event) for seq, event in enumerate(game.events[:version])]
    return Story(lines, deck)
