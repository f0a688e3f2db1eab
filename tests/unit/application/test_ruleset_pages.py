"""Rulesets as the API returns them."""

from __future__ import annotations

import pytest

from service.application.rulesets import described
from service.rulesets.catalogue import catalogue, definition


@pytest.mark.parametrize("identity", catalogue())
def test_every_statement_that_can_be_cited_is_among_its_statements(identity: str) -> None:
    """A client finds the rule cited in a refusal among the statements of the ruleset."""
    ruleset = definition(identity)
    ids = {statement["id"] for statement in described(ruleset)["statements"]}
    cited = {rule for rule in ruleset.cites.values() if ruleset.text_of(rule)}
    assert cited <= ids
    assert "1-source-zone" in ids


@pytest.mark.parametrize("identity", catalogue())
def test_the_statements_of_the_ruleset_itself_come_first(identity: str) -> None:
    ids = [statement["id"] for statement in described(definition(identity))["statements"]]
    model = [rule.startswith("1-") for rule in ids]
    assert model == sorted(model)
