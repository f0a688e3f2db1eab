"""Statistics of shuffles and of blind choices, with the chi-square distribution."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from service.domain.cards import Card, rank_of
from service.domain.commands import CommandRefused, PlayBlind, Seat
from service.domain.decide import decide
from service.domain.events import BlindFailed, CardsDealt, CardsPlayed, Event, Zone
from service.domain.game import Game, positions
from service.replay.history import History, RecordedEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindFact:
    """A choice of a face-down card, made by a person and not by a bot or the clock."""

    seat: Seat
    seq: int
    choice: Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class DealFact:
    """The deck of a game that was dealt."""

    deck: tuple[Card, ...]
    dealt: int  # number of cards that left the deck in the deal
    to_people: tuple[int, ...]  # positions dealt to seats of people


def deal_fact(
    log: Sequence[RecordedEvent], deck: tuple[Card, ...] | None, people: Collection[Seat]
) -> DealFact | None:
    """Return the deal of a sealed log; None if there was no deck or no deal."""
    deals = [record.event for record in log if isinstance(record.event, CardsDealt)]
    if deck is None or not deals:
        return None
    event = deals[0]
    dealt = positions(
        seats=len(event.face_up),
        dealer=event.dealer,
        down=event.down,
        up=event.up,
        hand=event.hand,
    )
    theirs = [p for seat in people for p in (*dealt.down[seat], *dealt.up[seat], *dealt.hand[seat])]
    return DealFact(deck=deck, dealt=dealt.used, to_people=tuple(sorted(theirs)))


def blind_facts(
    log: Sequence[RecordedEvent], deck: tuple[Card, ...] | None, people: Collection[Seat]
) -> Iterator[BlindFact]:
    """Yield the blind choices of `people` in a sealed log, in their order."""
    history: History | None = None
    for record in log:
        seat = _chooser(record.event)
        # Moves made for a seat after a time-out are the server's: their `by` is null.
        if seat is None or seat not in people or record.fields["by"] != seat:
            continue
        history = history or History(log, deck)
        choice = _choice(history.games[record.seq - 1], seat, record.event)
        yield BlindFact(seat=seat, seq=record.seq, choice=choice)


def _chooser(event: Event) -> Seat | None:
    match event:
        case CardsPlayed(zone=Zone.DOWN, seat=seat) | BlindFailed(seat=seat):
            return seat
        case _:
            return None


def _choice(before: Game, seat: Seat, event: Event) -> Choice:
    """Return a choice: the number of cards, how many of them fitted, and whether the chosen did."""
    lying = [slot for slot, p in enumerate(before.seats[seat].down) if p is not None]
    return Choice(
        slots=len(lying),
        playable=sum(_fits(before, seat, slot) for slot in lying),
        fitted=isinstance(event, CardsPlayed),
    )


def _fits(before: Game, seat: Seat, slot: int) -> bool:
    try:
        decided = decide(PlayBlind(seat=seat, slot=slot), before)
    except CommandRefused:
        return False
    return any(isinstance(step, CardsPlayed) for step in decided)


ENOUGH = 30
"""Minimum number of games for a p-value."""

TAIL = 0.005
"""Probability that the statistic of honest shuffles is below `low`, and that it is above `high`."""

POSITIONS = "position of each card"
ABORTED = "first cards of aborted games against finished ones"
LUCK = "ranks dealt to people"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A chi-square statistic, and the range in which it is in 99 of 100 honest samples."""

    name: str
    ruleset: str
    statistic: float
    df: int
    p: float | None  # None for fewer than ENOUGH games
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
    spread: float = 0.0  # sum over finished games of m(N-m)/(N-1): m of N cards were dealt
    spread_aborted: float = 0.0  # the same sum over aborted games
    people: Counter[str] = field(default_factory=Counter)  # ranks dealt to people
    people_spread: float = 0.0  # the same sum for the cards dealt to people

    def add(
        self, deck: Sequence[str], *, aborted: bool, dealt: int, to_people: Iterable[int]
    ) -> None:
        """Count one deck."""
        size, ranks = len(deck), [_rank(code) for code in deck]
        first, spread = ranks[:dealt], dealt * (size - dealt) / (size - 1)
        if aborted:
            self.aborted += 1
            self.first_aborted.update(first)
            self.spread_aborted += spread
        else:
            self.finished += 1
            self.first.update(first)
            self.spread += spread
            self.places = self.places or [Counter() for _ in deck]
            for place, code in zip(self.places, deck, strict=True):
                place[code] += 1
        theirs = [ranks[p] for p in to_people]
        self.people.update(theirs)
        self.people_spread += len(theirs) * (size - len(theirs)) / (size - 1)

    def measures(self) -> list[Measure]:
        """Return the measures for which there are games."""
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

        If an operator aborts hands because of their cards, the finished hands differ from the
        aborted ones. Cards of a deal are drawn without replacement, which multiplies their
        variance by (N-m)/(N-1); the statistic accounts for this.
        """
        shares, total = self._shares(), 0.0
        dealt, broken = sum(self.first.values()), sum(self.first_aborted.values())
        variance = self.spread / dealt**2 + self.spread_aborted / broken**2
        for rank, share in shares.items():
            gap = self.first[rank] / dealt - self.first_aborted[rank] / broken
            total += gap**2 / (share * variance)
        return self._measure(ABORTED, total, len(shares) - 1, min(self.finished, self.aborted))

    def _luck(self) -> Measure:
        """Return the chi-square of the ranks dealt to people, against the shares in the deck."""
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


THRESHOLD = 1000.0
"""E-value from which chance is no longer a plausible explanation."""

FALSE_ALARM = 1 / THRESHOLD
"""Upper bound of the probability that an honest player ever reaches THRESHOLD."""

LOOKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
"""Alternatives of the e-value: players who look at the cards in this share of their choices."""

_LARGEST = 1e300


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A choice among `slots` face-down cards, `playable` of which fitted the pile."""

    slots: int
    playable: int
    fitted: bool  # whether the chosen card did

    @property
    def informative(self) -> bool:
        """Return whether another choice could have had another outcome."""
        return 0 < self.playable < self.slots


def e_value(choices: Iterable[Choice]) -> float:
    """
    Return the e-value of blind choices: the mean of the likelihood ratios of LOOKS to chance.

    Without informative choices it is 1; it is at most `_LARGEST`.
    """
    stakes = [0.0] * len(LOOKS)  # logarithms of the likelihood ratios
    for choice in choices:
        if choice.informative:
            stakes = [
                stake + math.log(_ratio(choice, look))
                for stake, look in zip(stakes, LOOKS, strict=True)
            ]
    largest = max(stakes)
    if largest > math.log(_LARGEST):
        return _LARGEST
    return sum(math.exp(stake) for stake in stakes) / len(LOOKS)


def _ratio(choice: Choice, look: float) -> float:
    if choice.fitted:
        return 1 - look + look * choice.slots / choice.playable
    return 1 - look


_CLOSE = 1e-14
_TINY = 1e-300
_MOST_TERMS = 100_000


def chi_square_p(statistic: float, df: int) -> float:
    """
    Return the probability of a chi-square statistic at least as large as `statistic`.

    Raises ValueError for less than one degree of freedom.
    """
    if df < 1:
        raise ValueError("a chi-square has at least one degree of freedom")
    return upper_gamma(df / 2, max(statistic, 0.0) / 2)


def chi_square_quantile(p: float, df: int) -> float:
    """
    Return the value below which a chi-square statistic is with probability `p`, by bisection.

    Raises ValueError for a `p` not between 0 and 1, or less than one degree of freedom.
    """
    if not 0 < p < 1:
        raise ValueError("a probability must be between 0 and 1")
    low, high = 0.0, float(df)
    while chi_square_p(high, df) > 1 - p:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if chi_square_p(middle, df) > 1 - p:
            low = middle
        else:
            high = middle
        if high - low <= 1e-10 * high:
            break
    return (low + high) / 2


def upper_gamma(a: float, x: float) -> float:
    """
    Return Q(a, x), the regularized upper incomplete gamma function.

    Below a + 1 the series of P converges fast, above it the continued fraction of Q
    (Abramowitz and Stegun 6.5.29 and 6.5.31, the latter by Lentz's method).
    """
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        return max(0.0, 1 - front * _series(a, x))
    return front * _fraction(a, x)


def _series(a: float, x: float) -> float:
    term = total = 1 / a
    for n in range(1, _MOST_TERMS):
        term *= x / (a + n)
        total += term
        if term < total * _CLOSE:
            break
    return total


def _fraction(a: float, x: float) -> float:
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / (b or _TINY)
    value = d
    for n in range(1, _MOST_TERMS):
        an = -n * (n - a)
        b += 2
        d = 1 / (an * d + b or _TINY)
        c = b + an / c or _TINY
        step = c * d
        value *= step
        if abs(step - 1) < _CLOSE:
            break
    return value
