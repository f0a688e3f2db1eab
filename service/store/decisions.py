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
"""Most cards of a position that is stored by its ranks; with more hardly two hands are alike."""

NAMES: Final = 1_000_000
"""The base of the numbers of names; all other ranges have 1,000 numbers."""

_RANGE: Final = 1000
_RANKS: Final = ("", *RANKS, JOKER)
_KINDS: Final = get_args(Kind)
_DEMANDS: Final = tuple(one.value for one in Asks)
_PHASES: Final = ("hand", "up", "down")
_RESULTS: Final = (None, False, True)  # of `lost`

_ASKED: Final = 20  # codes of a demand, by the rank that it names
_HELD: Final = 300  # codes of a phase, by the cards in the hand

_PLACES: Final = {
    name: at
    for at, name in enumerate(
        ("ruleset", "who", "choice", "act", "asks", "top", "from", "left", "count", "end"), 1
    )
}
"""
Where the first codes of a decision are, from 1. `act` is the kind with `had_other`, `asks` the
demand with its rank, `from` the phase with the cards in the hand, `end` the result with whether a
bot decided: values that depend on one another are one code, because the planner takes codes for
independent. What is rare follows, and the ranks of a play.
"""

_RARE: Final = ("burned", "timed_out", "refused", "rank")
_BASES: Final = {name: _RANGE * at for at, name in enumerate((*_PLACES, *_RARE), 1)}
NOBODY: Final = NAMES
"""The number of a person without a name: the clock for an erased player."""


def _act(kind: str, *, had_other: bool) -> int:
    return _BASES["act"] + 2 * _KINDS.index(kind) + had_other


def _asks(demand: str, asked: str | None) -> int:
    return _BASES["asks"] + _ASKED * _DEMANDS.index(demand) + _RANKS.index(asked or "")


def _from(phase: str, held: int) -> int:
    return _BASES["from"] + _HELD * _PHASES.index(phase) + min(held, _HELD - 1)


def _end(lost: bool | None, *, is_bot: bool) -> int:
    return _BASES["end"] + 2 * _RESULTS.index(lost) + is_bot


def _number(name: str, number: int) -> int:
    return _BASES[name] + min(number, _RANGE - 1)


def _rank(name: str, rank: str | None) -> int:
    return _BASES[name] + _RANKS.index(rank or "")


def _values(codes: Sequence[int]) -> dict[str, Any]:
    """Return the values of a decision by their names in `Decided`."""
    at = {name: codes[place - 1] - _BASES[name] for name, place in _PLACES.items()}
    rare = {
        name: [c - _BASES[name] for c in codes if c // _RANGE * _RANGE == _BASES[name]]
        for name in ("burned", "timed_out", "refused")
    }
    return {
        "phase": _PHASES[at["from"] // _HELD],
        "demand": _DEMANDS[at["asks"] // _ASKED],
        "asked": _RANKS[at["asks"] % _ASKED] or None,
        "top": _RANKS[at["top"]] or None,
        "held": at["from"] % _HELD,
        "left": at["left"],
        "kind": _KINDS[at["act"] // 2],
        "count": at["count"],
        "had_other": bool(at["act"] % 2),
        "lost": _RESULTS[at["end"] // 2],
        "burned": bool(rare["burned"]),
        "timed_out": bool(rare["timed_out"]),
        "refused": sum(rare["refused"]),
    }


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
        wholes, groups = _wanted_codes(wanted)
        codes = [*(NAMES + found[name] for name in names.values()), *wholes]
        took = (None, None) if wanted.took is None else _milliseconds(wanted.took)
        leaf, event = before or (2**31 - 1, 0)
        ended, lost = (_end(one, is_bot=False) for one in (False, True))
        [(total, hands, chosen, page, named)] = self._database.fetch(
            *("find_decisions", codes, orjson.dumps(groups).decode(), *took, MOST),
            *(leaf, event, limit, _PLACES["choice"], _PLACES["who"], _PLACES["end"]),
            *(ended, lost, NAMES),
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
    return [
        *(numbers["ruleset"], numbers.get("who", NOBODY), numbers["choice"]),
        _act(one.kind, had_other=one.had_other),
        _asks(one.demand, one.asked),
        _rank("top", one.top),
        _from(one.phase, one.held),
        _number("left", one.left),
        _number("count", one.count),
        _end(one.lost, is_bot=one.bot is not None),
        *([_BASES["burned"]] if one.burned else []),
        *([_BASES["timed_out"]] if one.timed_out else []),
        *([_number("refused", one.refused)] if one.refused else []),
        *([numbers["cards"]] if "cards" in numbers else []),
        *(_rank("rank", rank) for rank in (one.rank or "").split("+") if rank),
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


def _wanted_codes(wanted: DecisionFilter) -> tuple[list[int], list[tuple[int, list[int]]]]:
    """Return the codes of which all are wanted, and groups of which one is, each with its place."""
    groups = [
        _group("act", _acts(wanted)),
        _group("asks", _demands(wanted)),
        _group("from", _phases(wanted)),
        _group("end", _ends(wanted)),
    ]
    if wanted.left is not None:
        low, high = (min(number, _RANGE - 1) for number in wanted.left)
        groups.append(_group("left", [_number("left", n) for n in range(low, high + 1)]))
    whole = [codes[0] for _, codes in groups if len(codes) == 1]
    if wanted.top is not None:
        whole.append(_rank("top", wanted.top))
    if wanted.count is not None:
        whole.append(_number("count", wanted.count))
    if wanted.rank is not None:
        whole.append(_rank("rank", wanted.rank))
    if special := {"burn": "burned", "time_out": "timed_out"}.get(wanted.kind or ""):
        whole.append(_BASES[special])
    if wanted.kind == "refused":
        groups.append((0, [_number("refused", n) for n in range(1, _RANGE)]))
    return whole, [one for one in groups if len(one[1]) > 1]


def _group(name: str, codes: list[int]) -> tuple[int, list[int]]:
    return _PLACES[name], codes


def _acts(wanted: DecisionFilter) -> list[int]:
    kinds = [kind for kind in _KINDS if wanted.kind == kind] or _KINDS
    others = (False, True) if wanted.had_other is None else (wanted.had_other,)
    if len(kinds) > 1 and len(others) > 1:
        return []
    return [_act(kind, had_other=other) for kind in kinds for other in others]


def _demands(wanted: DecisionFilter) -> list[int]:
    if wanted.demand is None and wanted.asked is None:
        return []
    demands = _DEMANDS if wanted.demand is None else (wanted.demand,)
    ranks = _RANKS if wanted.asked is None else (wanted.asked,)
    return [_asks(demand, rank) for demand in demands for rank in ranks]


def _phases(wanted: DecisionFilter) -> list[int]:
    """Return the codes of the phase and the cards in the hand, of which others have none."""
    if wanted.phase is None and wanted.held is None:
        return []
    low, high = (min(n, _HELD - 1) for n in wanted.held or (0, _HELD - 1))
    found = []
    for phase in _PHASES if wanted.phase is None else (wanted.phase,):
        last = high if phase == "hand" else min(high, 0)
        found += [_from(phase, held) for held in range(low, last + 1)]
    return found or [_BASES["from"] - 1]  # what no decision has


def _ends(wanted: DecisionFilter) -> list[int]:
    if wanted.lost is None and wanted.bot != "none":
        return []
    results = _RESULTS if wanted.lost is None else (wanted.lost,)
    bots = (False,) if wanted.bot == "none" else (False, True)
    return [_end(lost, is_bot=is_bot) for lost in results for is_bot in bots]


def _milliseconds(took: tuple[int, int]) -> tuple[int, int]:
    low, high = took[0] * 1000, took[1] * 1000 + 999
    return min(low, 2**31 - 1), min(high, 2**31 - 1)


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
        values=_values(codes),
    )
