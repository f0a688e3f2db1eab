"""`shithead dataset`: rows of what seats saw, could do, did and achieved; seeds repeat them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from service.domain.cards import ordered_deck
from service.simulation.dataset import COLUMNS
from tests.unit.cli.conftest import RecordedAnswer

DOCUMENT = Path(__file__).parents[3] / "ops/dataset.md"
WORDS = ("dataset", "--ruleset", "covered-queen", "--seats", "3", "--games", "2", "--seed", "4")

Shithead = Callable[..., RecordedAnswer]


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_equal_seeds_give_equal_rows_and_each_names_a_legal_choice(shithead: Shithead) -> None:
    status, out, _ = shithead(*WORDS)
    assert status == 0
    assert shithead(*WORDS)[1] == out
    assert shithead(*WORDS[:-1], "5")[1] != out
    for row in rows(out):
        assert list(row) == list(COLUMNS)
        assert row["legal"][row["chosen"]]
        played = row["legal"][row["chosen"]].get("cards", [])
        assert set(played) <= {*row["hand"], *(card for slot in row["up"] for card in slot)}
        assert (row["place"] == row["seats"]) == (row["shithead"] == 1)


def test_a_row_has_no_card_that_the_seat_could_not_see(shithead: Shithead) -> None:
    """Every card is at one place or hidden; hidden ones are counted only."""
    for row in rows(shithead(*WORDS)[1]):
        hidden = row["stock"] + row["down"]
        seen = [*row["pile"], *row["burned"], *row["hand"], *chain(*row["up"])]
        for other in row["others"]:
            seen += [*other["known"], *chain(*other["up"])]
            hidden += other["hand"] - len(other["known"]) + other["down"]
        assert len(seen) == len(set(seen))
        assert len(seen) + hidden == len(ordered_deck(decks=1, jokers=0))


def test_logs_give_the_rows_of_the_hands_that_were_simulated(
    shithead: Shithead, tmp_path: Path
) -> None:
    options = WORDS[1:]
    shithead("simulate", *options, "--keep", tmp_path, "--jobs", "1", "--no-verify")
    logs = sorted(tmp_path.iterdir())
    found = {(row["game"], row["version"]): row for row in rows(shithead("dataset", *logs)[1])}
    assert found == {(row["game"], row["version"]): row for row in rows(shithead(*WORDS)[1])}


def test_a_log_without_a_seal_is_refused(shithead: Shithead, tmp_path: Path) -> None:
    shithead("simulate", *WORDS[1:], "--keep", tmp_path, "--jobs", "1", "--no-verify")
    log = next(tmp_path.iterdir())
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    status, _, error = shithead("dataset", log)
    assert (status, "no seal" in error) == (1, True)


@pytest.mark.parametrize("name", COLUMNS)
def test_the_page_describes_every_column(shithead: Shithead, name: str) -> None:
    text = COLUMNS[name]
    assert f"| `{name}` | {text} |" in DOCUMENT.read_text()
    assert re.search(
        rf"^{name} +{re.escape(text)}$", shithead("dataset", "--columns")[1], re.MULTILINE
    )
