"""Findings of disputes as JSON, and in words; those stored before they had codes included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from service.replay.sentences import coded, sentence, values_json
from service.verify.clauses import shortened
from service.verify.finding import Check, Finding, fails, passes

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
    'Seat 1 played the seven of hearts, but did not hold it at that moment.'
    >>> in_words({"check": "custody", "result": "fail", "text": "seat 1 does not hold 7h"})
    'A card was played or moved that was not there.'
    """
    if finding.get("code") is not None:
        return sentence(finding["code"], finding["values"])
    return _older(finding)


def detail_of(finding: StoredFinding) -> str:
    """Return the technical reason of a finding that was stored without a code, else ''."""
    if finding.get("code") is not None or finding["result"] != "fail":
        return ""
    return shortened(_reason(finding)[1].removeprefix(_NOT_ALLOWED))


def _older(finding: StoredFinding) -> str:
    """Return a finding without a code: the meaning of its check, or the text as it was stored."""
    result = finding["result"]
    check, reason = _reason(finding)
    if result == "fail" and check is not None:
        return fails(check)
    if result == "pass":
        return sentence("move.allowed") if check is None else passes(check)
    stated = shortened(reason)
    return f"{stated[:1].upper()}{stated[1:]}."


_ON_THE_MOVE_FAILS: Final = " fails here: "
_NOT_ALLOWED: Final = "not allowed: "
"""Parts of the texts that earlier releases stored."""


def _reason(finding: StoredFinding) -> tuple[Check | None, str]:
    """Return the check and the reason in a finding without a code."""
    name, text = finding["check"], finding["text"]
    if name == ON_THE_MOVE and _ON_THE_MOVE_FAILS in text:
        name, _, text = text.partition(_ON_THE_MOVE_FAILS)
    return (Check(name) if name in {check.value for check in Check} else None), text
