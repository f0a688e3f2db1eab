"""Rules pages have the general statements that can apply, and none that contradicts the ruleset."""

from __future__ import annotations

import pytest

from service.rulesets.catalogue import catalogue, definition
from service.rulesets.custom import custom_definition
from service.rulesets.rules_page import APPLIES, as_text, rules_page
from service.rulesets.statements import model


def shared(identity: str) -> set[str]:
    """Return the ids of the general statements on a page."""
    return {statement.id for statement in rules_page(definition(identity)).common}


def test_statements_that_cannot_apply_are_not_on_the_page() -> None:
    gone = {"1-first-come", "1-stacks", "1-try", "1-previous", "1-along", "1-duties", "1-windows"}
    assert gone & shared("leeds") == set()
    assert "1-pass" in shared("leeds"), "a seat with only fives passes"
    assert {"1-pass", "1-run", "1-skip"} & shared("shithead") == set()
    assert "1-try" in shared("egilsson")
    assert "1-first-come" in shared("threes")
    assert "1-stacks" in shared("karma-radford")
    assert "1-previous" in shared("reverse"), "it applies to second hands only"
    assert "1-duties" in shared("smeghead")


def test_the_page_states_whether_others_see_a_blind_card_that_fails() -> None:
    leeds, shithead = (
        " ".join(as_text(rules_page(definition(name))).split()) for name in ("leeds", "shithead")
    )
    assert "Everyone sees" not in leeds
    assert "need not be shown to the others" in leeds
    assert "Everyone sees" in shithead


def test_the_page_of_a_custom_ruleset_follows_its_settings() -> None:
    changes = {"turn": {"try_stock": "when_unable"}, "burn": {"set_size": 3}}
    page = rules_page(custom_definition(definition("shithead"), "Own", changes))
    ids = {statement.id for statement in page.common}
    assert "1-try" in ids
    assert "1-set" not in ids, "four or more do not burn here"


def test_extensions_of_the_source_are_marked_as_readings() -> None:
    extended = (
        ("leeds", "L5", "before anyone exchanges"),
        ("leeds", "L9", "for every zone"),
        ("leeds", "L11", "whatever may be played"),
        ("leeds", "L14", "A last five"),
        ("threes", "T4", "Some of several cards"),
        ("shithead-six", "P20", "cancel out"),
        ("guarducci", "P34", "opening play may be a run"),
    )
    for identity, rule, words in extended:
        [found] = [s for s in definition(identity).statements if s.id == rule and words in s.text]
        assert found.reading
    assert any("It clears nothing" in s.text for s in definition("threes").statements)


def test_sentences_of_the_source_are_not_marked_as_readings() -> None:
    stated = (
        ("morehead", "M1", "not fixed"),
        ("morehead", "M4", "The opening play"),
        ("leeds", "L17", "Other special cards"),
    )
    for identity, rule, words in stated:
        [found] = [s for s in definition(identity).statements if s.id == rule and words in s.text]
        assert not found.reading


def test_l11_leaves_plays_on_an_empty_pile_to_the_general_statements() -> None:
    """A page must not state that any card may be played if a general statement has exceptions."""
    [after_pick_up] = [s for s in definition("leeds").statements if s.id == "L11"]
    assert "whatever may be played on an empty pile" in after_pick_up.text
    assert "anything" not in after_pick_up.text


def test_every_condition_of_the_model_applies_to_some_rulesets_and_not_to_all() -> None:
    conditions = {statement.applies for statement in model().statements} - {""}
    assert conditions == set(APPLIES)
    rules = [one.ruleset({}, hand=hand) for one in catalogue().values() for hand in (1, 2)]
    for name in conditions - {"exchange", "set"}:
        assert {APPLIES[name](rule) for rule in rules} == {True, False}, name


@pytest.mark.parametrize("identity", list(catalogue()))
def test_statements_that_a_ruleset_cites_are_on_its_page(identity: str) -> None:
    """Players find the statement cited in a refusal on the page of the ruleset."""
    one = definition(identity)
    on_page = {s.id for s in (*one.statements, *rules_page(one).common)}
    settings = {rule for name, rule in one.cites.items() if not rule.startswith("1-")}
    assert settings <= on_page
