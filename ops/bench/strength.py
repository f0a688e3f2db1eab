"""
Strength of the bots: all against all in paired deals, as shares with intervals and as a rating.

    python -m ops.bench.strength play --hands 100      every pair, heads-up and at four seats
    python -m ops.bench.strength play --ruleset shithead --first expert --second greedy --hands 2000
    python -m ops.bench.strength join FILE …           adds hands of other files, one line a cell
    python -m ops.bench.strength table                 writes ops/bench/results/strength.md

`play` continues where an earlier run stopped: it appends each hand to a file, and only missing
ones are played. A line of the file is a cell, the number of its first hand and one letter for that
hand and each following one (`LETTERS`). Deals are paired: the same shuffle and dealer are played
once for each seat that the first bot can have; at four seats the other three are the second bot.
A share is how often the first bot was the shithead, of the hands that had one; its interval takes
the hands of one deal together.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby, permutations
from pathlib import Path

from ops.bench.outside_bots import DESCRIPTIONS, OUTSIDE
from schemas.moves import move_of
from schemas.views import ViewFacts, view_json
from service.bots.bot import Bot, bot_rng
from service.bots.registry import bots
from service.bots.searching import CAREFUL_BUDGET, EXPERT_BUDGET
from service.domain.deal import dealt_hand, whole_deck
from service.domain.decide import decide
from service.domain.evolve import evolve
from service.domain.game import Game, Status
from service.domain.legal import acting_seats, legal_moves
from service.domain.ruleset import Ruleset
from service.domain.view import seen_by
from service.rulesets.catalogue import definition

RULESETS = ("shithead", "leeds", "covered-queen", "threes", "morehead")
SEATS = (2, 4)
FACTS = ViewFacts(id="strength", head="00" * 32, ruleset_hash="11" * 32)
RESULTS = Path(__file__).parent / "results"
TURNS_PER_SEAT = 400
FEWEST_DEALS = 5
MEASURED_OUTSIDE = ("greedy", "careful", "expert")
SAMPLES = {"careful": CAREFUL_BUDGET.samples, "expert": EXPERT_BUDGET.samples}
LETTERS = {1: "1", 0: "0", None: "-"}
"""Results of hands in a file: the first bot is the shithead, another seat is, no seat is."""

_LOST = {letter: lost for lost, letter in LETTERS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One bot against another: `first` on one seat, `second` on all others."""

    ruleset: str
    seats: int
    first: str
    second: str
    samples: tuple[int, int] = (0, 0)  # the budgets of the two bots; 0 without a search


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How often the first bot of a cell was the shithead, ± `error` (95 %)."""

    hands: int
    share: float
    error: float
    stalemates: int

    def __str__(self) -> str:
        return f"{self.share:.3f} ± {self.error:.3f} ({self.hands})"


def main() -> None:
    """Play hands, join files of them, or write the table of those played."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("play", "join", "table"))
    parser.add_argument("files", type=Path, nargs="*", help="to join")
    parser.add_argument("--data", type=Path, default=RESULTS / "strength.jsonl")
    parser.add_argument("--hands", type=int, default=40, help="of each cell")
    parser.add_argument("--ruleset", choices=RULESETS)
    parser.add_argument("--seats", type=int, choices=SEATS)
    parser.add_argument("--first", choices=tuple(bots()))
    parser.add_argument("--second", choices=(*bots(), *OUTSIDE))
    options = parser.parse_args()
    if options.what == "table":
        (RESULTS / "strength.md").write_text(page(read(options.data)))
        return
    if options.what == "join":
        options.data.write_text("".join(lines(read(options.data, *options.files))))
        return
    wanted = [
        cell
        for cell in (*cells(), *outside_cells())
        if options.ruleset in (None, cell.ruleset)
        and options.seats in (None, cell.seats)
        and options.first in (None, cell.first)
        and options.second in (None, cell.second)
    ]
    play(wanted, options.hands, options.data)


def cells() -> Iterator[Cell]:
    """Yield every pair of bots; heads-up each pair once, the stronger one first."""
    names = list(bots())
    for ruleset in RULESETS:
        for seats in SEATS:
            for first, second in permutations(names, 2):
                if seats > 2 or names.index(first) > names.index(second):
                    budgets = (SAMPLES.get(first, 0), SAMPLES.get(second, 0))
                    yield Cell(
                        ruleset=ruleset, seats=seats, first=first, second=second, samples=budgets
                    )


def outside_cells() -> Iterator[Cell]:
    """Yield our bots from `greedy` on against those of other projects, heads-up in `shithead`."""
    for first in MEASURED_OUTSIDE:
        for second in OUTSIDE:
            yield Cell(
                ruleset="shithead",
                seats=2,
                first=first,
                second=second,
                samples=(SAMPLES.get(first, 0), 0),
            )


def play(wanted: Sequence[Cell], hands: int, data: Path) -> None:
    """Play the hands that are missing, all cells in turn, and append them to `data`."""
    played = read(data)
    with data.open("a") as file:
        for number in range(hands):
            for cell in wanted:
                if number in played.get(cell, {}):
                    continue
                file.write(_line(cell, number, LETTERS[hand(cell, number)]))
                file.flush()


def hand(cell: Cell, number: int, players: Mapping[str, Bot] | None = None) -> int | None:
    """
    Return 1 if the first bot is the shithead of a hand, 0 if another seat is, None if no seat.

    `players` has the bots of the cell by name, by default those of this project and of others
    with the budgets that they have at a table. Hands of the same `number // seats` have the same
    shuffle and dealer; the first bot changes its seat.
    """
    pair, own = divmod(number, cell.seats)
    rng = random.Random(f"{cell.ruleset} {cell.seats} {pair}")
    game = _dealt(definition(cell.ruleset).ruleset({}), cell.seats, rng)
    secret = rng.randbytes(32)
    known = {**bots(), **OUTSIDE} if players is None else players
    while not game.over:
        seats = acting_seats(game)
        seat = seats[0] if game.status is Status.SWAPPING else rng.choice(seats)
        moves = legal_moves(game, seat)
        view = view_json(seen_by(game, seat), seat, FACTS, moves)
        bot = known[cell.first if seat == own else cell.second]
        chosen = bot.choose(view, view["moves"], bot_rng(secret, str(own), game.version))
        for event in decide(move_of(chosen, seat), game):
            game = evolve(game, event)
    loser = None if game.result is None else game.result.shithead
    return None if loser is None else int(loser == own)


def _dealt(ruleset: Ruleset, seats: int, rng: random.Random) -> Game:
    codes = whole_deck(ruleset, seats)
    return dealt_hand(
        ruleset,
        tuple(rng.sample(codes, len(codes))),
        seats=seats,
        dealer=rng.randrange(seats),
        turn_limit=TURNS_PER_SEAT * seats,
    )


Played = Mapping[Cell, Mapping[int, int | None]]
"""By cell and number of the hand: whether the first bot was the shithead (`hand`)."""


def read(*files: Path) -> Played:
    """Return the hands of files; a file that does not exist has none."""
    played: dict[Cell, dict[int, int | None]] = defaultdict(dict)
    for line in (line for file in files if file.exists() for line in file.read_text().splitlines()):
        ruleset, seats, first, second, (one, two), number, letters = json.loads(line)
        cell = Cell(ruleset=ruleset, seats=seats, first=first, second=second, samples=(one, two))
        played[cell].update(enumerate((_LOST[letter] for letter in letters), start=number))
    return played


def lines(played: Played) -> Iterator[str]:
    """Yield the lines of a file with these hands: one for each cell unless hands are missing."""
    for cell, hands in played.items():
        # The difference of a number and its place is the same for numbers that follow one another.
        runs = groupby(enumerate(sorted(hands)), key=lambda item: item[1] - item[0])
        for numbers in ([number for _, number in run] for _, run in runs):
            yield _line(cell, numbers[0], "".join(LETTERS[hands[number]] for number in numbers))


def _line(cell: Cell, number: int, letters: str) -> str:
    return json.dumps([*astuple(cell), number, letters]) + "\n"


def share(cell: Cell, hands: Mapping[int, int | None]) -> Share:
    """
    Return the share of a cell with its interval, computed from the means of whole deals.

    The hands of one deal are not independent; the deals are. Deals of which a hand is missing
    are left out.
    """
    deals: dict[int, list[float]] = defaultdict(list)
    for number, lost in hands.items():
        deals[number // cell.seats].append(1 / cell.seats if lost is None else lost)
    means = [sum(one) / cell.seats for one in deals.values() if len(one) == cell.seats]
    count = len(means)
    mean = sum(means) / count if count else math.nan
    spread = sum((one - mean) ** 2 for one in means) / max(1, count - 1)
    return Share(
        hands=count * cell.seats,
        share=mean,
        error=1.96 * math.sqrt(spread / count) if count > 1 else math.nan,
        stalemates=sum(lost is None for lost in hands.values()),
    )


def ratings(played: Played, ruleset: str) -> dict[str, float]:
    """
    Return the Bradley–Terry ratings of the bots, in Elo points with `greedy` at 0.

    Only heads-up hands count; the bot that is not the shithead has won. Each cell counts one
    drawn hand more, so that a bot that lost every hand has a rating. (Hunter: MM algorithms
    for generalized Bradley–Terry models, 2004.)
    """
    names = list(bots())
    wins = dict.fromkeys(permutations(names, 2), 0.0)
    for cell, hands in played.items():
        if cell.ruleset != ruleset or cell.seats != 2 or not hands or cell.second in OUTSIDE:
            continue
        wins[cell.first, cell.second] += 0.5
        wins[cell.second, cell.first] += 0.5
        for lost in hands.values():
            wins[cell.first, cell.second] += 0.5 if lost is None else 1 - lost
            wins[cell.second, cell.first] += 0.5 if lost is None else lost
    power = dict.fromkeys(names, 1.0)
    for _ in range(2000):
        for one in names:
            others = [other for other in names if other != one]
            total = sum(wins[one, other] for other in others)
            games = sum(
                (wins[one, other] + wins[other, one]) / (power[one] + power[other])
                for other in others
            )
            power[one] = total / games if games else power[one]
    return {name: 400 * math.log10(power[name] / power["greedy"]) for name in names}


def page(played: Played) -> str:
    """Return the results as Markdown."""
    parts = [_HEAD]
    for ruleset in RULESETS:
        of_it = {cell: hands for cell, hands in played.items() if cell.ruleset == ruleset}
        if not of_it:
            continue
        parts.append(f"## `{ruleset}`\n\n{_rated(played, ruleset)}")
        for seats in SEATS:
            rows = [
                f"| {_named(cell.first, cell.samples[0])} | {_named(cell.second, cell.samples[1])} "
                f"| {found.share:.3f} ± {found.error:.3f} | {found.hands} | {found.stalemates} |"
                for cell in sorted(of_it, key=_place)
                if cell.seats == seats
                and (found := share(cell, of_it[cell])).hands >= FEWEST_DEALS * seats
            ]
            if rows:
                title = "Heads-up" if seats == 2 else f"{seats} seats, one of them the first bot"
                parts.append(f"{title}; fair is {1 / seats:.2f}.\n\n{_COLUMNS}\n" + "\n".join(rows))
    parts.append(_OUTSIDE + "\n".join(f"- `{name}`: {text}" for name, text in DESCRIPTIONS.items()))
    return "\n\n".join(parts) + "\n"


def _named(name: str, samples: int) -> str:
    """Return a bot's name, with its budget if that is not the one it has at a table."""
    return f"`{name}`" + (f", {samples} samples" if samples != SAMPLES.get(name, 0) else "")


def _place(cell: Cell) -> tuple[int, int, tuple[int, int]]:
    names = [*bots(), *OUTSIDE]
    return names.index(cell.first), names.index(cell.second), cell.samples


def _rated(played: Played, ruleset: str) -> str:
    found = ratings(played, ruleset)
    ordered = sorted(found, key=lambda name: -found[name])
    return "Rating: " + ", ".join(f"`{name}` {found[name]:+.0f}" for name in ordered) + "."


_COLUMNS = """\
| first bot | against | shithead, 95 % interval | hands | stalemates |
| --- | --- | --- | --- | --- |"""

_OUTSIDE = """\
## Bots of other projects

Written from the descriptions in these projects, as `ops/bench/outside_bots.py` reads them. They do
not exchange, because no description mentions it, and they are opponents in the first table only.

"""

_HEAD = """\
# Strength of the bots

Made by `python -m ops.bench.strength play` and `… table`, with the budgets of samples that the
bots have at a table unless a row names another. The share is how often the first bot was the
shithead; a hand that ended at its turn limit counts as a fair share. Deals are paired: each
shuffle and dealer is played once with the first bot at every seat, and the interval takes the
hands of one deal together; with few deals it is rough. The rating is that of Bradley and Terry
from all heads-up hands of the ruleset, in Elo points, with `greedy` at 0. A row with a searching
bot has 400 hands, because each takes 0.05 to 2 seconds even if the search is compiled; so has a
row with a bot of another project. The other rows, and the two of `expert` against `greedy` in
`shithead`, have 2,000. At four seats the stronger bot of each pair sits among three of the
weaker; without a searching bot, also the other way round. Rows of fewer than five deals are left
out."""


if __name__ == "__main__":
    main()
