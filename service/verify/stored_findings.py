"""Findings of disputes as JSON, and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from service.replay.sentences import coded, sentence, values_json
from service.verify.finding import Finding, passes

ON_THE_MOVE: Final = "event"
"""The name used instead of a check for a finding on the disputed move itself."""

StoredFinding = Mapping[str, Any]


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return the finding of a check on a whole log."""
    return {
        "check": finding.check.value,
        "result": finding.result.value,
        "seq": finding.seq,
        "code": finding.code or f"passes.{finding.check}",
        "values": values_json(finding.values),
        "text": finding.text or passes(finding.check),
        "more": [coded(one) for one in finding.more],
        "rule": finding.rule,
    }


def in_words(finding: StoredFinding) -> str:
    """
    Return a finding in words, without technical detail.

    >>> in_words({"check": "custody", "result": "fail", "text": "…", "code": "custody.not_held",
    ...     "values": {"seat": 1, "card": "7h"}})
    'Seat 2 played the seven of hearts, but did not hold it at that moment.'
    """
    return sentence(finding["code"], finding["values"])
