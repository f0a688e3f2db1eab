"""Canonical JSON: RFC 8785 (JCS), narrowed so that every value has one spelling in any language."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

import orjson

MAX_INTEGER: Final = 2**53 - 1
MAX_DEPTH: Final = 64
MAX_LINE: Final = 1 << 20


class RecordError(ValueError):
    """Something is not SHX/1; `code` is stable and for programs, `detail` is for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


def canonical(value: Any) -> bytes:
    """
    Return the one canonical spelling of a plain value.

    Plain means dict, list or tuple, str, int, bool and None. orjson writes what
    JCS asks for once floats, large integers and keys beyond ASCII are ruled out
    (below ASCII the order by bytes is the order by UTF-16 units); the tests hold
    it to a slow implementation of the RFC.
    """
    _check(value, 1)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONEncodeError, RecursionError) as error:
        raise RecordError("bad_value", str(error)) from None


def parse(data: bytes, *, limit: int = MAX_LINE) -> Any:
    """
    Return the value that `data` spells, if it is its canonical spelling.

    Writing the value again and comparing refuses duplicate keys, spaces, other
    orders, other escapes and other numbers in one step. `limit` is in bytes.
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


def _check(value: Any, depth: int) -> None:
    """Refuse what orjson would write and the narrowed JCS does not know."""
    kind = type(value)
    if kind is str:
        _check_text(value)
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise RecordError("bad_number", "an integer of 2^53 or more")
    elif kind is dict:
        _check_depth(depth)
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                raise RecordError("bad_key", f"{key!r} is not an ASCII string")
            _check(item, depth + 1)
    elif kind is list or kind is tuple:
        _check_depth(depth)
        for item in value:
            _check(item, depth + 1)
    elif kind is float:
        raise RecordError("bad_number", "a number that is not an integer")
    elif value is not None and kind is not bool:
        raise RecordError("bad_value", f"{kind.__name__} is not a plain value")


def _check_text(text: str) -> None:
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        raise RecordError("bad_string", "a string that is not in normal form NFC")


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise RecordError("too_deep", f"nested more than {MAX_DEPTH} deep")
