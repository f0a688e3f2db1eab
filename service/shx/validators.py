"""Shapes of JSON values: checks that raise RecordError, with the JSON Schema of each."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from service.shx.canonical import MAX_INTEGER, RecordError, parse_time

Check = Callable[[Any, str], None]
"""A function of a value and its JSON pointer that raises RecordError unless the value is valid."""

Schema = Mapping[str, Any]
"""A JSON Schema."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A check, with the JSON Schema of the values that it accepts."""

    check: Check
    schema: Schema

    def __call__(self, value: Any, path: str) -> None:
        """Raise RecordError unless the value at a JSON pointer has this shape."""
        self.check(value, path)


def accepts(**schema: Any) -> Callable[[Check], Shape]:
    """Return the decorator that makes a shape of a check."""
    return lambda check: Shape(check, schema)


def schema_of(check: Check) -> Schema:
    """Return the JSON Schema of a check; one that is no shape accepts anything."""
    return check.schema if isinstance(check, Shape) else {}


def _run(check: Check) -> Check:
    """Return the plain function of a shape, which saves a call for each value."""
    return check.check if isinstance(check, Shape) else check


MAX_TEXT: Final = 300  # characters
_PRINTABLE: Final = re.compile(r"[ -~]*")
MAX_EVENTS: Final = 100_000
MAX_SEATS: Final = 64
MAX_CARDS: Final = 1 << 16  # a position is a u16

RANKS: Final = "23456789TJQKA"
_HEX: Final = re.compile(r"[0-9a-f]*")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CARD: Final = re.compile(
    r"[2-9TJQKA][cdhs](?:/(?:[2-9]|[1-9][0-9]{1,3}))?|X[1-9][0-9]{0,4}"  # no /1, no leading 0
)


def refuse(path: str, reason: str) -> RecordError:
    """Return the error for an invalid value at `path`."""
    return RecordError("bad_field", f"{path}: {reason}")


def integer(low: int = 0, high: int = MAX_INTEGER) -> Shape:
    """
    Return a check for an integer from `low` to `high`; true and false are not integers.

    >>> integer(0, 5)(7, "/data/seat")
    Traceback (most recent call last):
    service.shx.canonical.RecordError: bad_field: /data/seat: not an integer from 0 to 5
    """

    @accepts(type="integer", minimum=low, maximum=high)
    def check(value: Any, path: str) -> None:
        if type(value) is not int or not low <= value <= high:
            raise refuse(path, f"not an integer from {low} to {high}")

    return check


def one_of(*allowed: str | int) -> Shape:
    """Return a check for one of a few values."""

    @accepts(enum=allowed)
    def check(value: Any, path: str) -> None:
        if type(value) not in (str, int) or value not in allowed:
            raise refuse(path, f"not one of {', '.join(map(str, allowed))}")

    return check


@accepts(type="string", minLength=1, maxLength=MAX_TEXT)
def text(value: Any, path: str) -> None:
    """
    Check for a string of 1 to 300 printable ASCII characters.

    Raises RecordError.
    """
    if type(value) is not str or not 0 < len(value) <= MAX_TEXT:
        raise refuse(path, f"not a string of 1 to {MAX_TEXT} characters")
    _check_string(value, path)


def hexadecimal(size: int) -> Shape:
    """Return a check for `size` bytes in lowercase hex."""

    @accepts(type="string", pattern=f"^[0-9a-f]{{{2 * size}}}$")
    def check(value: Any, path: str) -> None:
        if type(value) is not str or len(value) != 2 * size or not _HEX.fullmatch(value):
            raise refuse(path, f"not {size} bytes in lowercase hex")

    return check


def base64(size: int) -> Shape:
    """Return a check for `size` bytes in standard base64, canonically encoded."""
    length = -(-size // 3) * 4

    @accepts(type="string", contentEncoding="base64", minLength=length, maxLength=length)
    def check(value: Any, path: str) -> None:
        if type(value) is not str or len(decode_base64(value) or b"") != size:
            raise refuse(path, f"not {size} bytes in standard base64")

    return check


def decode_base64(value: str) -> bytes | None:
    """
    Return the bytes of a text in canonical standard base64, None for any other text.

    >>> decode_base64("YQ=="), decode_base64("YR==")
    (b'a', None)
    """
    try:
        data = b64decode(value, validate=True)
    except (Base64Error, ValueError):
        return None
    return data if b64encode(data).decode("ascii") == value else None


@accepts(type="string", format="uuid")
def uuid(value: Any, path: str) -> None:
    """
    Check for a UUID in lower-case text form.

    Raises RecordError.
    """
    if type(value) is not str or not _UUID.fullmatch(value):
        raise refuse(path, "not a UUID")


@accepts(type="string", format="date-time")
def time(value: Any, path: str) -> None:
    """
    Check for a timestamp in the format of `canonical.format_time`.

    Raises RecordError.
    """
    if type(value) is not str:
        raise refuse(path, "not a time")
    try:
        parse_time(value)
    except RecordError as error:
        raise refuse(path, error.detail) from None


@accepts(type="string", pattern=f"^(?:{_CARD.pattern})$")
def card(value: Any, path: str) -> None:
    """
    Check for the code of a card: `Th`, `7c/2`, `X1`.

    Raises RecordError.
    """
    if type(value) is not str or not _CARD.fullmatch(value):
        raise refuse(path, "not the code of a card")


def each(check_item: Check, *, low: int = 0, high: int = MAX_CARDS) -> Shape:
    """Return a check for an array of `low` to `high` items of one shape."""
    run = _run(check_item)

    @accepts(type="array", items=schema_of(check_item), minItems=low, maxItems=high)
    def check(value: Any, path: str) -> None:
        if type(value) is not list or not low <= len(value) <= high:
            raise refuse(path, f"not an array of {low} to {high} items")
        for index, item in enumerate(value):
            run(item, f"{path}/{index}")

    return check


def nullable(check_value: Check) -> Shape:
    """Return a check that also accepts null."""
    run = _run(check_value)

    @accepts(anyOf=(schema_of(check_value), {"type": "null"}))
    def check(value: Any, path: str) -> None:
        if value is not None:
            run(value, path)

    return check


class Field(NamedTuple):
    """A field of an object: its check, its meaning in a sentence, and whether it may be absent."""

    check: Check
    meaning: str = ""
    optional: bool = False


def record(fields: Mapping[str, Check | Field], *, title: str = "", meaning: str = "") -> Shape:
    """Return a check for an object with exactly these fields; `title` names it in a document."""
    named = {name: one if isinstance(one, Field) else Field(one) for name, one in fields.items()}
    names = frozenset(named)
    optional = frozenset(name for name, field in named.items() if field.optional)
    steps = tuple((name, "/" + name, _run(field.check)) for name, field in named.items())

    @accepts(
        type="object",
        title=title,
        description=meaning,
        properties={
            name: {**schema_of(field.check), "description": field.meaning}
            for name, field in named.items()
        },
        required=tuple(name for name in named if name not in optional),
        additionalProperties=False,
    )
    def check(value: Any, path: str) -> None:
        if optional and type(value) is dict:
            check_names({**dict.fromkeys(optional), **value}, path, names)
        else:
            check_names(value, path, names)
        for name, step, check_field in steps:
            if name in value:
                check_field(value[name], path + step)

    return check


def check_names(value: Any, path: str, names: Any) -> None:
    """
    Check for an object with exactly these names.

    Raises RecordError.
    """
    if type(value) is not dict:
        raise refuse(path, "not an object")
    if value.keys() != names:
        missing, added = sorted(names - value.keys()), sorted(value.keys() - names)
        raise refuse(path, f"fields missing: {missing}, added: {added}")


@accepts(type="object")
def free_object(value: Any, path: str) -> None:
    """
    Check for an object of any form whose strings have at most 300 printable ASCII characters.

    Raises RecordError.
    """
    if type(value) is not dict:
        raise refuse(path, "not an object")
    _check_strings(value, path)


def _check_strings(value: Any, path: str) -> None:
    if isinstance(value, str):
        _check_string(value, path)
    if isinstance(value, dict):
        for name, item in value.items():
            _check_string(name, path)
            _check_strings(item, f"{path}/{name}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_strings(item, f"{path}/{index}")


def _check_string(value: str, path: str) -> None:
    """Refuse a long string, and characters whose normal form depends on a version of Unicode."""
    if len(value) > MAX_TEXT:
        raise refuse(path, f"a string of more than {MAX_TEXT} characters")
    if not _PRINTABLE.fullmatch(value):
        raise refuse(path, "a string with characters other than printable ASCII")


COUNT: Final = integer(0, MAX_CARDS)
POSITIVE_COUNT: Final = integer(1, MAX_CARDS)
SEAT: Final = integer(0, MAX_SEATS - 1)
SLOT: Final = integer(0, MAX_CARDS - 1)
HASH: Final = hexadecimal(32)
CARDS: Final = each(card)
SOME_CARDS: Final = each(card, low=1)
OPENING: Final = record(
    {
        "p": Field(integer(0, MAX_CARDS - 1), "the position in the deck; 0 is dealt first"),
        "card": Field(card, "the card at this position"),
        "salt": Field(HASH, "the salt of the commitment"),
    },
    title="Opening",
    meaning="The opening of a card's commitment: position in the deck, card and salt.",
)
