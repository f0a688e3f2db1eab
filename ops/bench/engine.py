"""
Speed of the game engine: events folded, lists of legal moves, random playout moves a second.

    python -m ops.bench.engine                       this checkout
    python -m ops.bench.engine --against ../other    in turn with another checkout, with ratios

The other checkout needs no copy of this file: the measurement is sent to a Python that runs in
its folder. Every figure is taken in rounds, this checkout and the other one after the other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MEASUREMENT = """
import json, random, sys, time
from service.domain.cards import ordered_deck
from service.domain.deal import deal
from service.domain.decide import decide
from service.domain.events import DeckCommitted, Entropy, GameCreated, SeatSetup
from service.domain.evolve import evolve, fold
from service.domain.legal import legal_moves, may_act
from service.domain.ruleset import deck_of
from service.rulesets.catalogue import definition

name, seats, hands = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ruleset = definition(name).ruleset({})
decks, jokers, partial = deck_of(ruleset, seats)
seat = SeatSetup(kind="bot", bot="random", key=None, entropy=Entropy.NONE)


def dealt(chance):
    event = GameCreated(
        table="t", hand=1, ruleset=ruleset, decks=decks, jokers=jokers, partial=partial,
        seats=(seat,) * seats, dealer=0, prev_game=None, commit="", clock=None, turn_limit=400,
    )
    deck = list(ordered_deck(decks=decks, jokers=jokers, partial=partial))
    chance.shuffle(deck)
    events = [event, DeckCommitted(cards=("",) * len(deck))]
    game = fold(events, tuple(deck))
    for step in deal(game, 0):
        events.append(step)
        game = evolve(game, step)
    return game, events, tuple(deck)


def playout(chance):
    game, events, deck = dealt(chance)
    states, moves = [], 0
    while not game.over:
        states.append(game)
        acting = [s for s in range(seats) if may_act(game, s)]
        move = chance.choice(legal_moves(game, chance.choice(acting)))
        moves += 1
        for event in decide(move, game):
            events.append(event)
            game = evolve(game, event)
    return states, events, deck, moves


chance = random.Random(7)
playout(chance)
start = time.process_time()
played = [playout(chance) for _ in range(hands)]
playouts = sum(one[3] for one in played) / (time.process_time() - start)
start = time.process_time()
for _, events, deck, _ in played:
    fold(events, deck)
folds = sum(len(one[1]) for one in played) / (time.process_time() - start)
states = [(g, g.turn) for one in played for g in one[0] if g.turn is not None][:4000]
start = time.process_time()
listed = sum(len(legal_moves(game, turn)) for game, turn in states)
lists = len(states) / (time.process_time() - start)
print(json.dumps({"events folded": folds, "lists of moves": lists, "playout moves": playouts}))
"""


def measured(folder: Path, *words: str) -> dict[str, float]:
    """Return the figures of a checkout, each in units a second of CPU."""
    answer = subprocess.run(
        [sys.executable, "-c", MEASUREMENT, *words],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(answer.stdout)
    return figures


def main() -> None:
    """Measure, and print the medians; with --against the ratios of each round as well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, measured in turn")
    parser.add_argument("--ruleset", default="shithead")
    parser.add_argument("--seats", default="4")
    parser.add_argument("--hands", default="30")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    words = (given.ruleset, given.seats, given.hands)
    rounds = []
    for _ in range(given.rounds):
        ours = measured(ROOT, *words)
        other = measured(given.against.resolve(), *words) if given.against else None
        rounds.append((ours, other))
    for name in rounds[0][0]:
        median = statistics.median(ours[name] for ours, _ in rounds)
        line = f"{name:16} {median:10,.0f}/s"
        if given.against:
            ratios = sorted(ours[name] / (other or ours)[name] for ours, other in rounds)
            line += f"   × {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
        print(line)


if __name__ == "__main__":
    main()
