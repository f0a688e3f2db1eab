"""The measured strength of the bots: paired deals, intervals, ratings, and `GET /v1/bots`."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from statistics import fmean

import pytest

from ops.bench import strength
from ops.bench.compiled import COMPILED, ROOT, make_compiled_copy
from ops.bench.strength import (
    RESULTS,
    RULESETS,
    Cell,
    cells,
    hand,
    lines,
    outside_cells,
    play,
    ratings,
    read,
    share,
)
from service.bots.registry import bots

CELL = Cell(ruleset="shithead", seats=2, first="greedy", second="random")


def test_a_hand_is_reproducible_and_its_pair_swaps_the_seats() -> None:
    assert [hand(CELL, number) for number in (6, 7)] == [hand(CELL, number) for number in (6, 7)]
    same = Cell(ruleset="shithead", seats=2, first="greedy", second="greedy")
    results = [(hand(same, number), hand(same, number + 1)) for number in (0, 2, 4)]
    assert all(one is None or one + (other or 0) == 1 for one, other in results)


def test_the_interval_is_computed_from_deals_and_not_from_single_hands() -> None:
    """The two hands of a deal are not independent."""
    found = share(CELL, {0: 1, 1: 1, 2: 0, 3: 0})
    assert (found.hands, found.share) == (4, 0.5)
    assert found.error == pytest.approx(1.96 * math.sqrt(0.5 / 2))
    assert share(CELL, {0: 1, 1: 0, 2: 1, 3: 0, 4: 1}).error == 0, "the fifth hand has no pair"
    assert share(CELL, {0: None, 1: 0}).share == 0.25, "a stalemate counts as half a loss"


def test_a_rating_follows_from_the_wins() -> None:
    """Bradley-Terry: three wins of four are 191 points; one drawn hand is added to the data."""
    played = {
        Cell(ruleset="leeds", seats=2, first="expert", second="greedy"): dict(enumerate(LOST))
    }
    found = ratings(played, "leeds")
    assert found["greedy"] == 0
    assert found["expert"] == pytest.approx(400 * math.log10(300.5 / 100.5), abs=0.5)


LOST = [0, 0, 0, 1] * 100


def test_every_search_module_is_compiled() -> None:
    """A module that was moved or added is noticed here, before a long measurement needs it."""
    found = {str(path.relative_to(ROOT)) for path in (ROOT / "service/search").glob("[!_]*.py")}
    assert found | {"service/bots/worlds.py"} == set(COMPILED)


@pytest.mark.long
def test_a_compiled_copy_plays_the_same_hands(tmp_path: Path) -> None:
    """Long measurements use it, so its results must equal those of the plain modules."""
    make_compiled_copy(tmp_path / "copy")
    options = ["--ruleset", "leeds", "--seats", "2", "--first", "expert", "--second", "greedy"]
    results: list[list[object]] = []
    for folder in (tmp_path / "copy", Path(strength.__file__).parents[2]):
        data = tmp_path / f"{len(results)}.jsonl"
        command = [sys.executable, "-m", "ops.bench.strength", "play", *options, "--hands", "6"]
        subprocess.run([*command, "--data", str(data)], cwd=folder, check=True)
        results.append([json.loads(line) for line in data.read_text().splitlines()])
    assert results[0] == results[1]
    assert len(results[0]) == 6


def test_measured_hands_are_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, numbers = tmp_path / "hands.jsonl", []
    monkeypatch.setattr(strength, "hand", lambda _cell, number: numbers.append(number))
    play([CELL], 3, data)
    play([CELL], 5, data)
    assert numbers == [0, 1, 2, 3, 4]
    assert read(data) == {CELL: dict.fromkeys(range(5))}


def test_joined_files_have_one_line_per_cell_and_all_hands(tmp_path: Path) -> None:
    """A gap in the numbers begins a new line, so a missing hand is played later."""
    other = Cell(ruleset="leeds", seats=4, first="expert", second="greedy", samples=(1000, 0))
    played = {CELL: {0: 1, 1: 0, 2: None, 5: 1}, other: {0: 0}}
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text("".join(lines({CELL: {0: 1, 5: 1}})))
    two.write_text("".join(lines({CELL: {2: None, 1: 0}, other: {0: 0}})))
    assert read(one, two, tmp_path / "none.jsonl") == played
    joined = list(lines(read(one, two)))
    assert [json.loads(line)[-2:] for line in joined] == [[0, "10-"], [5, "1"], [0, "0"]]


def test_every_pair_of_bots_has_its_cells() -> None:
    names = len(bots())
    assert sum(cell.seats == 2 for cell in cells()) == len(RULESETS) * names * (names - 1) // 2
    assert sum(cell.seats == 4 for cell in cells()) == len(RULESETS) * names * (names - 1)


def test_bots_of_other_projects_play_to_the_end_and_count_in_no_rating() -> None:
    for cell in outside_cells():
        if cell.first == "greedy":
            assert hand(cell, 2) in (0, 1)
            assert ratings({cell: {0: 0, 1: 0}}, "shithead") == ratings({}, "shithead")


def test_the_stated_strength_of_a_bot_is_its_rank_by_measured_rating() -> None:
    """`GET /v1/bots` states 1 (weakest) to 5, by the mean of the ratings in all rulesets."""
    played = read(RESULTS / "strength.jsonl")
    every = [ratings(played, ruleset) for ruleset in RULESETS]
    mean = {name: fmean(rating[name] for rating in every) for name in bots()}
    assert sorted(mean, key=lambda name: mean[name]) == list(bots())
    assert [bot.strength for bot in bots().values()] == list(range(1, len(bots()) + 1))
    assert strength.page(played) == (RESULTS / "strength.md").read_text()
