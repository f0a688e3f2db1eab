"""Mutations of JSON values: of one value in a tree of objects and lists."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any, Final

Path = tuple[str | int, ...]

STRANGE: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, 2, -1, 63, 64, 65_536, 2**31, 2**53 - 1, 2**53, -(2**53), 10**30,
    1.5, "", "x", "x" * 300, "x" * 301, "0", "caf\u00e9", "\u2028", "\U0001f0a1", "a\x7f", "a\tb",
    "\x00",
    [], {}, [[]], [None], {"": 0}, "__proto__", {"__proto__": 1}, {"toString": 1}, "constructor",
    "Th", "X1", "7c/2", "2026-02-29T00:00:00.000000Z", "2026-11-21T02:46:00.000000Z", "00" * 32,
)  # fmt: skip
"""Values that a reader may take for another: types, bounds, Unicode, names of JavaScript."""


def paths(value: Any, start: Path = ()) -> Iterator[Path]:
    """Yield the path of every value in a tree, that of the tree itself first."""
    yield start
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for name, inner in items:
        yield from paths(inner, (*start, name))


def at(value: Any, path: Path) -> Any:
    """Return the value at a path."""
    for name in path:
        value = value[name]
    return value


def mutate(tree: Any, chance: Random, *, below: Path = ()) -> None:
    """Change one value of a tree below a path; mostly into one that the same field could have."""
    inner = [path for path in paths(at(tree, below), below) if len(path) > len(below)]
    if not inner:
        return
    names = sorted({_name(path) for path in inner})
    name = chance.choice(names)  # else most mutations would be of cards and hashes
    path = chance.choice([path for path in inner if _name(path) == name])
    holder, key = at(tree, path[:-1]), path[-1]
    if chance.random() < 0.6:
        alike = [at(tree, other) for other in paths(tree) if other and _name(other) == name]
        holder[key] = deepcopy(chance.choice([*alike, near(holder[key], chance)]))
        return
    match chance.randrange(5):
        case 0:
            holder[key] = deepcopy(chance.choice(STRANGE))
        case 1 if isinstance(holder, dict):
            del holder[key]
        case 1:
            holder.insert(int(key), deepcopy(holder[int(key)]))
        case 2 if isinstance(holder, dict):
            holder[chance.choice(["note", "v", "seat", "__proto__", ""])] = holder[key]
        case 2:
            del holder[int(key)]
        case 3:
            holder[key] = deepcopy(at(tree, chance.choice(inner)))
        case _:
            holder[key] = near(holder[key], chance)


def _name(path: Path) -> str:
    """Return the name of a field; items of a list have that of the list."""
    return next((str(part) for part in reversed(path) if isinstance(part, str)), "")


def near(value: Any, chance: Random) -> Any:
    """Return a value of the same type near another one."""
    if isinstance(value, bool) or value is None:
        return chance.choice([True, False, None, 0, 1])
    if isinstance(value, int):
        return chance.choice([value + 1, value - 1, -value, 1 - value])
    if isinstance(value, str) and value:
        place = chance.randrange(len(value))
        other = chance.choice([*"0123456789abcdefTJQKAcdhs+/=-Z", value[0]])
        return value[:place] + other + value[place + 1 :]
    if isinstance(value, list):
        return chance.sample(value, len(value))
    return chance.choice(STRANGE)
