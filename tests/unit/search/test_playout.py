"""A playout is a legal hand by its policy: the model played move by move ends the same way."""

from __future__ import annotations

import random

import pytest

from service.bots.simple import worth_of_ranks
from service.domain.game import Status
from service.domain.ruleset import Ruleset
from service.search.playout import PlayoutPolicy, opened, playout
from service.search.rules import RANK_COUNT, Rules, can_be_modelled
from service.search.state import BLIND, NOBODY, PASS, PLAY, TAKE, TRY, Move, State
from tests.examples import spread, stride
from tests.unit.playing import RULESETS
from tests.unit.search.lockstep import after, dealt, exchange_move, state_of
from tests.unit.search.test_lockstep import custom, tables


def policy_of(rules: Rules) -> PlayoutPolicy:
    """Return a policy that spends cards by their worth to the other bots."""
    worth = worth_of_ranks(rules.ruleset)
    values = [worth[str(name)] for name in rules.names]
    return PlayoutPolicy(rules, values, special=RANK_COUNT - 1)


def first_position(ruleset: Ruleset, seats: int, seed: int) -> State:
    """Return a random hand at its first play."""
    rng = random.Random(seed)
    game = dealt(ruleset, seats, rng, turn_limit=10_000)
    while game.status is Status.SWAPPING:
        game = after(game, exchange_move(game, rng))
    return state_of(Rules(ruleset, seats), game)


def chosen(state: State, policy: PlayoutPolicy) -> Move:
    """Return the move of the policy, found among the legal moves of the model."""
    rules, seat, worth = state.rules, state.turn, policy.worth
    moves = list(state.moves(seat))
    if moves[0][0] == BLIND:
        return BLIND, ((len(state.down[seat]) - 1, 0),)
    mask = state.hand_mask[seat] or state.up_mask[seat]
    packed = (state.hand if state.hand_mask[seat] else state.up)[seat]

    def held(rank: int) -> int:
        return packed >> rules.shift[rank] & rules.field

    def whole(rank: int) -> tuple[tuple[int, int], ...]:
        if rules.stacks and not state.hand_mask[seat]:
            return tuple(sorted(slot for slot in state.slots[seat] if slot[0] == rank))
        return ((rank, held(rank)),)

    fit = [rank for rank in range(RANK_COUNT) if mask & state.fitting() & 1 << rank]
    cheapest = min(fit, key=lambda rank: (worth[rank], rank), default=None)
    if state.top in fit and state.run + held(state.top) >= rules.set_size:
        cheapest = state.top
    for pair in range(RANK_COUNT):
        partners = mask & rules.companions[pair]
        if mask >> pair & 1 and partners:
            if cheapest is None or worth[cheapest] >= worth[pair]:
                ranks = [rank for rank in range(RANK_COUNT) if partners >> rank & 1]
                return PLAY, whole(pair) + whole(min(ranks, key=lambda r: (worth[r], r)))
            break
    if cheapest is not None:
        spared = policy.single[cheapest] and state.stock and state.hand_mask[seat]
        if spared and not (cheapest == state.top and state.run + held(cheapest) >= rules.set_size):
            return PLAY, ((cheapest, 1),)
        return PLAY, whole(cheapest)
    tries = [move for move in moves if move[0] == TRY]
    takes = [move for move in moves if move[0] == TAKE]
    if not (tries or takes):
        assert moves == [(PASS, ())]
    cheap = [move for move in takes if sum(n for _, n in move[1]) == 1 or rules.stacks] or takes
    return min(tries or cheap or moves, key=lambda move: [(worth[r], r) for r, _ in move[1]])


def play_in_step(ruleset: Ruleset, seats: int, seed: int) -> int:
    """Compare a playout with the same hand played move by move; return the number of moves."""
    rules = Rules(ruleset, seats)
    policy = policy_of(rules)
    state = opened(first_position(ruleset, seats, seed), policy).copy()
    state.rules = rules
    decided, moves = playout(state, policy)
    for _ in range(moves):
        seat = state.turn
        move = chosen(state, policy)
        assert move in set(state.moves(seat))
        state.apply(seat, move)
        while not state.over and state.turn != seat == state.last and any(state.moves(seat)):
            state.apply(seat, list(state.moves(seat))[-1])  # all cards of a follow-up
    if decided == NOBODY:
        assert not state.over or (state.loser == NOBODY and state.passes >= state.left)
    else:
        assert state.over
        assert decided == (state.places[0] if rules.winner else state.loser)
    return moves


@pytest.mark.heavy
@pytest.mark.parametrize("identity", spread(RULESETS, 3))
def test_a_playout_of_the_catalogue_is_a_hand_of_legal_moves(identity: str) -> None:
    for number, (ruleset, seats) in enumerate(tables(identity)[::3]):
        assert play_in_step(ruleset, seats, number) > 0


@pytest.mark.heavy
def test_a_playout_of_a_custom_ruleset_is_a_hand_of_legal_moves() -> None:
    rng = random.Random("playouts")
    for number in range(60 // stride(3)):
        ruleset, seats = custom(rng)
        if can_be_modelled(ruleset):
            play_in_step(ruleset, seats, number)


def test_a_playout_does_not_change_its_position() -> None:
    ruleset, seats = tables("covered-queen")[0]
    state = first_position(ruleset, seats, 5)
    policy = policy_of(state.rules)
    state = opened(state, policy)
    assert playout(state, policy) == playout(state, policy)
