"""All cases of the corpus, and the file of their verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from hashlib import sha256
from typing import Any, Final

from tests.conformance import (
    bundle_cases,
    bytes_cases,
    evidence_cases,
    field_cases,
    leaving_cases,
    move_cases,
    play_cases,
    reserve_cases,
    rule_cases,
    set_up_cases,
    settings_cases,
    table_cases,
)
from tests.conformance.case import Case
from tests.tamper import LOGS

MODULES: Final = (
    bytes_cases,
    field_cases,
    set_up_cases,
    play_cases,
    leaving_cases,
    move_cases,
    reserve_cases,
    settings_cases,
    rule_cases,
    evidence_cases,
    table_cases,
    bundle_cases,
)
ABOUT: Final = "Each input with its verdict; how to run a verifier on it is in README.md beside."


def cases() -> Iterator[Case]:
    """Yield every case, module by module."""
    for module in MODULES:
        yield from module.cases()


def files_of(case: Case) -> Mapping[str, bytes]:
    """Return the files of a case by their names in the corpus: the input and the evidence."""
    seen = case.evidence
    beside = {_beside(data, "note"): data for data in seen.receipts}
    beside |= {_beside(data, "json"): data for data in seen.key_changes}
    return {case.file: case.content, **beside, **{_beside(o, "jsonl"): o for o in seen.others}}


def _beside(data: bytes, suffix: str) -> str:
    return f"evidence/{sha256(data).hexdigest()[:12]}.{suffix}"


def entry(case: Case) -> dict[str, Any]:
    """Return the verdict on a case; fields with nothing in them are left out."""
    seen = case.evidence
    evidence = {
        "receipts": [_beside(data, "note") for data in seen.receipts],
        "server_keys": list(seen.server_keys),
        "witness_keys": list(seen.witness_keys),
        "quorum": seen.quorum,
        "seat_keys": {str(seat): key for seat, key in seen.seat_keys.items()},
        "key_changes": [_beside(data, "json") for data in seen.key_changes],
        "others": [_beside(data, "jsonl") for data in seen.others],
    }
    optional = {
        "missing": list(case.missing),
        "repeat": None if case.repeat is None else asdict(case.repeat),
        "asked": None if case.asked == "L1" else case.asked,
        "evidence": {name: value for name, value in evidence.items() if value},
    }
    return {
        "file": case.file,
        "says": case.says,
        "exit": case.exit,
        "level": case.level,
        "failed": dict(case.failed),
        **{name: value for name, value in optional.items() if value},
    }


def verdicts(hands: Iterator[str]) -> str:
    """Return the text of verdicts.json; `hands` are the files of honest hands in the corpus."""
    honest = [
        {"file": name, "says": "an honest hand", "exit": 0, "level": "L1", "failed": {}}
        for name in hands
    ]
    entries = [*map(entry, cases()), *honest]
    body = ",\n".join(json.dumps(one, ensure_ascii=False) for one in entries)
    return f'{{"about": {json.dumps(ABOUT)}, "v": 1, "cases": [\n{body}\n]}}\n'


def sample_verdicts() -> dict[str, dict[str, Any]]:
    """Return the verdict on each sample of tests/golden: all of them are honest and sealed."""
    return {path.name: {"exit": 0, "level": "L1", "failed": {}} for path in LOGS}
