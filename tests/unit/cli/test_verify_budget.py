"""`shithead verify --budget`: a check not finished in time is missing, never passed."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ops.bench.costly_uploads import costly_log
from tests.unit.cli.conftest import SAMPLES, CommandOutput

LOG = SAMPLES / "leeds.jsonl"
Shithead = Callable[..., CommandOutput]


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Switch off garbage collection: an alarm raised in a finalizer is only a warning."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def costly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log whose checks take two seconds."""
    path = tmp_path_factory.mktemp("costly") / "events.jsonl"
    path.write_bytes(costly_log(12_000))
    return path


@pytest.mark.heavy
def test_checks_not_finished_in_time_are_missing(shithead: Shithead, costly: Path) -> None:
    began = time.monotonic()
    status, out, _ = shithead("verify", costly, "--budget", "0.5")
    assert time.monotonic() - began < 8
    assert status == 2, out
    lines = out.splitlines()
    assert any(line.startswith("legality     missing: The time limit (budget)") for line in lines)
    assert lines[-1].startswith("not finished within the budget")
    assert "no evidence of tampering" not in out, "the moves were not judged"


@pytest.mark.heavy
def test_the_json_object_lists_unfinished_checks(shithead: Shithead, costly: Path) -> None:
    status, out, _ = shithead("verify", costly, "--budget", "0.5", "--json")
    assert status == 2
    report = json.loads(out)
    late = [check["check"] for check in report["checks"] if check["code"] == "open.budget"]
    assert {"legality", "sequence"} <= set(late)
    assert report["result"] == "missing"
    assert report["level"] in (None, "L0")


def test_with_a_tiny_budget_checks_are_missing(shithead: Shithead) -> None:
    status, out, _ = shithead("verify", LOG, "--budget", "0.000001")
    assert status == 2, out
    assert "missing: The time limit (budget) was reached" in out


def test_a_sufficient_budget_does_not_change_the_report(shithead: Shithead) -> None:
    status, out, _ = shithead("verify", LOG, "--budget", "600")
    assert status == 0
    assert out == shithead("verify", LOG)[1]


@pytest.mark.parametrize("budget", ["0", "-1", "soon"])
def test_a_budget_is_a_number_of_seconds(shithead: Shithead, budget: str) -> None:
    assert shithead("verify", LOG, "--budget", budget)[0] == 64


@pytest.mark.attack(
    "WITHOUT_BOUND",
    "refused passes with thousands of alternatives",
    check="each alternative listed once",
)
@pytest.mark.heavy
def test_alternative_moves_are_listed_once(shithead: Shithead, tmp_path: Path) -> None:
    """Each refused pass of this log cost a second of CPU when all moves were listed in it."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(costly_log(12))
    began = time.process_time()
    status, out, _ = shithead("verify", path)
    assert time.process_time() - began < 5
    assert status == 1
    [legality] = [line for line in out.splitlines() if line.startswith("legality")]
    assert legality.count("could have played") == 1
    assert "11 more" in legality
