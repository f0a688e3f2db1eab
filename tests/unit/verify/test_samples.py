"""Every sample log passes all checks at L1, and so do prefixes that end with a whole move."""

from __future__ import annotations

import json

import pytest

from service.replay.history import MoveKind
from service.replay.sentences import Sentence
from service.rulesets.catalogue import catalogue
from service.shx.bundle import Bundle
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Result
from service.verify.log import Log
from service.verify.report import OF_THE_LOG
from service.verify.verify import verify_bundle
from tests.examples import spread, stride
from tests.tamper import LOGS, failing, report_on, sample_lines

NAMES = [path.stem for path in LOGS]
FINISHED = [name for name in NAMES if not name.endswith("-aborted")]


def test_every_ruleset_of_the_catalogue_has_a_sample() -> None:
    first_events = [json.loads(sample_lines(name)[0]) for name in NAMES]
    assert {event["data"]["ruleset"]["id"] for event in first_events} == set(catalogue())


@pytest.mark.parametrize("name", FINISHED)
def test_a_sample_passes_every_check_of_the_log_alone(name: str) -> None:
    report = report_on(sample_lines(name))
    results = {finding.check: finding.result for finding in report.findings}
    may_not_apply = {Check.HIDDEN, Check.SIGNATURES}
    for check in OF_THE_LOG:
        allowed = {Result.PASS, Result.NOT_APPLICABLE} if check in may_not_apply else {Result.PASS}
        assert results[check] in allowed, (check, results[check])
    assert report.wording == "no evidence of tampering, level L1"
    assert report.result is Result.PASS


def test_the_checks_signatures_and_hidden_pass_where_they_apply() -> None:
    """These checks do not apply to most samples."""
    keyed = report_on(sample_lines("shithead-keyed"))
    leeds = report_on(sample_lines("leeds"))
    assert _result(keyed, Check.SIGNATURES) is Result.PASS
    assert _result(leeds, Check.HIDDEN) is Result.PASS


def test_an_aborted_set_up_passes_the_applicable_checks() -> None:
    report = report_on(sample_lines("shithead-aborted"))
    results = {f.check: f.result for f in report.findings}
    applies = (Check.BYTES, Check.CHAIN, Check.ORDER, Check.COMMITMENTS, Check.LEGALITY, Check.SEAL)
    assert all(results[check] is Result.PASS for check in applies)
    dealt = (Check.SHUFFLE, Check.OPENINGS, Check.DEAL, Check.CUSTODY)
    assert all(results[check] is Result.NOT_APPLICABLE for check in dealt)
    assert report.level == "L1"
    assert [dict(state) for state in report.entropy] == [
        {"seat": 0, "mode": "commit", "state": "revealed"},
        {"seat": 1, "mode": "commit", "state": "committed"},
        {"seat": 2, "mode": "value", "state": "revealed"},
    ]


@pytest.mark.heavy
@pytest.mark.parametrize("name", spread(FINISHED, 4))
def test_a_sample_cut_between_two_moves_passes_so_far(name: str) -> None:
    """Before the seal the deck is unknown: the checks use public facts alone."""
    lines = sample_lines(name)
    moves = Log(lines).grouped[0]
    opening = tuple(move for move in moves if move.kind is MoveKind.PLAY)[:1]
    for move in opening + moves[3 : -1 : 29 * stride(2)] + moves[-2:-1]:
        report = verify_bundle(Bundle(lines=lines[: move.last + 1]))
        assert not failing(report)
        assert report.wording == "no evidence of tampering, level L1 so far"
        assert report.result is Result.MISSING
        assert Sentence(code="more.seal") in report.missing


def test_a_sample_cut_within_a_move_does_not_pass() -> None:
    """The events of one move are committed together or not at all."""
    lines = sample_lines("shithead")
    moves = [move for move in Log(lines).grouped[0] if move.last > move.first]
    assert len(moves) > 30
    for move in moves[::3]:
        assert failing(report_on(lines[: move.first + 1]))


def test_time_outs_are_listed() -> None:
    lines = sample_lines("threes-time-outs")
    kinds = [json.loads(line)["type"] for line in lines]
    report = report_on(lines)
    assert list(report.timed_out) == [s for s, k in enumerate(kinds) if k == "turn_timed_out"]
    assert len(report.unproven) == len(report.timed_out)


def test_a_key_from_outside_for_a_seat_without_one_fails() -> None:
    report = report_on(sample_lines("shithead"), OutsideEvidence(seat_keys={0: "A" * 43 + "="}))
    assert Check.SIGNATURES in failing(report)


def _result(report: object, check: Check) -> Result:
    findings = getattr(report, "findings", ())
    result: Result = next(finding.result for finding in findings if finding.check is check)
    return result
