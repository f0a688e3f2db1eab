"""Whole games for tests, played at random from a seed by the domain alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from service.domain.cards import Card, ordered_deck
from service.domain.commands import Command, Move, Ready, Seat, Swap
from service.domain.deal import deal
from service.domain.decide import decide
from service.domain.events import (
    DeckCommitted,
    Entropy,
    Event,
    GameCreated,
    SeatSetup,
)
from service.domain.evolve import evolve
from service.domain.game import Game, Status, new_game
from service.domain.legal import legal_moves
from service.domain.ruleset import Ruleset, cards_dealt, deck_of
from service.rulesets.catalogue import catalogue
from tests.changed import replace

RULESETS = sorted(catalogue())

ENDLESS = 6000
"""No game of these tests has so many events."""

Chooser = Callable[[Game, Seat, Sequence[Move], random.Random], Move]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The deck and the events of a played game."""

    deck: tuple[Card, ...]
    events: tuple[Event, ...]


def cards(text: str) -> tuple[Card, ...]:
    """Return cards from text, as players write them."""
    return tuple(Card(code) for code in text.split())


def created(ruleset: Ruleset, seats: int, *, hand: int = 1, turn_limit: int = 120) -> GameCreated:
    """Return the first event of a game among bots."""
    decks, jokers, partial = deck_of(ruleset, seats)
    seat = SeatSetup(kind="bot", bot="random", key=None, entropy=Entropy.NONE)
    return GameCreated(
        table="a1bbda65-92f5-4f1a-9f6f-3e4989ff6ae3",
        hand=hand,
        ruleset=ruleset,
        decks=decks,
        jokers=jokers,
        partial=partial,
        seats=(seat,) * seats,
        dealer=None,
        prev_game=None,
        commit="00" * 32,
        clock=None,
        turn_limit=turn_limit,
    )


@lru_cache(maxsize=64)
def rules(identity: str, hand: int = 1, options: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Return a ruleset of the catalogue."""
    definition = catalogue()[identity]
    return definition.ruleset(definition.chosen(dict(options)), hand=hand)


def seat_counts(ruleset: Ruleset) -> Sequence[int]:
    """Return the numbers of seats that can be dealt, at most five."""
    return [
        seats
        for seats in range(ruleset.seats_min, min(ruleset.seats_max, 5) + 1)
        if cards_dealt(ruleset, seats) <= 52
    ] or [ruleset.seats_min]


def at_random(game: Game, seat: Seat, moves: Sequence[Move], rng: random.Random) -> Move:
    """Return a random legal move; in the exchange usually `ready`."""
    del game, seat
    done = [move for move in moves if isinstance(move, Ready)]
    if done and (rng.random() < 0.7 or not any(isinstance(move, Swap) for move in moves)):
        return done[0]
    return rng.choice(moves)


def play(
    ruleset: Ruleset,
    seats: int,
    seed: int,
    *,
    hand: int = 1,
    turn_limit: int = 120,
    choose: Chooser = at_random,
) -> Played:
    """Return a whole game played from a seed."""
    steps = list(steps_of(ruleset, seats, seed, hand=hand, turn_limit=turn_limit, choose=choose))
    return Played(deck=steps[-1][0].deck, events=tuple(event for _, event in steps))


def steps_of(
    ruleset: Ruleset,
    seats: int,
    seed: int,
    *,
    hand: int = 1,
    turn_limit: int = 120,
    choose: Chooser = at_random,
) -> Iterator[tuple[Game, Event]]:
    """Yield (the game after an event, with its deck, and the event)."""
    rng = random.Random(seed)
    first = created(ruleset, seats, hand=hand, turn_limit=turn_limit)
    codes = ordered_deck(decks=first.decks, jokers=first.jokers, partial=first.partial)
    deck = tuple(rng.sample(codes, len(codes)))
    game = replace(new_game(first), deck=deck)
    yield game, first
    game = yield from _after(game, (DeckCommitted(cards=("00" * 32,) * len(deck)),))
    game = yield from _after(game, deal(game, rng.randrange(seats)))
    while not game.over:
        assert game.version < ENDLESS, "the game does not end"
        game = yield from _after(game, decide(_next_command(game, rng, choose), game))


def _next_command(game: Game, rng: random.Random, choose: Chooser) -> Command:
    able: Mapping[Seat, Sequence[Move]] = {
        seat: moves for seat in range(len(game.seats)) if (moves := legal_moves(game, seat))
    }
    if game.status is Status.PLAYING and game.turn is not None and rng.random() < 0.5:
        able = {game.turn: able[game.turn]}
    seat = rng.choice(sorted(able))
    return choose(game, seat, able[seat], rng)


def _after(game: Game, events: Sequence[Event]) -> Generator[tuple[Game, Event], None, Game]:
    for event in events:
        game = evolve(game, event)
        yield game, event
    return game
