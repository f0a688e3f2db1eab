"""Stored decisions of sealed public hands, each value as a number of its own range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args
from uuid import UUID

import orjson

from service.audit.decisions import ChoiceCount, Decided, DecisionFilter, Kind
from service.domain.cards import JOKER, RANKS
from service.domain.ruleset import Asks
from service.store.database import Repository

MOST: Final = 10_000
"""The newest decisions that a search finds and counts."""

MOST_CARDS: Final = 5
"""Ranks of the cards that are kept as one position; of more cards hardly two hands are alike."""

NAMES: Final = 1_000_000
"""The base of the numbers of names; all other ranges have 1,000 numbers."""

_RANGE: Final = 1000
_RANKS: Final = ("", *RANKS, JOKER)
_VALUES: Final[Mapping[str, Sequence[Any]]] = {
    "phase": ("hand", "up", "down"),
    "demand": tuple(one.value for one in Asks),
    "asked": _RANKS,
    "top": _RANKS,
    "held": (),
    "left": (),
    "kind": get_args(Kind),
    "count": (),
    "had_other": (False, True),
    "lost": (None, False, True),
    "is_bot": (False, True),
    "burned": (False, True),
    "timed_out": (False, True),
    "refused": (),
}
"""The values of each range, whose number is their place; of a number it is the number itself."""

_PLACES: Final = {name: at for at, name in enumerate(("ruleset", "who", "choice", *_VALUES), 1)}
"""Where the first codes of a decision are, from 1; those of its cards and played ranks follow."""

_BASES: Final = {name: _RANGE * at for at, name in enumerate((*_VALUES, "rank"), 1)}
NOBODY: Final = NAMES
"""The number of a person without a name: the clock for an erased player."""


def _code(name: str, value: object) -> int:
    """Return the code of a value of a range; one of another service version is the last."""
    values = _VALUES.get(name, _RANKS)
    if isinstance(value, int) and not values:
        return _BASES[name] + min(value, _RANGE - 1)
    return _BASES[name] + values.index("" if value is None and values is _RANKS else value)


def _value(name: str, codes: Sequence[int]) -> Any:
    found, values = codes[_PLACES[name] - 1] - _BASES[name], _VALUES[name]
    if not values:
        return found
    return values[found] or None if values is _RANKS else values[found]


def _ranks(one: Decided) -> Sequence[str]:
    return one.rank.split("+") if one.rank else ()


def names_of(one: Decided, ruleset: str, who: str | None) -> dict[str, str]:
    """Return the names whose numbers a decision has, by what they are the names of."""
    cards = one.cards if one.cards and len(one.cards.split(",")) <= MOST_CARDS else None
    return {
        "ruleset": f"ruleset:{ruleset}",
        "choice": f"choice:{one.choice}",
        **({} if who is None else {"who": who}),
        **({} if cards is None else {"cards": f"cards:{cards}"}),
    }


def who_of(bot: str | None, player: UUID | None) -> str | None:
    """Return the name of who decides at a seat; None for an erased player."""
    return f"bot:{bot}" if bot is not None else None if player is None else f"player:{player}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDecision:
    """A decision of a page, with its hand."""

    game: UUID
    leaf: int  # of the end of the hand
    event: int
    seat: int
    player: UUID | None
    bot: str | None
    ruleset: str
    choice: str
    milliseconds: int | None
    values: Mapping[str, Any]  # the others by their names in `Decided`


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionsFound:
    """The newest decisions that a search finds, counted, and a page of them."""

    total: int = 0
    hands: int = 0
    choices: Mapping[str, ChoiceCount] = field(default_factory=dict)
    page: Sequence[StoredDecision] = ()


class DecisionRepository(Repository):
    """Decisions in PostgreSQL (ops/decisions/0123)."""

    def reached(self) -> int:
        """Return how many leaves of the public log the stored decisions are from."""
        return int(self._database.fetch("decisions_reached")[0][0])

    def keep(
        self,
        before: int,
        reached: int,
        decided: Iterable[tuple[Decided, Mapping[str, str]]] = (),
        players: Mapping[str, UUID] | None = None,
    ) -> bool:
        """
        Store the decisions of the hand that ends before the leaf `reached`, each with its names.

        `players` has the player of each name of one. Returns False, and stores nothing, if another
        process has stored some since `before`. Raises PlayerErased.
        """
        found, people = list(decided), players or {}
        names = sorted({name for _, named in found for name in named.values()})
        ids = [people.get(name) for name in names]
        rows = self._call("number_decision_names", names, ids) if names else []
        numbers = {name: NAMES + number for name, number in rows}
        sent = [
            {
                "leaf": reached - 1,
                "event": one.event,
                "took": one.milliseconds,
                "seat": one.seat,
                "codes": _codes(one, {of: numbers[name] for of, name in named.items()}),
            }
            for one, named in found
        ]
        return bool(self._write("keep_decisions", before, reached, orjson.dumps(sent).decode()))

    def find(
        self, wanted: DecisionFilter, *, before: tuple[int, int] | None, limit: int
    ) -> DecisionsFound:
        """
        Return the newest decisions that meet all conditions, and a page from `before` on.

        At most MOST are found, and a page of `limit` is of these.
        """
        names = _wanted_names(wanted)
        found = dict(self._database.fetch("decision_numbers", list(names.values())))
        if len(found) < len(set(names.values())):
            return DecisionsFound()
        codes = [*(NAMES + found[name] for name in names.values()), *_wanted_codes(wanted)]
        places, least, greatest = _wanted_ranges(wanted)
        took = (None, None) if wanted.took is None else _milliseconds(wanted.took)
        leaf, event = before or (2**31 - 1, 0)
        [(total, hands, chosen, page, named)] = self._database.fetch(
            *("find_decisions", codes, places, least, greatest, *took, MOST, leaf, event, limit),
            *(_PLACES["choice"], _PLACES["who"], _PLACES["lost"], _code("lost", True), NAMES),
        )
        return DecisionsFound(
            total=total,
            hands=hands,
            choices={
                name.removeprefix("choice:"): ChoiceCount(n=n, ended=ended, lost=lost)
                for name, n, ended, lost in chosen
            },
            page=[_stored(row, named) for row in page],
        )


def _codes(one: Decided, numbers: Mapping[str, int]) -> list[int]:
    values = {name: getattr(one, name) for name in _VALUES if name != "is_bot"}
    values["is_bot"] = one.bot is not None
    return [
        *(numbers["ruleset"], numbers.get("who", NOBODY), numbers["choice"]),
        *(_code(name, values[name]) for name in _VALUES),
        *([numbers["cards"]] if "cards" in numbers else []),
        *(_code("rank", rank) for rank in _ranks(one)),
    ]


def _wanted_names(wanted: DecisionFilter) -> dict[str, str]:
    player = None if wanted.player is None else f"player:{wanted.player}"
    bot = None if wanted.bot in (None, "none") else f"bot:{wanted.bot}"
    found = {
        "ruleset": wanted.ruleset and f"ruleset:{wanted.ruleset}",
        "player": player,
        "bot": bot,
        "cards": wanted.cards and f"cards:{wanted.cards}",
    }
    return {of: name for of, name in found.items() if name}


def _wanted_codes(wanted: DecisionFilter) -> list[int]:
    exact = ("phase", "demand", "asked", "top", "count", "had_other", "lost")
    found = [_code(name, v) for name in exact if (v := getattr(wanted, name)) is not None]
    if wanted.bot == "none":
        found.append(_code("is_bot", False))
    if wanted.rank is not None:
        found.append(_code("rank", wanted.rank))
    if wanted.kind in get_args(Kind):
        found.append(_code("kind", wanted.kind))
    special = {"burn": "burned", "time_out": "timed_out"}.get(wanted.kind or "")
    return [*found, *([_code(special, True)] if special else [])]


def _wanted_ranges(wanted: DecisionFilter) -> tuple[list[int], list[int], list[int]]:
    """Return the places of ranges, with the least and the greatest code of each."""
    ranges = {"held": wanted.held, "left": wanted.left}
    if wanted.kind == "refused":
        ranges["refused"] = (1, _RANGE - 1)
    found = [
        (_PLACES[name], _code(name, low), _code(name, high))
        for name, (low, high) in ((n, r) for n, r in ranges.items() if r is not None)
    ]
    return [one[0] for one in found], [one[1] for one in found], [one[2] for one in found]


def _milliseconds(took: tuple[int, int]) -> tuple[int, int]:
    low, high = (min(1000 * seconds, 2**31 - 1) for seconds in took)
    return low, high


def _stored(row: Mapping[str, Any], named: Mapping[str, str]) -> StoredDecision:
    codes, who = row["codes"], row["name"] or ""
    names = [named[str(codes[_PLACES[of] - 1] - NAMES)] for of in ("ruleset", "choice")]
    return StoredDecision(
        game=UUID(row["game_id"]),
        leaf=row["leaf"],
        event=row["event"],
        seat=row["seat"],
        player=None if row["player_id"] is None else UUID(row["player_id"]),
        bot=who.removeprefix("bot:") if who.startswith("bot:") else None,
        ruleset=names[0].removeprefix("ruleset:"),
        choice=names[1].removeprefix("choice:"),
        milliseconds=row["took"],
        values={name: _value(name, codes) for name in _VALUES if name != "is_bot"},
    )
