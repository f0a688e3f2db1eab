"""How much a player may have going at a time (api.md, section 1)."""

from __future__ import annotations

from uuid import UUID

from service.application.errors import Refusal
from service.event_store.directory import Directory

MOST_TABLES = 200
"""Tables that a player hosts and has not closed."""

MOST_GAMES = 200
"""Hands that a player sits in and that are not over."""


def room_for_table(directory: Directory, player: UUID) -> None:
    """Refuse one more table, or a hand at it, to a player who has as many as one may."""
    if directory.standing(player).hosting >= MOST_TABLES:
        raise Refusal(
            "rate-limited", f"you host {MOST_TABLES} tables, the most there may be: close one"
        )
    room_for_game(directory, player)


def room_for_game(directory: Directory, player: UUID) -> None:
    """Refuse one more hand to a player who sits in as many as one may."""
    if directory.standing(player).running >= MOST_GAMES:
        raise Refusal(
            "rate-limited", f"you sit in {MOST_GAMES} hands, the most there may be: finish one"
        )
