"""Ratings: computed in the order of the public log, a few hands at a time, and shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from service.application.errors import not_found
from service.application.rulesets import Rulebook
from service.audit.ratings import FinishedHand, Rating, Standings, bot_id
from service.public_log.log import LogStore
from service.replay.sentences import said
from service.store.directory import Directory
from service.store.logged_hands import LoggedHand
from service.store.ratings import RatingRow, RatingsReached

LEAVES: Final = 500
"""Leaves of the log that are counted in one step, so that a step is short."""


@dataclass(slots=True)
class _Anew:
    """Ratings that are computed again from the first leaf; nothing is stored until the end."""

    reached: RatingsReached
    standings: Standings = field(default_factory=Standings)


class Ratings:
    """Computes and shows ratings; several processes may compute, and one of them stores."""

    def __init__(self, *, directory: Directory, log: LogStore, rulebook: Rulebook) -> None:
        self._directory = directory
        self._log = log
        self._rulebook = rulebook
        self._anew: _Anew | None = None

    def advance(self) -> bool:
        """
        Count the hands of some more leaves; return whether more are left.

        After the erasure of a player with public hands, or a final ruling, everything is computed
        again, step by step, and stored at the end: an erased player is a newcomer in each hand, and
        a hand of a cad does not count. What changes meanwhile waits for the next run: otherwise a
        player erased every second would stop the ratings.
        """
        stored, now = self._directory.ratings_reached()
        published = self._log.published()
        size = 0 if published is None else published.size
        if stored == now:
            self._anew = None
            return self._count(stored, size)
        if self._anew is None or _is_newer(stored, self._anew.reached):
            self._anew = _Anew(replace(now, leaves=0))
        return self._count_anew(self._anew, stored, size)

    def _count(self, stored: RatingsReached, size: int) -> bool:
        end = min(size, stored.leaves + LEAVES)
        if end <= stored.leaves:
            return False
        hands = [finished_hand(h) for h in self._directory.logged_hands(stored.leaves, end)]
        standings, changed = Standings(), dict[tuple[str, str], Rating]()
        counted = [hand for hand in hands if hand.is_rated]
        wanted = {(h.ruleset, who) for h in counted for who in h.seats if who is not None}
        for row in self._directory.ratings_among(sorted(wanted)):
            rating = Rating(mu=row.mu, sigma=row.sigma, hands=row.hands)
            standings.put(row.ruleset, row.rated, rating)
        for hand in counted:
            for who, rating in standings.add(hand).items():
                changed[hand.ruleset, who] = rating
        rows = [_row(ruleset, who, rating) for (ruleset, who), rating in changed.items()]
        reached = replace(stored, leaves=end)
        self._directory.keep_ratings(stored.leaves, reached, rows, anew=False)
        return end < size

    def _count_anew(self, anew: _Anew, stored: RatingsReached, size: int) -> bool:
        first = anew.reached.leaves
        end = min(size, first + LEAVES)
        for hand in self._directory.logged_hands(first, end):
            anew.standings.add(finished_hand(hand))
        anew.reached = replace(anew.reached, leaves=end)
        if end < max(size, stored.leaves):
            return True
        rows = [
            _row(ruleset, who, rating)
            for ruleset in anew.standings.rulesets
            for who, rating in anew.standings.of(ruleset)
        ]
        self._directory.keep_ratings(stored.leaves, anew.reached, rows, anew=True)
        self._anew = None
        return False

    def of_ruleset(self, ruleset: str, *, after: int, limit: int) -> dict[str, Any]:
        """
        Return a page of the ratings of a ruleset, the best first; raises Refusal `not-found`.

        `after` is the number of ratings on earlier pages.
        """
        if self._rulebook.find(ruleset) is None:
            raise not_found("ruleset")
        rows = self._directory.list_ratings(ruleset, after=after, limit=limit + 1)
        stored, _ = self._directory.ratings_reached()
        return {
            "ruleset": ruleset,
            "leaves": stored.leaves,
            "items": [
                {
                    "rank": after + number,
                    "player": None if row.player is None else str(row.player),
                    "bot": row.rated.removeprefix(bot_id("")) if row.player is None else None,
                    "name": row.name,
                    **_rating(row).numbers,
                }
                for number, row in enumerate(rows[:limit], 1)
            ],
            "cannot_tell": said("about.ratings").text,
            "next": str(after + limit) if len(rows) > limit else None,
        }

    def of_player(self, player: UUID) -> list[dict[str, Any]]:
        """Return the ratings of a player in all rulesets."""
        rows = self._directory.ratings_of_player(player)
        return [{"ruleset": row.ruleset, **_rating(row).numbers} for row in rows]


def _is_newer(stored: RatingsReached, begun: RatingsReached) -> bool:
    """Return whether another process has stored a run that began no earlier."""
    return stored.erased >= begun.erased and stored.rulings == begun.rulings


def finished_hand(hand: LoggedHand) -> FinishedHand:
    """Return a logged hand as ratings count it."""
    seats: Sequence[str | None] = [
        bot_id(seat.bot) if seat.bot is not None else str(seat.player) if seat.player else None
        for seat in hand.seats
    ]
    return FinishedHand(
        ruleset=hand.ruleset,
        seats=seats,
        reason=None if hand.aborted else hand.reason,
        places=hand.places,
        shithead=hand.shithead,
        cad=hand.cad,
    )


def _rating(row: RatingRow) -> Rating:
    return Rating(mu=row.mu, sigma=row.sigma, hands=row.hands)


def _row(ruleset: str, who: str, rating: Rating) -> RatingRow:
    is_bot = who.startswith(bot_id(""))
    return RatingRow(
        ruleset=ruleset,
        rated=who,
        player=None if is_bot else UUID(who),
        mu=rating.mu,
        sigma=rating.sigma,
        hands=rating.hands,
    )
