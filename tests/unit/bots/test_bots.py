"""Bots: legal moves, the same move for the same view, and an exchange that ends."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.moves import move_of
from schemas.views import GameViewSchema, ViewFacts, view_json
from service.api.pages import strings
from service.bots.bot import bot_rng
from service.bots.registry import bots, quick_bots
from service.domain.commands import Move, Play, Seat, Swap
from service.domain.evolve import fold
from service.domain.game import Game, Status
from service.domain.legal import legal_moves
from service.domain.view import seen_by
from service.replay.sentences import LANGUAGES
from tests.changed import replace
from tests.examples import examples, spread
from tests.unit.playing import RULESETS, Chooser, cards, play, rules, seat_counts, steps_of

FACTS = ViewFacts(id="528c9a92-6e09-40f9-ac4e-4c01aef56252", head="00" * 32, ruleset_hash="11" * 32)
NAMES = sorted(bots())


def view_of(game: Game, seat: Seat, moves: Sequence[Move]) -> dict[str, Any]:
    return view_json(seen_by(game, seat), seat, FACTS, moves)


def by_bots(*names: str) -> Chooser:
    """Return a chooser in which seat i is played by bot names[i % len(names)]."""

    def choose(game: Game, seat: Seat, moves: Sequence[Move], rng: random.Random) -> Move:
        bot = bots()[names[seat % len(names)]]
        view = view_of(game, seat, moves)
        chosen = bot.choose(view, view["moves"], bot_rng(rng.randbytes(32), "game", game.version))
        return move_of(chosen, seat)

    return choose


def hands() -> Iterator[Any]:
    """
    Yield each bot with the first and a later hand of each ruleset.

    If both hands have the same rules, slow bots play the later one only in long runs.
    """
    for name, identity, hand in product(NAMES, RULESETS, (1, 2)):
        same = hand == 2 and rules(identity, 1) == rules(identity, 2)
        slow = same and name not in quick_bots()
        yield pytest.param(name, identity, hand, marks=[pytest.mark.long] if slow else [])


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "identity", "hand"), spread([*hands()], 5))
def test_a_bot_plays_every_ruleset_to_its_end(name: str, identity: str, hand: int) -> None:
    """`decide` accepts every move."""
    ruleset = rules(identity, hand)
    seats = seat_counts(ruleset)[-1]
    *_, (game, _) = steps_of(ruleset, seats, 4, hand=hand, choose=by_bots(name))
    assert game.status is Status.ENDED


@pytest.mark.heavy
@examples(25)
@given(
    identity=st.sampled_from(RULESETS),
    names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=5),
    seed=st.integers(0, 2**32),
)
def test_bots_of_every_kind_can_sit_at_one_table(
    identity: str, names: list[str], seed: int
) -> None:
    ruleset = rules(identity)
    seats = min(seat_counts(ruleset), key=lambda count: abs(count - len(names)))
    *_, (game, _) = steps_of(ruleset, seats, seed, turn_limit=60, choose=by_bots(*names))
    assert game.result is not None


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("identity", spread(RULESETS, 4))
def test_a_bot_ends_its_exchange(identity: str, name: str) -> None:
    """The number of its swaps is bounded."""
    ruleset = rules(identity)
    seats = seat_counts(ruleset)[0]
    for seed in range(5):
        steps = steps_of(ruleset, seats, seed, choose=by_bots(name))
        for version, (game, _) in enumerate(steps, start=1):
            if game.status is Status.PLAYING:
                break
            slots, hand = len(game.seats[0].down), ruleset.deal.hand
            assert version < 30 + seats * (slots * hand + 2)


def test_random_never_swaps_a_card_back_to_the_table() -> None:
    """So the exchange ends with any random choices."""
    game = fold(play(rules("shithead"), 2, 3).events[:3])
    mine = replace(game.seats[0], hand=cards("2c Td 4h"), known=cards("2c Td"))
    game = game.with_seat(0, mine)
    view = view_of(game, 0, legal_moves(game, 0))
    for seed in range(200):
        move = bots()["random"].choose(view, view["moves"], random.Random(seed))
        assert move["type"] == "ready" or move["up"] == ["4h"]


@examples(20)
@given(identity=st.sampled_from(RULESETS), seed=st.integers(0, 2**32), data=st.data())
def test_a_bot_asked_twice_chooses_the_same(identity: str, seed: int, data: st.DataObject) -> None:
    ruleset = rules(identity)
    played = play(ruleset, seat_counts(ruleset)[0], seed)
    version = data.draw(st.integers(3, len(played.events) - 2))
    game = fold(played.events[:version], played.deck)
    for seat in range(len(game.seats)):
        moves = legal_moves(game, seat)
        if not moves:
            continue
        view = view_of(game, seat, moves)
        before = GameViewSchema().dumps(view)
        for bot in bots().values():
            first, second = (
                bot.choose(view, view["moves"], bot_rng(b"secret", "game", version))
                for _ in range(2)
            )
            assert first == second
        assert GameViewSchema().dumps(view) == before, "a bot changed its view"


def test_the_random_generator_of_a_turn_is_repeatable_and_unique() -> None:
    draws = {
        turn: bot_rng(*turn).random()
        for turn in [(b"a", "g", 1), (b"a", "g", 2), (b"a", "h", 1), (b"b", "g", 1)]
    }
    assert len(set(draws.values())) == len(draws)
    assert all(bot_rng(*turn).random() == drawn for turn, drawn in draws.items())


def test_the_random_generator_of_a_turn_is_that_of_earlier_releases() -> None:
    """A job repeated after an update plays the same move."""
    assert bot_rng(b"secret", FACTS.id, 7).getrandbits(64) == 3933888178399349400


def test_the_bots_are_listed_by_strength_and_described() -> None:
    assert list(bots()) == ["random", "lowest", "greedy", "careful", "expert"]
    assert [bot.strength for bot in bots().values()] == sorted(b.strength for b in bots().values())
    for name, bot in bots().items():
        assert bot.name == name
        assert all(strings(language)[f"bot.{name}"].endswith((".", "。")) for language in LANGUAGES)
        assert 1 <= bot.strength <= 5


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_a_bot_plays_a_custom_ruleset(name: str) -> None:
    for identity in ("leeds", "guarducci", "karma-radford", "reverse"):
        ruleset = replace(rules(identity), id="custom-0123456789abcdef")
        *_, (game, _) = steps_of(ruleset, 2, 4, choose=by_bots(name))
        assert game.status is Status.ENDED


def _shitheads(first: str, second: str, games: int, identity: str = "shithead") -> Counter[str]:
    """Return how often each of two bots was the shithead, with seats swapped every game."""
    lost: Counter[str] = Counter()
    for seed in range(games):
        names = (first, second) if seed % 2 else (second, first)
        steps = steps_of(rules(identity), 2, seed, turn_limit=800, choose=by_bots(*names))
        *_, (game, _) = steps
        if game.result is not None and game.result.shithead is not None:
            lost[names[game.result.shithead]] += 1
    return lost


@pytest.mark.heavy
def test_greedy_loses_less_often_than_lowest_and_both_than_random() -> None:
    lost = _shitheads("lowest", "random", 20)
    assert lost["random"] > lost["lowest"]
    lost = _shitheads("greedy", "random", 20)
    assert lost["random"] > lost["greedy"]
    lost = Counter()
    for identity in ("leeds", "covered-queen", "smeghead", "shithead"):
        lost += _shitheads("greedy", "lowest", 12, identity)
    assert lost["lowest"] > 1.3 * lost["greedy"]


def _choice(name: str, game: Game, seat: Seat) -> Move:
    view = view_of(game, seat, legal_moves(game, seat))
    return move_of(bots()[name].choose(view, view["moves"], random.Random(1)), seat)


def _playing(hand: str, pile: str, stock: int = 10) -> Game:
    game = fold(play(rules("shithead"), 2, 3).events[:4])
    mine = replace(game.seats[0], hand=cards(hand), ready=True)
    return replace(
        game.with_seat(0, mine),
        status=Status.PLAYING,
        turn=0,
        first_turn=False,
        stock=game.stock[:stock],
        pile=cards(pile),
    )


def test_greedy_keeps_its_twos_and_tens_while_a_plain_card_will_do() -> None:
    choice = _choice("greedy", _playing("2c Td 8h Ks", "7c"), 0)
    assert choice == Play(seat=0, cards=cards("8h"))


def test_greedy_burns_a_pile_by_completing_a_set() -> None:
    choice = _choice("greedy", _playing("8h 9s", "8c 8d 8s"), 0)
    assert choice == Play(seat=0, cards=cards("8h"))


LARGE = " ".join([*(rank + suit for rank in "JQA34569" for suit in "cdhs"), "7c"])


@pytest.mark.parametrize(("pile", "card"), [("7c", "8h"), (LARGE, "Td")])
def test_greedy_burns_a_large_pile_and_keeps_its_ten_for_it(pile: str, card: str) -> None:
    choice = _choice("greedy", _playing("2c Td 8h Ks", pile), 0)
    assert choice == Play(seat=0, cards=cards(card))


def test_lowest_lays_all_it_has_of_its_lowest_rank() -> None:
    choice = _choice("lowest", _playing("9h 9s Kd 8c 8d", "7c"), 0)
    assert choice == Play(seat=0, cards=cards("8c 8d"))


def test_greedy_swaps_its_best_cards_to_the_table() -> None:
    game = fold(play(rules("shithead"), 2, 3).events[:3])
    mine = replace(
        game.seats[0],
        hand=cards("2c Td 4h"),
        up=(cards("3c"), cards("5c"), cards("Ks")),
    )
    choice = _choice("greedy", game.with_seat(0, mine), 0)
    assert choice == Swap(seat=0, up=cards("Td"), hand=cards("3c"))
