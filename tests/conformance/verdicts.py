"""All cases of the corpus, and the file of their verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.conformance import bundle_cases, bytes_cases, evidence_cases, play_cases, rule_cases, set_up_cases
from tests.conformance.case import Case

MODULES: Final = (bytes_cases, set_up_cases, play_cases, rule_cases, evidence_cases, bundle_cases)


def cases() -> Iterator[Case]:
    """Yield every case, check by check."""
    for module in MODULES:
        yield from module.cases()


def entry(case: Case) -> dict[str, Any]:
    """Return the verdict on one case as it stands in verdicts.json."""
    return {"name": case.name, "file": case.file, "says": case.says}
