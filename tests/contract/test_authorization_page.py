"""`ops/authorization.md` lists every operation, caller and situation."""

from __future__ import annotations

import re

from tests.authorization.matrix import TABLES, cells
from tests.worlds.api_world import make_world

CALLERS = (
    *("anonymous", "dead token", "invited", "outsider", "guest"),
    *("seat", "other seat", "host", "referee"),
)


def test_the_page_lists_every_operation_and_no_other(database_url: str) -> None:
    world = make_world(database_url)
    routed = {
        f"{method} {_template(rule.rule)}"
        for rule in world.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    world.services.close()
    assert {cell.operation for cell in cells()} == routed


def test_the_page_has_every_caller_in_every_situation() -> None:
    """The authorization tests are generated from the page, so a missing caller is not tested."""
    tested: dict[str, set[tuple[str, str, str]]] = {}
    for cell in cells():
        tested.setdefault(cell.operation, set()).add((cell.table, cell.hand, cell.caller))
    usual = {(t, h, c) for t in TABLES for h in ("running", "sealed") for c in CALLERS}
    assert [operation for operation, found in tested.items() if not usual <= found] == []


def _template(rule: str) -> str:
    return re.sub(r"<(?:[a-z]+:)?([a-z_]+)>", r"{\1}", rule)
