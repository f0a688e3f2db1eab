"""The rules by which a game is judged, and the validity of time-outs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from service.domain.ruleset import Ruleset
from service.replay.history import MoveKind, RecordedMove
from service.rulesets.catalogue import catalogue
from service.verify.files import status_of
from service.verify.finding import Check, Failed, Result
from service.verify.legality import TurnTimes
from service.verify.log import pinned_ruleset
from service.verify.report import Report
from tests.attacks.registry import game_at
from tests.changed import replace
from tests.examples import spread
from tests.random_games import Plan, made_game
from tests.tamper import Forgery, failing, report_on

CLOCK = {"turn_seconds": 30, "swap_seconds": 60}


def test_a_catalogue_id_is_judged_by_the_catalogue_and_not_by_pinned_settings() -> None:
    """Otherwise a log could change the rules of a known ruleset and keep its name."""
    doctored = catalogue()["shithead"].settings({})
    doctored["ranks"]["T"]["burns"] = False
    pinned = {"id": "shithead", "options": {}, "settings": doctored}
    assert pinned_ruleset(pinned, 1) == catalogue()["shithead"].ruleset({})


def test_a_custom_game_is_judged_by_its_settings_which_must_fit_its_id() -> None:
    settings = catalogue()["shithead"].settings({})
    settings["ranks"]["T"]["burns"] = False
    settings["burn"]["set_size"] = 0
    lines = made_game(Plan(name="own rules", settings=settings))
    assert not failing(report_on(lines))
    assert not any(b'"pile_burned"' in line for line in lines)
    forgery = Forgery(lines)
    forgery.data(0)["ruleset"]["settings"]["burn"]["set_size"] = 4
    assert failing(report_on(forgery.lines()))[Check.LEGALITY] == 0


@pytest.mark.parametrize(
    "pinned",
    [
        {"id": "../shithead", "options": {}, "settings": None},
        {"id": "shithead", "options": {"unknown": 1}, "settings": None},
        {"id": "shithead", "options": {"next_dealer": "loser"}, "settings": None},
        {"id": "custom-0123456789abcdef", "options": {}, "settings": {}},
    ],
)
def test_unknown_rules_fail_at_the_first_event(pinned: dict[str, object]) -> None:
    with pytest.raises(Failed) as failed:
        pinned_ruleset(pinned, 1)
    assert failed.value.objection.seq == 0


def game_of_a_newer_release(monkeypatch: pytest.MonkeyPatch, **plan: Any) -> Forgery:
    """Return an honest game by the rules of `shithead` under an id that this release lacks."""

    def known(pinned: Mapping[str, Any], hand: int) -> Ruleset:
        return pinned_ruleset({**pinned, "id": "shithead"}, hand)

    with monkeypatch.context() as newer:
        newer.setattr("tests.random_games.pinned_ruleset", known)
        return Forgery(made_game(Plan(name="newer", ruleset="zzz", **plan)))


@pytest.mark.parametrize("stop", [None, 20])
def test_a_ruleset_that_a_newer_release_may_have_accuses_nobody(
    monkeypatch: pytest.MonkeyPatch, stop: int | None
) -> None:
    report = report_on(game_of_a_newer_release(monkeypatch, stop=stop).lines())
    assert not failing(report)
    found = {finding.check: finding for finding in report.findings}
    unknown = "This program does not know the rules zzz; a newer one may."
    assert found[Check.LEGALITY].result is Result.MISSING
    assert found[Check.LEGALITY].text == unknown
    assert found[Check.CUSTODY].result is Result.PASS
    assert (report.result, status_of(report)) == (Result.MISSING, 2)
    assert report.wording.startswith("record intact, level L0")
    assert report.wording.endswith("; whether the moves were legal was not checked")


def test_other_faults_of_a_game_by_unknown_rules_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forgery = game_of_a_newer_release(monkeypatch)
    seq = forgery.find("cards_played", lambda e: e["data"]["zone"] == "hand", 3)
    forgery.data(seq)["cards"] = [forgery.events[-1]["data"]["deck"][-1]]  # the last of the stock
    assert failing(report_on(forgery.lines())) == {Check.CUSTODY: seq}


@pytest.mark.heavy
@pytest.mark.parametrize("identity", spread(sorted(catalogue()), 3))
def test_a_generated_game_of_every_ruleset_passes(identity: str) -> None:
    """The verifier accepts what the rules allow in games other than the samples, with time-outs."""
    seats = 6 if identity == "shithead-six" else 2
    lines = made_game(
        Plan(name=f"of {identity}", ruleset=identity, seats=seats, clock=CLOCK, silent=1)
    )
    assert not failing(report_on(lines))


def _with_time_out(lines: list[bytes], n: int) -> tuple[Forgery, int]:
    """Return a log with a premature time-out of seat 1 before its play `n`, and its seq."""
    forgery = Forgery(lines)
    seq = forgery.find("cards_played", lambda e: e["data"]["seat"] == 1 and e["by"] == 1, n)
    for event in forgery.events[seq : forgery.move_end(seq) + 1]:
        if event["by"] == 1:
            event["by"] = None
    forgery.insert(seq, "turn_timed_out", {"seat": 1}, by=None)
    return forgery, seq


def test_an_early_time_out_fails() -> None:
    lines = made_game(Plan(name="prompt", clock=CLOCK))
    forgery, seq = _with_time_out(lines, 0)
    report = report_on(forgery.lines())
    assert failing(report) == {Check.LEGALITY: seq}
    assert "of 30" in _reason(report)


def test_a_stand_in_plays_at_once_only_after_two_time_outs_in_a_row() -> None:
    """The time-out in the exchange counts as one of them."""
    lines = made_game(Plan(name="stand-in 2", clock=CLOCK, silent=1))
    third, second = Forgery(lines), Forgery(lines)
    timed_out = [i for i, e in enumerate(third.events) if e["type"] == "turn_timed_out"]
    assert timed_out[0] < third.find("play_started") < timed_out[1]
    _at_once(third, timed_out[2])
    assert not failing(report_on(third.lines()))
    _at_once(second, timed_out[1])
    assert failing(report_on(second.lines())) == {Check.LEGALITY: timed_out[1]}


def test_after_a_move_by_the_seat_itself_a_time_out_at_once_fails() -> None:
    forgery = Forgery(made_game(Plan(name="stand-in 2", clock=CLOCK, silent=1)))
    timed_out = [i for i, e in enumerate(forgery.events) if e["type"] == "turn_timed_out"]
    third, fourth = timed_out[2], timed_out[3] - 1
    for event in forgery.events[third + 1 : forgery.move_end(third) + 1]:
        if event["type"] not in ("play_started", "game_ended", "game_sealed"):
            event["by"] = 1
    forgery.drop(third)
    assert not failing(report_on(forgery.lines()))
    _at_once(forgery, fourth)
    assert failing(report_on(forgery.lines())) == {Check.LEGALITY: fourth}


def test_an_action_that_keeps_the_turn_restarts_the_clock() -> None:
    """After its own burn a seat has the full time again."""
    forgery = Forgery(made_game(Plan(name="burner", clock=CLOCK)))
    game = replace(game_at(forgery, forgery.find("play_started") + 1), turn=1, first_turn=False)
    turns = TurnTimes(game)
    mine = RecordedMove(first=9, last=9, kind=MoveKind.PLAY, seat=1, timed_out=False)
    out = replace(mine, timed_out=True)
    turns.follow(replace(game, turn=0), game, replace(mine, seat=0), _at(0))
    turns.check_time_out(game, out, _at(30), hidden=False)
    turns.follow(game, game, mine, _at(20))
    with pytest.raises(Failed):
        turns.check_time_out(game, out, _at(49), hidden=False)
    turns.check_time_out(game, out, _at(50), hidden=False)


def _at(second: int) -> str:
    return f"2026-11-21T02:46:{second:02}.000000Z"


def _at_once(forgery: Forgery, seq: int) -> None:
    """Give a time-out and its move the time of the event before it."""
    at = forgery.events[seq - 1]["at"]
    for event in forgery.events[seq : forgery.move_end(seq) + 1]:
        event["at"] = at


def _reason(report: Report) -> str:
    return next(f.reason or "" for f in report.findings if f.check is Check.LEGALITY)
