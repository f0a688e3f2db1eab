"""Sentences for people: made from a code and named values, in the catalogue of a language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from service.domain.commands import CommandRefused
from service.domain.dispute_rules import DisputeRefused
from service.words import FOLDER

ENGLISH: Final = "en"
LANGUAGES: Final = ("en", "sv", "ja")

_PARTS: Final = ("", "verify/", "findings/", "report/", "refusals/", "court/")
"""The folders of the pages' texts that have sentences of the program; "" has those of all pages."""

SeatName = Callable[[int], str]
"""Returns the name of the person in a seat."""


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
        return sentence(self.code, self.values, Voice(seat_name=seat_name))


Stored = Mapping[str, Any]
"""A sentence as `values_json` returns it: its code and its values."""

_One = int | str | Sentence | Stored
Value = _One | Sequence[_One] | None
Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """The language of a sentence, and how it names seats and cards."""

    language: str = ENGLISH
    seat_name: SeatName | None = None  # None: with its number
    reader: int | None = None  # the seat that is "you"
    codes: bool = False  # cards as their codes, not in words


PLAIN: Final = Voice()


def seat_number(seat: int) -> int:
    """
    Return the number of a seat in everything that people read: it counts from 1, data from 0.

    Scripts have the same in `seatNumber` of `i18n.js`, and the second verifier in its `cli.js`.
    """
    return seat + 1


def seat_words(seat: int, language: str = ENGLISH) -> str:
    """
    Return a seat, whose number in data is `seat`, in words within a sentence.

    >>> seat_words(0), seat_words(2, "sv")
    ('seat 1', 'plats 3')
    """
    return _own("seat.number", language).replace("{n}", str(seat_number(seat)))


def said(code: str, **values: Value) -> Sentence:
    """Return the sentence with a code and values."""
    return Sentence(code=code, values=values)


def reason_of(refused: CommandRefused | DisputeRefused) -> Sentence:
    """Return why the rules refuse a command, or a call on a dispute."""
    return Sentence(code=refused.reason, values=refused.values)


def sentence(code: str, values: Values | None = None, voice: Voice = PLAIN) -> str:
    """
    Return the text with a code and its values; in English if the language lacks it.

    If a text has two forms, separated by `|`, the first is for a number that is 1, and the second
    for others; COUNTS are the names of this number. The name of a value decides how it is shown:
    SEATS, CARDS, EVENTS and ANY.
    A seat at the beginning has a capital letter, but the name of a person stays as it is.

    Raises KeyError for an unknown code.

    >>> sentence("custody.not_held", {"seat": 1, "card": "Kh"})
    'Seat 2 played the king of hearts, but did not hold it at that moment.'
    """
    text, first = _filled(code, values or {}, voice)
    is_begun = first in SEATS and not _is_name((values or {})[first], voice)
    return begun(text) if is_begun else text


def prose(sentences: Iterable[Sentence], voice: Voice = PLAIN) -> str:
    """Return sentences as one text, each with a capital letter and a full stop."""
    texts, stop = [], _own("value.stop", voice.language)
    for one in sentences:
        text, first = _filled(one.code, one.values, voice)
        is_name = first in SEATS and _is_name(one.values[first], voice)
        texts.append(text if is_name else begun(text))
    return " ".join(text if text.endswith((stop, "…")) else f"{text}{stop}" for text in texts)


def _is_name(seat: Value, voice: Voice) -> bool:
    """Return whether a seat is shown as the name of a person."""
    return voice.seat_name is not None and seat != voice.reader


def begun(text: str) -> str:
    """Return a text with a capital letter at its beginning."""
    return f"{text[:1].upper()}{text[1:]}"


def values_json(values: Values) -> dict[str, Any]:
    """Return the values of a sentence as JSON; a sentence among them has its code and values."""

    def shown(value: Value) -> Any:
        if isinstance(value, Sentence):
            return {"code": value.code, "values": values_json(value.values)}
        if value is None or isinstance(value, int | str | Mapping):
            return value
        return [*map(shown, value)]

    return {name: shown(value) for name, value in values.items()}


def coded(said: Sentence | None) -> dict[str, Any]:
    """Return a sentence as members of a JSON object: its code, its values, and its text."""
    if said is None:
        return {"code": None, "values": None, "text": None}
    return {"code": said.code, "values": values_json(said.values), "text": said.text}


@cache
def catalogue(language: str = ENGLISH) -> Mapping[str, str]:
    """Return the texts of a language by code, as far as it has them."""
    texts: dict[str, str] = {}
    for part in _PARTS:
        path = FOLDER / f"{part}{language}.json"
        texts |= json.loads(path.read_text("utf-8")) if path.exists() else {}
    return texts


SEATS: Final = ("seat", "seats", "dealer", "due", "holder", "taker")
"""The names of values that are seats, or several of them."""

CARDS: Final = ("card", "cards", "fitting", "actual", "laid", "taken")
"""The names of values that are codes of cards, or several of them."""

BARE: Final = ("card", "fitting", "actual")
"""The names of cards before which their sentences have an article, if their language has any."""

CODES: Final = ("state", "why")
"""The names of values that are codes of other sentences, without values."""

SPANS: Final = ("age", "own_age")
"""The names of values that are lengths of time in seconds."""

RANKS: Final = ("ranked",)
"""The names of values that are ranks."""

EVENTS: Final = ("event",)
"""The names of values that are types of events."""

ANY: Final = ("claims", "charges", "types")
"""The names of values that are alternatives, with "or" before the last of them."""

COUNTS: Final = ("n", "count", "found")
"""The names of the number that decides the form of a text; the first that its sentence has."""

_ALL: Final = (*SEATS, *CARDS, "checks")
"""The names of values that are lists, with "and" before the last of them."""

_NAME: Final = re.compile(r"\{(\w+)\}")


def _filled(code: str, values: Values, voice: Voice) -> tuple[str, str | None]:
    """Return the text of a code with its values, and the name of a value at its beginning."""
    if code not in catalogue(voice.language):
        voice = replace(voice, language=ENGLISH)
    one, *others = catalogue(voice.language)[code].split("|")
    form = others[0] if others and _number(values) != 1 else one
    text = _NAME.sub(lambda found: _shown(found[1], values.get(found[1]), voice), form)
    first = _NAME.match(form)
    return text, None if first is None else first[1]


def _number(values: Values) -> Value:
    """Return the number that decides the form of a text."""
    return next((values[name] for name in COUNTS if name in values), None)


def _shown(name: str, value: Value, voice: Voice) -> str:
    """Return a value as its sentence shows it; a dash if it is missing."""
    if value is None or value == ():
        return "\N{EN DASH}"
    if name in EVENTS:
        known = f"happens.{value}" in catalogue()
        return _own(f"happens.{value}" if known else "happens.other", voice.language)
    several = [value] if isinstance(value, int | str | Sentence | Mapping) else value
    words = [_one(name, one, voice) for one in several]
    if name in CARDS and voice.codes:
        return " ".join(words)
    if len(words) < 2 or name not in (*ANY, *_ALL):
        return ", ".join(words)
    form = _own("value.or" if name in ANY else "value.and", voice.language)
    comma = _own("value.comma", voice.language)
    return form.replace("{most}", comma.join(words[:-1])).replace("{last}", words[-1])


def _one(name: str, value: _One, voice: Voice) -> str:
    if isinstance(value, Mapping):
        return _filled(value["code"], value["values"], voice)[0]
    if isinstance(value, Sentence):
        return _filled(value.code, value.values, voice)[0]
    if name in SEATS:
        if value == voice.reader:
            return _own("you.awaited", voice.language)
        if voice.seat_name is not None:
            return voice.seat_name(int(value))
        return seat_words(int(value), voice.language)
    if name in CODES:
        return _filled(str(value), {}, voice)[0]
    if name in SPANS:
        return _span(int(value), voice)
    if name in RANKS:
        return _ranked(str(value), voice.language)
    if name not in CARDS or voice.codes:
        return str(value)
    card = card_name(str(value), voice.language)
    if name in BARE or card == value:
        return card
    return _own("card.the", voice.language).replace("{card}", card)


def _span(seconds: int, voice: Voice) -> str:
    """Return a length of time in whole units of the largest that fits, rounded down."""
    units = ((86_400, "span.day"), (3_600, "span.hour"), (60, "span.minute"))
    size, code = next((unit for unit in units if seconds >= unit[0]), (1, "span.second"))
    return _filled(code, {"n": seconds // size}, voice)[0]


def _ranked(rank: str, language: str) -> str:
    """Return a rank in words with its article, if the language has any: `a ten`."""
    own = f"ask.rank.{rank}"
    form = _own(own if own in catalogue() else "ask.rank", language)
    return form.replace("{rank}", _own(f"rank.{rank}", language))


def _own(code: str, language: str) -> str:
    """Return a text of a language, else the English one; raises KeyError for an unknown code."""
    return catalogue(language).get(code) or catalogue()[code]


def bot_name(kind: str, seat: int, language: str = ENGLISH) -> str:
    """
    Return the name of a bot, which no other bot of its hand has; else the kind and the seat.

    >>> bot_name("greedy", 0), bot_name("greedy", 13), bot_name("own", 1)
    ('Gus', 'Gerda 2', 'Own 2')
    """
    names = catalogue(language).get(f"bot.names.{kind}", "").split()
    if not names:
        return f"{begun(kind)} {seat_number(seat)}"
    turn, at = divmod(seat, len(names))
    return f"{names[at]} {turn + 1}" if turn else names[at]


def card_name(code: str, language: str = ENGLISH) -> str:
    """
    Return a card in words, as the pages name it; the code itself if it is none of a card.

    >>> card_name("Th/2"), card_name("X1")
    ('ten of hearts, deck 2', 'joker')
    """
    texts = catalogue(language if language in LANGUAGES else ENGLISH)
    plain, _, deck = code.partition("/")
    rank, suit = texts.get(f"rank.{plain[:1]}"), texts.get(f"suit.{plain[1:]}")
    if plain[:1] == "X":
        name = texts["card.joker"]
    elif rank is None or suit is None:
        return code
    else:
        name = texts["card.of"].replace("{rank}", rank).replace("{suit}", suit)
    return texts["card.deck"].replace("{card}", name).replace("{deck}", deck) if deck else name
