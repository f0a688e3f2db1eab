"""Checks `deal`, `custody` and `hidden`: the place of every card at every event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from service.domain.cards import Card, rank_of
from service.domain.events import BlindFailed, GameCreated
from service.domain.evolve import evolve
from service.domain.game import new_game
from service.domain.ruleset import PLAIN_RANK, Ruleset, Starter, deck_of
from service.verify.card_tracker import UNKNOWN, CardMisplaced, Zones
from service.verify.finding import (
    Failed,
    Objection,
    Position,
    missing,
    not_applicable,
    not_followed,
)
from service.verify.log import NOT_BEGUN, Log
from service.verify.without_deck import fits_alone


def check_deal(log: Log, position: Position, *, until: int | None = None) -> None:
    """
    Check that the deck and the numbers of dealt cards are those of the ruleset.

    Also check the starter, and that dealt and drawn cards come from the top of the stock.

    Only events before `until` are judged, which is out of order. Raises Failed if the deal breaks a
    rule, Unanswered if nothing was dealt or not all events are judged.
    """
    position.seq = 0
    ruleset = log.known_ruleset
    if ruleset is not None:
        with position.collecting_failures():
            _check_deck(log, ruleset)
    dealt = _deal_of(log)
    if dealt is None:
        raise not_applicable("open.not_dealt")
    seq, data = dealt
    if ruleset is not None:
        position.seq = seq
        with position.collecting_failures():
            _check_counts(seq, data, ruleset)
        with position.collecting_failures():
            _check_starter(seq, data, ruleset)
    try:
        for _ in followed(log, position, until=until):
            pass
    except CardMisplaced as error:
        if error.dealing:
            position.failures.append(_misplaced(position.seq, error).objection)
    if until is not None:
        raise not_followed(position, until)


def check_custody(log: Log, position: Position, *, until: int | None = None) -> None:
    """
    Check that each card is always in one zone, and that seats play only cards they hold.

    Only events before `until` are judged, which is out of order or at which `deal` fails. Raises
    Failed if a card is not where an event takes it from, Unanswered if nothing was dealt or not all
    events are judged.
    """
    if _deal_of(log) is None:
        raise not_applicable("open.not_dealt")
    zones = None
    try:
        for step in followed(log, position, until=until):
            zones = step
    except CardMisplaced as error:
        raise _misplaced(position.seq, error) from None
    if until is not None:
        raise not_followed(position, until)
    cards = [card for card in zones.everything() if card != UNKNOWN] if zones else []
    whole = log.deck is None or len(cards) == len(log.codes)
    if len(set(cards)) < len(cards) or not whole:
        raise Failed(position.seq, "custody.whole")


def _misplaced(seq: int | None, error: CardMisplaced) -> Failed:
    return Failed.of(Objection(seq=seq, code=error.code, values=error.values))


def followed(log: Log, position: Position, *, until: int | None = None) -> Iterator[Zones]:
    """
    Yield the zones after each event before `until`.

    Raises CardMisplaced with the position on the event.
    """
    zones = Zones(log.codes, log.deck, log.seats)
    for seq, event in enumerate(log.events[:until]):
        position.seq = seq
        zones.follow(event["type"], event["data"])
        yield zones


def positions_obtained(log: Log, seat: int) -> frozenset[int] | None:
    """
    Return the deck positions of the cards that were dealt to, drawn or turned by a seat.

    None for a seat that there is not, or if a card is not where an event takes it from: other
    checks fail then.
    """
    zones = None
    try:
        for step in followed(log, Position()):
            zones = step
    except (CardMisplaced, ValueError, LookupError):
        return None
    return None if zones is None or seat >= log.seats else frozenset(zones.obtained[seat])


def _deal_of(log: Log) -> tuple[int, Mapping[str, Any]] | None:
    found = [seq for seq, event in enumerate(log.events) if event["type"] == "cards_dealt"]
    if found:
        return found[0], log.events[found[0]]["data"]
    if log.seal is None and log.broken is None:
        raise missing("open.not_yet_dealt")
    return None


def _check_deck(log: Log, ruleset: Ruleset) -> None:
    deck = log.created["deck"]
    decks, jokers, partial = deck_of(ruleset, log.seats)
    if (deck["decks"], deck["jokers"], deck["partial"]) != (decks, jokers, list(partial)):
        rule = ruleset.cite("deck.count", "deck.decks")
        raise Failed(0, "deal.other_deck", rule)


def _check_counts(seq: int, data: Mapping[str, Any], ruleset: Ruleset) -> None:
    deal = ruleset.deal
    if (data["down"], data["up"], data["hand"]) != (deal.down, deal.up, deal.hand):
        rule = ruleset.cite("deal.hand")
        raise Failed(seq, "deal.ruleset", rule, down=deal.down, up=deal.up, hand=deal.hand)


def _check_starter(seq: int, data: Mapping[str, Any], ruleset: Ruleset) -> None:
    """Raise Failed if the starter, or the cards put back before it, break the ruleset."""
    rule, kind = ruleset.cite("deal.starter"), ruleset.deal.starter
    starter, returned = data["starter"], data["returned"]
    if kind is Starter.NONE and starter is not None:
        raise Failed(seq, "deal.starter", rule)
    if kind is not Starter.PLAIN and returned:
        raise Failed(seq, "deal.returned", rule)
    if kind is not Starter.NONE and starter is None and data["stock"] > len(returned):
        raise Failed(seq, "deal.no_starter", rule)
    if any(not _special(ruleset, opening["card"]) for opening in returned):
        raise Failed(seq, "deal.returned", rule)
    if kind is Starter.PLAIN and starter is not None and _special(ruleset, starter["card"]):
        raise Failed(seq, "deal.starter", rule)


def _special(ruleset: Ruleset, code: str) -> bool:
    return ruleset.rank(rank_of(Card(code))) != PLAIN_RANK


def check_hidden(log: Log, position: Position, *, until: int | None = None) -> None:
    """
    Check that every blind card that stayed hidden really did not fit the pile.

    Only events before `until` are judged, at which another check that follows the game fails.
    Raises Unanswered if there are no hidden blind cards, the deck or the ruleset is not known, or
    the game does not fit its deck.
    """
    hidden = [
        seq
        for seq, event in enumerate(log.events)
        if event["type"] == "blind_failed" and event["data"]["opening"] is None
    ]
    if not hidden:
        raise not_applicable("open.none_hidden")
    if log.deck is None:
        raise missing("open.hidden")
    if log.known_ruleset is None:
        raise missing("legality.unreadable_ruleset")
    position.seq = 0
    created = log.decoded[0]
    if not isinstance(created, GameCreated):
        raise missing(NOT_BEGUN)
    game = replace(new_game(created), deck=tuple(Card(code) for code in log.deck))
    for seq in range(1, hidden[-1] + 1):
        if until is not None and seq >= until:
            raise not_followed(position, until)
        position.seq = seq
        event = log.decoded[seq]
        if seq in hidden and isinstance(event, BlindFailed):
            place = game.seats[event.seat].down[event.slot]
            if place is not None and fits_alone(game, game.deck[place]):
                rule = game.ruleset.cite("model.blind")
                position.note(seq, "hidden.fits", rule, card=str(game.deck[place]))
        try:
            game = evolve(game, event)
        except (ValueError, IndexError):
            raise missing("open.other_deck", seq=seq) from None
