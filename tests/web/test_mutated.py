"""Both verifiers read alike: mutated records and bundles get one verdict from both."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance.check import differences, python_verdict
from tests.examples import stride
from tests.web.mutated.bundles import bundles
from tests.web.mutated.records import records

MANY = 1000
"""The number of mutated records, and of mutated bundles, in a long run."""


@pytest.mark.heavy
def test_mutated_records_are_judged_alike() -> None:
    assert differences(list(records(MANY // stride(10)))) == []


@pytest.mark.heavy
def test_mutated_bundles_are_judged_alike() -> None:
    assert differences(list(bundles(MANY // stride(10)))) == []


@pytest.mark.long
def test_mutations_reach_every_exit_status_and_most_checks() -> None:
    """Else most would fail at the door, and the comparison would show little."""
    verdicts = [python_verdict(case) for case in (*records(MANY), *bundles(MANY))]
    statuses = Counter(status for status, _, _ in verdicts)
    assert min(statuses[status] for status in range(4)) >= 20
    failed = Counter(check for _, _, checks in verdicts for check in checks)
    assert len(failed) >= 14, failed
