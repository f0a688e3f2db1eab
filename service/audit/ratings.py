"""Ratings (OpenSkill) of players and bots in a ruleset, as anybody can compute them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from openskill.models import PlackettLuce

PROVISIONAL_HANDS: Final = 10
"""Hands below which a rating is provisional."""

DIGITS: Final = 4
"""Decimals of published numbers."""

MODEL: Final = PlackettLuce()
"""The model with the default parameters of OpenSkill: mu 25, sigma 25/3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """The results of a player or bot in a ruleset: a mean, its deviation, the hands."""

    mu: float = MODEL.mu
    sigma: float = MODEL.sigma
    hands: int = 0

    @property
    def value(self) -> float:
        """Return the number by which lists are sorted: with this skill or more, almost surely."""
        return self.mu - 3 * self.sigma

    @property
    def provisional(self) -> bool:
        """Return whether too few hands were played."""
        return self.hands < PROVISIONAL_HANDS

    @property
    def numbers(self) -> Mapping[str, Any]:
        """Return the rating as it is published."""
        return {
            "rating": round(self.value, DIGITS),
            "mu": round(self.mu, DIGITS),
            "sigma": round(self.sigma, DIGITS),
            "hands": self.hands,
            "provisional": self.provisional,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedHand:
    """A hand that is over, as far as ratings depend on it."""

    ruleset: str
    seats: Sequence[str | None]  # who sat there (`bot_id`, or a player's id); None: erased
    reason: str | None  # of the end; None: it was aborted
    places: Sequence[int]
    shithead: int | None
    cad: bool  # whether a final ruling calls a player of it a cad

    @property
    def is_rated(self) -> bool:
        """Return whether the hand counts: not if it was aborted, a stalemate, or one of a cad."""
        return self.reason is not None and self.reason != "stalemate" and not self.cad

    @property
    def ranks(self) -> list[float]:
        """
        Return the rank of each seat, the best first: seats without a place share one.

        They share the one after all places; the shithead without a place, who gave the hand up,
        comes after them.
        """
        ranks = [float(len(self.places))] * len(self.seats)
        for rank, seat in enumerate(self.places):
            ranks[seat] = float(rank)
        if self.shithead is not None and self.shithead not in self.places:
            ranks[self.shithead] = float(len(self.seats))
        return ranks


def bot_id(name: str) -> str:
    """Return how a bot is named among players."""
    return f"bot:{name}"


def rated(hand: FinishedHand, before: Mapping[str, Rating]) -> dict[str, Rating]:
    """
    Return the new ratings of all that sat in a rated hand; `before` has those of earlier hands.

    An erased player counts as a newcomer. If several seats have the same bot, each counts as it
    was before the hand, and the mean of their results is the new rating.
    """
    known = [before.get(who, _NEW) if who is not None else _NEW for who in hand.seats]
    teams = [[MODEL.rating(mu=one.mu, sigma=one.sigma)] for one in known]
    results = [team[0] for team in MODEL.rate(teams, ranks=hand.ranks)]
    found: dict[str, Rating] = {}
    for who in dict.fromkeys(hand.seats):
        if who is not None:
            own = [result for seat, result in enumerate(results) if hand.seats[seat] == who]
            found[who] = Rating(
                mu=sum(one.mu for one in own) / len(own),
                sigma=sum(one.sigma for one in own) / len(own),
                hands=before.get(who, _NEW).hands + 1,
            )
    return found


_NEW: Final = Rating()


class Standings:
    """The ratings of all rulesets after a sequence of hands, in the order of the public log."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, Rating]] = {}
        self.hands: dict[str, int] = {}  # by ruleset

    def add(self, hand: FinishedHand) -> dict[str, Rating]:
        """Count a hand; return the ratings that it changed, none if it is not rated."""
        if not hand.is_rated:
            return {}
        known = self._of.setdefault(hand.ruleset, {})
        found = rated(hand, known)
        known.update(found)
        self.hands[hand.ruleset] = self.hands.get(hand.ruleset, 0) + 1
        return found

    def put(self, ruleset: str, who: str, rating: Rating) -> None:
        """Set a rating that was computed before."""
        self._of.setdefault(ruleset, {})[who] = rating

    @property
    def rulesets(self) -> Sequence[str]:
        """Return the rulesets in which hands were rated, sorted."""
        return sorted(self._of)

    def of(self, ruleset: str) -> list[tuple[str, Rating]]:
        """Return the ratings of a ruleset, the best first."""
        found = self._of.get(ruleset, {})
        return sorted(found.items(), key=lambda item: (-item[1].value, item[0]))
