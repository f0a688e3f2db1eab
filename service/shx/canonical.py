"""Canonical JSON, timestamps and hash functions of SHX/1."""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

MAX_INTEGER: Final = 2**53 - 1
MAX_DEPTH: Final = 64  # nested lists and objects
MAX_LINE: Final = 1 << 20  # bytes


class RecordError(ValueError):
    """Input that is not valid SHX/1; `code` is stable, `detail` is for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


def canonical(value: Any) -> bytes:
    """
    Return the canonical JSON of a plain value.

    Plain means dict, list or tuple, str, int, bool and None. Without floats, large integers
    and keys beyond ASCII, the output of orjson is that of JCS (RFC 8785): for ASCII the order by
    bytes is the order by UTF-16 units. The tests compare it with a slow implementation.

    Raises RecordError for a value that SHX/1 does not allow.

    >>> canonical({"seat": 0, "cards": ["Th", "7c/2"]})
    b'{"cards":["Th","7c/2"],"seat":0}'
    """
    try:
        data = orjson.dumps(value, option=_OPTIONS)
    except (orjson.JSONEncodeError, RecursionError) as error:
        _check(value, 1)
        raise RecordError("bad_value", str(error)) from None
    if not data.isascii() or not _is_plain(value, 1):
        _check(value, 1)
    return data


def parse(data: bytes, *, limit: int = MAX_LINE) -> Any:
    """
    Return the value of canonical JSON.

    The value is written again and compared with `data`: that refuses duplicate keys, spaces and
    any other order, escape or form of a number in one step. `limit` is in bytes.

    Raises RecordError if `data` is too large, not JSON or not canonical.

    >>> parse(b'{"cards":["Th"]}')
    {'cards': ['Th']}
    >>> parse(b'{"cards": ["Th"]}')  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    RecordError: not_canonical
    """
    if len(data) > limit:
        raise RecordError("too_large", f"{len(data)} bytes, at most {limit}")
    try:
        value = orjson.loads(data)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise RecordError("not_json", str(error)) from None
    if canonical(value) != data:
        raise RecordError("not_canonical", "these are not the canonical bytes of their value")
    return value


_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_SCALARS: Final = frozenset({str, int, bool, type(None)})


def _is_plain(value: Any, depth: int) -> bool:
    """
    Return whether a value has only plain types, and is not nested too deep.

    With keys and strings in ASCII, and integers that orjson accepts, it needs no other check.
    """
    kind = type(value)
    if kind is not dict and kind is not list and kind is not tuple:
        return kind in _SCALARS
    if depth > MAX_DEPTH:
        return False
    for item in value.values() if kind is dict else value:
        if type(item) not in _SCALARS and not _is_plain(item, depth + 1):
            return False
    return True


def _check(value: Any, depth: int) -> None:
    """Refuse values that orjson can write and SHX/1 does not allow."""
    kind = type(value)
    if kind is str:
        _check_text(value)
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise RecordError("bad_number", "an integer of 2^53 or more")
    elif kind is dict:
        for key in value:
            if type(key) is not str or not key.isascii():
                raise RecordError("bad_key", f"{key!r} is not an ASCII string")
        _check_items(value.values(), depth)
    elif kind is list or kind is tuple:
        _check_items(value, depth)
    elif kind is float:
        raise RecordError("bad_number", "a number that is not an integer")
    elif value is not None and kind is not bool:
        raise RecordError("bad_value", f"{kind.__name__} is not a plain value")


def _check_text(text: str) -> None:
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        raise RecordError("bad_string", "a string that is not in normal form NFC")


def _check_items(items: Iterable[Any], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise RecordError("too_deep", f"nested more than {MAX_DEPTH} deep")
    for item in items:
        _check(item, depth + 1)


_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def format_time(moment: datetime) -> str:
    """
    Return the timestamp of a moment: in UTC, with microseconds.

    Raises RecordError for a moment without a time zone.

    >>> format_time(datetime(2026, 5, 4, 12, 30, tzinfo=UTC))
    '2026-05-04T12:30:00.000000Z'
    """
    if moment.tzinfo is None:
        raise RecordError("bad_time", "a time without a time zone")
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def microseconds_between(begin: str, end: str) -> int:
    """
    Return the microseconds from one time to another.

    >>> microseconds_between("2026-03-01T12:00:00.000000Z", "2026-03-01T12:00:01.000002Z")
    1000002
    """
    return (parse_time(end) - parse_time(begin)) // timedelta(microseconds=1)


def parse_time(text: str) -> datetime:
    """
    Return the moment of a timestamp in the format of `format_time`.

    Raises RecordError for any other format.
    """
    if not _TIME.fullmatch(text):
        raise RecordError("bad_time", "not YYYY-MM-DDThh:mm:ss.ffffffZ")
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise RecordError("bad_time", str(error)) from None


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 of `data`."""
    return hashlib.sha256(data).digest()


def u8(number: int) -> bytes:
    """Return the number as one byte."""
    return number.to_bytes(1, "big")


def u16(number: int) -> bytes:
    """Return the number as two bytes, big-endian."""
    return number.to_bytes(2, "big")


def u32(number: int) -> bytes:
    """Return the number as four bytes, big-endian."""
    return number.to_bytes(4, "big")


def u64(number: int) -> bytes:
    """Return the number as eight bytes, big-endian."""
    return number.to_bytes(8, "big")


def length_prefixed(*parts: bytes) -> bytes:
    """
    Return enc(parts…) of SHX/1: each part after its length, so that different lists differ.

    >>> length_prefixed(b"ab", b"c").hex(" ", 1)
    '00 00 00 02 61 62 00 00 00 01 63'
    """
    return b"".join(u32(len(part)) + part for part in parts)


def tagged_hash(tag: str, *parts: bytes) -> bytes:
    """
    Return TH(tag, parts…), the tagged hash of SHX/1.

    >>> tagged_hash("shx/1/example", b"ab", b"c") == tagged_hash("shx/1/example", b"a", b"bc")
    False
    """
    return sha256(length_prefixed(tag.encode("ascii"), *parts))


def tagged_mac(key: bytes, tag: str, *parts: bytes) -> bytes:
    """Return TM(key, tag, parts…), the tagged HMAC of SHX/1."""
    return hmac.digest(key, length_prefixed(tag.encode("ascii"), *parts), "sha256")


def ruleset_hash(ruleset: Mapping[str, Any]) -> bytes:
    """Return the hash of the ruleset in a `game_created`: id, options and settings."""
    return sha256(canonical(dict(ruleset)))


def settings_hash(settings: Mapping[str, Any]) -> bytes:
    """Return the hash of the tree of settings of a ruleset."""
    return sha256(canonical(dict(settings)))


def custom_ruleset_id(settings: Mapping[str, Any]) -> str:
    """Return the id of a custom ruleset, computed from its settings."""
    return "custom-" + settings_hash(settings).hex()[:16]
