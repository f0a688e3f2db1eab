"""Canonical bytes: compared with a direct implementation of RFC 8785, and refused input."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.shx.canonical import MAX_DEPTH, MAX_INTEGER, MAX_LINE, RecordError, canonical, parse

_SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def reference(value: Any) -> str:
    """Return canonical JSON by a direct implementation of RFC 8785, sections 3.2.2 and 3.2.3."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(map(escaped, value)) + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(reference, value)) + "]"
    keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
    return "{" + ",".join(f"{reference(key)}:{reference(value[key])}" for key in keys) + "}"


def escaped(letter: str) -> str:
    number = ord(letter)
    return _SHORT.get(number) or (f"\\u{number:04x}" if number < 32 else letter)


keys = st.text(st.characters(max_codepoint=127), max_size=6)
texts = st.text(st.characters(exclude_categories=["Cs"])).map(
    lambda text: unicodedata.normalize("NFC", text)
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_the_bytes_are_those_of_rfc_8785(value: Any) -> None:
    assert canonical(value) == reference(value).encode()


def test_every_character_is_escaped_as_in_rfc_8785() -> None:
    every = (chr(n) for n in range(0x3000) if not 0xD800 <= n < 0xE000)
    for letter in every:
        if unicodedata.is_normalized("NFC", letter):
            assert canonical(letter) == reference(letter).encode()


@given(values)
def test_parse_returns_the_value_of_canonical_bytes(value: Any) -> None:
    assert parse(canonical(value)) == value


def test_a_tuple_is_written_as_an_array() -> None:
    assert canonical({"b": (1, 2), "a": True}) == b'{"a":true,"b":[1,2]}'


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (1.0, "bad_number"),
        (float("nan"), "bad_number"),
        ({"a": [0.5]}, "bad_number"),
        (2**53, "bad_number"),
        (-(2**53), "bad_number"),
        ("e\u0301", "bad_string"),
        ("\ud800", "bad_value"),
        ({"\u00e9": 1}, "bad_key"),
        ({1: 2}, "bad_key"),
        (b"bytes", "bad_value"),
        ({"set"}, "bad_value"),
        (nested(MAX_DEPTH + 1), "too_deep"),
    ],
)
def test_values_without_canonical_bytes_are_refused(value: Any, code: str) -> None:
    with pytest.raises(RecordError) as caught:
        canonical(value)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"a":2}',
        b'{"b":1,"a":2}',
        b'{"a": 1}',
        b"[1]\n",
        b" [1]",
        b"\xef\xbb\xbf[1]",
        b"-0",
        b"1.0",
        b"1e2",
        b"01",
        b"9007199254740992",
        b"NaN",
        b'"\\u0041"',
        b'"\\/"',
        b'"\\u000A"',
        b'"\\u001F"',
        b'"\\ud83d\\ude00"',
        b'"\\ud800"',
        b'"\xff"',
        '"e\u0301"'.encode(),
        '{"\u00e9":1}'.encode(),
        b"",
        b"{",
        b"[1]x",
        b"[" * 65 + b"]" * 65,
        b"[" * 100_000,
    ],
)
def test_other_encodings_of_a_value_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        parse(data)


def test_the_largest_depth_number_and_size_are_accepted() -> None:
    assert parse(canonical(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    assert parse(b"9007199254740991") == MAX_INTEGER
    longest = b'"' + b"a" * (MAX_LINE - 2) + b'"'
    assert len(parse(longest)) == MAX_LINE - 2
    with pytest.raises(RecordError, match="too_large"):
        parse(longest[:-1] + b'a"')
