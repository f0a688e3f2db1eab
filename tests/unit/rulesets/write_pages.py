"""
Write the golden rules pages: `python -m tests.unit.rulesets.write_pages`.

Review the diff before committing it: players read these pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from service.rulesets.catalogue import Definition, KnownByName, catalogue, known_by_name
from service.rulesets.rules_page import as_text, common_text, rules_page

PAGES = Path(__file__).resolve().parents[2] / "golden" / "pages"


@cache
def pages() -> Mapping[str, str]:
    """Return the text of every golden page by file name."""
    every: list[Definition | KnownByName] = [*catalogue().values(), *known_by_name().values()]
    texts = {f"{one.id}.txt": as_text(rules_page(one), common=False) for one in every}
    return MappingProxyType(texts | {"common.txt": common_text()})


if __name__ == "__main__":
    for name, text in pages().items():
        (PAGES / name).write_text(text, "utf-8")
