"""Sentences for people: made from a code and named values, in the catalogue of a language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Final

ENGLISH: Final = "en"

_FOLDER: Final = Path(__file__).parents[1] / "api" / "static" / "app" / "strings"
_PARTS: Final = ("verify", "report")
"""The folders of the pages' texts that have sentences of the verifier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of the catalogue, or a part of one: its code, and the values in it."""

    code: str
    values: Values = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the sentence in English."""
        return sentence(self.code, self.values)

    def with_names(self, seat_name: SeatName) -> str:
        """Return the sentence in English, with the names of people in place of seats."""
        return sentence(self.code, self.values, seat_name=seat_name)


Value = int | str | Sentence | Sequence[int | str | Sentence] | None
Values = Mapping[str, Value]

SeatName = Callable[[int], str]
"""Returns the name of the person in a seat."""


def sentence(
    code: str,
    values: Values | None = None,
    language: str = ENGLISH,
    seat_name: SeatName | None = None,
) -> str:
    """
    Return the text with a code and its values; in English if the language lacks it.

    If a text has two forms, separated by `|`, the first is for the value 1 of `n`, and the second
    for other numbers. The name of a value decides how it is shown: SEATS, CARDS and EVENTS.
    A seat is shown with its number, or as `seat_name` names it.

    Raises KeyError for an unknown code.

    >>> sentence("custody.not_held", {"seat": 1, "card": "Kh"})
    'Seat 1 played the king of hearts, but did not hold it at that moment.'
    """
    if code not in catalogue(language):
        language = ENGLISH
    given = values or {}
    one, *others = catalogue(language)[code].split("|")
    form = others[0] if others and given.get("n") != 1 else one
    show = partial(_shown, language=language, seat_name=seat_name)
    text = _NAME.sub(lambda found: show(found[1], given.get(found[1])), form)
    first = _NAME.match(form)
    return begun(text) if first is not None and first[1] in SEATS else text


def begun(text: str) -> str:
    """Return a text with a capital letter at its beginning."""
    return f"{text[:1].upper()}{text[1:]}"


@cache
def catalogue(language: str = ENGLISH) -> Mapping[str, str]:
    """Return the texts of a language by code, as far as it has them."""
    texts: dict[str, str] = {}
    for part in _PARTS:
        texts |= _file(f"{part}/{language}.json")
    return texts


def _file(name: str) -> Mapping[str, str]:
    """Return the texts of a file; none if the language does not have it."""
    path = _FOLDER / name
    texts: Mapping[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return texts


SEATS: Final = ("seat", "seats", "dealer", "due", "holder")
"""The names of values that are seats, or several of them."""

CARDS: Final = ("card", "cards", "fitting", "actual")
"""The names of values that are codes of cards, or several of them."""

BARE: Final = ("card", "fitting", "actual")
"""The names of cards before which their sentences have an article, if their language has any."""

EVENTS: Final = ("event",)
"""The names of values that are types of events."""

ANY: Final = ("claims",)
"""The names of values that are alternatives, with "or" before the last of them."""

_ALL: Final = (*SEATS, *CARDS, "checks")
"""The names of values that are lists, with "and" before the last of them."""

_NAME: Final = re.compile(r"\{(\w+)\}")


def _shown(name: str, value: Value, *, language: str, seat_name: SeatName | None = None) -> str:
    """Return a value as its sentence shows it; a dash if it is missing."""
    if value is None:
        return "\N{EN DASH}"
    if name in EVENTS:
        known = f"happens.{value}" in catalogue()
        return _own(f"happens.{value}" if known else "happens.other", language)
    several = [value] if isinstance(value, int | str | Sentence) else value
    words = [_one(name, one, language, seat_name) for one in several]
    if len(words) < 2 or name not in (*ANY, *_ALL):
        return ", ".join(words)
    form = _own("value.or" if name in ANY else "value.and", language)
    return form.replace("{most}", ", ".join(words[:-1])).replace("{last}", words[-1])


def _one(name: str, value: int | str | Sentence, language: str, seat_name: SeatName | None) -> str:
    if isinstance(value, Sentence):
        return sentence(value.code, value.values, language, seat_name)
    if name in SEATS and seat_name is not None:
        return seat_name(int(value))
    if name in SEATS:
        return _own("value.seat", language).replace("{n}", str(value))
    if name not in CARDS:
        return str(value)
    card = card_name(str(value), language)
    return card if name in BARE else _names(language)["card.the"].replace("{card}", card)


def _own(code: str, language: str) -> str:
    """Return a text of a language, else the English one."""
    return catalogue(language).get(code) or catalogue()[code]


def card_name(code: str, language: str = ENGLISH) -> str:
    """
    Return a card in words, as the pages name it; the code itself if it is none of a card.

    >>> card_name("Th/2"), card_name("X1")
    ('ten of hearts, deck 2', 'joker')
    """
    texts = _names(language)
    plain, _, deck = code.partition("/")
    rank, suit = texts.get(f"rank.{plain[:1]}"), texts.get(f"suit.{plain[1:]}")
    if plain[:1] == "X":
        name = texts["card.joker"]
    elif rank is None or suit is None:
        return code
    else:
        name = texts["card.of"].replace("{rank}", rank).replace("{suit}", suit)
    return texts["card.deck"].replace("{card}", name).replace("{deck}", deck) if deck else name


@cache
def _names(language: str) -> Mapping[str, str]:
    """Return the texts that all pages share, among them the names of ranks and suits."""
    return _file(f"{language}.json") or _file(f"{ENGLISH}.json")
