"""Random changes of valid input: bytes and JSON values."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

_ODD_NUMBERS = (0, -1, 1, 2**31, 2**53, -(2**53), 2**63, 2**64, 10**40, 1.5, -0.0, 1e308)
_ODD_TEXTS = (
    *("", " ", "\x00", "\ud800", "ſ", "e\u0301", "Th", "th", "X1", "7c/2", "7c/0", "me"),
    *("../../x", "<script>", "'; DROP TABLE events; --", "%s%n", "\u202e", "𝟙", "٣", "\ufeff"),
    *("a" * 70_000, "9" * 5000, "00" * 32, "A" * 43 + "=", "2026-13-45T99:99:99.999999Z"),
    *("00000000-0000-0000-0000-000000000000", "public", "all", "v1", "null", "NaN"),
)
_ODD_BYTES = (b"", b"\x00", b"\xff", b"\n", b"\r\n", b'"', b"\\u0000", b"{", b"]", b"PK\x03\x04")


def changed_bytes(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes after one to eight changes: flipped, cut, doubled, moved, put in."""
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 2, 4, 16, 256)))
        match chance.randrange(7):
            case 0:
                flipped = bytes(byte ^ (1 << chance.randrange(8)) for byte in data[at:end])
                data = data[:at] + flipped + data[end:]
            case 1:
                data = data[:at] + data[end:]
            case 2:
                data = data[:at] + data[at:end] * chance.choice((2, 3, 100)) + data[end:]
            case 3:
                data = data[:at] + chance.choice(_ODD_BYTES) + data[at:]
            case 4:
                data = data[:at] + chance.randbytes(chance.choice((1, 4, 8))) + data[end:]
            case 5:
                other = chance.randrange(len(data) + 1)
                data = data[:at] + data[other : other + end - at] + data[end:]
            case _:
                data = data[:at]
    return data


def changed_json(value: Any, chance: random.Random) -> Any:
    """Return a JSON value with one to four of its parts replaced, left out, added or moved."""
    copy = json.loads(json.dumps(value))
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        holder = {"": copy}
        places = list(_places(holder))
        inside, key = chance.choice(places)
        _change(inside, key, places, chance)
        copy = holder.get("")
    return copy


def odd_value(chance: random.Random) -> Any:
    """Return a random value that is rarely valid."""
    kinds: Sequence[Callable[[], Any]] = (
        lambda: chance.choice(_ODD_NUMBERS),
        lambda: chance.choice(_ODD_TEXTS),
        lambda: chance.choice((None, True, False, [], {}, [[]], {"": None})),
        lambda: [odd_text(chance)] * chance.choice((1, 2, 40, 2000)),
        lambda: {odd_text(chance): chance.choice(_ODD_NUMBERS) for _ in range(2)},
        lambda: _nested(chance.choice((3, 31, 33, 65, 300))),
    )
    return chance.choice(kinds)()


def odd_text(chance: random.Random) -> str:
    """Return a random text that is rarely valid."""
    return chance.choice(_ODD_TEXTS)


def _places(value: Any) -> Any:
    """Yield every place in a value, as its container and its key or index."""
    names = list(value) if isinstance(value, dict) else range(len(value))
    for name in names:
        yield value, name
        if isinstance(value[name], dict | list):
            yield from _places(value[name])


def _change(inside: Any, key: Any, places: list[tuple[Any, Any]], chance: random.Random) -> None:
    match chance.randrange(6):
        case 0 | 1:
            inside[key] = odd_value(chance)
        case 2 if isinstance(inside, dict):
            inside[odd_text(chance)] = inside.pop(key, None)
        case 2 | 3 if isinstance(inside, list):
            inside.insert(key, inside[key])
        case 3 | 4:
            other, name = chance.choice(places)
            if name in other if isinstance(other, dict) else name < len(other):
                inside[key] = json.loads(json.dumps(other[name]))
        case _:
            if isinstance(inside[key], int) and not isinstance(inside[key], bool):
                inside[key] += chance.choice((-1, 1, 256))
            else:
                del inside[key]


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value
