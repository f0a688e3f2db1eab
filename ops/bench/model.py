"""
Speed of the fast model that bots search on: python -m ops.bench.model [--write].

It counts the moves of playouts from the first play of random deals, per second of CPU time of one
core, by ruleset and number of seats. Commands in a copy made by `python -m ops.bench.compiled`
measure the compiled modules.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

from ops.bench.page import print_or_write
from ops.bench.strength import FACTS, RULESETS, SEATS, TURNS_PER_SEAT
from schemas.views import view_json
from service.bots.worlds import Worlds
from service.domain.commands import Ready
from service.domain.deal import dealt_hand, whole_deck
from service.domain.decide import decide
from service.domain.evolve import evolve
from service.domain.game import Status
from service.domain.legal import acting_seats, legal_moves
from service.domain.view import seen_by
from service.rulesets.catalogue import definition
from service.search import playout as module
from service.search.playout import opened, playout

PAGE = Path(__file__).parent / "results" / "model.md"
LEAST = 500_000
"""The target: moves a second on one core."""

WORLDS = 400
ROUNDS = 3


def main() -> None:
    """Measure and print, or write the page."""
    print_or_write(PAGE, description=__doc__, measure=measured, heading=_heading)


def measured(_folder: Path) -> Iterator[str]:
    """Yield a table of moves a second, the best of the rounds."""
    kind = "compiled" if module.__file__.endswith((".so", ".pyd")) else "plain Python"
    yield f"| ruleset | seats | moves a second, {kind} | moves of a playout |"
    yield "| --- | --- | --- | --- |"
    for ruleset in RULESETS:
        for seats in SEATS:
            rate, length = speed(ruleset, seats)
            yield f"| `{ruleset}` | {seats} | {rate:,.0f} | {length:.0f} |"


def speed(ruleset: str, seats: int) -> tuple[float, float]:
    """Return the moves a second of CPU time, and the mean moves of a playout."""
    rng, rates, moves = random.Random(ruleset), [], 0
    worlds = _first_play(ruleset, seats, rng)
    states = [opened(worlds.deal(rng), worlds.policy) for _ in range(WORLDS)]
    for _ in range(ROUNDS):
        begun = time.process_time()
        moves = sum(playout(state, worlds.policy)[1] for state in states)
        rates.append(moves / (time.process_time() - begun))
    return max(rates), moves / WORLDS


def _first_play(ruleset: str, seats: int, rng: random.Random) -> Worlds:
    """Return the possible deals of a random hand at its first play, for the seat that has it."""
    rules = definition(ruleset).ruleset({})
    codes = whole_deck(rules, seats)
    limit = TURNS_PER_SEAT * seats
    deck = tuple(rng.sample(codes, len(codes)))
    game = dealt_hand(rules, deck, seats=seats, dealer=0, turn_limit=limit)
    while game.status is Status.SWAPPING:
        for event in decide(Ready(seat=acting_seats(game)[0]), game):
            game = evolve(game, event)
    seat = acting_seats(game)[0]
    return Worlds(view_json(seen_by(game, seat), seat, FACTS, legal_moves(game, seat)))


def _heading(load: float) -> str:
    return f"""\
# Speed of the model for search

Made by `python -m ops.bench.model --write`: playouts from the first play of a random deal, moves
a second of CPU time of one core, the best of {ROUNDS} rounds; load of the machine: {load:.1f}.
The target is {LEAST:,} moves a second in plain Python."""


if __name__ == "__main__":
    main()
