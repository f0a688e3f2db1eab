"""Small budgets for the bots that search: a leak shows with few samples too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.small_budgets import small_budgets


@pytest.fixture(scope="package", autouse=True)
def _small_budgets() -> Iterator[None]:
    with small_budgets():
        yield
