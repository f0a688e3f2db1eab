"""The page of `ops.bench.honest`: false alarms, stalemates, and their reasons."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from service.audit.statistics import FALSE_ALARM, TAIL, THRESHOLD, Choice, Measure, Tally, e_value
from service.rulesets.catalogue import catalogue

Row = dict[str, Any]
Combination = tuple[str, int]
"""A ruleset and a number of seats."""

AGAIN = ("without random", "longer")


def page(rows: Sequence[Row], games: int) -> str:
    """Return the results as Markdown."""
    first = [row for row in rows if row["how"] == "as it is"]
    return "\n".join([*_head(first, games), *_alarms(first), *_again(rows), *_each(first)]) + "\n"


def _head(rows: Sequence[Row], games: int) -> Iterator[str]:
    hands = sum(len(row["lengths"]) for row in rows)
    failed = sum(len(row["failed"]) for row in rows)
    stale = sum(len(row["stale"]) for row in rows)
    combinations = {(row["ruleset"], row["seats"]) for row in rows}
    yield f"""# Honest hands: alarms and stalemates

Made by `python -m ops.bench.honest --games {games}`: the hands of
`shithead simulate --all --games {games}`, with the logs of each table verified together.

- {hands} hands at {len(combinations)} combinations of ruleset and number of seats.
- Logs that do not pass every check at L1: {failed}.
- Stalemates: {stale} ({stale / hands:.2%})."""


def _alarms(rows: Sequence[Row]) -> Iterator[str]:
    measures = list(_measures(rows))
    outside = [one for one in measures if not one.low <= one.statistic <= one.high]
    by_p = [(one.p, one) for one in measures if one.p is not None]
    smallest, figure = min(by_p, key=lambda pair: pair[0])
    players = _players(rows)
    reached = sum(highest >= THRESHOLD for _, highest in players.values())
    choices = sum(count for count, _ in players.values())
    largest = max(highest for _, highest in players.values())
    expected, count = len(measures) * 2 * TAIL, len(measures)
    yield f"""
## Statistics over the same hands

- Shuffles: {count} figures, {len(outside)} outside the range that contains {1 - 2 * TAIL:.0%} of
  the figures of fair shuffles ({expected:.1f} are expected outside); the smallest p is
  {smallest:.4f} ({figure.ruleset}, {figure.name}, n = {figure.n}).
- Blind choices: {len(players)} players (a bot at one combination counts as one), {choices}
  informative choices. The e-value, computed after every table of four hands, reached
  {THRESHOLD:.0f} for {reached} of them; for an honest player the probability of that is
  at most {FALSE_ALARM}. The largest was {largest:.1f}."""


def _measures(rows: Sequence[Row]) -> Iterator[Measure]:
    tallies: dict[tuple[str, tuple[str, ...]], Tally] = {}
    for row in rows:
        for codes, dealt in row["decks"]:
            deck = codes.split()
            key = (row["ruleset"], tuple(sorted(deck)))
            tally = tallies.setdefault(key, Tally(ruleset=key[0], cards=key[1]))
            tally.add(deck, aborted=False, dealt=dealt, to_people=range(dealt))
    for tally in tallies.values():
        yield from tally.measures()


def _players(rows: Sequence[Row]) -> dict[tuple[str, int, str], tuple[int, float]]:
    """Return for each player the number of informative choices and the highest e-value reached."""
    made: dict[tuple[str, int, str], list[Choice]] = defaultdict(list)
    highest: dict[tuple[str, int, str], float] = {}
    for row in sorted(rows, key=lambda row: (row["ruleset"], row["seats"], row["table"])):
        for bot, slots, playable, fitted in row["choices"]:
            choice = Choice(slots=slots, playable=playable, fitted=fitted)
            if choice.informative:
                made[row["ruleset"], row["seats"], bot].append(choice)
        for bot in {choice[0] for choice in row["choices"]}:
            player = (row["ruleset"], row["seats"], bot)
            highest[player] = max(highest.get(player, 1), e_value(made[player]))
    return {player: (len(choices), highest[player]) for player, choices in made.items()}


def _again(rows: Sequence[Row]) -> Iterator[str]:
    by_how = {how: _rates([row for row in rows if row["how"] == how]) for how in AGAIN}
    first = _rates([row for row in rows if row["how"] == "as it is"])
    ends = [bots for row in rows if row["how"] == "as it is" for bots in row["stale"] if bots]
    if not ends:
        return
    left: Counter[str] = Counter()
    for bots in ends:
        left.update(bots)
    two = sum(sum(bots.values()) == 2 for bots in ends)
    both = sum(bots == {"random": 2} for bots in ends)
    without = sum("random" not in bots for bots in ends)
    holding = ", ".join(f"{bot} {count}" for bot, count in left.most_common())
    yield f"""
## Why hands do not end

A stalemate here is a hand ended by its turn limit; by the rules a hand may last for ever (rules.md,
Endless hands). For {len(ends)} of them the bots that still held cards are recorded:
{holding}. In {two} two seats were left, in {both} both of these were `random`, which lays any
cards that fit; in {without} none was. Some of the combinations with the most stalemates were
played again without `random`, and again with it and four times the turns:

| ruleset | seats | stalemates | without `random` | four times the turns |
| --- | --- | --- | --- | --- |"""
    combinations = by_how["longer"] or by_how["without random"]
    for combination in sorted(combinations, key=lambda one: -first[one][0] / first[one][1]):
        cells = [_rate(rates.get(combination)) for rates in (first, *by_how.values())]
        yield f"| {combination[0]} | {combination[1]} | {' | '.join(cells)} |"


def _each(rows: Sequence[Row]) -> Iterator[str]:
    lengths: dict[Combination, list[int]] = defaultdict(list)
    failed: Counter[Combination] = Counter()
    for row in rows:
        combination = (row["ruleset"], row["seats"])
        lengths[combination] += row["lengths"]
        failed[combination] += len(row["failed"])
    rates = _rates(rows)
    yield """
## Each combination

| ruleset | seats | hands | stalemates | events, median | most | failed |
| --- | --- | --- | --- | --- | --- | --- |"""
    order = list(catalogue())
    for ruleset, seats in sorted(lengths, key=lambda one: (order.index(one[0]), one[1])):
        events = lengths[ruleset, seats]
        yield (
            f"| {ruleset} | {seats} | {len(events)} | {_rate(rates[ruleset, seats])} "
            f"| {statistics.median(events):.0f} | {max(events)} | {failed[ruleset, seats]} |"
        )


def _rates(rows: Sequence[Row]) -> dict[Combination, tuple[int, int]]:
    """Return the stalemates and the hands of each combination."""
    stale: Counter[Combination] = Counter()
    hands: Counter[Combination] = Counter()
    for row in rows:
        stale[row["ruleset"], row["seats"]] += len(row["stale"])
        hands[row["ruleset"], row["seats"]] += len(row["lengths"])
    return {combination: (stale[combination], hands[combination]) for combination in hands}


def _rate(rate: tuple[int, int] | None) -> str:
    return "" if rate is None else f"{rate[0]} of {rate[1]}"
