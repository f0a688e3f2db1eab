"""Decks that a viewer of a running game cannot tell apart, for leak tests."""

from __future__ import annotations

import random

from service.domain.cards import Card
from service.domain.game import Game
from service.domain.view import Viewer


def another_deck(game: Game, viewer: Viewer, rng: random.Random) -> tuple[Card, ...]:
    """Return another deck that the viewer cannot tell from the deck of `game`."""
    positions = _unknown_to(game, viewer)
    cards = [game.deck[p] for p in rng.sample(positions, len(positions))]
    deck = list(game.deck)
    for p, card in zip(positions, cards, strict=True):
        deck[p] = card
    return tuple(deck)


def _unknown_to(game: Game, viewer: Viewer) -> list[int]:
    """Return the deck positions whose cards `viewer` cannot know."""
    place = {card: p for p, card in enumerate(game.deck)}
    unknown = list(game.stock)
    for seat, state in enumerate(game.seats):
        unknown += [p for p in state.down if p is not None]
        if seat != viewer:
            unknown += [place[card] for card in state.hand if card not in state.known]
    return unknown
