"""Custody: where a card was at every version, and which seats could see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from schemas.views import Json
from service.domain.cards import HIDDEN, Card, nearest_code
from service.domain.commands import Seat
from service.domain.errors import UnknownCard
from service.domain.events import BlindFailed, CardsDealt, CardsPlayed, Event, Opening, StockFailed
from service.domain.game import Game
from service.domain.plays import codes_of
from service.domain.view import ALL, Viewer
from service.replay.history import History, Known


class Area(StrEnum):
    """A zone of the table (rules.md, section 1)."""

    STOCK = "stock"  # before the deal the whole deck
    PILE = "pile"
    BURNED = "burned"
    HAND = "hand"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardLocation:
    """A zone, whose it is, and the slot in it."""

    area: Area
    seat: Seat | None = None
    slot: int | None = None


def places(game: Game) -> dict[Card, CardLocation]:
    """Return where every card lies that `game`, folded with a deck or a part of it, shows."""
    return {card: place for card, place in _lying(game) if card != HIDDEN}


def face_places(game: Game) -> dict[Card, CardLocation]:
    """Return where the cards lie that are not face down, in the stock or before a seat."""
    return {card: place for card, place in _faces(game) if card != HIDDEN}


def undealt(game: Game) -> bool:
    """Return whether the whole deck lies together still."""
    lying = any(seat.down or seat.up or seat.hand for seat in game.seats)
    return not (lying or game.stock or game.pile or game.burned)


def _lying(game: Game) -> Iterator[tuple[Card, CardLocation]]:
    if undealt(game):
        yield from ((card, CardLocation(area=Area.STOCK)) for card in game.deck)
        return
    yield from _faces(game)
    yield from ((game.deck[p], CardLocation(area=Area.STOCK)) for p in game.stock)
    for number, seat in enumerate(game.seats):
        for slot, p in enumerate(seat.down):
            if p is not None:
                yield game.deck[p], CardLocation(area=Area.DOWN, seat=number, slot=slot)


def _faces(game: Game) -> Iterator[tuple[Card, CardLocation]]:
    yield from ((card, CardLocation(area=Area.PILE)) for card in game.pile)
    yield from ((card, CardLocation(area=Area.BURNED)) for card in game.burned)
    for number, seat in enumerate(game.seats):
        yield from ((card, CardLocation(area=Area.HAND, seat=number)) for card in seat.hand)
        for slot, stack in enumerate(seat.up):
            yield from (
                (card, CardLocation(area=Area.UP, seat=number, slot=slot)) for card in stack
            )


def openings_shown(events: Iterable[Event]) -> dict[Card, int]:
    """Return the cards whose position in the deck the events publish before the seal."""
    return {opening.card: opening.p for event in events for opening in _openings(event)}


def put_under(event: Event) -> dict[Card, int]:
    """Return the starters that the deal put under the stock, seen by all, with their positions."""
    if not isinstance(event, CardsDealt):
        return {}
    return {opening.card: opening.p for opening in event.returned}


def _openings(event: Event) -> Iterator[Opening]:
    match event:
        case CardsDealt(starter=starter):
            for opened in event.face_up:
                yield from opened
            yield from event.returned
            if starter is not None:
                yield starter
        case CardsPlayed(opening=opening) | BlindFailed(opening=opening) if opening is not None:
            yield opening
        case StockFailed(opening=opening):
            yield opening
        case _:
            return


SeenBy = tuple[Seat, ...] | None
"""The seats that can see a card; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """Where a card lies after an event, and who sees it; equal ones make one stretch."""

    place: CardLocation
    seen_by: SeenBy


Stretch = tuple[_Standing, int, int]
"""How a card stands, and the events from which to which it does."""


def custody(history: History, card: str, *, viewer: Viewer = ALL) -> Json:
    """
    Return a card's path through the game, as api.md, section 6, has it.

    Seqs count events, so a stretch begins with the event that moved the card
    there to the last one before it went on. Before the seal `viewer` is a seat,
    or None for the public: the result has the stretches that all could follow, and those in
    which the seat itself saw the card. The seal publishes all cards after the play and reveals
    nothing about visibility during play. If the log does not match its deck, the rest has only
    the stretches that all could follow.

    Raises UnknownCard for a code that is not in this game's deck.
    """
    setup = history.games[0].setup
    codes = codes_of(setup.decks, setup.jokers, setup.partial)
    if card not in codes:
        raise UnknownCard(card, nearest=nearest_code(card, codes))
    code = Card(card)
    path = [
        _stretch(standing, first, last)
        for standing, first, last in history.cached("custody", lambda: _paths(history))[code]
        if _is_visible(standing, viewer)
    ]
    return {"card": card, "p": _position(history, code), "path": path}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Followed:
    """The cards as far as a history has been gone through; it goes on from there when it grows."""

    events: int
    ended: dict[Card, tuple[Stretch, ...]]
    standing: dict[Card, _Standing | None]  # the stretch that goes on
    since: dict[Card, int]
    under: frozenset[str]  # cards that all saw go under the stock


def gone_through(history: History) -> int:
    """Return how many events of a history have been gone through for where its cards lie."""
    followed: _Followed | None = history.carried.get("custody")
    return 0 if followed is None else followed.events


def _paths(history: History) -> dict[Card, list[Stretch]]:
    """Return the stretches of every card in order; none where the deck does not tell."""
    followed = _followed(history)
    paths = {card: list(stretches) for card, stretches in followed.ended.items()}
    for card, standing in followed.standing.items():
        if standing is not None:
            paths[card].append((standing, followed.since[card], history.end))
    return paths


def _followed(history: History) -> _Followed:
    before: _Followed = history.carried.get("custody") or _nothing(history)
    ended: dict[Card, list[Stretch]] = {card: [] for card in before.ended}
    standing, since, under = dict(before.standing), dict(before.since), set(before.under)
    for seq in range(before.events, len(history.log)):
        under |= put_under(history.log[seq].event).keys()
        for card, found in _standings(history, seq, tuple(ended), under):
            last = standing[card]
            if found == last:
                continue
            if last is not None:
                ended[card].append((last, since[card], seq - 1))
            standing[card], since[card] = found, seq
    after = _Followed(
        events=len(history.log),
        ended={card: (*before.ended[card], *more) for card, more in ended.items()},
        standing=standing,
        since=since,
        under=frozenset(under),
    )
    history.carried["custody"] = after
    return after


def _nothing(history: History) -> _Followed:
    setup = history.games[0].setup
    cards = [Card(code) for code in codes_of(setup.decks, setup.jokers, setup.partial)]
    return _Followed(
        events=0,
        ended=dict.fromkeys(cards, ()),
        standing=dict.fromkeys(cards),
        since=dict.fromkeys(cards, 0),
        under=frozenset(),
    )


def _standings(
    history: History, seq: int, cards: tuple[Card, ...], under: AbstractSet[str]
) -> Iterator[tuple[Card, _Standing | None]]:
    """Yield where the cards lie after an event, None where the deck does not tell."""
    game = history.games[seq]
    where = {} if history.known[seq] is Known.NOTHING else places(game)
    stock = CardLocation(area=Area.STOCK) if undealt(game) else None
    for card in cards:
        place = where.get(card) or stock
        yield card, _standing(history, game, card, place, known=card in under)


def _standing(
    history: History, game: Game, card: Card, place: CardLocation | None, *, known: bool
) -> _Standing | None:
    """Return how a card stands in a game; `known` says that all saw it go under the stock."""
    if known and place is None and card not in game.deck:
        place = _under(history, game, card)
    if place is None:
        return None
    return _Standing(place=place, seen_by=_seen_by(game, card, place, known=known))


def _under(history: History, game: Game, card: Card) -> CardLocation | None:
    """Return the stock as the place of a card put under it in the deal, while it is there."""
    position = _shown(history)[card]
    return CardLocation(area=Area.STOCK) if position in game.stock else None


def _seen_by(game: Game, card: Card, place: CardLocation, *, known: bool) -> SeenBy:
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


def _is_visible(standing: _Standing, viewer: Viewer) -> bool:
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


def _position(history: History, card: Card) -> int | None:
    """Return the card's position in the deck where the deck, or an opening, tells it."""
    if history.deck is not None and card in history.deck:
        return history.deck.index(card)
    return _shown(history).get(card)


def _shown(history: History) -> dict[Card, int]:
    """Return the positions in the deck that the events publish."""
    return history.cached("shown", lambda: openings_shown(record.event for record in history.log))
