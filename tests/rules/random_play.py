"""Random games for tests: a ruleset, a deal and a path through its legal moves, from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from service.domain.cards import Card, ordered_deck, rank_of
from service.domain.commands import Lay, Move, Play, Seat, Swap
from service.domain.deal import deal
from service.domain.decide import decide
from service.domain.events import CardsPlayed, DeckCommitted, Event
from service.domain.evolve import evolve
from service.domain.game import Game, Status, new_game
from service.domain.legal import legal_moves, may_act
from service.domain.ruleset import Layout, Ruleset, cards_dealt, deck_of
from service.rulesets.catalogue import catalogue
from tests.changed import replace
from tests.rules.tables import created, rules

TURN_LIMIT = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One move of a random game, with the game before it and its events."""

    game: Game  # before the move
    move: Move
    events: tuple[Event, ...]


def random_ruleset(chance: random.Random) -> Ruleset:
    """Return a ruleset of the catalogue with random options."""
    name = chance.choice(sorted(catalogue()))
    options: dict[str, object] = {}
    for option in catalogue()[name].options.values():
        if option.kind == "choice":
            options[option.name] = chance.choice(option.values)
        elif option.kind == "set":
            options[option.name] = [v for v in option.values if chance.random() < 0.6]
        elif chance.random() < 0.5:
            options[option.name] = [r for r in "23456789TJQKA" if chance.random() < 0.9]
    return rules(name, hand=chance.choice((1, 2)), **options)


def random_seats(ruleset: Ruleset, chance: random.Random) -> int:
    """Return a number of seats that the ruleset allows, and for which it has enough cards."""
    seats = min(chance.randint(ruleset.seats_min, ruleset.seats_max), ruleset.seats_min + 4)
    while seats > ruleset.seats_min:
        decks, jokers, partial = deck_of(ruleset, seats)
        if cards_dealt(ruleset, seats) <= 52 * decks + jokers + 4 * len(partial):
            break
        seats -= 1
    return seats


def random_deal(
    ruleset: Ruleset, chance: random.Random, seats: int | None = None
) -> tuple[Game, tuple[Event, ...]]:
    """Return a game after a random deal, and its events so far, from the creation on."""
    event = created(ruleset, seats or random_seats(ruleset, chance), turn_limit=TURN_LIMIT)
    whole = ordered_deck(decks=event.decks, jokers=event.jokers, partial=event.partial)
    deck = list(whole)
    chance.shuffle(deck)
    if chance.random() < 0.4:  # few cards: endgames come sooner
        rare = {rank_of(card) for card in deck[:8]}
        deck.sort(key=lambda card: rank_of(card) in rare)
    game = replace(new_game(event), deck=tuple(deck))
    events: list[Event] = [event, DeckCommitted(cards=("",) * len(deck))]
    game = evolve(game, events[1])
    for step in deal(game, chance.randrange(len(event.seats))):
        events.append(step)
        game = evolve(game, step)
    return game, tuple(events)


def random_steps(game: Game, chance: random.Random) -> Iterator[Step]:
    """Yield the moves of a random game until it is over, or no seat may act."""
    while not game.over:
        moves = [m for s in range(len(game.seats)) for m in legal_moves(game, s)]
        if not moves:
            return
        move = _varied(game, chance.choice(moves), chance)
        events = decide(move, game)
        yield Step(game=game, move=move, events=events)
        for event in events:
            game = evolve(game, event)


def odd_moves(game: Game, seat: Seat, chance: random.Random) -> Iterator[Play]:
    """Yield plays of random cards: the seat's own, others', from wrong zones, of mixed ranks."""
    state = game.seats[seat]
    own = (*state.hand, *state.up_cards)
    pools: list[tuple[Card, ...]] = [state.hand, own, game.deck, game.pile]
    for pool in pools:
        if pool:
            count = min(chance.choice((1, 1, 2, 2, 3, 4)), len(pool))
            yield Play(seat=seat, cards=tuple(chance.sample(pool, count)))
    if own:
        rank = rank_of(chance.choice(own))
        same = [card for card in own if rank_of(card) == rank]
        yield Play(seat=seat, cards=tuple(chance.sample(same, chance.randint(1, len(same)))))


def played_cards(events: tuple[Event, ...]) -> tuple[Card, ...] | None:
    """Return the cards that a move laid on the pile."""
    return next((e.cards for e in events if isinstance(e, CardsPlayed)), None)


def _varied(game: Game, move: Move, chance: random.Random) -> Move:
    """Return the move, or sometimes a legal variation of it that is not listed."""
    if isinstance(move, Lay) and game.status is Status.SWAPPING:
        return _laying(game, move.seat, chance)
    if isinstance(move, Swap) and chance.random() < 0.3:
        state = game.seats[move.seat]
        size = chance.randint(1, min(len(state.hand), len(state.up_cards)))
        up = tuple(chance.sample(state.hand, size))
        return replace(move, up=up, hand=tuple(chance.sample(state.up_cards, size)))
    if isinstance(move, Play) and may_act(game, move.seat):
        return replace(move, cards=tuple(chance.sample(move.cards, len(move.cards))))
    return move


def _laying(game: Game, seat: Seat, chance: random.Random) -> Lay:
    """Return a random laying out of the first six cards, with stacks if they are allowed."""
    state = game.seats[seat]
    hand = list(state.hand)
    chance.shuffle(hand)
    stacks: list[tuple[Card, ...]] = [(hand.pop(),) for _ in state.down]
    if game.ruleset.deal.layout is Layout.STACKS:
        for i, stack in enumerate(stacks):
            more = tuple(card for card in hand if rank_of(card) == rank_of(stack[0]))
            stacks[i] = stack + more
            hand = [card for card in hand if card not in more]
    return Lay(seat=seat, stacks=tuple(stacks))
