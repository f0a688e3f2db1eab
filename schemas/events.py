"""Conversion between the classes of game events and the `data` of SHX/1 events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final, get_args, get_type_hints

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.json import Decoder

from service.domain.cards import Rank
from service.domain.events import (
    Clock,
    Entropy,
    Event,
    GameAborted,
    GameCreated,
    GameSealed,
    PilePickedUp,
    SeatSetup,
    TurnPassed,
)
from service.domain.ruleset import Ruleset

Data = dict[str, Any]
RulesetReader = Callable[[Mapping[str, Any], int], Ruleset]


class Secrets(Struct, frozen=True, kw_only=True):
    """
    What events take from outside the game: the salts of opened cards; in the seal, seed and deck.

    `refusals` is the field of the same name in a seal; other events need none.
    """

    salt: Callable[[int], str]
    seed: str
    deck: tuple[str, ...] | None
    refusals: Mapping[str, Any] | None = None


def data_of(event: Event, secrets: Secrets | None = None) -> Data:
    """
    Return the `data` of an event.

    Raises ValueError for an event that opens a card or publishes the seed if `secrets` is None,
    for a seal without `refusals`, and for `game_created`, whose data the application composes.
    """
    kind = type(event)
    if kind is GameCreated:
        raise ValueError("only the application can compose the data of game_created")
    data: Data = to_builtins(event)
    for name in _OPENINGS[kind]:
        data[name] = _opened(data[name], secrets)
    if kind is PilePickedUp:
        data[_WITH] = data.pop(_ALONG)
    elif kind is TurnPassed:
        data["reason"] = "no_play"
    elif kind in _SEALS:
        data.update(_sealed(secrets))
    return data


def event_of(type_: str, data: Mapping[str, Any], read_ruleset: RulesetReader) -> Event:
    """
    Return the domain event of a type and its data, whose fields have been checked.

    `read_ruleset` returns the rules for the pinned ruleset of a `game_created` and the number
    of the hand. Raises KeyError for an unknown type, ValueError for a field of another type.
    """
    if type_ == "game_created":
        return _created(data, read_ruleset)
    kind = _CLASSES[type_]
    if kind is PilePickedUp:
        data = {**data, _ALONG: data[_WITH]}
    try:
        return convert(data, kind)  # which leaves out the salts and the secrets
    except ValidationError as error:
        raise ValueError(str(error)) from None


def type_of(event: Event) -> str:
    """Return the event type as SHX/1 names it."""
    return _TYPES[type(event)]


def read_fields(kinds: Iterable[type]) -> None:
    """
    Have msgspec read the fields of classes that `convert` returns, when their module is loaded.

    It would do so at the first conversion, and a second thread that converts meanwhile would use
    the unfinished list of fields: the process ends with a segmentation fault (msgspec 0.22).
    """
    for kind in kinds:
        Decoder(kind)


_WITH, _ALONG = "with", "along"
"""The name of a field in the record, and in Python, where the first is a keyword."""

_SEALS: Final = (GameSealed, GameAborted)
"""Events whose `data` has the secrets of the deck as well."""


def _opened(opening: Any, secrets: Secrets | None) -> Any:
    """Return openings with their salts: one, or lists of them; null stays null."""
    if opening is None:
        return None
    if isinstance(opening, dict):
        if secrets is None:
            raise ValueError("an opening needs the salts of its deck")
        return {**opening, "salt": secrets.salt(opening["p"])}
    return [_opened(one, secrets) for one in opening]


def _sealed(secrets: Secrets | None) -> Data:
    if secrets is None:
        raise ValueError("a seal needs the seed")
    deck = None if secrets.deck is None else list(secrets.deck)
    if secrets.refusals is None:
        raise ValueError("a seal names the refused attempts")
    return {"seed": secrets.seed, "deck": deck, "refusals": dict(secrets.refusals)}


def recorded_clock(clock: Clock | None) -> Data | None:
    """Return a clock as `game_created` has it: without a reserve that is 0."""
    if clock is None:
        return None
    return {name: seconds for name, seconds in asdict(clock).items() if seconds}


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


def _type_name(kind: type[Event]) -> str:
    """Return the type of a class in the record: `cards_played` for CardsPlayed."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


_TYPES: Final[Mapping[type[Event], str]] = {kind: _type_name(kind) for kind in get_args(Event)}
_CLASSES: Final[Mapping[str, type[Event]]] = {name: kind for kind, name in _TYPES.items()}
_OPENINGS: Final[Mapping[type[Event], tuple[str, ...]]] = {
    kind: tuple(name for name, hint in get_type_hints(kind).items() if "Opening" in str(hint))
    for kind in _TYPES
}
"""The attributes of each class that hold openings, alone or in tuples."""

read_fields(kind for kind in _TYPES if kind is not GameCreated)  # which is not converted
