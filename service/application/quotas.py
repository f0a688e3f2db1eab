"""Quotas of a player: open tables, running hands, disputes (api.md, section 1)."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from service.application.errors import Refusal
from service.store.directory import PlayerRepository
from service.store.events import Quota, QuotaKind

MOST_TABLES = 200
"""Open tables of one host."""

MOST_GAMES = 200
"""Running hands of one player."""

MOST_DISPUTES = 20
"""Disputes of one accuser that are not final."""

MOST_NEW_DISPUTES = 10
"""Disputes opened by one player within a day."""

NEW_FOR = timedelta(days=1)

_DETAILS = {
    QuotaKind.TABLES: "you host {most} open tables, the maximum: close one first",
    QuotaKind.GAMES: "you play in {most} running hands, the maximum: finish one first",
    QuotaKind.RULESETS: "you have the maximum number of rulesets",
    QuotaKind.DISPUTES: "you have {most} open disputes, the maximum: wait for a final ruling",
    QuotaKind.NEW_DISPUTES: "you have opened {most} disputes within a day, the maximum",
}


def of_tables(player: UUID) -> Quota:
    """Return the quota for one more table."""
    return Quota(player=player, kind=QuotaKind.TABLES, most=MOST_TABLES)


def of_games(player: UUID) -> Quota:
    """Return the quota for one more hand."""
    return Quota(player=player, kind=QuotaKind.GAMES, most=MOST_GAMES)


def of_disputes(player: UUID, now: datetime) -> tuple[Quota, ...]:
    """Return the quotas for one more dispute."""
    running = Quota(player=player, kind=QuotaKind.DISPUTES, most=MOST_DISPUTES)
    new = Quota(
        player=player, kind=QuotaKind.NEW_DISPUTES, most=MOST_NEW_DISPUTES, since=now - NEW_FOR
    )
    return new, running


def quota_refused(kind: QuotaKind) -> Refusal:
    """Return the refusal for a quota that is used up."""
    most = {
        QuotaKind.TABLES: MOST_TABLES,
        QuotaKind.GAMES: MOST_GAMES,
        QuotaKind.DISPUTES: MOST_DISPUTES,
        QuotaKind.NEW_DISPUTES: MOST_NEW_DISPUTES,
    }
    return Refusal("rate-limited", _DETAILS[kind].format(most=most.get(kind)))


def room_for_table(directory: PlayerRepository, player: UUID) -> None:
    """
    Refuse a new table if the player has reached the maximum of tables or running hands.

    This check saves work; the commit counts again with the player's row locked, because
    other requests may write in between. Raises Refusal `rate-limited`.
    """
    if directory.standing(player).hosting >= MOST_TABLES:
        raise quota_refused(QuotaKind.TABLES)
    room_for_game(directory, player)


def room_for_game(directory: PlayerRepository, player: UUID) -> None:
    """
    Refuse a new hand if the player has reached the maximum; see `room_for_table`.

    Raises Refusal `rate-limited`.
    """
    if directory.standing(player).running >= MOST_GAMES:
        raise quota_refused(QuotaKind.GAMES)
