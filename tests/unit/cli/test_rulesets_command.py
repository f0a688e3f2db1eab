"""`shithead rulesets`: the list, one ruleset as a page, two side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from service.cli.statuses import MISUSED
from service.rulesets.catalogue import catalogue, definition, known_by_name
from service.rulesets.custom import custom_definition
from service.rulesets.labels import differences, label_of
from service.rulesets.rules_page import as_text, rules_page
from tests.unit.cli.conftest import CommandOutput


def test_the_list_has_every_ruleset_and_the_named_variants(
    shithead: Callable[..., CommandOutput],
) -> None:
    status, out, _ = shithead("rulesets")
    listed = {line.split()[0] for line in out.splitlines() if line.strip()}
    assert status == 0
    assert {*catalogue(), *known_by_name()} <= listed


@pytest.mark.parametrize("identity", ["leeds", "covered-queen", "reverse"])
def test_one_ruleset_is_printed_as_its_page(
    shithead: Callable[..., CommandOutput], identity: str
) -> None:
    assert shithead("rulesets", identity) == (0, as_text(rules_page(definition(identity))), "")


def test_a_variant_known_only_by_name_is_described_as_such(
    shithead: Callable[..., CommandOutput],
) -> None:
    assert "unknown" in shithead("rulesets", "mukava")[1]
    assert shithead("rulesets", "mukava", "leeds")[0] == MISUSED


def test_two_rulesets_side_by_side_show_only_differences_with_statements(
    shithead: Callable[..., CommandOutput], monkeypatch: pytest.MonkeyPatch
) -> None:
    """L21 and T11: a ten goes on what it beats in Leeds, on anything in Threes."""
    monkeypatch.setenv("COLUMNS", "160")
    status, out, _ = shithead("rulesets", "leeds", "threes")
    assert status == 0
    (ten,) = (line for line in out.splitlines() if line.startswith(" A ten is played on"))
    assert "(L21)" in ten
    assert "(T11)" in ten
    assert "A ten burns" not in out, "both burn: it does not differ"
    found = differences(definition("leeds"), definition("threes"))
    assert f"{len(found)} settings differ" in out
    assert [d.setting for d in found if f"\n {label_of(d.setting)}"[:36] not in out] == []


def test_a_ruleset_beside_itself_has_no_differences(
    shithead: Callable[..., CommandOutput],
) -> None:
    assert "the same settings" in shithead("rulesets", "leeds", "leeds")[1]


def test_a_misspelt_ruleset_is_answered_with_the_nearest(
    shithead: Callable[..., CommandOutput],
) -> None:
    status, _, err = shithead("rulesets", "leds")
    assert status == MISUSED
    assert "did you mean leeds?" in err


MINE = {"name": "Mine", "base": "leeds", "changes": {"burn": {"set_size": 3}}}


def test_a_custom_ruleset_is_read_from_a_file(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    """The body of a request, or the answer of a server: both are the same ruleset."""
    made = custom_definition(definition("leeds"), "Mine", MINE["changes"])
    answer = {"id": made.id, "name": "Mine", "base": "leeds", "settings": made.tree}
    for name, document in (("request.json", MINE), ("answer.json", answer)):
        file = tmp_path / name
        file.write_text(json.dumps(document))
        assert shithead("rulesets", file) == (0, as_text(rules_page(made)), "")
    assert "1 setting differs" in shithead("rulesets", "leeds", file)[1]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "is not the id of a ruleset"),
        ('{"base": "none"}', "is not the id of a ruleset"),
        ('{"base": "leeds", "changes": {"deal": {"hand": "3"}}}', "/deal/hand"),
        ('{"base": "leeds", "changes": {}}', "nothing is changed"),
        ('{"base": "leeds", "settings": {"deal": {"hands": 3}}}', "cannot be read"),
        ('{"base": "leeds", "settings": {"deal": 3}}', "cannot be read"),
    ],
)
def test_a_file_without_a_playable_ruleset_is_refused_with_the_reason(
    shithead: Callable[..., CommandOutput], tmp_path: Path, document: str, reason: str
) -> None:
    file = tmp_path / "mine.json"
    file.write_text(document)
    for command in (("rulesets", file), ("simulate", "--ruleset", file)):
        status, _, errors = shithead(*command)
        assert status == MISUSED
        assert reason in " ".join(errors.split())
    assert "No such file" in shithead("rulesets", tmp_path / "none.json")[2]
