"""Whether two players spare each other: bets on pairs of decisions in equal positions."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from service.domain.commands import Seat

THRESHOLD: Final = 100.0
"""E-value from which chance is no longer a plausible explanation."""

FALSE_ALARM: Final = 1 / THRESHOLD
"""Upper bound of the probability that a pair without collusion ever reaches THRESHOLD."""

MARGIN: Final = 0.1
"""
Difference of the mean harm that is counted as innocent.

Positions that count as equal are not quite equal, and habits of play make small differences.
"""

STAKES: Final = (0.1, 0.2, 0.35, 0.5, 0.7)
"""Stakes of the bets, which are averaged; with the largest one a lost bet leaves 0.2."""

DIGITS: Final = 4
"""Significant decimals of published numbers."""

_LARGEST: Final = 1e300


class RankedDecision(Protocol):
    """A decision of a seat; `harm` is between 0 and 1 (`bots.sparing`)."""

    @property
    def next_seat(self) -> Seat:
        """Return the seat that is next."""

    @property
    def stratum(self) -> Hashable:
        """Return the kind of position."""

    @property
    def harm(self) -> float:
        """Return the place of the move among the legal ones by the harm to the next seat."""


@dataclass(slots=True, kw_only=True)
class Bets:
    """Bets that differences between -1 and 1 have a mean above MARGIN; in one direction or both."""

    pairs: int = 0
    total: float = 0.0  # of the differences
    _won: list[float] = field(default_factory=lambda: [0.0] * len(STAKES))  # logarithms

    def add(self, difference: float) -> None:
        """Bet on one difference."""
        self.pairs += 1
        self.total += difference
        gain = difference - MARGIN
        self._won = [
            won + math.log1p(stake * gain) for won, stake in zip(self._won, STAKES, strict=True)
        ]

    @property
    def e_value(self) -> float:
        """Return the mean of what the stakes have become: 1 without bets."""
        largest = max(self._won)
        if largest > math.log(_LARGEST):
            return _LARGEST
        return sum(math.exp(won) for won in self._won) / len(STAKES)

    @property
    def difference(self) -> float | None:
        """Return the mean difference; None without bets."""
        return self.total / self.pairs if self.pairs else None


class Comparison:
    """
    Compares the decisions of a player before one certain player with those before all others.

    Each decision is used once: the first one of a kind of position before the certain player with
    the first one before another player. If who sits next does not matter, the difference of the
    two is as often positive as negative, so no bet on it gains in the long run: the e-value
    exceeds a number x ever with probability 1/x at most (Ville). (Shekhar and Ramdas:
    Nonparametric two-sample testing by betting, 2023.)
    """

    def __init__(self, *joint: Bets) -> None:
        """`joint` are further bets on the same differences."""
        self.bets = Bets()
        self._all = (self.bets, *joint)
        self._waiting: dict[Hashable, tuple[deque[float], deque[float]]] = {}

    def add(self, stratum: Hashable, harm: float, *, partner: bool) -> None:
        """Count a decision; `partner` is whether the certain player sits next."""
        before_partner, before_others = self._waiting.setdefault(stratum, (deque(), deque()))
        (before_partner if partner else before_others).append(harm)
        if before_partner and before_others:
            difference = before_others.popleft() - before_partner.popleft()
            for bets in self._all:
                bets.add(difference)


class Pair:
    """
    The comparison of two players: each one's decisions before the other, and both together.

    Players are named by their ids. The e-value of the pair is the mean of the three, so that the
    bound holds for it, too.
    """

    def __init__(self, first: str, second: str) -> None:
        self.together = 0  # hands
        self.joint = Bets()
        self._partner = {first: second, second: first}
        self._of = {one: Comparison(self.joint) for one in (first, second)}

    def count(
        self, players: Sequence[str | None], decisions: Callable[[Seat], Iterable[RankedDecision]]
    ) -> None:
        """Count a hand; `players` are its players by seat, `decisions` returns those of a seat."""
        self.together += self._of.keys() <= set(players)
        for seat, player in enumerate(players):
            if player is None or player not in self._of:
                continue
            for one in decisions(seat):
                partner = players[one.next_seat] == self._partner[player]
                self._of[player].add(one.stratum, one.harm, partner=partner)

    @property
    def e_value(self) -> float:
        """Return the mean of the e-values of both directions and of both together."""
        values = [*(one.bets.e_value for one in self._of.values()), self.joint.e_value]
        return sum(values) / len(values)

    @property
    def numbers(self) -> Mapping[str, Any]:
        """Return the figures as they are published."""
        return {
            "hands": self.together,
            "directions": [
                {"player": player, "partner": self._partner[player], **_figures(one.bets)}
                for player, one in self._of.items()
            ],
            "joint": _figures(self.joint),
            "e_value": _rounded(self.e_value),
        }


def _figures(bets: Bets) -> Mapping[str, Any]:
    difference = bets.difference
    return {
        "n": bets.pairs,
        "difference": None if difference is None else round(difference, DIGITS),
        "e_value": _rounded(bets.e_value),
    }


def _rounded(e_value: float) -> float:
    return float(f"{e_value:.{DIGITS}g}")
