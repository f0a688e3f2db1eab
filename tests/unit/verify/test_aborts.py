"""Aborted games: an abort that breaks no rule passes, with a remark where it needs one."""

from __future__ import annotations

import pytest

from service.domain.commands import AgreeEnd
from service.replay.sentences import Sentence
from service.verify.finding import Check
from service.verify.report import Report
from tests.random_games import Plan, made_game
from tests.tamper import Forgery, failing, report_on, sample


def reason(report: Report, check: Check) -> str | None:
    return next(finding.reason for finding in report.findings if finding.check is check)


def aborted(cause: str, seat: int | None) -> Forgery:
    """Return a set-up that waited only for seat 1 and was aborted with `cause`."""
    forgery = sample("shithead-aborted")
    forgery.data(len(forgery.events) - 1).update(cause=cause, seat=seat)
    return forgery


def test_an_early_abort_of_the_set_up_states_its_duration() -> None:
    """Seats have `swap_seconds` for their entropy: here 60, and it ended after five."""
    report = report_on(sample("shithead-aborted").lines())
    assert failing(report) == {}
    assert reason(report, Check.LEGALITY) == (
        "The game was broken off after 5.341087 of 60 seconds,"
        " in which players could take part in the shuffle."
    )


def test_an_abort_of_the_set_up_at_its_deadline_has_no_remark() -> None:
    forgery = sample("shithead-aborted")
    forgery.events[-1]["at"] = "2026-11-21T02:47:00.109447Z"
    report = report_on(forgery.lines())
    assert (failing(report), reason(report, Check.LEGALITY)) == ({}, None)


def test_an_abort_by_a_leaving_seat_passes_and_is_listed_as_unproven() -> None:
    report = report_on(aborted("left", 1).lines())
    assert failing(report) == {}
    assert report.unproven == (Sentence(code="unsigned.left", values={"at": 5, "seat": 1}),)


def test_an_abort_by_a_leaving_player_must_name_the_seat() -> None:
    assert failing(report_on(aborted("left", None).lines())) == {Check.LEGALITY: 5}


@pytest.mark.attack("CLOCK", "an abort that blames a bot for leaving", check="legality")
def test_an_abort_by_a_leaving_bot_fails() -> None:
    forgery = aborted("left", 1)
    forgery.data(0)["seats"][1].update(kind="bot", bot="lowest")
    assert failing(report_on(forgery.lines())) == {Check.LEGALITY: 5}


def test_an_abort_by_the_operator_without_a_seat_passes() -> None:
    assert failing(report_on(aborted("operator", None).lines())) == {}


def test_an_abort_cannot_name_a_seat_that_gave_its_entropy() -> None:
    for cause in ("idle", "operator"):
        assert failing(report_on(aborted(cause, 2).lines())) == {Check.LEGALITY: 5}


def test_an_unsigned_agreement_is_a_remark_if_it_ended_the_hand() -> None:
    """One that a move took back, or that stood alone, did nothing; a referee need not read it."""
    both, alone = (AgreeEnd(seat=0), AgreeEnd(seat=1)), (AgreeEnd(seat=0),)
    plans = ({12: both}, {12: alone}, {12: alone, 16: both})
    found = []
    for said in plans:
        made = Forgery(made_game(Plan(name="leaving", seats=2, turn_limit=60, said=said)))
        report = report_on(made.lines())
        assert failing(report) == {}
        ends = [event["seq"] for event in made.events if event["type"] == "end_agreed"]
        stated = [one.values["at"] for one in report.unproven if one.code == "unsigned.agreed"]
        found.append((stated, ends))
    assert all(stated == ends[-2:] for stated, ends in (found[0], found[2]))
    assert [len(ends) for _, ends in found] == [2, 1, 3]
    assert found[1][0] == []
