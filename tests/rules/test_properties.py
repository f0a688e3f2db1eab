"""Properties of every game: random rulesets, seats, options, decks and play."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.domain.cards import HIDDEN, Card, rank_of
from service.domain.commands import (
    CommandRefused,
    Lay,
    Move,
    NotYourTurn,
    Pass,
    PickUp,
    Play,
    Ready,
    Swap,
    TryStock,
)
from service.domain.decide import decide
from service.domain.events import Event
from service.domain.evolve import evolve, fold
from service.domain.game import Game, Status, positions
from service.domain.legal import legal_moves, may_act
from service.domain.plays import FEW
from tests.rules.random_play import (
    Step,
    odd_moves,
    played_cards,
    random_deal,
    random_ruleset,
    random_steps,
)
from tests.rules.scenario import words
from tests.rules.tables import check_custody

SEEDS = st.integers(min_value=0, max_value=2**32)
ROOT = Path(__file__).parents[2]


def sizes(short: int, long: int) -> list[object]:
    """Return the number of seeds for a property: in every run, and in a long run."""
    return [pytest.param(short), pytest.param(long, marks=pytest.mark.long)]


def check_property(prove: Callable[[int], None], times: int) -> None:
    """Call `prove` with `times` seeds; a failing seed is reported and can be repeated."""
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    sized = settings(
        max_examples=times, deadline=None, derandomize=True, suppress_health_check=quiet
    )
    sized(given(SEEDS)(prove))()


def whole_game(seed: int) -> tuple[Game, tuple[Event, ...], Iterator[Step]]:
    """Return a random game after the deal, its events so far and its moves to come."""
    chance = random.Random(seed)
    game, events = random_deal(random_ruleset(chance), chance)
    return game, events, random_steps(game, chance)


@pytest.mark.heavy
@pytest.mark.parametrize("times", sizes(30, 5000))
def test_every_card_is_in_exactly_one_zone_and_every_game_ends(times: int) -> None:
    """The cards are checked after every event; every game ends by the turn limit at the latest."""

    def prove(seed: int) -> None:
        game, _, steps = whole_game(seed)
        check_custody(game)
        for step in steps:
            game = step.game
            for event in step.events:
                game = evolve(game, event)
                check_custody(game)
        assert game.over, f"no seat may act: {game}"
        assert game.actions <= game.setup.turn_limit

    check_property(prove, times)


@pytest.mark.heavy
@pytest.mark.parametrize("times", sizes(25, 3000))
def test_legal_moves_are_what_decide_accepts(times: int) -> None:
    """Unlisted moves are refused, and the order of cards does not matter."""

    def prove(seed: int) -> None:
        game, _, steps = whole_game(seed)
        chance = random.Random(seed + 1)
        for step in steps:
            if chance.random() < 0.3:
                for seat in range(len(game.seats)):
                    check_listed_moves(step.game, seat, chance)

    check_property(prove, times)


def check_listed_moves(game: Game, seat: int, chance: random.Random) -> None:
    """Compare the listed moves of a seat with those that `decide` accepts and refuses."""
    listed = legal_moves(game, seat)
    assert may_act(game, seat) is bool(listed)
    assert len({words(move) for move in listed}) == len(listed)
    for move in listed:
        assert decide(move, game)
    plays = {frozenset(move.cards) for move in listed if isinstance(move, Play)}
    for cards in chance.sample(sorted(map(sorted, plays)), min(4, len(plays))):
        orders = list(permutations(cards)) if len(cards) <= 3 else [tuple(reversed(cards))]
        for order in orders:
            laid = played_cards(decide(Play(seat=seat, cards=order), game))
            assert laid is not None
            assert set(laid) == set(cards)
    for odd in odd_moves(game, seat, chance):
        expected = frozenset(odd.cards) in plays or is_represented(odd, plays, game)
        assert accepted(odd, game) is expected, (odd, game)
    for other in other_moves(game, seat):
        assert accepted(other, game) is (other in listed), (other, game)


def is_represented(play: Play, plays: set[frozenset[Card]], game: Game) -> bool:
    """Return whether a listed play of the same ranks and sizes represents this one."""
    source = game.seats[play.seat].hand or game.seats[play.seat].up_cards
    if not set(play.cards) <= set(source):
        return False
    ranks = sorted(rank_of(card) for card in play.cards)
    held = [card for card in source if rank_of(card) in ranks]
    if len(held) <= FEW or len(set(ranks)) > 2:
        return False
    if len(set(ranks)) == 2 and game.ruleset.accompanied.isdisjoint(ranks):
        return False  # a run, if at all: each is listed, because its suit matters
    if game.turn is not None and game.turn != play.seat:
        return False
    return any(sorted(card[0] for card in listed) == ranks for listed in plays)


def other_moves(game: Game, seat: int) -> Iterator[Move]:
    """Yield moves other than plays, legal or not."""
    if game.status is Status.PLAYING:
        yield from (Pass(seat=seat), TryStock(seat=seat), PickUp(seat=seat))
        for card in game.seats[seat].up_cards:
            yield PickUp(seat=seat, along=(card,))
        yield Ready(seat=seat)
        hand = game.seats[seat].hand[:1]
        yield Swap(seat=seat, up=hand, hand=game.seats[seat].up_cards[:1])
        yield Lay(seat=seat, stacks=(hand,) * len(game.seats[seat].down))


def accepted(move: Move, game: Game) -> bool:
    """Return whether decide accepts a move; any exception but a refusal is a failure."""
    try:
        return bool(decide(move, game))
    except NotYourTurn:
        assert not may_act(game, move.seat)
        return False
    except CommandRefused:
        assert may_act(game, move.seat)
        return False


@pytest.mark.heavy
@pytest.mark.parametrize("times", sizes(25, 3000))
def test_every_fold_agrees_on_what_is_public(times: int) -> None:
    """Folds with the whole deck, without it, and with the cards that one seat knows."""

    def prove(seed: int) -> None:
        game, events, steps = whole_game(seed)
        chance = random.Random(seed)
        seat = chance.randrange(len(game.seats))
        decks = (None, masked(game, seat, chance))
        folds = [fold(events, deck) for deck in decks]
        log = [*events]
        for step in steps:
            log += step.events
            for event in step.events:
                game = evolve(game, event)
                folds = [evolve(one, event) for one in folds]
                assert all(public(one) == public(game) for one in folds)
        assert fold(log, game.deck) == game
        assert fold(log) == folds[0]

    check_property(prove, times)


def public(game: Game) -> tuple[object, ...]:
    """Return the public facts of a game, with hidden cards as counts."""
    seats = tuple(
        (len(s.hand), s.known, s.up, s.down, s.ready, s.laid, s.place, s.time_outs)
        for s in game.seats
    )
    return (
        *(game.version, game.status, game.turn, game.direction, game.pile, game.burned),
        *(game.stock, game.dealer, game.covering, game.first_turn, game.passes, game.actions),
        *(game.flusher, game.thrower, game.result, seats),
    )


def masked(game: Game, seat: int, chance: random.Random) -> tuple[Card, ...]:
    """Return the deck as a seat may know it: its own hand as dealt, and a few more cards."""
    deal, dealer = game.ruleset.deal, game.dealer or 0
    dealt = positions(
        seats=len(game.seats), dealer=dealer, down=deal.down, up=deal.up, hand=deal.hand
    )
    seen = {p for p in range(len(game.deck)) if chance.random() < 0.2} | set(dealt.hand[seat])
    return tuple(card if p in seen else HIDDEN for p, card in enumerate(game.deck))


@pytest.mark.parametrize("times", sizes(15, 1000))
def test_decide_depends_only_on_the_game(times: int) -> None:
    """The same command on the same game gives the same events, and those the same game."""

    def prove(seed: int) -> None:
        game, events, steps = whole_game(seed)
        log, last = [*events], game
        for step in steps:
            assert decide(step.move, step.game) == step.events
            log += step.events
            last = step.game
            for event in step.events:
                last = evolve(last, event)
        assert last.over
        assert last.version == len(log)
        assert fold(log, game.deck) == last

    check_property(prove, times)


PRINT_DIGEST = """
import hashlib, sys
from tests.rules.test_properties import whole_game
digest = hashlib.sha256()
for seed in range(15):
    game, events, steps = whole_game(seed)
    digest.update(repr(events[2:]).encode())
    for step in steps:
        digest.update(repr((step.move, step.events)).encode())
print(digest.hexdigest())
"""


@pytest.mark.heavy
def test_play_is_the_same_in_every_process() -> None:
    """The order of a set and the seed of string hashes do not matter."""
    digests = set()
    for seed in ("0", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1
