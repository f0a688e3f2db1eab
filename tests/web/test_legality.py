"""The rules of the game in the JavaScript verifier: every move is judged as in Python."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.examples import is_long
from tests.web.legality_games import (
    CHANGES,
    changed,
    hands_of_custom_rulesets,
    hands_of_the_catalogue,
    positions,
)
from tests.web.node import ROOT, VERIFIER, Case, answer_of, differences, in_node
from tests.write_catalogue import modules

CUSTOM = 100
"""The number of random custom rulesets in each round of the long run."""


def chosen(seed: str, *, share: int) -> list[Case]:
    """Return honest hands, one in `share`, each followed by one with a wrong outcome."""
    chance = random.Random(seed)
    honest = [*hands_of_the_catalogue(chance, every=share)]
    honest += hands_of_custom_rulesets(chance, number=CUSTOM // share)
    wrong = [case for one in honest if (case := changed(one, chance)) is not None]
    return honest + wrong


def judged(cases: list[Case]) -> Counter[str]:
    """Compare both verifiers on the cases, and count the kinds of changes found by `legality`."""
    outputs = in_node(cases)
    assert differences(cases, outputs) == []
    found: Counter[str] = Counter()
    for case, output in zip(cases, outputs, strict=True):
        kind = case.name.split(":")[0]
        answer = answer_of(output)
        if kind in CHANGES:
            found[kind] += answer["legality"][0] == "fail"
        else:
            assert answer["legality"] == ("pass", None), case.name
            assert answer["hidden"][0] != "fail", case.name
    return found


def test_the_packed_catalogue_is_that_of_the_specification() -> None:
    for name, content in modules().items():
        assert (VERIFIER / name).read_text("utf-8") == content


@pytest.mark.heavy
def test_hands_of_all_kinds_of_rules_are_judged_as_in_python() -> None:
    assert sum(judged(chosen("ci", share=12)).values()) > 3


@pytest.mark.long
def test_two_hundred_thousand_positions_are_judged_as_in_python() -> None:
    found: Counter[str] = Counter()
    count, number = 0, 0
    while count < 200_000 or number < 2:
        cases = chosen(f"long {number}", share=1)
        found += judged(cases)
        count += positions(cases)
        number += 1
    print(f"{count} positions; found: {dict(found)}")
    assert set(found) == set(CHANGES)


FAULTS = {
    "an equal card does not fit": ("rules.js", "place >= other", "place > other"),
    "companions are not asked for": ("rules.js", 'plays === "with_companion" ||', ""),
    "a transparent card makes the demand": (
        "rules.js",
        '.asks === "transparent"',
        ".asks === null",
    ),
    "a set of one more card burns": ("rules.js", "topSet(pile) >= size", "topSet(pile) > size"),
    "no card skips": ("judge.js", "1 + skippers.length", "1"),
    "no card reverses": ("judge.js", "% 2 ? -direction", "% 2 ? direction"),
    "nobody must play": ("actions.js", 'obligation === "must_play"', "obligation === null"),
    "no card need be covered": ("judge.js", "top.covers ||", ""),
    "the hand goes on after the limit": ("judge.js", "this.actions + 1 >= this.limit", "false"),
    "all draw up to a size": ("judge.js", 'to === "size" ?', "true ?"),
    "a time-out needs no time": ("time_outs.js", "row < STAND_IN &&", "false &&"),
    "the opener is left of the dealer": ("opening.js", "?? order[0]", "&& order[0]"),
    "any seat may take a pile": ("judge.js", "taker === this.takerFor(seat)", "taker !== null"),
}
"""Wrong rules, each planted in the script: file, text, and what replaces it."""


@pytest.mark.heavy
def test_a_wrong_rule_in_the_script_shows_as_a_difference(tmp_path: Path) -> None:
    cases = chosen("faults", share=2 if is_long() else 12)
    right = [answer_of(output) for output in in_node(cases)]
    names = [*FAULTS] if is_long() else ["nobody must play", "an equal card does not fit"]
    for name in names:
        root = _with_fault(tmp_path / str(len([*tmp_path.iterdir()])), *FAULTS[name])
        assert [answer_of(output) for output in in_node(cases, root=root)] != right, name


def _with_fault(root: Path, file: str, text: str, wrong: str) -> Path:
    """Return a copy of the scripts with one text replaced."""
    words = ROOT / "service" / "words"
    for folder in (VERIFIER, words, ROOT / "tests" / "web"):
        shutil.copytree(folder, root / folder.relative_to(ROOT))
    path = root / VERIFIER.relative_to(ROOT) / file
    content = path.read_text("utf-8")
    assert content.count(text) == 1, (file, text)
    path.write_text(content.replace(text, wrong), encoding="utf-8")
    return root
