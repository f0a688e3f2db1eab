"""The verdicts of the two verifiers of this repository on a case, in comparable form."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from service.shx.bundle import NotABundle, read_log
from service.verify.evidence import BadEvidence, OutsideEvidence, parse_evidence
from service.verify.files import status_of, verify_all
from service.verify.finding import Result
from tests.changed import replace
from tests.conformance.case import Case, Evidence, Repeat
from tests.web.node import answers_in_node

Verdict = tuple[int, str | None, dict[str, int | None]]
"""Exit status, level, and the failed checks with the seq that each names."""

CORPUS: Final = Path(__file__).resolve().parents[2] / "ops" / "spec" / "conformance"


def stored() -> Iterator[Case]:
    """Yield the cases of the corpus as its files have them."""
    for entry in json.loads((CORPUS / "verdicts.json").read_text("utf-8"))["cases"]:
        evidence = entry.get("evidence", {})
        yield Case(
            name=entry["file"].rpartition(".")[0],
            says=entry["says"],
            content=(CORPUS / entry["file"]).read_bytes(),
            exit=entry["exit"],
            level=entry["level"],
            failed=entry["failed"],
            missing=tuple(entry.get("missing", ())),
            asked=entry.get("asked", "L1"),
            repeat=Repeat(**entry["repeat"]) if "repeat" in entry else None,
            evidence=Evidence(
                receipts=_read(evidence, "receipts"),
                server_keys=tuple(evidence.get("server_keys", ())),
                witness_keys=tuple(evidence.get("witness_keys", ())),
                quorum=evidence.get("quorum"),
                seat_keys={int(s): key for s, key in evidence.get("seat_keys", {}).items()},
                key_changes=_read(evidence, "key_changes"),
                others=_read(evidence, "others"),
            ),
        )


def _read(evidence: Mapping[str, Any], name: str) -> tuple[bytes, ...]:
    return tuple((CORPUS / file).read_bytes() for file in evidence.get(name, ()))


def declared(case: Case) -> Verdict:
    """Return the declared verdict."""
    return case.exit, case.level, dict(case.failed)


def outside(case: Case) -> OutsideEvidence:
    """Return the evidence of a case for the Python verifier."""
    seen = case.evidence
    found = parse_evidence(
        receipts=seen.receipts,
        keys=[*seen.server_keys, *seen.witness_keys],
        seat_keys=[f"{seat}={key}" for seat, key in seen.seat_keys.items()],
        key_changes=seen.key_changes,
    )
    return replace(found, quorum=seen.quorum)


def python_verdict(case: Case) -> Verdict:
    """Return the verdict of the Python verifier."""
    try:
        bundle, evidence = read_log(case.input), outside(case)
    except (NotABundle, BadEvidence):  # keys that cannot be read are no evidence either
        return 3, None, {}
    others = [read_log(other) for other in case.evidence.others]
    report = verify_all([bundle, *others], evidence)[0]
    failed = {f.check.value: f.seq for f in report.findings if f.result is Result.FAIL}
    return status_of(report, case.asked), report.level, failed


JUDGED_BY_ONE: Final = "legality"
"""Before the seal only the Python verifier judges it: the script has no deck then."""


def differences(cases: Sequence[Case]) -> list[str]:
    """Return a description of each case on which the two verifiers differ, also in a seq."""
    found = []
    answers = answers_in_node([as_json(case) for case in cases])
    for case, answer in zip(cases, answers, strict=True):
        python, script = python_verdict(case), _of_script(answer)
        results = {one["check"]: one["result"] for one in answer.get("findings", ())}
        open_ = results.get("seal") == results.get(JUDGED_BY_ONE) == "missing"
        if open_ and JUDGED_BY_ONE in python[2]:
            failed = {check: seq for check, seq in python[2].items() if check != JUDGED_BY_ONE}
            python = (1, python[1], failed) if failed else (2, script[1], failed)
        if python != script:
            found.append(f"{case.name}: {python} in Python, {script} in JavaScript")
    return found


def script_verdicts(cases: Sequence[Case]) -> list[Verdict]:
    """Return the verdicts of the JavaScript verifier, made in one process."""
    return [_of_script(answer) for answer in answers_in_node([as_json(case) for case in cases])]


def as_json(case: Case) -> str:
    """Return a case as the script reads it."""
    seen = case.evidence
    return json.dumps(
        {
            "file": b64encode(case.input).decode(),
            "receipts": [b64encode(note).decode() for note in seen.receipts],
            "server_keys": "\n".join(seen.server_keys),
            "witness_keys": "\n".join(seen.witness_keys),
            "quorum": seen.quorum or len(seen.witness_keys),
            "seat_keys": [f"{seat}={key}" for seat, key in seen.seat_keys.items()],
            "key_changes": [data.decode() for data in seen.key_changes],
            "others": [b64encode(other).decode() for other in seen.others],
            "asked": case.asked,
        }
    )


def _of_script(answer: dict[str, Any]) -> Verdict:
    if "refused" in answer:
        return 3, None, {}
    failed = {one["check"]: one["seq"] for one in answer["findings"] if one["result"] == "fail"}
    return answer["status"], answer["level"], failed
