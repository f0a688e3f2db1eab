"""A new effect of a rank needs a few files, and every part then knows it (CONTRIBUTING.md)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ops.facts import MOST_FILES, files_that_name
from tests.test_architecture import ROOT

RULESET = """
name = "Shithead, eights leap"
base = "shithead"
source = { file = "house.txt", title = "The rules at our kitchen table" }

[ranks.8]
leaps = { is = true, rule = "P25" }

[[statements]]
id = "P25"
section = "special"
text = "Eight: it leaps over two players."
"""
STEPS = "            steps += rule.skips\n"
LABEL = '    "skips": "skips a player",\n'
TABLE = "    def effects(self, *acts: Acts)"
ROW = (
    '    leaps: bool = _effect(Effect(acts=Acts.TURN, statement="1-skip", skipped=2, '
    "hint=Hint.HINDERS))\n\n"
)
CHANGES = {
    "service/domain/ruleset.py": (TABLE, ROW + TABLE),
    "service/domain/decide.py": (STEPS, STEPS + "            steps += 2 * rule.leaps\n"),
    "service/rulesets/labels.py": (LABEL, LABEL + '    "leaps": "leaps over two players",\n'),
}
"""The files in which the effect `leaps` is added, each with a text and its replacement."""

LOOK = """
import json
from itertools import pairwise
from schemas.settings import full_tree, json_schema, merged
from service.bots.simple import worth_of_ranks
from service.domain.events import CardsPlayed
from service.replay.captions import explained
from service.rulesets.catalogue import definition
from service.rulesets.custom import custom_definition
from service.rulesets.labels import differs_from_base
from service.rulesets.rules_page import as_text, rules_page
from service.rulesets.statements import rules_behind
from service.rulesets.validation import contradictions
from service.simulation.parallel import play_table, tables_of
from service.simulation.simulate import Plan
from tests.unit.playing import steps_of
from tests.unit.search.lockstep import play_in_step

base, one = definition("shithead"), definition("leaping")
ruleset = one.ruleset({})
burning = merged(one.settings({}), {"ranks": {"8": {"burns": True}}})
own = custom_definition(base, "Own", {"ranks": {"9": {"leaps": True}}})
plan = Plan(ruleset="leaping", seats=4, bots=("random", "greedy"), games=1, per_table=1)
reports = [play_table(table, verified=True, keep=None) for table in tables_of(plan)]
plays = [
    (explained(event, before), rules_behind(before, event), event.seat, event.turn)
    for (before, _), (after, event) in pairwise(steps_of(ruleset, 4, 1))
    if isinstance(event, CardsPlayed) and len(event.cards) == 1 and event.cards[0][0] == "8"
]
print(json.dumps({
    "positions in step": [play_in_step(ruleset, seats, 1) for seats in (3, 5)],
    "games": sum(report.games for report in reports),
    "failed": [str(report.failed) for report in reports if report.failed],
    "play": plays[0],
    "schema": json_schema()["properties"]["ranks"]["properties"]["8"]["properties"]["leaps"],
    "contradictions": contradictions(full_tree(burning)),
    "differences": [one.text for one in differs_from_base(one)],
    "page": as_text(rules_page(one)),
    "page of a custom ruleset": as_text(rules_page(own)),
    "worth": [worth_of_ranks(some.ruleset({}))["8"] for some in (base, one)],
}))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the code with the effect `leaps`, and with a ruleset that has it."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("service", "schemas"):
        ignored = shutil.ignore_patterns("__pycache__", "verifier", "*.js", "examples.json")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name, (old, new) in CHANGES.items():
        text = (folder / name).read_text("utf-8")
        assert text.count(old) == 1, name
        (folder / name).write_text(text.replace(old, new), "utf-8")
    (folder / "service/rulesets/leaping.toml").write_text(RULESET, "utf-8")
    return folder


@pytest.mark.heavy
def test_every_part_knows_a_new_effect(changed: Path) -> None:
    """It is named in few files, played, verified, modelled, captioned, described and valued."""
    assert len(files_that_name("leaps", changed)) == len(CHANGES) <= MOST_FILES
    seen = look(changed)
    assert min(seen["positions in step"]) > 20, "the model of the search plays it as the engine"
    assert (seen["games"], seen["failed"]) == (1, [])
    text, rules, seat, turn = seen["play"]
    assert "It skips 2 seats." in text
    assert rules[0] == "P25"
    assert turn == (seat + 3) % 4
    assert seen["schema"] == {"type": "boolean"}
    reason = "a rank that burns the pile has no other effect"
    assert seen["contradictions"] == [["/ranks/8/leaps", reason]]
    assert seen["differences"] == ["An eight leaps over two players: yes instead of no."]
    assert "P25" in seen["page"]
    assert "1-skip" in seen["page"]
    assert "A nine leaps over two players" in seen["page of a custom ruleset"]
    plain, leaping = seen["worth"]
    assert leaping == plain + 1


def look(folder: Path) -> Any:
    """Return what a Python that imports the service from a folder sees of the effect."""
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", LOOK]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
