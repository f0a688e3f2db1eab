"""Every ruleset lists the statements of its source, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schemas.settings import leaves
from service.rulesets.catalogue import Definition, catalogue, definition
from service.rulesets.statements import SECTIONS, model, sections_of

ROOT = Path(__file__).resolve().parents[3]
MODEL_IDS = {statement.id for statement in model().statements}
RULESETS = pytest.mark.parametrize("ruleset", catalogue().values(), ids=lambda d: d.id)
LETTERS = {
    "leeds": "L",
    "shithead": "P",
    "covered-queen": "S",
    "threes": "T",
    "threes-house": "T",
    "threes-katastrophic": "T",
    "morehead": "M",
    "reverse": "PR",
    "shit-boot": "PB",
}
OWN_OF_A_VARIANT = {
    "shithead-six": "P20",
    "shithead-layout": "P21",
    "shithead-winner": "P22",
    "shithead-ten-in-rank": "P23",
    "shithead-keep-table": "P24",
    "gultnieks": "P30",
    "karma-radford": "P31",
    "smeghead": "P32",
    "smeghead-west-kent": "P33",
    "guarducci": "P34",
    "finnish-four": "P35",
    "ten-two-slide": "P36",
    "egilsson": "P37",
    "threes-house": "T13",
    "threes-katastrophic": "T14",
    "reverse": "R",
    "shit-boot": "B",
}


def ids_of(ruleset: Definition) -> set[str]:
    return {statement.id for statement in ruleset.statements}


def numbered(letter: str, last: int) -> set[str]:
    return {f"{letter}{number}" for number in range(1, last + 1)}


@RULESETS
def test_every_citation_is_among_the_statements_or_in_the_model(ruleset: Definition) -> None:
    cited = {*ruleset.cites.values(), *(option.rule for option in ruleset.options.values())}
    assert cited <= ids_of(ruleset) | MODEL_IDS


@RULESETS
def test_every_setting_cites_a_statement_of_a_fitting_section(
    ruleset: Definition,
) -> None:
    for setting, _ in leaves(ruleset.settings({})):
        rule = ruleset.rule_of(setting)
        assert rule != "1-model", setting
        sections = {s.section for s in ruleset.statements if s.id == rule}
        assert rule in MODEL_IDS or sections & set(sections_of(setting)), (setting, rule)


@RULESETS
def test_every_setting_of_a_file_names_its_statement(ruleset: Definition) -> None:
    for setting, _ in leaves(ruleset.own):
        assert setting.removeprefix("second_hand.") in ruleset.cites


@RULESETS
def test_statements_of_other_sources_are_not_shown(ruleset: Definition) -> None:
    letters = LETTERS.get(ruleset.id, "P")
    assert {identity[0] for identity in ids_of(ruleset)} == set(letters)


@pytest.mark.parametrize(
    ("identity", "letter", "last"),
    [
        ("leeds", "L", 23),
        ("shithead", "P", 16),
        ("covered-queen", "S", 14),
        ("threes", "T", 12),
        ("morehead", "M", 14),
    ],
)
def test_a_source_is_shown_completely(identity: str, letter: str, last: int) -> None:
    assert ids_of(definition(identity)) == numbered(letter, last)


@pytest.mark.parametrize(("identity", "own"), OWN_OF_A_VARIANT.items())
def test_a_variant_adds_only_its_own_statement(identity: str, own: str) -> None:
    variant = definition(identity)
    assert variant.base is not None
    assert ids_of(variant) - ids_of(definition(variant.base)) == {own}


@pytest.mark.parametrize(
    ("identity", "gone"),
    [
        ("shithead-layout", {"P3", "P4", "P5"}),
        ("shithead-ten-in-rank", {"P12"}),
        ("shithead-keep-table", {"P14"}),
        ("shithead-winner", {"P16"}),
        ("karma-radford", {"P9"}),
        ("smeghead", {"P3", "P8"}),
        ("guarducci", {"P9", "P12"}),
        ("reverse", {"P1", "P5", "P9", "P11", "P14"}),
    ],
)
def test_a_variant_hides_statements_that_no_longer_apply(identity: str, gone: set[str]) -> None:
    assert not gone & ids_of(definition(identity))


def test_a_part_of_a_statement_can_be_replaced() -> None:
    sections = [s.section for s in definition("shithead-six").statements if s.id == "P1"]
    assert sections == ["play"]


def test_ids_of_the_model_in_the_code_exist() -> None:
    used: set[str] = set()
    for folder in ("service", "schemas", "workers"):
        for path in (ROOT / folder).rglob("*.py"):
            used |= set(re.findall(r'"(1-[a-z][a-z-]+)"', path.read_text("utf-8")))
    assert used
    assert used <= MODEL_IDS


@RULESETS
def test_statements_are_sentences_in_a_section(ruleset: Definition) -> None:
    for statement in (*ruleset.statements, *model().statements):
        assert statement.section in SECTIONS
        assert statement.text.endswith(".")
        assert "  " not in statement.text


def test_reconstructions_are_marked() -> None:
    assert {d.id for d in catalogue().values() if d.reconstruction} == {"reverse", "shit-boot"}


def test_the_text_of_a_statement_has_its_readings() -> None:
    leeds = definition("leeds")
    text = leeds.text_of("L5")
    assert text is not None
    assert "turned to start the pile" in text
    assert "plain five" in text
    assert leeds.text_of("1-pass") is not None
    assert leeds.text_of("P14") is None


@pytest.mark.parametrize("identity", ["model", "unknown", "mukava", "../leeds", ""])
def test_an_unknown_ruleset_is_not_found(identity: str) -> None:
    with pytest.raises(KeyError):
        definition(identity)
    assert identity not in catalogue()
