"""What a monitor may forget, so that it can run for ever on a log that grows for ever."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from service.public_log.monitor_games import Games
from service.record.times import format_time, parse_time

RECENT: Final = timedelta(days=30)
"""For so long after its last leaf a finished game is remembered, and a private one."""

MOST_FINDINGS: Final = 1000
"""Kept, so that none is told twice; that there were more is all that is known of the rest."""


def forget(
    games: Games, *, pending: Collection[str], now: datetime, remember: timedelta
) -> None:
    """
    Drop the games that nothing will be held against any more.

    Kept are: what is recent; what is still to be read; the last known game of each table,
    for `remember`, since a hand left out or dealt twice shows in what follows it; and, as
    long, games without a seal. That a commitment comes twice needs no memory: it binds the
    game's id, so the seed of one of the two cannot open it, and each seed is checked.
    """
    followed = {game.prev for game in games.values()}
    for identity, game in list(games.items()):
        game.seen = game.seen or format_time(now)
        last = bool(game.table) and (identity not in followed or game.seal is None)
        kept = max(RECENT, remember) if last else RECENT
        if identity not in pending and now - parse_time(game.seen) > kept:
            del games[identity]
