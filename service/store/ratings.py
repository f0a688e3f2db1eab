"""Stored ratings, and how far they have been computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson

from service.store.database import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsReached:
    """The input of ratings: leaves of the log, erasures of players in it, rulings."""

    leaves: int
    erased: int
    rulings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingRow:
    """A stored rating; `rated` is the id of a player, or names a bot."""

    ruleset: str
    rated: str
    player: UUID | None
    mu: float
    sigma: float
    hands: int
    name: str | None = None  # of the player, only in lists


class RatingRepository(Repository):
    """Ratings in PostgreSQL."""

    def ratings_reached(self) -> tuple[RatingsReached, RatingsReached]:
        """Return what the stored ratings are computed from, and with the present numbers."""
        [(leaves, erased, rulings, erased_now, rulings_now)] = self._database.fetch(
            "ratings_reached"
        )
        stored = RatingsReached(leaves=leaves, erased=erased, rulings=rulings)
        return stored, RatingsReached(leaves=leaves, erased=erased_now, rulings=rulings_now)

    def ratings_among(self, wanted: Iterable[tuple[str, str]]) -> Sequence[RatingRow]:
        """Return the stored ratings of these pairs of a ruleset and a player or bot."""
        rulesets, who = zip(*pairs, strict=True) if (pairs := list(wanted)) else ((), ())
        rows = self._database.fetch("ratings_among", list(rulesets), list(who))
        return [
            RatingRow(
                ruleset=row[0], rated=row[1], player=None, mu=row[2], sigma=row[3], hands=row[4]
            )
            for row in rows
        ]

    def keep_ratings(
        self, before: int, reached: RatingsReached, found: Sequence[RatingRow], *, anew: bool
    ) -> bool:
        """
        Store changed ratings, with `anew` in place of all others.

        Returns False, and stores nothing, if another process has stored some since `before`.
        """
        rows = [
            {
                "ruleset_id": row.ruleset,
                "rated": row.rated,
                "player_id": None if row.player is None else str(row.player),
                "mu": row.mu,
                "sigma": row.sigma,
                "hands": row.hands,
            }
            for row in found
        ]
        numbers = (reached.leaves, reached.erased, reached.rulings)
        sent = orjson.dumps(rows).decode()
        return bool(self._write("keep_ratings", before, *numbers, sent, anew))

    def list_ratings(self, ruleset: str, *, after: int, limit: int) -> Sequence[RatingRow]:
        """Return the ratings of a ruleset, the best first, without the first `after`."""
        return [
            RatingRow(
                ruleset=ruleset,
                rated=row[0],
                player=row[1],
                name=row[2],
                mu=row[3],
                sigma=row[4],
                hands=row[5],
            )
            for row in self._database.fetch("list_ratings", ruleset, after, limit)
        ]

    def ratings_of_player(self, player: UUID) -> Sequence[RatingRow]:
        """Return the ratings of a player, by ruleset."""
        return [
            RatingRow(
                ruleset=row[0],
                rated=str(player),
                player=player,
                mu=row[1],
                sigma=row[2],
                hands=row[3],
            )
            for row in self._database.fetch("ratings_of_player", player)
        ]
