"""Conversion between game events and the `data` of SHX/1 events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from msgspec import Struct

from service.domain.cards import Card, Rank
from service.domain.events import (
    AbortCause,
    BlindFailed,
    BurnCause,
    CardsDealt,
    CardsDrawn,
    CardsPlayed,
    CardsSwapped,
    CardsThrown,
    Clock,
    DeckCommitted,
    EndEvent,
    EndReason,
    Entropy,
    EntropyCommitted,
    EntropyRevealed,
    Event,
    ExchangeEvent,
    GameAborted,
    GameCreated,
    GameEnded,
    GameSealed,
    Opening,
    PileBurned,
    PilePickedUp,
    PlayEvent,
    PlayStarted,
    SeatOut,
    SeatReady,
    SeatSetup,
    SetupEvent,
    StockFailed,
    TableLaid,
    TurnPassed,
    TurnTimedOut,
    Zone,
)
from service.domain.ruleset import Ruleset

Data = dict[str, Any]
RulesetReader = Callable[[Mapping[str, Any], int], Ruleset]


class Secrets(Struct, frozen=True, kw_only=True):
    """
    Secrets of a deck that events publish: the salts of opened cards; in the seal, seed and deck.

    `refusals` is the field of the same name in a seal of version 2, None for version 1.
    """

    salt: Callable[[int], str]
    seed: str
    deck: tuple[str, ...] | None
    refusals: Mapping[str, Any] | None = None


def data_of(event: Event, secrets: Secrets | None = None) -> Data:
    """
    Return the `data` of an event.

    Raises ValueError for an event that opens a card or publishes the seed if `secrets` is None,
    and for `game_created`, whose data the application composes.
    """
    if isinstance(event, PlayEvent):
        return _play_data(event, secrets)
    if isinstance(event, SetupEvent):
        return _setup_data(event)
    if isinstance(event, ExchangeEvent):
        return _exchange_data(event, secrets)
    return _end_data(event, secrets)


def event_of(type_: str, data: Mapping[str, Any], read_ruleset: RulesetReader) -> Event:
    """
    Return the domain event of a type and its data, whose fields have been checked.

    `read_ruleset` returns the rules for the pinned ruleset of a `game_created` and the number
    of the hand. Raises KeyError for an unknown type.
    """
    if type_ == "game_created":
        return _created(data, read_ruleset)
    return _READERS[type_](data)


def type_of(event: Event) -> str:
    """Return the event type as SHX/1 names it."""
    return _TYPES[type(event)]


def _setup_data(event: SetupEvent) -> Data:
    match event:
        case GameCreated():
            raise ValueError("only the application can compose the data of game_created")
        case EntropyCommitted():
            return {"seat": event.seat, "commit": event.commit}
        case EntropyRevealed():
            return {"seat": event.seat, "value": event.value}
        case DeckCommitted():
            return {"cards": list(event.cards)}
        case _:
            assert_never(event)


def _exchange_data(event: ExchangeEvent, secrets: Secrets | None) -> Data:
    match event:
        case CardsDealt():
            return {
                "dealer": event.dealer,
                "down": event.down,
                "up": event.up,
                "hand": event.hand,
                "stock": event.stock,
                "face_up": [[_opened(o, secrets) for o in seat] for seat in event.face_up],
                "starter": _opened(event.starter, secrets),
                "returned": [_opened(o, secrets) for o in event.returned],
            }
        case CardsThrown():
            return {"seat": event.seat, "cards": list(event.cards), "count": event.count}
        case CardsSwapped():
            return {"seat": event.seat, "up": list(event.up), "hand": list(event.hand)}
        case TableLaid():
            stacks = [list(stack) for stack in event.stacks]
            return {"seat": event.seat, "stacks": stacks, "count": event.count}
        case SeatReady():
            return {"seat": event.seat}
        case PlayStarted():
            return {"turn": event.turn}
        case _:
            assert_never(event)


def _play_data(event: PlayEvent, secrets: Secrets | None) -> Data:
    match event:
        case CardsPlayed():
            return {
                "seat": event.seat,
                "zone": str(event.zone),
                "cards": list(event.cards),
                "slot": event.slot,
                "opening": _opened(event.opening, secrets),
                "turn": event.turn,
                "direction": event.direction,
            }
        case CardsDrawn():
            return {"seat": event.seat, "count": event.count}
        case PileBurned():
            return {
                "seat": event.seat,
                "cause": event.cause.value,
                "count": event.count,
                "cleared_by": event.cleared_by,
            }
        case PilePickedUp():
            return {**_taken(event), "with": list(event.along)}
        case BlindFailed():
            return {
                **_taken(event),
                "slot": event.slot,
                "opening": _opened(event.opening, secrets),
            }
        case StockFailed():
            return {**_taken(event), "opening": _opened(event.opening, secrets)}
        case TurnPassed():
            return {"seat": event.seat, "reason": "no_play", "turn": event.turn}
        case TurnTimedOut():
            return {"seat": event.seat}
        case _:
            assert_never(event)


def _end_data(event: EndEvent, secrets: Secrets | None) -> Data:
    match event:
        case SeatOut():
            return {"seat": event.seat, "place": event.place}
        case GameEnded():
            return {
                "reason": event.reason.value,
                "shithead": event.shithead,
                "places": list(event.places),
            }
        case GameSealed():
            return _sealed(secrets)
        case GameAborted():
            return {"cause": event.cause.value, "seat": event.seat, **_sealed(secrets)}
        case _:
            assert_never(event)


def _taken(event: PilePickedUp | BlindFailed | StockFailed) -> Data:
    return {
        "seat": event.seat,
        "taker": event.taker,
        "count": event.count,
        "turn": event.turn,
        "direction": event.direction,
    }


def _opened(opening: Opening | None, secrets: Secrets | None) -> Data | None:
    if opening is None:
        return None
    if secrets is None:
        raise ValueError("an opening needs the salts of its deck")
    return {"p": opening.p, "card": opening.card, "salt": secrets.salt(opening.p)}


def _sealed(secrets: Secrets | None) -> Data:
    if secrets is None:
        raise ValueError("a seal needs the seed")
    deck = None if secrets.deck is None else list(secrets.deck)
    data: Data = {"seed": secrets.seed, "deck": deck}
    return data if secrets.refusals is None else {**data, "refusals": dict(secrets.refusals)}


def _created(data: Mapping[str, Any], read_ruleset: RulesetReader) -> GameCreated:
    deck, clock = data["deck"], data["clock"]
    return GameCreated(
        table=data["table"],
        hand=data["hand"],
        ruleset=read_ruleset(data["ruleset"], data["hand"]),
        decks=deck["decks"],
        jokers=deck["jokers"],
        partial=tuple(Rank(rank) for rank in deck["partial"]),
        seats=tuple(
            SeatSetup(
                kind=seat["kind"],
                bot=seat["bot"],
                key=seat["key"],
                entropy=Entropy(seat["entropy"]),
            )
            for seat in data["seats"]
        ),
        dealer=data["dealer"],
        prev_game=data["prev_game"],
        commit=data["commit"],
        clock=Clock(**clock) if clock else None,
        turn_limit=data["turn_limit"],
    )


def _dealt(d: Mapping[str, Any]) -> CardsDealt:
    return CardsDealt(
        dealer=d["dealer"],
        down=d["down"],
        up=d["up"],
        hand=d["hand"],
        stock=d["stock"],
        face_up=tuple(tuple(_one_opening(o) for o in seat) for seat in d["face_up"]),
        starter=_opening(d["starter"]),
        returned=tuple(_one_opening(o) for o in d["returned"]),
    )


_ZONES: Mapping[str, Zone] = {zone.value: zone for zone in Zone}


def _played(d: Mapping[str, Any]) -> CardsPlayed:
    return CardsPlayed(
        seat=d["seat"],
        zone=_ZONES[d["zone"]],
        cards=_cards(d["cards"]),
        slot=d["slot"],
        opening=_opening(d["opening"]),
        turn=d["turn"],
        direction=d["direction"],
    )


def _burned(d: Mapping[str, Any]) -> PileBurned:
    cause = BurnCause(d["cause"])
    return PileBurned(seat=d["seat"], cause=cause, count=d["count"], cleared_by=d["cleared_by"])


def _takes(d: Mapping[str, Any]) -> Data:
    return {name: d[name] for name in ("seat", "taker", "count", "turn", "direction")}


def _ended(d: Mapping[str, Any]) -> GameEnded:
    reason = EndReason(d["reason"])
    return GameEnded(reason=reason, shithead=d["shithead"], places=tuple(d["places"]))


def _opening(data: Mapping[str, Any] | None) -> Opening | None:
    return None if data is None else _one_opening(data)


def _one_opening(data: Mapping[str, Any]) -> Opening:
    return Opening(p=data["p"], card=Card(data["card"]))


def _cards(codes: list[str]) -> tuple[Card, ...]:
    return tuple(Card(code) for code in codes)


def _stacks(d: Mapping[str, Any]) -> tuple[tuple[Card, ...], ...]:
    return tuple(_cards(stack) for stack in d["stacks"])


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Event]] = {
    "entropy_committed": lambda d: EntropyCommitted(seat=d["seat"], commit=d["commit"]),
    "entropy_revealed": lambda d: EntropyRevealed(seat=d["seat"], value=d["value"]),
    "deck_committed": lambda d: DeckCommitted(cards=tuple(d["cards"])),
    "cards_dealt": _dealt,
    "cards_thrown": lambda d: CardsThrown(
        seat=d["seat"], cards=_cards(d["cards"]), count=d["count"]
    ),
    "cards_swapped": lambda d: CardsSwapped(
        seat=d["seat"], up=_cards(d["up"]), hand=_cards(d["hand"])
    ),
    "table_laid": lambda d: TableLaid(seat=d["seat"], stacks=_stacks(d), count=d["count"]),
    "seat_ready": lambda d: SeatReady(seat=d["seat"]),
    "play_started": lambda d: PlayStarted(turn=d["turn"]),
    "cards_played": _played,
    "cards_drawn": lambda d: CardsDrawn(seat=d["seat"], count=d["count"]),
    "pile_burned": _burned,
    "pile_picked_up": lambda d: PilePickedUp(along=_cards(d["with"]), **_takes(d)),
    "blind_failed": lambda d: BlindFailed(
        slot=d["slot"], opening=_opening(d["opening"]), **_takes(d)
    ),
    "stock_failed": lambda d: StockFailed(opening=_one_opening(d["opening"]), **_takes(d)),
    "turn_passed": lambda d: TurnPassed(seat=d["seat"], turn=d["turn"]),
    "turn_timed_out": lambda d: TurnTimedOut(seat=d["seat"]),
    "seat_out": lambda d: SeatOut(seat=d["seat"], place=d["place"]),
    "game_ended": _ended,
    "game_sealed": lambda _: GameSealed(),
    "game_aborted": lambda d: GameAborted(cause=AbortCause(d["cause"]), seat=d["seat"]),
}

_TYPES: Mapping[type[Event], str] = {
    GameCreated: "game_created",
    EntropyCommitted: "entropy_committed",
    EntropyRevealed: "entropy_revealed",
    DeckCommitted: "deck_committed",
    CardsDealt: "cards_dealt",
    CardsThrown: "cards_thrown",
    CardsSwapped: "cards_swapped",
    TableLaid: "table_laid",
    SeatReady: "seat_ready",
    PlayStarted: "play_started",
    CardsPlayed: "cards_played",
    CardsDrawn: "cards_drawn",
    PileBurned: "pile_burned",
    PilePickedUp: "pile_picked_up",
    BlindFailed: "blind_failed",
    StockFailed: "stock_failed",
    TurnPassed: "turn_passed",
    TurnTimedOut: "turn_timed_out",
    SeatOut: "seat_out",
    GameEnded: "game_ended",
    GameSealed: "game_sealed",
    GameAborted: "game_aborted",
}
