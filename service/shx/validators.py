"""Validators of plain values, closed objects and Ed25519 public keys."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from service.shx.canonical import MAX_INTEGER, RecordError, parse_time

Check = Callable[[Any, str], None]
"""A function of a value and its JSON pointer that raises RecordError unless the value is valid."""

MAX_TEXT: Final = 300  # characters
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


def integer(low: int = 0, high: int = MAX_INTEGER) -> Check:
    """
    Return a check for an integer from `low` to `high`; true and false are not integers.

    >>> integer(0, 5)(7, "/data/seat")
    Traceback (most recent call last):
    service.shx.canonical.RecordError: bad_field: /data/seat: not an integer from 0 to 5
    """

    def check(value: Any, path: str) -> None:
        if type(value) is not int or not low <= value <= high:
            raise refuse(path, f"not an integer from {low} to {high}")

    return check


def one_of(*allowed: str | int) -> Check:
    """Return a check for one of a few values."""

    def check(value: Any, path: str) -> None:
        if type(value) not in (str, int) or value not in allowed:
            raise refuse(path, f"not one of {', '.join(map(str, allowed))}")

    return check


def text(value: Any, path: str) -> None:
    """
    Check for a string of 1 to 300 characters.

    Raises RecordError.
    """
    if type(value) is not str or not 0 < len(value) <= MAX_TEXT:
        raise refuse(path, f"not a string of 1 to {MAX_TEXT} characters")


def hexadecimal(size: int) -> Check:
    """Return a check for `size` bytes in lowercase hex."""

    def check(value: Any, path: str) -> None:
        if type(value) is not str or len(value) != 2 * size or not _HEX.fullmatch(value):
            raise refuse(path, f"not {size} bytes in lowercase hex")

    return check


def base64(size: int) -> Check:
    """Return a check for `size` bytes in standard base64, canonically encoded."""

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


def uuid(value: Any, path: str) -> None:
    """
    Check for a UUID in lower-case text form.

    Raises RecordError.
    """
    if type(value) is not str or not _UUID.fullmatch(value):
        raise refuse(path, "not a UUID")


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


def card(value: Any, path: str) -> None:
    """
    Check for the code of a card: `Th`, `7c/2`, `X1`.

    Raises RecordError.
    """
    if type(value) is not str or not _CARD.fullmatch(value):
        raise refuse(path, "not the code of a card")


def each(check_item: Check, *, low: int = 0, high: int = MAX_CARDS) -> Check:
    """Return a check for an array of `low` to `high` items of one shape."""

    def check(value: Any, path: str) -> None:
        if type(value) is not list or not low <= len(value) <= high:
            raise refuse(path, f"not an array of {low} to {high} items")
        for index, item in enumerate(value):
            check_item(item, f"{path}/{index}")

    return check


def nullable(check_value: Check) -> Check:
    """Return a check that also accepts null."""

    def check(value: Any, path: str) -> None:
        if value is not None:
            check_value(value, path)

    return check


def record(fields: Mapping[str, Check]) -> Check:
    """Return a check for an object with exactly these fields."""
    names = frozenset(fields)
    steps = tuple((name, "/" + name, check_field) for name, check_field in fields.items())

    def check(value: Any, path: str) -> None:
        check_names(value, path, names)
        for name, step, check_field in steps:
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


def free_object(value: Any, path: str) -> None:
    """
    Check for an object with any content, except strings of more than 300 characters.

    Raises RecordError.
    """
    if type(value) is not dict:
        raise refuse(path, "not an object")
    _check_lengths(value, path)


def _check_lengths(value: Any, path: str) -> None:
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise refuse(path, f"a string of more than {MAX_TEXT} characters")
    if isinstance(value, dict):
        for name, item in value.items():
            _check_lengths(name, path)
            _check_lengths(item, f"{path}/{name}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_lengths(item, f"{path}/{index}")


COUNT: Final = integer(0, MAX_CARDS)
POSITIVE_COUNT: Final = integer(1, MAX_CARDS)
SEAT: Final = integer(0, MAX_SEATS - 1)
SLOT: Final = integer(0, MAX_CARDS - 1)
HASH: Final = hexadecimal(32)
CARDS: Final = each(card)
SOME_CARDS: Final = each(card, low=1)
OPENING: Final = record({"p": integer(0, MAX_CARDS - 1), "card": card, "salt": HASH})


PRIME: Final = 2**255 - 19
"""Coordinates of Ed25519 are integers modulo this; d of its curve is `_CURVE_D` (RFC 8032, 5.1)."""

_CURVE_D: Final = -121665 * pow(121666, -1, PRIME) % PRIME
_ROOT_OF_MINUS_ONE: Final = pow(2, (PRIME - 1) // 4, PRIME)
_ORDER_EIGHT: Final = int.from_bytes(
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
)
SMALL_ORDER: Final = frozenset({0, 1, PRIME - 1, _ORDER_EIGHT, PRIME - _ORDER_EIGHT})
"""The y coordinates of the eight points whose order divides 8; x and -x have the same."""


def is_weak(public: bytes) -> bool:
    """
    Return whether 32 bytes encode a point of small order, in any of its encodings.

    Under such a key one signature is valid for many messages, so it proves nothing about a
    move. The sign of x is ignored and y reduced: RFC 8032 allows one encoding of each point,
    but libraries accept others as well.
    """
    y = int.from_bytes(public, "little") & (2**255 - 1)
    return y % PRIME in SMALL_ORDER


@lru_cache(maxsize=4096)
def key_fault(public: bytes) -> str | None:
    """
    Return why 32 bytes cannot serve as an Ed25519 public key; None if they can.

    The bytes are decompressed (RFC 8032, section 5.1.3): the libraries in use accept any 32
    bytes as a key and fail only when a signature is checked. A seat with such a key could
    never sign a move. A second encoding of a point is refused, because one private key would
    then have two public keys.

    >>> key_fault(bytes([0x58, *[0x66] * 31])) is None  # the base point
    True
    >>> key_fault(bytes([2, *bytes(31)]))
    'a key that is no point of the curve, so no signature verifies under it'
    """
    if is_weak(public):
        return "a key of small order, which proves nothing"
    number = int.from_bytes(public, "little")
    y, sign = number & (2**255 - 1), number >> 255
    if y >= PRIME:
        return "a key in a non-canonical encoding"
    x = _root((y * y - 1) * pow(_CURVE_D * y * y + 1, -1, PRIME) % PRIME)
    if x is None:
        return "a key that is no point of the curve, so no signature verifies under it"
    if x == 0 and sign:
        return "a key in a non-canonical encoding"
    return None


def _root(square: int) -> int | None:
    """Return a square root modulo the prime, None if there is none."""
    root = pow(square, (PRIME + 3) // 8, PRIME)
    if root * root % PRIME == square:
        return root
    root = root * _ROOT_OF_MINUS_ONE % PRIME
    return root if root * root % PRIME == square else None
