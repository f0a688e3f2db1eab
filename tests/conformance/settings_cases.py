"""Cases of `legality` at seq 0: custom settings that are no settings, and their options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from service.rulesets.catalogue import catalogue
from service.shx.canonical import custom_ruleset_id
from tests.conformance.case import Case, created, fails, passes

Tree = dict[str, Any]


def cases() -> Iterator[Case]:
    """Yield every case of custom settings; each has the id of its settings."""
    base = catalogue()["shithead"].settings({})
    for name, says, change in _WRONG:
        tree = deepcopy(base)
        change(tree)
        yield fails(f"legality/custom-{name}", says, _log(tree), legality=0)
    for name, says, change in _RIGHT:
        tree = deepcopy(base)
        change(tree)
        yield passes(f"legality/custom-{name}", says, _log(tree))
    other = deepcopy(base)
    other["refill"]["size"] = 4
    rotated = _log(other, options={"next_dealer": "rotate"})
    yield passes("legality/custom-option", "a custom ruleset with its one option", rotated)
    says = "a custom ruleset with an option of another one"
    unknown = _log(other, options={"jokers": 2})
    yield fails("legality/custom-option-other", says, unknown, legality=0)
    nothing = created(ruleset={"id": "custom-0123456789abcdef", "options": {}, "settings": None})
    says = "a custom ruleset without its settings"
    yield fails("bytes/custom-nothing", says, nothing.lines(), bytes=0)
    odd = created(ruleset={"id": "Shithead!", "options": {}, "settings": None})
    says = "an id that is neither of a catalogue nor of a custom ruleset"
    yield fails("legality/id", says, odd.lines(), legality=0)


def _log(tree: Tree, options: Tree | None = None) -> tuple[bytes, ...]:
    ruleset = {"id": custom_ruleset_id(tree), "options": options or {}, "settings": tree}
    return created(ruleset=ruleset).lines()


def _set(*path: str, to: Any) -> Callable[[Tree], None]:
    def change(tree: Tree) -> None:
        holder = tree
        for name in path[:-1]:
            holder = holder.setdefault(name, {})
        holder[path[-1]] = to

    return change


def _drop(*path: str) -> Callable[[Tree], None]:
    def change(tree: Tree) -> None:
        holder = tree
        for name in path[:-1]:
            holder = holder[name]
        del holder[path[-1]]

    return change


Change = tuple[str, str, Callable[[Tree], None]]

_WRONG: tuple[Change, ...] = (
    ("no-players", "settings without the number of players", _drop("players")),
    ("no-order", "settings without the order of the ranks", _drop("order")),
    ("section", "an unknown section", _set("weather", to={})),
    ("setting", "an unknown setting", _set("deal", "speed", to=2)),
    ("value", "an unknown value", _set("turn", "obligation", to="must_sing")),
    ("type", "a text in place of a number", _set("deal", "down", to="3")),
    ("true", "a number in place of true", _set("deal", "exchange", to=1)),
    ("rank", "a rank that there is not", _set("ranks", "1", to={"burns": True})),
    ("rank-setting", "an unknown setting of a rank", _set("ranks", "2", "sings", to=True)),
    ("order-short", "a rank left out of the order", _set("order", "low_to_high", to=[*"23456"])),
    ("list", "a list in place of a section", _set("deal", to=[])),
    ("null", "null in place of a section", _set("turn", to=None)),
)  # fmt: skip

_RIGHT: tuple[Change, ...] = (
    ("default", "a setting left out that has its default in the base", _drop("end", "paper_bag")),
    ("section-default", "a section left out", _drop("burn")),
)
