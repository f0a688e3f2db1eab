"""Custody: where a card was at every version, and which seats could see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from schemas.views import Json
from service.domain.cards import HIDDEN, Card, nearest_code
from service.domain.commands import Seat, UnknownCard
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
    """A zone, the seat that owns it, and the slot in it."""

    area: Area
    seat: Seat | None = None
    slot: int | None = None


def locations(game: Game) -> dict[Card, CardLocation]:
    """Return the location of every known card of `game`; a part of its deck may be unknown."""
    return {card: location for card, location in _locations(game) if card != HIDDEN}


def face_locations(game: Game) -> dict[Card, CardLocation]:
    """Return the location of every known card that is neither in the stock nor face down."""
    return {card: location for card, location in _faces(game) if card != HIDDEN}


def undealt(game: Game) -> bool:
    """Return whether no card has been dealt yet."""
    lying = any(seat.down or seat.up or seat.hand for seat in game.seats)
    return not (lying or game.stock or game.pile or game.burned)


def _locations(game: Game) -> Iterator[tuple[Card, CardLocation]]:
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
    """Return the deck position of each card whose opening the events publish before the seal."""
    return {opening.card: opening.p for event in events for opening in _openings(event)}


def returned_starters(event: Event) -> dict[Card, int]:
    """Return the starters that a deal showed and put under the stock, with their positions."""
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
class _CardState:
    """Where a card lies after an event, and which seats can see it."""

    place: CardLocation
    seen_by: SeenBy


Stretch = tuple[_CardState, int, int]
"""A state of a card, with the seqs of the first and last event after which the card has it."""


def custody(history: History, card: str, *, viewer: Viewer = ALL) -> Json:
    """
    Return a card's path through the game (api.md, section 6).

    A stretch begins with an event that changes the card's place or the seats that can see it,
    and ends before the next such event.
    Before the seal `viewer` is a seat, or None for the public: the result has the stretches in
    which all seats or this seat could see the card. The seal publishes all cards after the
    play and does not change which seats saw them during play. After an event that contradicts
    the deck, the path has only stretches in which all seats could see the card.

    Raises UnknownCard for a code that is not in this game's deck.
    """
    setup = history.games[0].setup
    codes = codes_of(setup.decks, setup.jokers, setup.partial)
    if card not in codes:
        raise UnknownCard(card, nearest=nearest_code(card, codes))
    code = Card(card)
    path = [
        _stretch(state, first, last)
        for state, first, last in history.cached("custody", lambda: _paths(history))[code]
        if _is_visible(state, viewer)
    ]
    return {"card": card, "p": _position(history, code), "path": path}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Progress:
    """The stretches of all cards after the first `events` events of a growing history."""

    events: int
    ended: dict[Card, tuple[Stretch, ...]]
    states: dict[Card, _CardState | None]  # of the present stretches
    since: dict[Card, int]  # seq of the first event of the present stretch
    returned: frozenset[str]  # starters that all seats saw put under the stock


def events_processed(history: History) -> int:
    """Return the number of events for which the paths of the cards are computed."""
    progress: _Progress | None = history.carried.get("custody")
    return 0 if progress is None else progress.events


def _paths(history: History) -> dict[Card, list[Stretch]]:
    """Return the stretches of every card in order; none for unknown locations."""
    progress = _progress(history)
    paths = {card: list(stretches) for card, stretches in progress.ended.items()}
    for card, state in progress.states.items():
        if state is not None:
            paths[card].append((state, progress.since[card], history.end))
    return paths


def _progress(history: History) -> _Progress:
    before: _Progress = history.carried.get("custody") or _no_progress(history)
    ended: dict[Card, list[Stretch]] = {card: [] for card in before.ended}
    states, since, returned = dict(before.states), dict(before.since), set(before.returned)
    for seq in range(before.events, len(history.log)):
        returned |= returned_starters(history.log[seq].event).keys()
        for card, found in _states(history, seq, tuple(ended), returned):
            last = states[card]
            if found == last:
                continue
            if last is not None:
                ended[card].append((last, since[card], seq - 1))
            states[card], since[card] = found, seq
    after = _Progress(
        events=len(history.log),
        ended={card: (*before.ended[card], *more) for card, more in ended.items()},
        states=states,
        since=since,
        returned=frozenset(returned),
    )
    history.carried["custody"] = after
    return after


def _no_progress(history: History) -> _Progress:
    setup = history.games[0].setup
    cards = [Card(code) for code in codes_of(setup.decks, setup.jokers, setup.partial)]
    return _Progress(
        events=0,
        ended=dict.fromkeys(cards, ()),
        states=dict.fromkeys(cards),
        since=dict.fromkeys(cards, 0),
        returned=frozenset(),
    )


def _states(
    history: History, seq: int, cards: tuple[Card, ...], returned: AbstractSet[str]
) -> Iterator[tuple[Card, _CardState | None]]:
    """Yield the states of the cards after an event; None for unknown locations."""
    game = history.games[seq]
    where = {} if history.known[seq] is Known.NOTHING else locations(game)
    stock = CardLocation(area=Area.STOCK) if undealt(game) else None
    for card in cards:
        place = where.get(card) or stock
        yield card, _state(history, game, card, place, known=card in returned)


def _state(
    history: History, game: Game, card: Card, place: CardLocation | None, *, known: bool
) -> _CardState | None:
    """Return the state of a card in a game; `known`: all seats saw it put under the stock."""
    if known and place is None and card not in game.deck:
        place = _under_stock(history, game, card)
    if place is None:
        return None
    return _CardState(place=place, seen_by=_seen_by(game, card, place, known=known))


def _under_stock(history: History, game: Game, card: Card) -> CardLocation | None:
    """Return the location of a starter put under the stock; None once it was drawn."""
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


def _is_visible(state: _CardState, viewer: Viewer) -> bool:
    seen_by = state.seen_by
    return viewer == ALL or seen_by is None or viewer in seen_by


def _stretch(state: _CardState, first: int, last: int) -> Json:
    place, seen_by = state.place, state.seen_by
    return {
        "from_seq": first,
        "to_seq": last,
        "zone": place.area.value,
        "seat": place.seat,
        "slot": place.slot,
        "seen_by": "all" if seen_by is None else list(seen_by),
    }


def _position(history: History, card: Card) -> int | None:
    """Return the card's position in the deck, from the deck or an opening; None if unknown."""
    if history.deck is not None and card in history.deck:
        return history.deck.index(card)
    return _shown(history).get(card)


def _shown(history: History) -> dict[Card, int]:
    """Return the positions in the deck that the events publish."""
    return history.cached("shown", lambda: openings_shown(record.event for record in history.log))
