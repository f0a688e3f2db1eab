"""Helpers for the tests of `guarducci`: its switches, and the runs on a pile."""

from __future__ import annotations

from service.domain.ruleset import Ruleset
from tests.rules.scenario import moves
from tests.rules.tables import rules, table

ALL = rules("guarducci")
NONE = rules("guarducci", switches=[])


def only(*switches: int, joker: str = "glass") -> Ruleset:
    """Return the ruleset with these switches and no others."""
    return rules("guarducci", switches=list(switches), joker=joker)


def legal_runs(ruleset: Ruleset, pile: str, hand: str) -> set[str]:
    """Return the runs that may be played onto a pile."""
    plays = moves(ruleset, table(pile=pile, hands=[hand, "9s"])) - {"take"}
    return {p for p in plays if len({c[0] for c in p.split()}) > 1}
