"""Rules pages: statements of the source, their origin, and readings."""

from __future__ import annotations

import pytest

from service.rulesets.catalogue import catalogue, definition, known_by_name
from service.rulesets.custom import custom_definition
from service.rulesets.rules_page import RECONSTRUCTION, as_text, rules_page
from tests.unit.rulesets.write_pages import PAGES, pages


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_equals_its_golden_file(name: str) -> None:
    assert pages()[name] == (PAGES / name).read_text("utf-8")


def test_every_golden_file_belongs_to_a_page() -> None:
    assert {path.name for path in PAGES.glob("*.txt")} == set(pages())


@pytest.mark.parametrize("identity", catalogue())
def test_a_page_has_every_statement_once_and_its_origin(identity: str) -> None:
    ruleset = definition(identity)
    page = rules_page(ruleset)
    shown = [statement for section in page.sections for statement in section.statements]
    assert sorted(shown, key=repr) == sorted(ruleset.statements, key=repr)
    assert ruleset.source["title"] in page.origin
    assert (RECONSTRUCTION in page.notes) is ruleset.reconstruction


def test_readings_are_marked() -> None:
    text = as_text(rules_page(definition("leeds")))
    assert "L18  Reading: The companions" in text
    assert len(rules_page(definition("leeds")).readings) == 10


def test_sections_come_in_the_order_of_a_hand() -> None:
    page = rules_page(definition("threes"))
    assert [section.name for section in page.sections] == [
        "deal",
        "opening",
        "play",
        "special",
        "end",
    ]


def test_three_variants_are_known_by_name_only() -> None:
    assert list(known_by_name()) == ["twisted-shithead", "mukava", "piina"]
    for known in known_by_name().values():
        assert not known.playable
        text = as_text(rules_page(known))
        assert "unknown" in text
        assert known.source["title"] in " ".join(text.split())


def test_the_page_of_a_custom_ruleset_names_its_base() -> None:
    own = custom_definition(definition("leeds"), "Mine", {"burn": {"set_size": 3}})
    text = as_text(rules_page(own))
    assert "based on Leeds Rules" in text
    assert "Cards of one rank that burn as a set: 3 instead of 4." in text
    assert "L22" not in text
