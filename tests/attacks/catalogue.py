"""All registered attacks; `python -m tests.attacks.catalogue` writes a table of them."""

from __future__ import annotations

from collections import defaultdict
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
from tests.attacks.attacks_tested_elsewhere import ELSEWHERE
from tests.attacks.registry import ATTACKS, Family, Needs

__all__ = ["ATTACKS", "MODULES", "by_family", "table"]

MODULES: Final = (
    record_attacks,
    card_attacks,
    rule_attacks,
    set_up_attacks,
    whole_move_attacks,
    special_rule_attacks,
)
"""Importing them fills ATTACKS."""

RESULTS: Final = Path(__file__).parents[2] / "ops" / "bench" / "results" / "attacks.md"
_LOGS: Final = "acceptance/test_attacks_registered.py"
_HEAD: Final = """\
# Attacks

The attacks that are tested, and the check that must detect each. Written by
`python -m tests.attacks.catalogue`; a test compares this table with the registry, and every line
names the file of its test. The attacker has the code, the database and every key of the server,
and recomputes all hashes and commitments; it has no keys or receipts of players, and no witnesses.

"""


def by_family() -> dict[Family, list[tuple[str, str, str, Needs, str]]]:
    """Return the attacks of each family: name, log, check, outside evidence, file of the test."""
    found: dict[Family, list[tuple[str, str, str, Needs, str]]] = defaultdict(list)
    for kind in ATTACKS:
        found[kind.family].append((kind.name, kind.log, kind.check, Needs.NOTHING, _LOGS))
    for tested in ELSEWHERE:
        file = tested.test.partition("::")[0]
        found[tested.family].append((tested.name, "", tested.check, tested.needs, file))
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
