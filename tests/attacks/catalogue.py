"""All registered attacks; `python -m tests.attacks.catalogue` writes a table of them."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tests.attacks import (
    card_attacks,
    record_attacks,
    rule_attacks,
    set_up_attacks,
    special_rule_attacks,
    whole_move_attacks,
)
from tests.attacks.registry import ATTACKS, Family, Needs

__all__ = ["ATTACKS", "MODULES", "by_family", "elsewhere", "table"]

MODULES: Final = (
    record_attacks,
    card_attacks,
    rule_attacks,
    set_up_attacks,
    whole_move_attacks,
    special_rule_attacks,
)
"""Importing them fills ATTACKS."""

TESTS: Final = Path(__file__).parents[1]
RESULTS: Final = Path(__file__).parents[2] / "ops" / "bench" / "results" / "attacks.md"
_LOGS: Final = "acceptance/test_attacks_registered.py"
_HEAD: Final = """\
# Attacks

The attacks that are tested, and the check that must detect each. Written by
`python -m tests.attacks.catalogue`; a test compares this table with the registry, and every line
names the file of its test. The attacker has the code, the database and every key of the server,
and recomputes all hashes and commitments; it has no keys or receipts of players, and no witnesses.

"""


@dataclass(frozen=True, kw_only=True)
class MarkedAttack:
    """An attack with a test of its own: the mark `attack` names it there."""

    family: Family
    name: str
    check: str
    needs: Needs
    file: str  # below tests


@cache
def elsewhere() -> tuple[MarkedAttack, ...]:
    """Return the attacks that are tested in other files, from the marks of their tests."""
    return tuple(
        _marked(decorator, path.relative_to(TESTS).as_posix())
        for path in sorted(TESTS.rglob("test_*.py"))
        if "pytest.mark.attack(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.attack"
    )


def _marked(mark: ast.Call, file: str) -> MarkedAttack:
    family, name = (ast.literal_eval(one) for one in mark.args)
    named = {one.arg: ast.literal_eval(one.value) for one in mark.keywords}
    return MarkedAttack(
        family=Family[family],
        name=name,
        check=named["check"],
        needs=Needs[named.get("needs", "NOTHING")],
        file=file,
    )


def by_family() -> dict[Family, list[tuple[str, str, str, Needs, str]]]:
    """Return the attacks of each family: name, log, check, outside evidence, file of the test."""
    found: dict[Family, list[tuple[str, str, str, Needs, str]]] = defaultdict(list)
    for kind in ATTACKS:
        found[kind.family].append((kind.name, kind.log, kind.check, Needs.NOTHING, _LOGS))
    for tested in elsewhere():
        found[tested.family].append((tested.name, "", tested.check, tested.needs, tested.file))
    return found


def table() -> str:
    """
    Return the table of all attacks as Markdown, family by family, each sorted by name.

    The order of imports does not change it.
    """
    found = by_family()
    lines = [f"{sum(map(len, found.values()))} attacks.\n"]
    lines += ["| attack | log | detected by | outside evidence | test below `tests/` |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for family in Family:
        lines.append(f"| **{family.value}** | | | | |")
        for name, log, check, needs, file in sorted(found[family]):
            lines.append(f"| {name} | {log} | {check} | {needs.value} | {file} |")
    return _HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    RESULTS.write_text(table(), "utf-8")
