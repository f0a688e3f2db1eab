"""Honest games never raise an alarm, and reach the level that their players' evidence permits."""

from __future__ import annotations

import pytest

from service.rulesets.catalogue import catalogue
from service.verify.finding import Check, Result
from service.verify.report import Report, audit_object, report_text
from tests.databases import Databases
from tests.examples import spread
from tests.honest_games import HonestTable
from tests.tamper import failing

TABLES = 4
"""Tables in CI, of rulesets drawn at random, custom ones included."""

LONG_RUN_TABLES = 200
TABLES_PER_TEST = 10


def alarms(table: HonestTable) -> list[tuple[object, ...]]:
    """Return the unexpected findings in the reports on the games of a table."""
    wrong: list[tuple[object, ...]] = []
    for game in table.games:
        report = table.report(game)
        wrong += [(check, seq, _reason(report, check)) for check, seq in failing(report).items()]
        expected = table.expected_level(game)
        if (report.level, report.result) != (expected, Result.PASS):
            wrong.append((report.level, expected, report.wording))
        if game != table.games[0]:
            continue
        again = table.report(game)
        if (report_text(again), audit_object(again)) != (report_text(report), audit_object(report)):
            wrong.append(("another report the second time",))
    return wrong


def _reason(report: Report, check: Check) -> str | None:
    return next(finding.reason for finding in report.findings if finding.check is check)


def alarms_at(
    url: str, seed: int, ruleset: str | None = None, *, hands: int = 2
) -> list[tuple[object, ...]]:
    """Play some hands, and return the alarms that they raise."""
    table = HonestTable(url, seed, ruleset)
    table.play(hands)
    found = alarms(table)
    table.services.close()
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("seed", spread(range(TABLES), 2))
def test_an_honest_table_raises_no_alarm(seed: int, database_url: str) -> None:
    assert alarms_at(database_url, seed) == []


@pytest.mark.heavy
@pytest.mark.parametrize("ruleset", spread(sorted(catalogue()), 4))
def test_an_honest_table_of_every_ruleset_raises_no_alarm(ruleset: str, database_url: str) -> None:
    seed = sorted(catalogue()).index(ruleset)
    assert alarms_at(database_url, seed, ruleset, hands=1) == []


@pytest.mark.long
@pytest.mark.parametrize("share", range(LONG_RUN_TABLES // TABLES_PER_TEST))
def test_honest_tables_raise_no_alarm_in_the_long_run(share: int, databases: Databases) -> None:
    for seed in range(share * TABLES_PER_TEST, (share + 1) * TABLES_PER_TEST):
        with databases.lent() as url:
            assert alarms_at(url, 1000 + seed) == [], seed


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_running_game_raises_no_alarm_at_any_version(seed: int, database_url: str) -> None:
    """Every prefix of the log passes, for the public and for every seat with its openings."""
    table = HonestTable(database_url, seed)
    seen: list[bool] = []
    step = table._step

    def looked(*given: object, **more: object) -> None:
        step(*given, **more)  # type: ignore[arg-type] # as the step takes them
        if len(seen) < 40 and table.chance.random() < 0.2:
            for profile in ("public", "seat"):
                report = table.report(table.games[-1], profile=profile)
                assert failing(report) == {}, report.wording
                seen.append(report.sealed)

    table._step = looked  # type: ignore[method-assign] # to look between its steps
    table.play(1)
    table.services.close()
    assert False in seen
