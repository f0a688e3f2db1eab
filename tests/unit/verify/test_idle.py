"""The verifier's findings on games closed as idle."""

from __future__ import annotations

from typing import Any

import pytest

from service.verify.finding import Check, Result
from tests.random_games import Plan, made_game
from tests.tamper import Forgery, failing, report_on


def closed(seat: int | None, *, moves: int = 12, **plan: Any) -> Forgery:
    """Return the log of a game that was closed for idleness after some moves."""
    whole = Forgery(made_game(Plan(name="idle", seats=2, **plan)))
    seal = whole.events[-1]
    cut = Forgery(made_game(Plan(name="idle", seats=2, stop=moves, **plan)))
    data = {"cause": "idle", "seat": seat, **seal["data"]}
    cut.insert(len(cut.events), "game_aborted", data, by=None)
    return cut


def turn_of(log: Forgery) -> int:
    """Return the seat on turn at the end."""
    turns = [event["data"]["turn"] for event in log.events if "turn" in event["data"]]
    return int(turns[-1])


def test_a_game_closed_as_idle_is_valid_and_reaches_l1() -> None:
    log = closed(None)
    report = report_on(log.lines())
    assert report.sealed
    assert (report.result, report.level) == (Result.PASS, "L1")


def test_the_seat_that_had_the_turn_may_be_named() -> None:
    log = closed(None)
    log.data(len(log.events) - 1)["seat"] = turn_of(log)
    assert failing(report_on(log.lines())) == {}


def test_naming_a_seat_as_idle_that_did_not_have_the_turn_fails() -> None:
    log = closed(None)
    end = len(log.events) - 1
    log.data(end)["seat"] = 1 - turn_of(log)
    report = report_on(log.lines())
    assert failing(report) == {Check.LEGALITY: end}
    [finding] = [f for f in report.findings if f.check is Check.LEGALITY]
    assert finding.reason == f"The game was not waiting for seat {2 - turn_of(log)}."


@pytest.mark.parametrize(("seat", "fails"), [(0, True), (1, False), (None, False)])
def test_in_the_exchange_a_ready_seat_cannot_be_named_as_idle(
    seat: int | None, fails: bool
) -> None:
    log = closed(seat, moves=0)
    ready = {"type": "seat_ready", "data": {"seat": 0}, "by": 0}
    log.insert(len(log.events) - 1, ready["type"], ready["data"], by=0)  # type: ignore[arg-type] # JSON
    assert (Check.LEGALITY in failing(report_on(log.lines()))) is fails


def test_a_seed_without_its_commitment_is_found_in_an_idle_game() -> None:
    log = closed(None)
    log.data(len(log.events) - 1)["seed"] = "00" * 32
    assert Check.COMMITMENTS in failing(report_on(log.lines()))
