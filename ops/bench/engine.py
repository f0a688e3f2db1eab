"""
Speed of the game engine, measured alternately with an earlier commit, and the ratios.

    python -m ops.bench.engine [--write]             compared with the commit of the first figures
    python -m ops.bench.engine --against ../other    compared with another checkout

It counts, per second of CPU time, events folded, lists of legal moves, random playout moves, and
events of `simulate` without and with verification. The measurement is sent to a Python that runs
in the folder of the checkout, so the checkout needs no copy of this file. Both are measured in
each round.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from ops.bench.pages import WIDTH, write

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path(__file__).parent / "results" / "engine.md"
COMMIT = "1fb86fa"
"""The commit with which the figures are compared."""

LEAST = 3.0
"""The target: the least ratio of a figure to that of COMMIT."""

MEASUREMENT = """
import json, random, sys, time
from collections import Counter
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


def simulated(verified):
    # The modules have moved since the other commit.
    try:
        from service.simulation.parallel import play_table, tables_of
        from service.simulation.simulate import Plan
    except ImportError:
        from service.commands.batches import play_table, tables_of
        from service.simulate import Plan
    names = ("random", "lowest", "greedy")
    plan = Plan(ruleset=name, seats=seats, bots=names, games=hands, seed=3)
    start = time.process_time()
    reports = [play_table(table, verified=verified, keep=None) for table in tables_of(plan)]
    # `lengths` was a list in earlier commits.
    events = sum(sum(Counter(one.lengths).elements()) for one in reports)
    return events / (time.process_time() - start)


simulated(True)
print(json.dumps({
    "events folded": folds, "lists of moves": lists, "playout moves": playouts,
    "events of simulate, not verified": simulated(False),
    "events of simulate, verified": simulated(True),
}))
"""


def measured(folder: Path, *words: str) -> dict[str, float]:
    """Return the figures of a checkout, each a number per second of CPU time."""
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


def checkout(commit: str, folder: Path) -> Path:
    """Write the files of a commit to a folder and return it."""
    packed = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def lines(other: Path, words: tuple[str, ...], rounds: int) -> Iterator[str]:
    """Yield the lines of the table: medians, and the ratios of each round."""
    pairs = [(measured(ROOT, *words), measured(other, *words)) for _ in range(rounds)]
    yield "| a second of CPU time | this checkout | the other | ratio | target | reached |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name in pairs[0][0]:
        ours, others = (statistics.median(pair[side][name] for pair in pairs) for side in (0, 1))
        ratios = sorted(one[name] / two[name] for one, two in pairs)
        ratio = statistics.median(ratios)
        reached = "yes" if ratio >= LEAST else "no"
        spread = f"{ratio:.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
        yield f"| {name} | {ours:,.0f} | {others:,.0f} | {spread} | {LEAST:.0f} | {reached} |"


def main() -> None:
    """Print the table, or write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help=f"another checkout instead of {COMMIT}")
    parser.add_argument("--ruleset", default="shithead")
    parser.add_argument("--seats", default="4")
    parser.add_argument("--hands", default="30")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    words, load = (options.ruleset, options.seats, options.hands), os.getloadavg()[0]
    compared = f"the checkout {options.against}" if options.against else f"commit {COMMIT}"
    with tempfile.TemporaryDirectory() as folder:
        other = options.against or checkout(COMMIT, Path(folder))
        table = "\n".join(lines(other.resolve(), words, options.rounds))
    made = (
        f"Made by `python -m ops.bench.engine --rounds {options.rounds} --write`: "
        f"`{options.ruleset}`, {options.seats} seats, {options.hands} hands, CPU time of one core, "
        f"load {load:.1f} before the start. The other is {compared}; a ratio is the median over "
        "the rounds, with the smallest and the largest."
    )
    if options.write:
        write(PAGE, f"# Speed of the engine\n\n{fill(made, WIDTH)}\n\n{table}")
    else:
        print(table)


if __name__ == "__main__":
    main()
