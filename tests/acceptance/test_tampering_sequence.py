"""Tampering with the games of a table is caught when they are verified together."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import cache

import pytest

from service.shx.bundle import Bundle
from service.verify.evidence import OutsideEvidence
from service.verify.files import verify_all
from service.verify.finding import Check, Result
from tests.changed import replace
from tests.random_games import START, Plan, made_game
from tests.tamper import Forgery, report_on


@cache
def table() -> tuple[tuple[bytes, ...], ...]:
    """Return three games of a table: a hand, an aborted attempt at the second, the second."""
    first = tuple(made_game(Plan(name="one")))
    dealer = json.loads(first[-2])["data"]["shithead"]
    aborted = _next(first, Plan(name="two", hand=2, dealer=dealer, abort=True))
    second = _next(aborted, Plan(name="three", hand=2, dealer=dealer))
    return first, aborted, second


def _next(before: tuple[bytes, ...], plan: Plan) -> tuple[bytes, ...]:
    """Return a game that follows another at the same table, a day later."""
    last = json.loads(before[-1])
    days = 2 if last["type"] == "game_aborted" else 1
    start = START + timedelta(days=days)
    return tuple(made_game(replace(plan, prev_game=last["game"], start=start)))


def sequence_of(*games: tuple[bytes, ...]) -> tuple[Result, str | None]:
    others = tuple(Bundle(lines=lines) for lines in games[1:])
    report = report_on(games[0], OutsideEvidence(others=others))
    finding = next(f for f in report.findings if f.check is Check.SEQUENCE)
    return finding.result, finding.reason


def test_the_games_of_a_table_follow_one_another_and_aborted_attempts_are_listed() -> None:
    """A deal cannot be repeated in secret: the aborted attempt is listed."""
    first, aborted, second = table()
    result, reason = sequence_of(second, first, aborted)
    assert result is Result.PASS
    assert reason == f"Game {json.loads(aborted[0])['game']} was broken off (operator)."


@pytest.mark.attack(
    "RE_ROLL", "an aborted attempt left out of a table's games", check="sequence", needs="OTHER_LOG"
)
def test_a_missing_game_is_caught() -> None:
    first, _, second = table()
    result, reason = sequence_of(first, second)
    assert result is Result.FAIL
    assert reason is not None and "is missing" in reason


def test_two_games_with_the_same_predecessor_are_caught() -> None:
    first, aborted, _ = table()
    dealer = json.loads(first[-2])["data"]["shithead"]
    rival = _next(first, Plan(name="rival", hand=2, dealer=dealer))
    result, reason = sequence_of(first, aborted, rival)
    games = [json.loads(lines[0])["game"] for lines in (first, aborted, rival)]
    assert result is Result.FAIL
    assert reason == f"Two games follow game {games[0]}: {games[1]}, {games[2]}."


@pytest.mark.attack("WRONG_DEALER", "a wrong next dealer", check="sequence", needs="OTHER_LOG")
def test_a_wrong_next_dealer_is_caught() -> None:
    first, _, _ = table()
    dealer = (json.loads(first[-2])["data"]["shithead"] + 1) % 3
    wrong = _next(first, Plan(name="wrong dealer", hand=2, dealer=dealer))
    result, reason = sequence_of(first, wrong)
    assert result is Result.FAIL
    assert reason is not None and "but the rules give the deal to seat" in reason


@pytest.mark.parametrize(
    ("first", "dealer", "rule"),
    [
        (Plan(name="one"), "shithead", "P2"),
        (Plan(name="one", options={"next_dealer": "rotate"}), "rotates", "P2"),
        (Plan(name="won", ruleset="shithead-winner"), "rotates", "P22"),
        # No seat lost, so the deal rotates.
        (
            Plan(name="won", ruleset="shithead-winner", options={"next_dealer": "loser"}),
            "rotates",
            "1-next-dealer",
        ),
        (
            Plan(name="given up", forfeit_by=1, options={"next_dealer": "rotate"}),
            "shithead",
            "1-next-dealer",
        ),
    ],
)
def test_the_next_dealer_follows_from_the_end_of_the_hand(
    first: Plan, dealer: str, rule: str
) -> None:
    """The ruleset's statement is cited if it decides, else the statement of all rulesets."""
    lines = tuple(made_game(first))
    dealt = next(json.loads(line) for line in lines if b'"cards_dealt"' in line)
    due = {
        "rotates": (dealt["data"]["dealer"] + 1) % 3,
        "shithead": json.loads(lines[-2])["data"]["shithead"],
    }[dealer]
    for seat in range(3):
        second = _next(lines, replace(first, name="next", hand=2, dealer=seat, forfeit_by=None))
        report = report_on(lines, OutsideEvidence(others=(Bundle(lines=second),)))
        finding = next(f for f in report.findings if f.check is Check.SEQUENCE)
        right = (Result.PASS, None) if seat == due else (Result.FAIL, rule)
        assert (finding.result, finding.rule) == right


def test_an_aborted_attempt_does_not_change_the_dealer() -> None:
    """The next attempt at the hand has the same dealer."""
    first, aborted, second = table()
    dealer = json.loads(second[0])["data"]["dealer"]
    wrong = _next(aborted, Plan(name="three", hand=2, dealer=(dealer + 1) % 3))
    others = tuple(Bundle(lines=lines) for lines in (aborted, wrong))
    findings = report_on(first, OutsideEvidence(others=others)).findings
    finding = next(f for f in findings if f.check is Check.SEQUENCE)
    assert (finding.result, finding.rule) == (Result.FAIL, "1-next-dealer")


def test_a_wrong_hand_number_is_caught() -> None:
    first, _, _ = table()
    dealer = json.loads(first[-2])["data"]["shithead"]
    result, reason = sequence_of(first, _next(first, Plan(name="n", hand=4, dealer=dealer)))
    assert (result, reason) == (Result.FAIL, "Hand 4 follows hand 1. It should be hand 2.")


@pytest.mark.attack(
    "REUSED_SEED", "a server commitment used twice", check="sequence", needs="OTHER_LOG"
)
def test_a_server_commitment_used_twice_is_caught() -> None:
    """The commitment binds the game's id, so only a copied one can be equal."""
    first, aborted, _ = table()
    forgery = Forgery(aborted)
    forgery.data(0)["commit"] = json.loads(first[0])["data"]["commit"]
    result, reason = sequence_of(first, forgery.lines())
    assert result is Result.FAIL
    assert reason is not None and "used twice" in reason


def test_diverging_logs_of_one_game_are_caught_and_an_earlier_copy_is_accepted() -> None:
    """A server that shows two seats different histories is caught when they compare."""
    first, aborted, _ = table()
    assert sequence_of(first, first[:30], aborted)[0] is Result.PASS
    forgery = Forgery(first)
    forgery.events[-1]["at"] = forgery.events[-2]["at"] = "2026-11-21T23:00:00.000000Z"
    result, reason = sequence_of(first, forgery.lines())
    assert result is Result.FAIL
    assert reason is not None and "are two histories of one game: from event " in reason
    assert "the same secret number. They have the same secret number." in reason


def test_if_several_histories_diverge_the_verified_log_is_reported_first() -> None:
    """Its earliest divergence from another log is reported; others only if it has none itself."""
    first, _, _ = table()
    late = Forgery(first)
    late.events[-1]["at"] = late.events[-2]["at"] = "2026-11-21T23:00:00.000000Z"
    early = Forgery(first)
    early.data(0)["turn_limit"] += 1
    files = {"a.jsonl": first, "b.jsonl": late.lines(), "c.jsonl": early.lines()}
    bundles = [Bundle(lines=tuple(lines)) for lines in files.values()]
    reports = verify_all(bundles, OutsideEvidence(), names=list(files))
    found = [next(f for f in r.findings if f.check is Check.SEQUENCE) for r in reports]
    assert [one.seq for one in found] == [0, 0, 0]
    assert [(one.reason or "").partition(":")[0] for one in found] == [
        "a.jsonl and c.jsonl are two histories of one game",
        "b.jsonl and c.jsonl are two histories of one game",
        "c.jsonl and a.jsonl are two histories of one game",
    ]
    other = verify_all(
        [Bundle(lines=table()[1]), *bundles[:2]], OutsideEvidence(), names=["d", "a", "b"]
    )[0]
    sequence = next(f for f in other.findings if f.check is Check.SEQUENCE)
    assert (sequence.result, sequence.seq) == (Result.FAIL, None)
    assert "a and b are two histories of one game: from event " in (sequence.reason or "")
    strange = Forgery(table()[1])
    strange.data(0)["turn_limit"] += 1
    more = [Bundle(lines=lines) for lines in (table()[1], strange.lines())]
    names = ["a", "b", "other", "strange"]
    own = verify_all([*bundles[:2], *more], OutsideEvidence(), names=names)[0]
    sequence = next(f for f in own.findings if f.check is Check.SEQUENCE)
    assert (sequence.reason or "").startswith("a and b are two histories of one game")


def test_changed_rules_and_seats_in_a_later_hand_are_reported() -> None:
    """A table keeps its rules and seats: a change passes, and the report names it."""
    first, aborted, _ = table()
    dealer = json.loads(first[-2])["data"]["shithead"]
    limit = json.loads(first[0])["data"]["turn_limit"]
    plan = Plan(name="three", hand=2, dealer=dealer, ruleset="leeds", seats=4, turn_limit=limit)
    other = _next(aborted, plan)
    result, sentence = sequence_of(first, aborted, other)
    assert result is Result.PASS
    assert sentence is not None
    assert "From hand 2 on the rules or their options are others: shithead, then leeds." in sentence
    assert "From hand 2 on the table has 4 seats instead of 3." in sentence
    unchanged = sequence_of(*table())[1] or ""
    assert "options" not in unchanged and "instead of" not in unchanged


def test_an_unreadable_log_does_not_affect_the_reports_of_the_others() -> None:
    """Its fault is stated in its own report."""
    first, aborted, second = table()
    assert sequence_of(first, aborted, second, second[3:], (b"{}",))[0] is Result.PASS
