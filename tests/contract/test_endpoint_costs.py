"""The page of endpoint costs has a row for every endpoint, each within the bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ops.bench.endpoints import BOUND, endpoints
from tests.worlds.api_world import make_world

PAGE = Path(__file__).parents[2] / "ops/bench/results/endpoints.md"
CELLS = 8


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the page."""

    call: str
    status: int
    outside: tuple[int, int]  # ms outside a slot: the first call, and a repeated one
    inside: tuple[int, int]  # ms in a slot
    slots: str


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Return the rows of the first table of the page."""
    return list(_rows(PAGE.read_text("utf-8").partition("\n## ")[0].splitlines()))


def _rows(lines: list[str]) -> Iterator[Row]:
    begin = next(n for n, line in enumerate(lines) if line.startswith("| ---"))
    for line in lines[begin + 1 :]:
        if not line:
            return
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) == CELLS, f"not a row of the table: {line}"
        status, first, in_slots, again, again_in_slots = (int(cells[n]) for n in (2, 3, 4, 5, 6))
        yield Row(
            call=cells[0].strip("`"),
            status=status,
            outside=(first, again),
            inside=(in_slots, again_in_slots),
            slots=cells[7],
        )


def test_every_operation_of_the_document_has_a_row_and_every_row_an_operation(
    rows: list[Row],
) -> None:
    """A new operation needs a run of the benchmark; `--write --only PATTERN` measures it alone."""
    world = make_world("postgresql://nobody@127.0.0.1:1/none")
    routes = {f"{method} {rule}" for method, rule in endpoints(world.app)}
    document = world.get("/v1/openapi.json").json
    world.services.close()
    assert {row.call for row in rows} <= routes
    documented = {
        f"{method.upper()} {path}"
        for path, calls in document["paths"].items()
        for method in calls
        if method != "parameters"
    }
    measured = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", row.call) for row in rows}
    assert documented <= measured


def test_every_operation_stays_below_the_bound_or_holds_a_slot(rows: list[Row]) -> None:
    over = [row.call for row in rows if max(row.outside) > BOUND * 1000]
    assert over == []
    for row in rows:
        assert bool(max(row.inside)) <= bool(row.slots), row


def test_every_call_on_a_dispute_was_measured_with_an_accepted_input(rows: list[Row]) -> None:
    """The id of an unknown dispute would measure only the refusal."""
    accepted = {row.call for row in rows if row.status < 400}
    assert {row.call for row in rows if "disputes" in row.call} <= accepted
    assert {"POST /v1/verify", "POST /v1/rulesets"} <= accepted
