"""Small changes of each value in an event's data, generated without knowledge of the game."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from tests.tamper import Event

Path = tuple[str | int, ...]

_WORDS: Final[tuple[tuple[str, ...], ...]] = (
    ("hand", "up", "down", "stock"),
    ("rank", "set"),
    ("shithead", "winner", "stalemate", "forfeit"),
    ("no_entropy", "left", "idle", "operator", "agreed"),
    ("human", "bot"),
    ("commit", "value", "none"),
)
_RANKS: Final = "23456789TJQKA"
_SUITS: Final = "cdhs"


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One value of an event's data and its replacement."""

    path: Path
    kind: str
    value: Any

    @property
    def pattern(self) -> str:
        """Return the path and kind of the change, with `*` for list indexes."""
        names = [str(step) if isinstance(step, str) else "*" for step in self.path]
        return f"{'.'.join(names)} {self.kind}"

    def applied(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data with the change made."""
        changed: dict[str, Any] = deepcopy(data)
        at: Any = changed
        for step in self.path[:-1]:
            at = at[step]
        at[self.path[-1]] = deepcopy(self.value)
        return changed


def mutations(event: Event, *, seats: int) -> Iterator[Mutation]:
    """Yield every change of one value, list or object in the data of an event."""
    for name, value in sorted(event["data"].items()):
        yield from _below((name,), value, seats)


def _below(path: Path, value: Any, seats: int) -> Iterator[Mutation]:
    for kind, new in _changed(path, value, seats):
        if new != value:
            yield Mutation(path=path, kind=kind, value=new)
    if isinstance(value, dict):
        for name, item in sorted(value.items()):
            yield from _below((*path, name), item, seats)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below((*path, index), item, seats)


def _changed(path: Path, value: Any, seats: int) -> Iterator[tuple[str, Any]]:
    match value:
        case None:
            yield from (("to 0", 0), ("to 1", 1), ("to a key", "A" * 43 + "="))
            yield "to an opening", {"p": 0, "card": "2c", "salt": "00" * 32}
        case bool():
            yield "turned round", not value
        case int():
            yield from (("one more", value + 1), ("one less", value - 1), ("to 0", 0))
            yield from (("negated", -value), ("to null", None))
            yield from ((f"to seat {n}", n) for n in range(seats) if path[-1] != "p")
        case str():
            yield from _changed_text(value)
        case list():
            yield from _changed_list(value)
        case dict():
            yield "to null", None


def _changed_text(value: str) -> Iterator[tuple[str, Any]]:
    for words in _WORDS:
        if value in words:
            yield from ((f"to {word}", word) for word in words)
            return
    if len(value) == 2 and value[0] in _RANKS and value[1] in _SUITS:
        rank, suit = _RANKS.index(value[0]), _SUITS.index(value[1])
        yield "to the next suit", value[0] + _SUITS[(suit + 1) % 4]
        yield "to the next rank", _RANKS[(rank + 1) % 13] + value[1]
        yield "to the previous rank", _RANKS[rank - 1] + value[1]
        yield "to a joker", "X1"
        yield "to another deck", value + "/2"
        return
    flipped = "0" if value[-1:] != "0" else "1"
    yield "another ending", value[:-1] + flipped
    yield "to null", None


def _changed_list(value: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    items = list(value)
    yield "turned round", items[::-1]
    yield "emptied", []
    if items:
        yield from (("first dropped", items[1:]), ("last dropped", items[:-1]))
        yield from (("first doubled", [items[0], *items]), ("last doubled", [*items, items[-1]]))
        yield "first moved to the end", items[1:] + items[:1]
    if not items or isinstance(items[0], str):
        yield "a card added", [*items, "7h"]
