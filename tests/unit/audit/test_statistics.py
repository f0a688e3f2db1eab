"""Statistics of shuffles and blind choices: known values, false alarms, and detection rates."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from service.audit.statistics import (
    ABORTED,
    ENOUGH,
    FALSE_ALARM,
    LUCK,
    POSITIONS,
    THRESHOLD,
    Choice,
    Measure,
    Tally,
    chi_square_p,
    chi_square_quantile,
    e_value,
    upper_gamma,
)
from service.domain.cards import ordered_deck

DECK = ordered_deck(decks=1, jokers=0)


@pytest.mark.parametrize(
    ("statistic", "df", "p"),
    [
        (3.841458820694124, 1, 0.05),
        (6.634896601021213, 1, 0.01),
        (5.991464547107979, 2, 0.05),
        (18.307038053275146, 10, 0.05),
        (135.80672317102676, 100, 0.01),
        (10.0, 2, math.exp(-5)),
        (0.0, 7, 1.0),
    ],
)
def test_chi_square_has_its_known_values(statistic: float, df: int, p: float) -> None:
    assert chi_square_p(statistic, df) == pytest.approx(p, rel=1e-9)
    if 0 < p < 1:
        assert chi_square_quantile(1 - p, df) == pytest.approx(statistic, rel=1e-7)


def test_the_gamma_function_of_whole_numbers_is_a_poisson_sum() -> None:
    """Q(a, x) is the chance of fewer than a events where x are expected."""
    for a, x in [(1, 0.5), (3, 2.0), (5, 9.0), (40, 39.0), (40, 41.5), (1300, 1290.0)]:
        terms = (k * math.log(x) - x - math.lgamma(k + 1) for k in range(a))
        assert upper_gamma(a, x) == pytest.approx(math.fsum(map(math.exp, terms)), rel=1e-9)


def test_a_chi_square_without_degrees_of_freedom_is_an_error() -> None:
    with pytest.raises(ValueError, match="freedom"):
        chi_square_p(1.0, 0)
    with pytest.raises(ValueError, match="between"):
        chi_square_quantile(1.0, 3)


# Blind choices.


def choices(rng: random.Random, peeking: float, count: int) -> Iterator[Choice]:
    """Yield the choices of a player who peeks with probability `peeking`, three slots a game."""
    while count > 0:
        fits = [rng.random() < 0.55 for _ in range(3)]
        while fits and count > 0:
            good = [slot for slot, fit in enumerate(fits) if fit]
            slot = rng.choice(good) if good and rng.random() < peeking else rng.randrange(len(fits))
            yield Choice(slots=len(fits), playable=len(good), fitted=fits[slot])
            fits.pop(slot)
            count -= 1


def games_until_found(rng: random.Random, peeking: float, most: int) -> int | None:
    """Return the number of games until the threshold is reached, tested after each."""
    made: list[Choice] = []
    for game in range(1, most + 1):
        made += choices(rng, peeking, 3)
        if e_value(made) >= THRESHOLD:
            return game
    return None


def test_without_choices_no_player_is_suspected() -> None:
    assert e_value([]) == pytest.approx(1)
    idle = [Choice(slots=1, playable=1, fitted=True), Choice(slots=3, playable=0, fitted=False)]
    assert e_value(idle * 50) == pytest.approx(1), "there was nothing to choose"


@pytest.mark.parametrize(("slots", "playable"), [(2, 1), (3, 1), (3, 2), (4, 1)])
def test_a_choice_of_an_honest_player_gains_nothing_on_average(slots: int, playable: int) -> None:
    """The mean over honest choices is 1 after any earlier choices, as in a fair game."""
    before = [Choice(slots=3, playable=1, fitted=True)] * 4
    chance = playable / slots

    def after(*, fitted: bool) -> float:
        return e_value([*before, Choice(slots=slots, playable=playable, fitted=fitted)])

    mean = chance * after(fitted=True) + (1 - chance) * after(fitted=False)
    assert mean == pytest.approx(e_value(before))


def test_a_habit_is_no_evidence() -> None:
    """Always choosing the leftmost slot is as good as any other blind choice."""
    rng, made = random.Random(5), []
    for _ in range(2000):
        fits = [rng.random() < 0.55 for _ in range(3)]
        made.append(Choice(slots=3, playable=sum(fits), fitted=fits[0]))
    assert e_value(made) < THRESHOLD


def test_an_e_value_never_overflows() -> None:
    assert math.isfinite(e_value([Choice(slots=3, playable=1, fitted=True)] * 10_000))


@pytest.mark.parametrize(("peeking", "most"), [(1.0, 40), (0.8, 80), (0.5, 250)])
def test_peekers_are_found(peeking: float, most: int) -> None:
    """
    A player who always peeks is found within 40 games, at 80 % within 80, at 50 % within 250.

    At least nine of ten such players are; half are found within 10, 17 and 47 games (`--long`).
    """
    rng = random.Random(11)
    found = [games_until_found(rng, peeking, most) for _ in range(20)]
    assert sum(games is not None for games in found) >= 18


def honest_alarms(players: int, games: int, seed: int) -> int:
    rng = random.Random(seed)
    return sum(games_until_found(rng, 0.0, games) is not None for _ in range(players))


@pytest.mark.heavy
def test_honest_players_are_not_flagged_under_repeated_tests() -> None:
    """Ville's inequality: of 300 honest players 0.3 on average ever reach the threshold."""
    assert honest_alarms(300, 40, seed=3) < 3


@pytest.mark.long
def test_the_false_alarm_rate_is_the_documented_one() -> None:
    """Of 10,000 honest players, tested after each of 100 games, at most about 10 are flagged."""
    alarms = honest_alarms(10_000, 100, seed=7)
    expected = 10_000 * FALSE_ALARM
    assert alarms <= expected + 4 * math.sqrt(expected)


@pytest.mark.long
@pytest.mark.parametrize(("peeking", "half"), [(1.0, 10), (0.8, 17), (0.5, 47)])
def test_half_of_the_peekers_are_found_within_the_documented_number_of_games(
    peeking: float, half: int
) -> None:
    rng = random.Random(13)
    found = [games_until_found(rng, peeking, 1000) or 1000 for _ in range(400)]
    median = sorted(found)[200]
    assert abs(median - half) <= max(2, half // 6), median


# Shuffles.


def tally(rng: random.Random, games: int, *, cheat: str = "") -> dict[str, Measure]:
    """Return the measures over games shuffled by `rng`, a fifth of them aborted."""
    counted = Tally(ruleset="shithead", cards=tuple(sorted(DECK)))
    for number in range(games):
        deck = list(DECK)
        rng.shuffle(deck)
        if cheat == "lazy shuffle":
            first = rng.randrange(52)
            deck = [*DECK[first:], *DECK[:first]]
            deck = deck if rng.random() < 0.5 else rng.sample(deck, 52)
            deck.sort(key=lambda card: (card[1] == "s") * (rng.random() < 0.3))
        twos = sum(card[0] in "2T" for card in deck[:18])
        aborted = number % 5 == 0 if cheat != "choosy" else twos >= 4
        if cheat == "dealt to people":
            deck.sort(key=lambda card: card[0] == "A" and rng.random() < 0.3)
        counted.add(deck, aborted=aborted, dealt=18, to_people=range(0, 18, 2))
    return {measure.name: measure for measure in counted.measures()}


def test_honest_decks_are_within_the_expected_range() -> None:
    found = tally(random.Random(1), 500)
    assert found.keys() == {POSITIONS, ABORTED, LUCK}
    for measure in found.values():
        assert measure.low < measure.statistic < measure.high
        assert measure.p is not None
        assert measure.p > 0.001
    assert found[POSITIONS].df == 51 * 51
    assert found[POSITIONS].n == 400


@pytest.mark.parametrize(
    ("cheat", "name"),
    [("lazy shuffle", POSITIONS), ("choosy", ABORTED), ("dealt to people", LUCK)],
)
def test_decks_that_are_not_random_are_detected(cheat: str, name: str) -> None:
    """A poor shuffle; aborted hands with many twos and tens; withheld aces."""
    measure = tally(random.Random(2), 600, cheat=cheat)[name]
    assert measure.p is not None
    assert measure.p < 1e-6
    assert measure.statistic > measure.high


def test_with_few_games_no_p_value_is_stated() -> None:
    found = tally(random.Random(3), ENOUGH // 2)
    assert all(measure.p is None for measure in found.values())


def outside(runs: int, games: int, seed: int) -> dict[str, float]:
    """Return how often a measure of honest decks lies outside its range."""
    rng = random.Random(seed)
    made = [tally(rng, games) for _ in range(runs)]
    names = (POSITIONS, ABORTED, LUCK)
    return {
        name: sum(not m[name].low < m[name].statistic < m[name].high for m in made) / runs
        for name in names
    }


def test_honest_decks_are_outside_the_range_about_as_rarely_as_stated() -> None:
    """The stated share is one in a hundred; seven of 100 runs outside would be no coincidence."""
    for name, share in outside(100, 60, seed=4).items():
        assert share <= 0.06, name


@pytest.mark.long
def test_the_range_covers_its_stated_share() -> None:
    for name, share in outside(2000, 300, seed=5).items():
        assert 0.003 <= share <= 0.017, name
