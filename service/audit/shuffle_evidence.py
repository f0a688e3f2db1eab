"""What all decks together say of the shuffle: counts, chi-squares, the range that chance has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from service.audit.chi_square import chi_square_p, chi_square_quantile
from service.domain.cards import Card, rank_of

ENOUGH = 30
"""Games below which a chi-square says nothing, and no p is given."""

TAIL = 0.005
"""The statistic of honest shuffles lies between low and high in 99 of 100 cases."""

POSITIONS = "position of each card"
ABORTED = "first cards of aborted games against finished ones"
LUCK = "ranks dealt to people"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One figure, with the range in which chance leaves it."""

    name: str
    ruleset: str
    statistic: float
    df: int
    p: float | None  # None where there are too few games
    low: float
    high: float
    n: int  # games counted


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts over the decks of one ruleset that are made of the same cards."""

    ruleset: str
    cards: tuple[str, ...]  # sorted
    finished: int = 0
    aborted: int = 0
    places: list[Counter[str]] = field(default_factory=list)  # by position; finished games
    first: Counter[str] = field(default_factory=Counter)  # ranks dealt; finished games
    first_aborted: Counter[str] = field(default_factory=Counter)
    spread: float = 0.0  # variance of a draw without putting back, over one with; finished
    spread_aborted: float = 0.0
    people: Counter[str] = field(default_factory=Counter)  # ranks dealt to people
    people_spread: float = 0.0

    def add(
        self, deck: Sequence[str], *, aborted: bool, dealt: int, to_people: Iterable[int]
    ) -> None:
        """Count one deck."""
        size, ranks = len(deck), [_rank(code) for code in deck]
        first, shrink = ranks[:dealt], dealt * (size - dealt) / (size - 1)
        if aborted:
            self.aborted += 1
            self.first_aborted.update(first)
            self.spread_aborted += shrink
        else:
            self.finished += 1
            self.first.update(first)
            self.spread += shrink
            self.places = self.places or [Counter() for _ in deck]
            for place, code in zip(self.places, deck, strict=True):
                place[code] += 1
        theirs = [ranks[p] for p in to_people]
        self.people.update(theirs)
        self.people_spread += len(theirs) * (size - len(theirs)) / (size - 1)

    def measures(self) -> list[Measure]:
        """Return what can be said of these decks."""
        found = [self._positions()] if self.finished else []
        if self.aborted and self.finished and self.spread and self.spread_aborted:
            found.append(self._aborted())
        if self.people_spread:
            found.append(self._luck())
        return found

    def _positions(self) -> Measure:
        """
        Return the chi-square of card by position.

        A deck has each card once and each position once. With both margins fixed, the
        statistic times (N-1)/N has (N-1)² degrees of freedom.
        """
        size = len(self.cards)
        expected = self.finished / size
        total = sum(
            (place[code] - expected) ** 2 / expected for place in self.places for code in self.cards
        )
        statistic, df = total * (size - 1) / size, (size - 1) ** 2
        return self._measure(POSITIONS, statistic, df, self.finished)

    def _aborted(self) -> Measure:
        """
        Return the chi-square of the ranks dealt in aborted games against finished ones.

        An operator who breaks off hands that it does not like leaves finished ones that
        differ. Cards of one deal are drawn without putting back, which narrows their
        variance by (N-m)/(N-1); the statistic allows for it.
        """
        shares, total = self._shares(), 0.0
        dealt, broken = sum(self.first.values()), sum(self.first_aborted.values())
        variance = self.spread / dealt**2 + self.spread_aborted / broken**2
        for rank, share in shares.items():
            gap = self.first[rank] / dealt - self.first_aborted[rank] / broken
            total += gap**2 / (share * variance)
        return self._measure(ABORTED, total, len(shares) - 1, min(self.finished, self.aborted))

    def _luck(self) -> Measure:
        """Return the chi-square of the ranks that people were dealt: luck, shown as luck."""
        shares = self._shares()
        dealt = sum(self.people.values())
        total = sum(
            (self.people[rank] - dealt * share) ** 2 / (share * self.people_spread)
            for rank, share in shares.items()
        )
        return self._measure(LUCK, total, len(shares) - 1, self.finished + self.aborted)

    def _shares(self) -> Mapping[str, float]:
        counts = Counter(_rank(code) for code in self.cards)
        return {rank: count / len(self.cards) for rank, count in counts.items()}

    def _measure(self, name: str, statistic: float, df: int, n: int) -> Measure:
        return Measure(
            name=name,
            ruleset=self.ruleset,
            statistic=statistic,
            df=df,
            p=chi_square_p(statistic, df) if n >= ENOUGH else None,
            low=chi_square_quantile(TAIL, df),
            high=chi_square_quantile(1 - TAIL, df),
            n=n,
        )


def _rank(code: str) -> str:
    return str(rank_of(Card(code)))
