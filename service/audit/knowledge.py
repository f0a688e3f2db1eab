"""Knowledge: which cards a seat could know at a version, since when and from what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from schemas.views import Json
from service.audit.places import Area, Place, face_places
from service.audit.shown import put_under
from service.audit.story import Story
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
from service.domain.game import Game
from service.domain.plays import codes_of
from service.domain.view import seen_by


class By(StrEnum):
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
    by: By


def knowledge(story: Story, seat: Seat, version: int) -> Json:
    """
    Return what a seat could know at a version, as api.md, section 6, has it.

    That is what the public events and its own cards tell whoever remembers them
    all: its hand, the table, the pile, burned cards, cards that everybody saw go
    into a hand. All other cards are `unseen`: each face-down card, card of the
    stock and unknown card of another hand is one of these. The seal, which
    publishes the deck, comes after the play and adds nothing here.
    """
    met: dict[Card, _Met] = {}
    under: dict[Card, Place] = {}
    where: dict[Card, Place] = {}
    before: Game | None = None
    for record, game in zip(story.log[:version], story.games[:version], strict=True):
        under = _followed(under, story, record.event, before, game)
        where = under | face_places(seen_by(game, seat))
        for card in where.keys() - met.keys():
            met[card] = _Met(seq=record.seq, by=_by(record.event, where[card], seat))
        before = game
    setup = story.games[0].setup
    codes = codes_of(setup.decks, setup.jokers, setup.partial)
    return {
        "seat": seat,
        "version": version,
        "cards": [_known(card, where[card], met[card]) for card in sorted(where)],
        "unseen": sorted(codes - where.keys()),
    }


def _followed(
    under: dict[Card, Place], story: Story, event: Event, before: Game | None, game: Game
) -> dict[Card, Place]:
    """
    Return where the starters are that were put under the stock for all to see.

    Whoever draws so deep is known to have got them, for draws take the top.
    """
    shown = put_under(event)
    if shown:
        return {card: Place(area=Area.STOCK) for card in shown}
    if not under or before is None:
        return under
    gone = set(before.stock) - set(game.stock)
    if not gone:
        return under
    positions = {c: p for r in story.log for c, p in put_under(r.event).items()}
    drawer: Seat | None = getattr(event, "seat", None)
    hand = Place(area=Area.HAND, seat=drawer)
    return {card: hand if positions[card] in gone else place for card, place in under.items()}


def _by(event: Event, place: Place, seat: Seat) -> By:
    """Return how an event brings a card to light that now lies at `place`."""
    own = place.area is Area.HAND and place.seat == seat
    match event:
        case CardsDealt():
            if own:
                return By.OWN
            return {Area.UP: By.TABLE, Area.PILE: By.PILE}.get(place.area, By.SHOWN)
        case CardsSwapped() | TableLaid():
            return By.DRAWN if own else By.TABLE
        case CardsThrown():
            return By.DRAWN if own else By.PILE
        case CardsDrawn():
            return By.DRAWN
        case CardsPlayed():
            return By.PILE
        case BlindFailed(opening=None):
            return By.OWN
        case BlindFailed() | StockFailed():
            return By.SHOWN
        case _:
            return By.SHOWN


def _known(card: Card, place: Place, met: _Met) -> Json:
    return {
        "card": card,
        "zone": place.area.value,
        "seat": place.seat,
        "since_seq": met.seq,
        "by": met.by.value,
    }
