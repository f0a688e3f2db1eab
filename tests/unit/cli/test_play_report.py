"""The closing lines of `shithead play`: words of the game, and the same result in the last line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from service.cli.narration import People
from service.cli.play import closing_lines, print_report
from service.replay.sentences import Sentence
from service.verify.clauses import MAX_WORDS
from tests.tamper import report_on, sample

TABLE = People(names=("Ada", "Bob", "greedy"), me=0)
REPORT = report_on(sample("shithead").lines())


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        (("more.no_key", 0), "No move of Ada is signed: this seat has no key. The option --keyed"),
        (("more.no_key", 1), "No move of Bob is signed: this seat has no key.\n"),
        (
            ("more.seat_key", 1),
            "Ask Bob for it and add --seat-key 1=KEY (options count seats from 0).",
        ),
        (("more.no_move", 1), "Bob signed no move of this hand after the deal."),
    ],
)
def test_missing_evidence_is_named_by_players(stated: tuple[str, int], sentence: str) -> None:
    lacking = Sentence(code=stated[0], values={"seat": stated[1]})
    text = "\n".join(closing_lines(replace(REPORT, missing=(lacking,)), TABLE, "game.shx"))
    assert sentence in text
    assert "seat 2" not in text


def test_evidence_from_outside_is_named_by_players() -> None:
    agree = Sentence(code="outside.agree", values={"n": 51, "at": 171})
    keys = Sentence(code="outside.seat_keys", values={"seats": (0, 1), "n": 2})
    lines = closing_lines(replace(REPORT, outside=(agree, keys)), TABLE, "game.shx")
    assert any("51 receipts that the server signed agree" in line for line in lines)
    assert "  The keys of Ada and Bob from outside are those in the record." in lines
    assert not any("seq" in line for line in lines)
    sentences = ". ".join(lines[:-1]).split(". ")
    assert max(len(sentence.split()) for sentence in sentences) <= MAX_WORDS


def test_moves_after_time_outs_are_named() -> None:
    made = Sentence(code="unsigned.timed_out", values={"at": 40, "seat": 1})
    text = "\n".join(closing_lines(replace(REPORT, unproven=(made,)), TABLE, "game.shx"))
    assert "Event 40: the server moved for Bob, whose time was up." in text


def test_a_failure_begins_with_what_was_changed() -> None:
    forgery = sample("shithead")
    seq = forgery.find("pile_burned")
    forgery.data(seq)["count"] += 1
    lines = closing_lines(report_on(forgery.lines()), TABLE, "my game.shx")
    assert [line.partition(":")[0] for line in lines[:3]] == [
        "What was changed",
        "Who can have done it",
        "What would prove more",
    ]
    assert any(line.startswith(("custody fails: ", "legality fails: ")) for line in lines[3:])


def test_the_folder_and_the_command_of_the_replay_are_named_before_the_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hand: Any = SimpleNamespace(folder=Path("saved here"), bundle=Path("saved here/game.shx"))
    assert print_report(hand, REPORT, TABLE)
    *_, folder, command, last = capsys.readouterr().out.splitlines()
    assert folder == "saved in saved here"
    assert command == "to replay it: shithead replay 'saved here/game.shx'"
    assert last == closing_lines(REPORT, TABLE, str(hand.bundle))[-1]
