"""The searching bots: sampled deals agree with the view, and small endgames are solved."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest

from schemas.moves import move_of
from schemas.views import ViewFacts, view_json
from service.bots import searching
from service.bots.bot import View, bot_rng, with_settings
from service.bots.registry import bots
from service.bots.searching import EXPERT_BUDGET, opinion
from service.bots.simple import greedy_move, of_type, rules_of
from service.bots.worlds import Worlds, choices, model_move, searchable
from service.domain.cards import ordered_deck
from service.domain.commands import Move
from service.domain.events import TableLaid, Zone
from service.domain.evolve import fold
from service.domain.game import Game, Status
from service.domain.legal import legal_moves
from service.domain.ruleset import Ruleset
from service.domain.view import seen_by
from service.rulesets.catalogue import Definition, definition
from service.rulesets.custom import RulesetRefused, custom_definition
from service.rulesets.validation import cards_of
from service.search.playout import PlayoutPolicy, opened
from service.search.rules import RANK_COUNT, Rules
from service.search.state import PLAY, State
from service.search.tree import is_small, solved
from tests.changed import replace
from tests.examples import stride
from tests.unit.playing import RULESETS, Chooser, cards, play, rules, seat_counts, steps_of
from tests.unit.rulesets.random_settings import random_changes
from tests.unit.search.lockstep import is_run
from tests.unit.search.test_playout import policy_of

FACTS = ViewFacts(id="528c9a92-6e09-40f9-ac4e-4c01aef56252", head="00" * 32, ruleset_hash="11" * 32)
SEARCHING = ("careful", "expert")


def view_of(game: Game, seat: int) -> View:
    return view_json(seen_by(game, seat), seat, FACTS, legal_moves(game, seat))


@pytest.mark.parametrize("identity", RULESETS)
def test_a_world_agrees_with_the_view(identity: str) -> None:
    """It has the same ranks, sizes, known cards of hands and moves, except runs and blind plays."""
    ruleset, rng, compared = rules(identity), random.Random(identity), 0
    seats = seat_counts(ruleset)[-1]
    for game, _ in steps_of(ruleset, seats, 6, turn_limit=60):
        if game.status is not Status.PLAYING or game.turn is None or game.first_turn:
            continue
        view = view_of(game, game.turn)
        worlds = Worlds(view)
        world, every = worlds.deal(rng), [0] * RANK_COUNT
        for rank in range(RANK_COUNT):
            shift, field = worlds.rules.shift[rank], worlds.rules.field
            packed = (*world.hand, *world.up, world.pile)
            every[rank] += sum(one >> shift & field for one in packed)
            every[rank] += sum(down.count(rank) for down in world.down) + world.stock.count(rank)
            every[rank] += sum(worlds.rules.by_name[card[0]] == rank for card in game.burned)
        assert every == worlds.rules.full
        assert len(world.stock) == len(game.stock)
        for seat, state in enumerate(game.seats):
            assert world.hand_size[seat] == len(state.hand)
            assert len(world.down[seat]) == sum(p is not None for p in state.down)
            for card in state.known:
                assert world.hand_mask[seat] >> worlds.rules.by_name[card[0]] & 1
        listed = {model_move(view, move, worlds.rules) for move in view["moves"]}
        listed = {move for move in listed if not is_run(worlds.rules, move)}
        blind = game.seats[game.turn].zone is Zone.DOWN
        assert blind or set(world.moves(game.turn)) == listed
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("name", SEARCHING)
def test_a_ruleset_that_cannot_be_modelled_is_played_as_by_greedy(name: str) -> None:
    own = custom_definition(
        definition("karma-radford"), "Own", {"pick_up": {"along": "one_rank", "after": "next"}}
    )
    *_, (game, _) = list(steps_of(own.ruleset({}), 2, 3, turn_limit=60))[:12]
    seat = next(s for s in range(2) if legal_moves(game, s))
    view = with_settings(view_of(game, seat), own.tree)
    assert not searchable(view)
    rng, again = (bot_rng(b"secret", "game", 1) for _ in range(2))
    chosen = bots()[name].choose(view, view["moves"], rng)
    assert chosen == greedy_move(view, view["moves"], again)


def _playing(hand: str, pile: str, other: str) -> Game:
    """Return an endgame of two seats without a stock, seat 0 on turn."""
    game = fold(play(rules("shithead"), 2, 3).events[:4])
    used = cards(f"{hand} {pile} {other}")
    seats = [
        replace(state, hand=cards(held), up=((),) * 3, down=(None,) * 3, ready=True)
        for state, held in zip(game.seats, (hand, other), strict=True)
    ]
    known = replace(seats[1], known=seats[1].hand)
    burned = tuple(card for card in ordered_deck(decks=1, jokers=0) if card not in used)
    return replace(
        game,
        seats=(seats[0], known),
        status=Status.PLAYING,
        turn=0,
        first_turn=False,
        stock=(),
        burned=burned,
        pile=cards(pile),
    )


@pytest.mark.parametrize("name", SEARCHING)
@pytest.mark.parametrize(
    ("hand", "pile", "other", "right"),
    [
        ("9h 9s", "8c", "Kc Kd", ["9h", "9s"]),  # both nines end the hand
        ("5h Ts", "4c", "Ac", ["Ts"]),  # after the five the ace goes out
        ("5h Kh", "4c", "Qc Qs", ["Kh"]),  # a queen cannot beat the king
    ],
)
def test_the_move_that_wins_is_found(
    name: str, hand: str, pile: str, other: str, right: list[str]
) -> None:
    view = view_of(_playing(hand, pile, other), 0)
    chosen = bots()[name].choose(view, view["moves"], random.Random(1))
    assert sorted(chosen["cards"]) == right


def test_before_play_begins_in_a_world_every_seat_has_laid_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A seat that has not laid out yet lays its strongest cards; one that has keeps its own."""
    begun: list[State] = []

    def recorded(state: State, policy: PlayoutPolicy) -> State:
        begun.append(state.copy())
        return opened(state, policy)

    monkeypatch.setattr(searching, "opened", recorded)
    played = play(rules("shithead-layout"), 3, 3)
    first = next(at for at, event in enumerate(played.events) if isinstance(event, TableLaid))
    for count in (first, first + 1):
        game = fold(played.events[:count], played.deck)
        seat = next(s for s in range(3) if of_type(view_of(game, s)["moves"], "lay"))
        view = view_of(game, seat)
        bots()["careful"].choose(view, view["moves"], random.Random(1))
    assert begun
    for state in begun:
        sizes = [
            sum(up >> at & state.rules.field for at in state.rules.shift[:RANK_COUNT])
            for up in state.up
        ]
        assert (sizes, state.hand_size) == ([3, 3, 3], [3, 3, 3])


def test_the_opinion_on_a_move_names_the_winning_move() -> None:
    """Playing both nines ends the hand and is the only certain win; the seat made another move."""
    game = _playing("9h 9s", "8c", "Kc Kd")
    view = dict(view_of(game, 0))
    moves = view.pop("moves")
    did = {"type": "play", "cards": ["9s"]}
    formed = opinion(view, moves, did, game="a", version=5)
    assert formed == opinion(view, moves, did, game="a", version=5), "an opinion is repeatable"
    assert formed is not None
    best, *others = formed.moves
    assert (sorted(best.move["cards"]), best.chance, best.high) == (["9h", "9s"], 1, 1)
    assert all(one.low <= one.chance <= one.high and one.chance < 1 for one in others)
    assert [one.move["cards"] for one in formed.moves if one.made] == [["9h"]], (
        "the nine of spades counts as the choice 9h"
    )


@pytest.mark.heavy
def test_only_moves_of_play_have_an_opinion() -> None:
    compared = 0
    steps = islice(steps_of(rules("covered-queen"), 4, 6, turn_limit=12), 0, None, stride(2))
    for game, _ in steps:
        seat = next((s for s in range(4) if legal_moves(game, s)), None)
        if seat is None:
            continue
        view = view_of(game, seat)
        formed = opinion(view, view["moves"], view["moves"][0], game="a", version=game.version)
        if game.status is Status.SWAPPING or not searchable(view):
            assert formed is None
        else:
            assert formed is not None
            assert sum(one.made for one in formed.moves) == 1
            assert formed.worlds * len(formed.moves) <= 1000
            compared += 1
    assert compared > 5


def test_a_small_endgame_is_solved() -> None:
    """Seat 0 wins if it burns the pile first; after its five the ace goes out, and seat 0 loses."""
    rules_ = Rules(rules("shithead"), 2)
    state = State.empty(rules_)
    for seat, held in enumerate(("5T", "A")):
        for rank in held:
            state.add_to_hand(seat, rules_.by_name[rank])
    state.add_to_pile(rules_.by_name["4"], 1)
    state.turn = 0
    assert is_small(state)
    assert solved(state, policy_of(rules_))[0] == 1, "seat 1 is the shithead"
    state.apply(0, (PLAY, ((rules_.by_name["5"], 1),)))
    assert solved(state, policy_of(rules_))[0] == 0


def test_equal_turns_with_equal_budgets_have_equal_moves() -> None:
    played = play(rules("shithead"), 3, 3)
    game = fold(played.events[:20], played.deck)
    seat = next(s for s in range(3) if legal_moves(game, s))
    view = view_of(game, seat)
    one, two = (
        bots()["expert"].choose(view, view["moves"], bot_rng(b"s", "g", 1)) for _ in range(2)
    )
    assert one == two
    assert EXPERT_BUDGET.samples > 0


def test_moves_that_differ_only_in_suits_are_one_choice() -> None:
    view = view_of(_playing("9h 9s Kd", "8c", "Kc Qd"), 0)
    found = choices(view, view["moves"], Worlds(view))
    plays = [move for move in found if move[0] == PLAY]
    assert len(plays) == 3, "one nine, both nines, the king"
    assert rules_of(view).id == "shithead"


@pytest.mark.heavy
@pytest.mark.parametrize("name", SEARCHING)
def test_custom_rulesets_are_played_to_their_end(name: str) -> None:
    """With random valid settings, a hand ends: by search, or as greedy without a model."""
    rng = random.Random(f"custom {name}")
    for _ in range(12 // stride(3)):
        own, ruleset, seats = custom_table(rng)
        choose = by_own_rules(name, own.tree)
        *_, (game, _) = steps_of(ruleset, seats, rng.randrange(99), turn_limit=60, choose=choose)
        assert game.status is Status.ENDED


def custom_table(rng: random.Random) -> tuple[Definition, Ruleset, int]:
    """Return a valid custom ruleset for one hand, and a number of seats."""
    while True:
        base = definition(rng.choice(RULESETS))
        try:
            own = custom_definition(base, "Own", random_changes(rng))
        except RulesetRefused:
            continue
        ruleset = own.ruleset({}, hand=1)
        seats = rng.randint(ruleset.seats_min, min(ruleset.seats_max, 6))
        if cards_of(ruleset, seats) < 200:
            return own, ruleset, seats


def by_own_rules(name: str, tree: Any) -> Chooser:
    """Return a chooser for seats of one bot, which gets the settings of the table."""

    def choose(game: Game, seat: int, moves: Sequence[Move], rng: random.Random) -> Move:
        view = view_json(seen_by(game, seat), seat, FACTS, moves)
        view = dict(with_settings({**view, "ruleset": {**view["ruleset"], "options": {}}}, tree))
        return move_of(bots()[name].choose(view, view["moves"], rng), seat)

    return choose
