"""Random hands played by the engine and the fast model in step, and compared at every position."""

from __future__ import annotations

import random

from service.domain.cards import Card, ordered_deck, rank_of
from service.domain.commands import Lay, Move, Pass, PickUp, Play, PlayBlind, Ready, Seat, TryStock
from service.domain.deal import deal
from service.domain.decide import decide
from service.domain.evolve import evolve
from service.domain.game import Game, Status, new_game
from service.domain.legal import legal_moves, may_act
from service.domain.ruleset import Layout, Ruleset
from service.search.rules import Rules
from service.search.state import BLIND, NOBODY, PASS, PLAY, TAKE, TRY, Parts, State
from service.search.state import Move as ModelMove
from tests.changed import replace
from tests.unit.playing import created


def state_of(rules: Rules, game: Game) -> State:
    """Return the position of the model that equals a game in play."""
    state, rank = State.empty(rules), rules.by_name
    for seat, held in enumerate(game.seats):
        for card in held.hand:
            state.add_to_hand(seat, rank[card[0]])
        for stack in held.up:
            if stack:
                state.add_to_up(seat, rank[stack[0][0]], len(stack))
        state.down[seat] = [rank[game.deck[p][0]] for p in held.down if p is not None]
        state.out[seat] = held.place is not None
    state.places = list(game.places())
    state.left = len(game.in_play())
    state.stock = [rank[game.deck[p][0]] for p in reversed(game.stock)]
    for card in game.pile:
        state.add_to_pile(rank[card[0]], 1)
    state.turn = NOBODY if game.turn is None else game.turn
    state.direction, state.first, state.covering = game.direction, game.first_turn, game.covering
    state.passes, state.actions, state.limit = game.passes, game.actions, game.setup.turn_limit
    last = game.last_play
    if last is not None:
        ranks = [rank[card[0]] for card in last.cards]
        state.last, state.last_rank, state.last_direction = last.seat, ranks[-1], last.direction
        state.last_reversed = sum(rules.turned[r] for r in ranks)
        state.last_skipped = sum(rules.skipped[r] for r in ranks)
        state.drawn = sum(rank[card[0]] == ranks[-1] for card in last.drawn)
    return state


def model_move(rules: Rules, game: Game, move: Move) -> ModelMove:
    """Return a move of the game in the form of the model."""
    match move:
        case Play(seat=seat, cards=cards):
            return PLAY, _parts(rules, game, seat, cards)
        case PlayBlind(seat=seat, slot=slot):
            left = [at for at, p in enumerate(game.seats[seat].down) if p is not None]
            return BLIND, ((left.index(slot), 0),)
        case TryStock():
            return TRY, ()
        case PickUp(seat=seat, along=along):
            return TAKE, _parts(rules, game, seat, along)
        case Pass():
            return PASS, ()
        case _:
            raise AssertionError(move)


def _parts(rules: Rules, game: Game, seat: Seat, cards: tuple[Card, ...]) -> Parts:
    state = game.seats[seat]
    if not state.hand and rules.stacks:
        stacks = [stack for stack in state.up if stack and stack[0] in cards]
        sizes = sorted((rules.by_name[stack[0][0]], len(stack)) for stack in stacks)
        return tuple(sizes)
    ranks = sorted(rules.by_name[card[0]] for card in cards)
    return tuple((rank, ranks.count(rank)) for rank in dict.fromkeys(ranks))


def is_run(rules: Rules, move: ModelMove) -> bool:
    """Return whether a move is a run, which the model does not list."""
    kind, parts = move
    ranks = [rank for rank, _ in parts]
    return kind == PLAY and len(set(ranks)) > 1 and not rules.companions[ranks[0]]


def compare(rules: Rules, game: Game, state: State) -> None:
    """Assert that a position of the model equals that of the game."""
    result = game.result
    assert state.over is game.over
    if result is not None:
        assert state.places == list(game.places())
        assert (NOBODY if result.shithead is None else result.shithead) == state.loser
        return
    expected = state_of(rules, game)
    for name in State.__slots__:
        ours, theirs = getattr(state, name), getattr(expected, name)
        if name == "slots":
            ours, theirs = [sorted(s) for s in ours], [sorted(s) for s in theirs]
        if name.startswith("last_") and expected.last == NOBODY:
            continue
        if name == "drawn" and (expected.last == NOBODY or not rules.follow_up):
            continue
        assert ours == theirs, name


def compare_moves(rules: Rules, game: Game, state: State, seat: Seat) -> None:
    """Assert that the model lists the moves of the game, apart from runs."""
    theirs = {model_move(rules, game, move) for move in legal_moves(game, seat)}
    theirs = {move for move in theirs if not is_run(rules, move)}
    ours = list(state.moves(seat))
    assert len(ours) == len(set(ours))
    assert set(ours) == theirs


def acting(state: State) -> list[Seat]:
    """Return the seats that may act by the model."""
    if state.turn == NOBODY:
        return state.openers()[1]
    follows = state.last not in (NOBODY, state.turn) and any(state.moves(state.last))
    return sorted({state.turn, *([state.last] if follows else [])})


def play_in_step(ruleset: Ruleset, seats: int, seed: int, *, turn_limit: int = 400) -> int:
    """
    Play a random hand with the engine and the model, and return the number of positions.

    Most moves are those of a cautious player, because random hands seldom end.
    """
    rng = random.Random(seed)
    rules, game = Rules(ruleset, seats), dealt(ruleset, seats, rng, turn_limit)
    while game.status is Status.SWAPPING:
        game = after(game, exchange_move(game, rng))
    state, positions = state_of(rules, game), 0
    while True:
        compare(rules, game, state)
        positions += 1
        if game.over:
            return positions
        able = [seat for seat in range(seats) if may_act(game, seat)]
        assert acting(state) == able
        for seat in able:
            compare_moves(rules, game, state, seat)
        seat = rng.choice(able)
        moves = legal_moves(game, seat)
        cautious = [move for move in moves if isinstance(move, Play)]
        move = rng.choice(cautious if cautious and rng.random() < 0.9 else moves)
        state.apply(seat, model_move(rules, game, move))
        game = after(game, move)


def dealt(ruleset: Ruleset, seats: int, rng: random.Random, turn_limit: int) -> Game:
    """Return a hand after its deal."""
    first = created(ruleset, seats, turn_limit=turn_limit)
    codes = ordered_deck(decks=first.decks, jokers=first.jokers, partial=first.partial)
    game = replace(new_game(first), deck=tuple(rng.sample(codes, len(codes))))
    for event in deal(game, rng.randrange(seats)):
        game = evolve(game, event)
    return game


def after(game: Game, move: Move) -> Game:
    """Return the game after a move."""
    for event in decide(move, game):
        game = evolve(game, event)
    return game


def exchange_move(game: Game, rng: random.Random) -> Move:
    """Return a random move of the exchange."""
    seat = next(seat for seat, state in enumerate(game.seats) if not state.ready)
    state, ready = game.seats[seat], Ready(seat=seat)
    if game.ruleset.deal.layout is Layout.NONE or state.laid:
        swaps = [move for move in legal_moves(game, seat) if not isinstance(move, Ready)]
        return rng.choice(swaps) if swaps and rng.random() < 0.5 else ready
    if game.ruleset.deal.layout is Layout.STACKS and rng.random() < 0.7:
        ranks = sorted({rank_of(card) for card in state.hand})
        slots = len(state.down)
        if len(ranks) >= slots:
            some = rng.sample(ranks, slots)
            stacks = tuple(tuple(c for c in state.hand if rank_of(c) == r) for r in some)
            return Lay(seat=seat, stacks=stacks)
    cards = rng.sample(state.hand, len(state.down))
    return Lay(seat=seat, stacks=tuple((card,) for card in cards))
