"""The frames of a stored game as the API gives them (api.md, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas.views import Facts, Json, view_json
from service.domain.cards import Card
from service.domain.game import Game
from service.domain.view import Viewer
from service.replay.frames import frames
from service.replay.rebuild import Recorded


def replay_items(
    log: Sequence[Recorded],
    *,
    deck: tuple[Card, ...] | None,
    viewer: Viewer,
    first: int = 1,
    last: int | None = None,
) -> list[Json]:
    """
    Return the frames of versions `first` to `last` as JSON values.

    `log` is the game from its first event. Views of the past have no names and
    no moves: nothing in them may change.
    """
    steps = frames((r.event for r in log), deck=deck, viewer=viewer, first=first, last=last)
    return [_item(log, step.seq, step.caption, step.game, viewer) for step in steps]


def past_view(log: Sequence[Recorded], game: Game, viewer: Viewer) -> Json:
    """Return the view of a masked game of the past, with what its log says and nothing else."""
    facts = Facts(
        id=log[0].fields["game"],
        head=log[game.version - 1].head,
        ruleset_hash=log[0].fields["data"]["ruleset_hash"],
    )
    return view_json(game, viewer, facts)


def _item(
    log: Sequence[Recorded], seq: int, caption: str, game: Game, viewer: Viewer
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
