"""Knowledge: which cards a seat could know at a version, since when and from what."""

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
    """How a card came to a seat's knowledge."""

    OWN = "own"  # dealt to its hand, or turned by it alone
    DRAWN = "drawn"
    TABLE = "table"  # lay face up
    PILE = "pile"
    SHOWN = "shown"  # turned for all to see, then put into a hand or under the stock


@dataclass(frozen=True, slots=True, kw_only=True)
class _Met:
    """When a card came to light for the seat, and how."""

    seq: int
    by: KnownBy


EVERY = 128
"""Events between two points from which knowledge is followed again."""


def knowledge(history: History, seat: Seat, version: int) -> Json:
    """
    Return what a seat could know at a version, as api.md, section 6, has it.

    That is what the public events and its own cards show to a player who remembers them
    all: its hand, the table, the pile, burned cards, cards that all saw go
    into a hand. All other cards are `unseen`: each face-down card, card of the
    stock and unknown card of another hand is one of these. The seal, which
    publishes the deck, comes after the play and adds nothing here.
    """
    start, met, under = _memory(history, seat, version)
    for seq in range(start, version):
        under = _followed(under, history, seq)
        _meet(met, under, history, seq, seat)
    where = _where(under, history, version - 1, seat)
    setup = history.games[0].setup
    codes = codes_of(setup.decks, setup.jokers, setup.partial)
    return {
        "seat": seat,
        "version": version,
        "cards": [_known(card, where[card], met[card]) for card in sorted(where)],
        "unseen": sorted(codes - where.keys()),
    }


Memory = tuple[int, dict[Card, "_Met"], dict[Card, CardLocation]]
"""How many events were followed, what came to light by then, and where the starters are."""

_NOTHING_MET: Memory = (0, {}, {})


def followed_for(history: History, seat: Seat) -> int:
    """Return how many events of a history have been gone through for what a seat could know."""
    kept: tuple[Memory, ...] = history.carried.get(("knowledge", seat), (_NOTHING_MET,))
    return kept[-1][0]


def _memory(history: History, seat: Seat, version: int) -> Memory:
    """Return what was followed up to a version, as far as it is kept: every 128 events."""
    kept: tuple[Memory, ...] = history.carried.get(("knowledge", seat), (_NOTHING_MET,))
    while len(kept) <= version // EVERY:
        start, met, under = kept[-1]
        met = dict(met)
        for seq in range(start, start + EVERY):
            under = _followed(under, history, seq)
            _meet(met, under, history, seq, seat)
        kept = (*kept, (start + EVERY, met, under))
        history.carried["knowledge", seat] = kept
    start, met, under = kept[version // EVERY]
    return start, dict(met), under


def _where(
    under: dict[Card, CardLocation], history: History, seq: int, seat: Seat
) -> dict[Card, CardLocation]:
    return under | face_locations(seen_by(history.games[seq], seat))


def _meet(
    met: dict[Card, _Met], under: dict[Card, CardLocation], history: History, seq: int, seat: Seat
) -> None:
    """Add the cards that an event brings to light for the seat."""
    where = _where(under, history, seq, seat)
    record = history.log[seq]
    for card in where.keys() - met.keys():
        met[card] = _Met(seq=record.seq, by=_by(record.event, where[card], seat))


def _followed(
    under: dict[Card, CardLocation], history: History, seq: int
) -> dict[Card, CardLocation]:
    """
    Return where the starters are that were put under the stock for all to see.

    Whoever draws so deep is known to have got them, for draws take the top.
    """
    event, game = history.log[seq].event, history.games[seq]
    shown = returned_starters(event)
    if shown:
        return {card: CardLocation(area=Area.STOCK) for card in shown}
    if not under or not seq:
        return under
    gone = set(history.games[seq - 1].stock) - set(game.stock)
    if not gone:
        return under
    positions = history.cached("under", lambda: _positions(history))
    drawer: Seat | None = getattr(event, "seat", None)
    hand = CardLocation(area=Area.HAND, seat=drawer)
    return {card: hand if positions[card] in gone else place for card, place in under.items()}


def _positions(history: History) -> dict[Card, int]:
    """Return where in the deck the starters lie that were put under the stock."""
    return {
        card: p for record in history.log for card, p in returned_starters(record.event).items()
    }


def _by(event: Event, place: CardLocation, seat: Seat) -> KnownBy:
    """Return how an event brings a card to light that now lies at `place`."""
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


def _known(card: Card, place: CardLocation, met: _Met) -> Json:
    return {
        "card": card,
        "zone": place.area.value,
        "seat": place.seat,
        "since_seq": met.seq,
        "by": met.by.value,
    }
