"""Custody: where a card was at each moment, and who could see it there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import assert_never

from schemas.views import Json
from service.audit.places import Area, Place, places, undealt
from service.audit.shown import openings_shown, put_under
from service.audit.story import Story
from service.domain.cards import Card
from service.domain.commands import Seat
from service.domain.errors import UnknownCard
from service.domain.following import Known
from service.domain.game import Game
from service.domain.plays import codes_of
from service.domain.view import ALL, Viewer

SeenBy = tuple[Seat, ...] | None
"""The seats that can see a card; None: everybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """Where a card lies after an event, and who sees it; equal ones make one stretch."""

    place: Place
    seen_by: SeenBy


def custody(story: Story, card: str, *, viewer: Viewer = ALL) -> Json:
    """
    Return a card's path through the game, as api.md, section 6, has it.

    Seqs count events, so a stretch holds from the event that brought the card
    there to the last one before it went on. Before the seal `viewer` is a seat,
    or None for the public: it is told the stretches that everybody could follow
    and those in which the seat itself saw the card. The seal publishes all cards
    after the play and is no part of what anybody could see in it. Where the log does not
    fit its deck, the stretches that all could follow are told from there on.

    Raises UnknownCard for a code that is not in this game's deck.
    """
    setup = story.games[0].setup
    if card not in codes_of(setup.decks, setup.jokers, setup.partial):
        raise UnknownCard(card)
    code = Card(card)
    found = groupby(enumerate(_standings(story, code)), key=lambda pair: pair[1])
    path = []
    for standing, stretch in found:
        seqs = [seq for seq, _ in stretch]
        if standing is not None and _told(standing, viewer):
            path.append(_stretch(standing, seqs[0], seqs[-1]))
    return {"card": card, "p": _position(story, code), "path": path}


def _standings(story: Story, card: Card) -> Iterator[_Standing | None]:
    """Yield for each event where the card lies after it, None where the deck does not tell."""
    known_under = False
    for record, game, known in zip(story.log, story.games, story.known, strict=True):
        place = None if known is Known.NOTHING else places(game).get(card)
        if place is None and undealt(game):
            place = Place(area=Area.STOCK)
        known_under = known_under or card in put_under(record.event)
        if known_under and place is None and card not in game.deck:
            place = _under(story, game, card)
        standing = None
        if place is not None:
            seen = _seen_by(game, card, place, known=known_under)
            standing = _Standing(place=place, seen_by=seen)
        yield standing


def _under(story: Story, game: Game, card: Card) -> Place | None:
    """Return the stock as the place of a card put under it in the deal, while it is there."""
    position = openings_shown(record.event for record in story.log)[card]
    return Place(area=Area.STOCK) if position in game.stock else None


def _seen_by(game: Game, card: Card, place: Place, *, known: bool) -> SeenBy:
    match place.area:
        case Area.PILE | Area.BURNED | Area.UP:
            return None
        case Area.HAND:
            seat = place.seat
            if seat is None or card in game.seats[seat].known:
                return None
            return (seat,)
        case Area.STOCK:
            return None if known else ()
        case Area.DOWN:
            return ()
        case _:
            assert_never(place.area)


def _told(standing: _Standing, viewer: Viewer) -> bool:
    seen_by = standing.seen_by
    return viewer == ALL or seen_by is None or viewer in seen_by


def _stretch(standing: _Standing, first: int, last: int) -> Json:
    place, seen_by = standing.place, standing.seen_by
    return {
        "from_seq": first,
        "to_seq": last,
        "zone": place.area.value,
        "seat": place.seat,
        "slot": place.slot,
        "seen_by": "all" if seen_by is None else list(seen_by),
    }


def _position(story: Story, card: Card) -> int | None:
    """Return the card's position in the deck where the deck, or an opening, tells it."""
    if story.deck is not None and card in story.deck:
        return story.deck.index(card)
    return openings_shown(record.event for record in story.log).get(card)
