"""Knowledge: the cards that a seat could know at a version, since when and how."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from schemas.views import Json
from service.audit.custody import Area, CardLocation, face_locations, returned_starters
from service.domain.cards import Card
from service.domain.commands import Seat
from service.domain.events import (
    BlindFailed,
    CardsDealt,
    CardsDrawn,
    CardsPlayed,
    CardsSwapped,
    CardsThrown,
    Event,
    StockFailed,
    TableLaid,
)
from service.domain.plays import codes_of
from service.domain.view import seen_by
from service.replay.history import History


class KnownBy(StrEnum):
    """How a seat came to know a card."""

    OWN = "own"  # dealt to its hand, or turned by it alone
    DRAWN = "drawn"
    TABLE = "table"  # lay face up
    PILE = "pile"
    SHOWN = "shown"  # turned for all to see, then put into a hand or under the stock


@dataclass(frozen=True, slots=True, kw_only=True)
class _FirstSeen:
    """The event at which the seat first saw a card, and how."""

    seq: int
    by: KnownBy


SNAPSHOT_EVENTS = 128
"""Number of events between two snapshots, from which later versions are computed."""


def knowledge(history: History, seat: Seat, version: int) -> Json:
    """
    Return the cards that a seat could know at a version (api.md, section 6).

    A player who remembers all public events and their own cards knows their own hand, the
    face-up cards, the pile, the burned cards, and the cards that all saw go into a hand. All
    other cards are `unseen`: those face down, in the stock, and unknown ones in other hands. The
    deck in the seal is published after the play and does not count.
    """
    start, seen, starters = _snapshot(history, seat, version)
    for seq in range(start, version):
        starters = _starters_after(starters, history, seq)
        _add_seen(seen, starters, history, seq, seat)
    locations = _locations(starters, history, version - 1, seat)
    setup = history.games[0].setup
    codes = codes_of(setup.decks, setup.jokers, setup.partial)
    return {
        "seat": seat,
        "version": version,
        "cards": [_known(card, locations[card], seen[card]) for card in sorted(locations)],
        "unseen": sorted(codes - locations.keys()),
    }


Snapshot = tuple[int, dict[Card, "_FirstSeen"], dict[Card, CardLocation]]
"""The number of processed events, the cards seen by then, and where the starters lie."""

_EMPTY: Snapshot = (0, {}, {})


def events_known(history: History, seat: Seat) -> int:
    """Return the number of events that are covered by snapshots of a seat's knowledge."""
    snapshots: tuple[Snapshot, ...] = history.carried.get(("knowledge", seat), (_EMPTY,))
    return snapshots[-1][0]


def _snapshot(history: History, seat: Seat, version: int) -> Snapshot:
    """Return the newest snapshot up to a version; there is one for every SNAPSHOT_EVENTS events."""
    snapshots: tuple[Snapshot, ...] = history.carried.get(("knowledge", seat), (_EMPTY,))
    while len(snapshots) <= version // SNAPSHOT_EVENTS:
        start, seen, starters = snapshots[-1]
        seen = dict(seen)
        for seq in range(start, start + SNAPSHOT_EVENTS):
            starters = _starters_after(starters, history, seq)
            _add_seen(seen, starters, history, seq, seat)
        snapshots = (*snapshots, (start + SNAPSHOT_EVENTS, seen, starters))
        history.carried["knowledge", seat] = snapshots
    start, seen, starters = snapshots[version // SNAPSHOT_EVENTS]
    return start, dict(seen), starters


def _locations(
    starters: dict[Card, CardLocation], history: History, seq: int, seat: Seat
) -> dict[Card, CardLocation]:
    return starters | face_locations(seen_by(history.games[seq], seat))


def _add_seen(
    seen: dict[Card, _FirstSeen],
    starters: dict[Card, CardLocation],
    history: History,
    seq: int,
    seat: Seat,
) -> None:
    """Add the cards that the seat first sees at an event."""
    locations = _locations(starters, history, seq, seat)
    record = history.log[seq]
    for card in locations.keys() - seen.keys():
        seen[card] = _FirstSeen(seq=record.seq, by=_by(record.event, locations[card], seat))


def _starters_after(
    starters: dict[Card, CardLocation], history: History, seq: int
) -> dict[Card, CardLocation]:
    """
    Return the places of the special starters that were put under the stock for all to see.

    Draws take the top of the stock, so it is public which seat draws a starter.
    """
    event, game = history.log[seq].event, history.games[seq]
    shown = returned_starters(event)
    if shown:
        return {card: CardLocation(area=Area.STOCK) for card in shown}
    if not starters or not seq:
        return starters
    drawn = set(history.games[seq - 1].stock) - set(game.stock)
    if not drawn:
        return starters
    positions = history.cached("under", lambda: _positions(history))
    drawer: Seat | None = getattr(event, "seat", None)
    hand = CardLocation(area=Area.HAND, seat=drawer)
    return {card: hand if positions[card] in drawn else place for card, place in starters.items()}


def _positions(history: History) -> dict[Card, int]:
    """Return the positions in the deck of the starters that were put under the stock."""
    return {
        card: p for record in history.log for card, p in returned_starters(record.event).items()
    }


def _by(event: Event, place: CardLocation, seat: Seat) -> KnownBy:
    """Return how the seat came to know a card that lies at `place` after an event."""
    own = place.area is Area.HAND and place.seat == seat
    match event:
        case CardsDealt():
            if own:
                return KnownBy.OWN
            return {Area.UP: KnownBy.TABLE, Area.PILE: KnownBy.PILE}.get(place.area, KnownBy.SHOWN)
        case CardsSwapped() | TableLaid():
            return KnownBy.DRAWN if own else KnownBy.TABLE
        case CardsThrown():
            return KnownBy.DRAWN if own else KnownBy.PILE
        case CardsDrawn():
            return KnownBy.DRAWN
        case CardsPlayed():
            return KnownBy.PILE
        case BlindFailed(opening=None):
            return KnownBy.OWN
        case BlindFailed() | StockFailed():
            return KnownBy.SHOWN
        case _:
            return KnownBy.SHOWN


def _known(card: Card, place: CardLocation, seen: _FirstSeen) -> Json:
    return {
        "card": card,
        "zone": place.area.value,
        "seat": place.seat,
        "since_seq": seen.seq,
        "by": seen.by.value,
    }
