"""Searching bots with few samples, for tests of anything but their strength."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from service.bots import searching
from service.bots.searching import SearchBudget


@contextmanager
def small_budgets() -> Iterator[None]:
    """Reduce the samples of the searching bots."""
    with pytest.MonkeyPatch.context() as patch:
        for name, samples in (("CAREFUL_BUDGET", 6), ("EXPERT_BUDGET", 12)):
            patch.setattr(searching, name, SearchBudget(samples=samples, exchange=10))
        yield
