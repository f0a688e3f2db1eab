"""Reports on failed logs say in words what happened in the game, and who can have done it."""

from __future__ import annotations

import json

import pytest

from service.shx.bundle import Bundle
from service.verify.claims import Claim, describe
from service.verify.report import Report, report_html, report_text
from service.verify.shuffle import States, entropy_lines, unproven_of_seed
from service.verify.verify import verify_bundle
from tests.tamper import LOGS, Forgery, report_on, sample, sample_lines


def with_a_false_burn() -> tuple[Forgery, int]:
    forgery = sample("shithead")
    seq = forgery.find("pile_burned", lambda e: e["data"]["cause"] == "rank")
    forgery.data(seq)["cause"] = "set"
    return forgery, seq


def with_a_wrong_turn() -> tuple[Forgery, int]:
    forgery = sample("leeds")
    seq = forgery.find("pile_picked_up")
    forgery.data(seq)["turn"] = forgery.data(seq)["seat"]
    return forgery, seq


def explanations(report: Report) -> dict[Claim, str]:
    return {one.claim: one.text for one in report.explanations}


def test_outcomes_computed_by_the_server_are_not_attributed_to_players() -> None:
    forgery, seq = with_a_false_burn()
    report = report_on(forgery.lines())
    [explanation] = report.explanations
    count, seat = forgery.data(seq)["count"], forgery.data(seq)["seat"]
    assert explanation.text.startswith(
        f"This record states: seat {seat + 1} completed a set and burned {count} card"
    )
    assert " The party that produced this file wrote it, or this is the server’s log. " in (
        explanation.text
    )
    assert "The server decides this, no player does. By the rules its top" in explanation.text


def test_an_illegal_move_is_attributed_to_the_player_and_the_accepting_server() -> None:
    forgery, _ = with_a_wrong_turn()
    text = explanations(report_on(forgery.lines()))[Claim.ACTIONS]
    assert " picked up " in text
    assert "or this is the server’s log. The server, which checks every move, let it" in text


def test_the_text_points_to_the_command_that_shows_the_move() -> None:
    forgery, seq = with_a_wrong_turn()
    report = report_on(forgery.lines())
    text = report_text(report, name="my.shx")
    assert f"  to see that move: shithead audit my.shx --move {seq}\n" in text
    assert f"shithead audit FILE --move {seq}<" in report_html([("my.shx", report)])


def test_the_report_on_a_failed_log_does_not_ask_for_more_evidence() -> None:
    forgery, _ = with_a_false_burn()
    assert "for more" not in report_text(report_on(forgery.lines()))


def test_each_failed_claim_has_its_own_explanation() -> None:
    forgery, _ = with_a_false_burn()
    forgery.reseed(b"\x07" * 32, commit=False)
    lines = forgery.lines()
    found = explanations(verify_bundle(Bundle(lines=(*lines[:40], *lines[41:]))))
    broken = "The party that produced this file wrote it. Its chain is broken at event 40."
    assert all(text.startswith("This record states: ") for text in found.values())
    assert broken in found[Claim.DECK] and broken in found[Claim.HISTORY]
    assert not any("the operator" in text for text in found.values())


def test_a_false_deal_is_attributed_to_the_author_of_the_log() -> None:
    forgery = sample("shithead")
    forgery.reseed(b"\x07" * 32, commit=False)
    text = explanations(report_on(forgery.lines()))[Claim.DECK]
    assert "or this is the server’s log. The server shuffles and deals, no player does." in text


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_event_of_a_game_has_a_description(path: object) -> None:
    kinds: set[str] = set()
    for line in sample_lines(getattr(path, "stem", "")):
        event = json.loads(line)
        text = describe(event).text
        assert text and text != event["type"]
        kinds.add(event["type"])
    assert kinds


def test_a_move_after_a_time_out_is_attributed_to_the_server() -> None:
    events = [json.loads(line) for line in sample_lines("threes-time-outs")]
    seq = next(seq for seq, event in enumerate(events) if event["type"] == "turn_timed_out")
    seat = events[seq]["data"]["seat"]
    text = describe(events[seq + 1]).text
    assert text.startswith(f"the server moved in place of seat {seat + 1}: seat {seat + 1} ")


def state(seat: int, mode: str, progress: str) -> dict[str, object]:
    return {"seat": seat, "mode": mode, "state": progress}


def lines(states: States) -> list[str]:
    return [one.text for one in entropy_lines(states)]


def unproven(states: States) -> str:
    found = unproven_of_seed(states)
    return "" if found is None else found.text


def test_without_entropy_of_players_the_report_says_that_the_operator_chose_the_deck() -> None:
    """Entropy `none` is safe only if the operator is honest."""
    states = [state(seat, "none", "none") for seat in range(3)]
    assert lines(states) == ["No player added to the shuffle: the operator alone chose it"]
    assert "did not select a favourable seed" in unproven(states)


def test_entropy_sent_in_one_step_protects_against_players_alone() -> None:
    """Entropy `value` does not protect against the server together with a player."""
    states = [state(0, "value", "revealed"), state(1, "none", "none")]
    assert lines(states)[0].startswith("Seat 1 added a value in one step: no player alone")
    assert lines(states)[1] == "Seat 2 added nothing to the shuffle"
    assert "the player who sent last" in unproven(states)


def test_committed_entropy_protects_against_every_other_party() -> None:
    """Entropy `commit`: not even the operator together with a player can choose the deck."""
    states = [state(0, "commit", "revealed"), state(1, "none", "none")]
    assert "not even the operator together with all others" in lines(states)[0]
    assert unproven_of_seed(states) is None


@pytest.mark.parametrize(("mode", "progress"), [("commit", "committed"), ("value", "waiting")])
def test_entropy_that_was_not_revealed_protects_against_nobody(mode: str, progress: str) -> None:
    states = [state(0, mode, progress)]
    assert "did not" in lines(states)[0]
    assert unproven_of_seed(states) is not None
