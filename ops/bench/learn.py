"""
A value net that learns `shithead` heads-up by self-play: python -m ops.bench.learn FOLDER.

FOLDER gets `net.npz`, the weights, and `log.txt`, the training log; both are written anew after
each generation. It needs the extra `rl`; in a copy made by `python -m ops.bench.compiled` it
plays more hands in the same time. From what one seat knows after its own move the net estimates
the probability that the seat does not become the shithead. In self-play each seat makes the move
of the highest estimate, with noise. Every move that it could have made is played to the end once by
the policy of playouts, and the estimates are trained towards these results.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from service.bots.worlds import SPARED_FROM, spending_order
from service.rulesets.catalogue import definition
from service.search.flat import narrowed
from service.search.playout import Policy, playout
from service.search.rules import RANK_COUNT, Rules
from service.search.state import BLIND, NOBODY, PLAY, TAKE, Move, State

Array: TypeAlias = Any
"""A numpy array; the extra is optional, so its types are not checked."""

RULESET: Final = "shithead"
HIDDEN: Final = 64
TABLES: Final = 256
"""Hands that are played side by side, so that one batch has the moves of all."""

LEAST_GAIN: Final = 0.4
"""
Log-odds by which a move must seem better than the one of the fixed policy.

Without it a seat delays the end: many moves are equally good if the fixed policy plays after them.
"""

MAX_MOVES: Final = 400
"""Moves after which a hand counts as half lost."""

NOISE: Final = 0.2
"""Scale of the Gumbel noise that is added to the log-odds of each move in self-play."""

RATE: Final = 1e-3
LAST_RATE: Final = 0.02
"""The step size falls from `RATE` to this share of it."""

BATCH: Final = 512
"""Positions of one step of Adam."""

FIRST_NOISE: Final = 0.1
"""Share of random moves of the fixed policy, which plays until there is a net."""

GENERATION: Final = 100_000
"""Positions that are added before the net is trained again."""

PASSES: Final = 2
"""Positions trained on for each one that is added, drawn from all so far."""

MEASURED: Final = 10
"""Generations from one measurement to the next."""

Row = tuple[int, ...]
"""
What a seat knows after its move, as integers; sets of cards are packed counts.

Own hand without cards just drawn, own face-up cards, number of own face-down cards, number of
cards just drawn; of the other seat: hand cards that all saw, face-up cards, face-down cards, size
of the hand; pile, cards never seen, ranks that may be played next, top rank, cards of it on one
another, stock, whether the seat plays again, whether play has begun.
"""

COLUMNS: Final = 16


@cache
def rules() -> Rules:
    """Return the tables of the ruleset."""
    return Rules(definition(RULESET).ruleset({}), 2)


@cache
def policy() -> Policy:
    """Return the fixed policy of playouts, which plays the first generation."""
    return Policy(rules(), spending_order(rules()), special=SPARED_FROM)


def inputs(rows: Array) -> Array:
    """Return the inputs of the net for rows, one line of numbers for each."""
    table = rules()
    shift = np.array(table.shift[:RANK_COUNT])

    def counts(column: int) -> Array:
        return rows[:, column : column + 1] >> shift & table.field

    own, up, known, their_up = counts(0), counts(1), counts(4), counts(5)
    pile, unseen = counts(8), counts(9)
    demand = rows[:, 10:11] >> np.arange(RANK_COUNT) & 1
    top = rows[:, 11:12] == np.arange(RANK_COUNT)
    own_size, their_size = own.sum(1), rows[:, 7]
    parts = [
        *(own >= n for n in (1, 2, 3, 4)),
        *(up >= n for n in (1, 2, 3)),
        *(known >= n for n in (1, 2, 3)),
        *(their_up >= n for n in (1, 2, 3)),
        pile / 4,
        unseen / 4,
        demand,
        top,
        *((rows[:, column : column + 1] >= n) for column in (2, 6) for n in (1, 2, 3)),
        *((rows[:, 12:13] >= n) for n in (2, 3)),
        *((rows[:, 3:4] >= n) for n in (1, 2, 3)),
        rows[:, 13:14] / 30,
        *((rows[:, 13:14] >= n) for n in (1, 4, 8)),
        rows[:, 14:16],
        *((size >= n)[:, None] for size in (own_size + rows[:, 3], their_size) for n in (1, 2, 4)),
        *(
            size[:, None] / 10
            for size in (own_size, their_size, their_size - known.sum(1), pile.sum(1))
        ),
    ]
    return np.concatenate(parts, axis=1, dtype=np.float32)


class Net:
    """Two hidden layers of rectified units and one output, the log-odds; trained by Adam."""

    def __init__(self, weights: Sequence[Array]) -> None:
        self.weights = list(weights)
        self._mean = [np.zeros_like(one) for one in self.weights]
        self._square = [np.zeros_like(one) for one in self.weights]
        self._steps = 0

    @classmethod
    def fresh(cls, seed: int) -> Net:
        """Return a net with random weights (He's initialisation)."""
        rng = np.random.default_rng(seed)
        sizes = [inputs(np.zeros((1, COLUMNS), dtype=np.int64)).shape[1], HIDDEN, HIDDEN, 1]
        weights = []
        for before, after in pairwise(sizes):
            spread = np.sqrt(2 / before)
            weights.append(rng.normal(0, spread, (before, after)).astype(np.float32))
            weights.append(np.zeros(after, dtype=np.float32))
        return cls(weights)

    def odds(self, rows: Array) -> Array:
        """Return the log-odds of each row not to become the shithead."""
        one, first, two, second, three, third = self.weights
        hidden = np.maximum(inputs(rows) @ one + first, 0)
        hidden = np.maximum(hidden @ two + second, 0)
        return (hidden @ three + third)[:, 0]

    def learn(self, rows: Array, targets: Array, rate: float) -> float:
        """Make one step of Adam and return the mean cross-entropy before it."""
        one, first, two, second, three, third = self.weights
        given = inputs(rows)
        low = np.maximum(given @ one + first, 0)
        high = np.maximum(low @ two + second, 0)
        odds = (high @ three + third)[:, 0]
        error = ((_chance(odds) - targets) / len(rows)).astype(np.float32)[:, None]
        back = (error @ three.T) * (high > 0)
        further = (back @ two.T) * (low > 0)
        slopes = [
            given.T @ further,
            further.sum(0),
            low.T @ back,
            back.sum(0),
            high.T @ error,
            error.sum(0),
        ]
        self._steps += 1
        short = 1 - 0.9**self._steps, 1 - 0.999**self._steps
        for place, slope in enumerate(slopes):
            mean, square = self._mean[place], self._square[place]
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            self.weights[place] -= rate * (mean / short[0]) / (np.sqrt(square / short[1]) + 1e-8)
        return float(np.mean(np.logaddexp(0, odds) - targets * odds))


def _chance(odds: Array) -> Array:
    return 1 / (1 + np.exp(-odds))


@dataclass(slots=True)
class Hand:
    """One hand of self-play, with what all seats saw beside the position of the model."""

    state: State
    opener: int
    known: list[int] = field(default_factory=lambda: [0, 0])
    burned: int = 0
    laying: list[int] = field(default_factory=lambda: [0, 1])
    moves: int = 0

    @property
    def seat(self) -> int:
        """Return the seat that decides now."""
        return self.laying[0] if self.laying else self.state.turn


@dataclass(slots=True)
class Option:
    """The position after one move; `value` is set if the hand is then over."""

    state: State
    known: list[int]
    burned: int
    row: Row
    cost: tuple[int, ...]  # the fixed policy takes the least
    value: float | None = None
    laid: tuple[int, ...] = ()  # the ranks that lie face-up, in the exchange


def dealt(rng: random.Random) -> Hand:
    """Return a hand after the deal; the seat dealt the lowest card begins, the dealer last."""
    table, ruleset = rules(), rules().ruleset
    cards = [rank for rank in range(RANK_COUNT) for _ in range(table.full[rank])]
    rng.shuffle(cards)
    state = State.empty(table)
    for seat in (0, 1):
        state.down[seat] = [cards.pop() for _ in range(ruleset.deal.down)]
        for _ in range(ruleset.deal.up):
            state.add_to_up(seat, cards.pop())
        for _ in range(ruleset.deal.hand):
            state.add_to_hand(seat, cards.pop())
    state.stock = cards
    order = [0, 1] if rng.random() < 0.5 else [1, 0]
    opener = next(
        seat
        for rank in table.opening_ranks
        for zone in (state.up_mask, state.hand_mask)
        for seat in order
        if zone[seat] >> rank & 1
    )
    return Hand(state, opener, laying=order)


def options(hand: Hand) -> list[Option]:
    """Return what a hand can become by a move of the seat that decides."""
    if hand.laying:
        return list(layouts(hand))
    return [after_move(hand, hand.seat, move) for move in considered(hand.state, hand.seat)]


def considered(state: State, seat: int) -> list[Move]:
    """
    Return the moves that are estimated: those of a tree, and no pick-up that is not forced.

    Face-down cards are alike to the seat that turns one: they are one move.
    """
    moves = narrowed(state, seat, policy())
    if moves[0][0] == BLIND:
        return moves[:1]
    return [move for move in moves if move[0] == PLAY] or moves


def layouts(hand: Hand) -> Iterator[Option]:
    """Yield the layouts of a seat: which of its cards lie face-up when play begins."""
    state, seat, table = hand.state, hand.laying[0], rules()
    every = [
        rank
        for rank in range(RANK_COUNT)
        for _ in range((state.hand[seat] + state.up[seat]) >> table.shift[rank] & table.field)
    ]
    for laid in sorted(set(combinations(every, sum(_unpacked(state.up[seat]))))):
        after = state.copy()
        total = state.hand[seat] + state.up[seat]
        after.up[seat] = table.packed(list(laid))
        after.hand[seat] = total - after.up[seat]
        for masks, packed in ((after.up_mask, after.up[seat]), (after.hand_mask, after.hand[seat])):
            masks[seat] = _mask(packed)
        known = hand.known[:]
        if len(hand.laying) == 1:
            after.turn, after.first = hand.opener, True
        worth = -sum(policy().worth[rank] for rank in laid)
        row = row_of(after, seat, after.hand[seat], 0, known, hand.burned, begun=False)
        yield Option(after, known, hand.burned, row, (worth, *laid), laid=laid)


def _mask(packed: int) -> int:
    return sum(1 << rank for rank, count in enumerate(_unpacked(packed)) if count)


def _unpacked(packed: int) -> list[int]:
    table = rules()
    return [packed >> table.shift[rank] & table.field for rank in range(RANK_COUNT)]


def after_move(hand: Hand, seat: int, move: Move) -> Option:
    """Return what a hand becomes by a move of play."""
    table, state, (kind, parts) = rules(), hand.state, move
    after, known, burned = state.copy(), hand.known[:], hand.burned
    after.apply(seat, move)
    drawn = state.stock[len(after.stock) :]
    on_pile = state.pile
    if kind == PLAY:
        for rank, count in parts:
            on_pile += count << table.shift[rank]
            seen = known[seat] >> table.shift[rank] & table.field
            known[seat] -= min(seen, count) << table.shift[rank]
        if not after.pile_size:
            burned += on_pile
    elif kind == BLIND:
        on_pile += 1 << table.shift[state.down[seat][parts[0][0]]]
        if after.hand_size[seat]:
            known[seat] += on_pile
        elif not after.pile_size:
            burned += on_pile
    elif kind == TAKE:
        for rank, count in parts:
            on_pile += count << table.shift[rank]
        known[seat] += on_pile
    fresh = table.packed(drawn) if drawn else 0
    row = row_of(after, seat, after.hand[seat] - fresh, len(drawn), known, burned)
    dearest = max((rank for rank, _ in parts), key=policy().worth.__getitem__, default=0)
    count = sum(n for _, n in parts)
    spared = bool(state.stock) and policy().single[dearest]
    cost = (policy().worth[dearest], count if spared else -count)
    option = Option(after, known, burned, row, cost)
    if after.over:
        option.value = 0.5 if after.loser == NOBODY else float(after.loser != seat)
    return option


def row_of(
    state: State,
    seat: int,
    own: int,
    drawn: int,
    known: Sequence[int],
    burned: int,
    *,
    begun: bool = True,
) -> Row:
    """Return what `seat` knows in a position; `own` is its hand without cards just drawn."""
    other = 1 - seat
    seen = own + state.up[seat] + state.up[other] + known[other] + state.pile + burned
    return (
        own,
        state.up[seat],
        len(state.down[seat]),
        drawn,
        known[other],
        state.up[other],
        len(state.down[other]),
        state.hand_size[other],
        state.pile,
        _whole() - seen,
        state.fitting(),
        state.top,
        state.run,
        len(state.stock),
        state.turn == seat and begun,
        begun,
    )


@cache
def _whole() -> int:
    table = rules()
    return sum(count << table.shift[rank] for rank, count in enumerate(table.full))


class SelfPlay:
    """Hands side by side; each seat of each hand is played by a net or the fixed policy."""

    def __init__(self, players: tuple[Net | None, Net | None], noise: float, seed: int) -> None:
        self.players, self.noise = players, noise
        self._rng = random.Random(seed)
        self._noise = np.random.default_rng(seed)
        self._hands = [dealt(self._rng) for _ in range(TABLES)]
        self.results: list[float] = []  # of seat 0: 1, 0, or 0.5 undecided

    def choices(self) -> list[Hand]:
        """Make a move in each hand; return the hands before it."""
        found = [options(hand) for hand in self._hands]
        scores = self._scores(found)
        before = [replace(hand) for hand in self._hands]
        for place, (hand, some) in enumerate(zip(self._hands, found, strict=True)):
            score = scores[place]
            chosen = some[score.index(max(score))]
            result = chosen.value
            hand.moves += 1
            if result is None and hand.moves >= MAX_MOVES:
                result = 0.5
            if result is not None:
                self.results.append(result if hand.seat == 0 else 1 - result)
                self._hands[place] = dealt(self._rng)
                continue
            hand.state, hand.known, hand.burned = chosen.state, chosen.known, chosen.burned
            hand.laying = hand.laying[1:]
        return before

    def _scores(self, found: Sequence[Sequence[Option]]) -> list[list[float]]:
        """Return a score for each option; the highest one is chosen."""
        nets = [self.players[hand.seat] for hand in self._hands]
        answers = [
            self._fixed(some) if net is None else [] for net, some in zip(nets, found, strict=True)
        ]
        for net in {id(net): net for net in nets if net is not None}.values():
            places = [place for place, one in enumerate(nets) if one is net]
            rows = [option.row for place in places for option in found[place]]
            odds, at = net.odds(np.array(rows, dtype=np.int64)), 0
            if self.noise:
                odds = odds + self._noise.gumbel(0, self.noise, len(odds))
            listed = odds.tolist()
            for place in places:
                some = found[place]
                answers[place] = marks(some, listed[at : at + len(some)])
                at += len(some)
        return answers

    def _fixed(self, some: Sequence[Option]) -> list[float]:
        if self.noise and self._rng.random() < self.noise:
            return [self._rng.random() for _ in some]
        cheapest = min(range(len(some)), key=lambda place: some[place].cost)
        return [float(place == cheapest) for place in range(len(some))]


def marks(some: Sequence[Option], odds: Sequence[float]) -> list[float]:
    """Return the score of each option: log-odds, plus `LEAST_GAIN` for the fixed policy's move."""
    fixed = min(some, key=lambda option: option.cost)
    return [
        (value + LEAST_GAIN * (option is fixed) if option.value is None else 100 * option.value)
        for option, value in zip(some, odds, strict=True)
    ]


def examples(hand: Hand, rng: random.Random) -> Iterator[tuple[Row, float]]:
    """
    Yield the row of each move of a choice with the result of one playout: 1, 0 or a half.

    The hidden cards are dealt anew for each choice: with those of the hand, the results of all
    its positions would depend on the same few cards, which no seat knows.
    """
    some = options(redealt(hand, rng))
    for option in some:
        if option.value is None and len(some) > 1:
            decided, _ = playout(_begun(hand, option), policy())
            yield option.row, 0.5 if decided == NOBODY else float(decided != hand.seat)


def redealt(hand: Hand, rng: random.Random) -> Hand:
    """Return a hand that is the same to the seat that decides, with other hidden cards."""
    state, other, table = hand.state.copy(), 1 - hand.seat, rules()
    own = state.hand[other] - hand.known[other]
    theirs = [
        rank for rank in range(RANK_COUNT) for _ in range(own >> table.shift[rank] & table.field)
    ]
    cards = theirs + state.down[0] + state.down[1] + state.stock
    rng.shuffle(cards)
    state.hand[other] = hand.known[other] + table.packed([cards.pop() for _ in theirs])
    state.hand_mask[other] = _mask(state.hand[other])
    for seat in (0, 1):
        state.down[seat] = [cards.pop() for _ in state.down[seat]]
    state.stock = cards
    return replace(hand, state=state)


def _begun(hand: Hand, option: Option) -> State:
    """Return the position after an option, the other seat's layout included."""
    if len(hand.laying) < 2:
        return option.state
    later = Hand(option.state, hand.opener, option.known, option.burned, hand.laying[1:])
    return min(layouts(later), key=lambda one: one.cost).state


def share(first: Net | None, second: Net | None, hands: int, seed: int) -> float:
    """
    Return how often `first` is the shithead against `second`, half of the hands at each seat.

    The hands that end first are counted, so this is a rough figure for the training log.
    """
    lost = 0.0
    for place, players in enumerate(((first, second), (second, first))):
        play = SelfPlay(players, 0, seed + place)
        while len(play.results) < hands // 2:
            play.choices()
        kept = play.results[: hands // 2]
        lost += sum(kept) if place else len(kept) - sum(kept)
    return lost / hands


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--positions", type=int, default=4_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    gc.disable()  # there are no cycles, and a search for them takes a third of the time
    arguments.folder.mkdir(parents=True, exist_ok=True)
    net, lines, begun = Net.fresh(arguments.seed), [_COLUMNS], time.process_time()
    for number, (done, loss) in enumerate(generations(net, arguments.seed, arguments.positions)):
        last = done >= arguments.positions
        lost = f"{share(net, None, 600, 10**6):.3f}" if last or not number % MEASURED else ""
        seconds = time.process_time() - begun
        lines.append(f"| {done} | {loss:.4f} | {lost} | {seconds:.0f} |")
        print(lines[-1], flush=True)
        save(net, arguments.folder / "net.npz")
        (arguments.folder / "log.txt").write_text("\n".join(lines) + "\n")


def generations(net: Net, seed: int, positions: int) -> Iterator[tuple[int, float]]:
    """Train a net; yield the number of positions so far and the mean loss of each generation."""
    rng, dealer = np.random.default_rng(seed), random.Random(seed)
    rows, targets = np.zeros((positions, COLUMNS), dtype=np.int64), np.zeros(positions)
    play, done = SelfPlay((None, None), FIRST_NOISE, seed), 0
    while done < positions:
        found: list[tuple[Row, float]] = []
        while len(found) < GENERATION:
            for hand in play.choices():
                found += examples(hand, dealer)
        del found[positions - done :]
        rate = RATE * max(LAST_RATE, 1 - done / positions)
        rows[done : done + len(found)] = [row for row, _ in found]
        targets[done : done + len(found)] = [target for _, target in found]
        done += len(found)
        losses = []
        for _ in range(PASSES * len(found) // BATCH):
            some = rng.integers(0, done, BATCH)
            losses.append(net.learn(rows[some], targets[some], rate))
        if play.players == (None, None):
            play = SelfPlay((net, net), NOISE, seed + 1)
        yield done, float(np.mean(losses))


def save(net: Net, path: Path) -> None:
    """Write the weights in half precision."""
    np.savez_compressed(path, *[one.astype(np.float16) for one in net.weights])


def load(path: Path) -> Net:
    """Return the net of a file."""
    with np.load(path) as file:
        return Net([file[name].astype(np.float32) for name in file.files])


_COLUMNS = """\
| positions | cross-entropy | shithead against the fixed policy | seconds of processor time |
| --- | --- | --- | --- |"""


if __name__ == "__main__":
    main()
