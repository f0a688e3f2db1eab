"""The closing lines of `shithead play`: words of the game, and the same result in the last line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.cli.narration import People
from service.cli.play import closing_lines
from service.verify.plain import MAX_WORDS
from tests.tamper import report_on, sample

TABLE = People(names=("Ada", "Bob", "greedy"), me=0)
REPORT = report_on(sample("shithead").lines())


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        ("seat 0 has no key: nothing it did is signed", "You did not sign your moves"),
        ("seat 1 has no key: nothing it did is signed", "Bob did not sign moves"),
        ("the key of seat 1, from outside", "Ask Bob for it and add --seat-key 1=KEY."),
        ("seat 1 signed no move of this hand after the deal", "Bob has signed no move"),
        ("a statement of a later release", "Not shown: a statement of a later release."),
    ],
)
def test_missing_evidence_is_named_by_players(stated: str, sentence: str) -> None:
    text = "\n".join(closing_lines(replace(REPORT, missing=(stated,)), TABLE, "game.shx"))
    assert sentence in text
    assert "seat 0" not in text


def test_receipts_are_explained_without_numbers_of_events() -> None:
    agree = "51 receipts agree, up to seq 171 (trusting the key of the server that was supplied)"
    keys = "the keys of seats 0, 1"
    lines = closing_lines(replace(REPORT, outside=(agree, keys)), TABLE, "game.shx")
    assert any("The server signed it 51 times" in line for line in lines)
    signed = "You signed your moves with your key. The keys that you entered for Bob match."
    assert f"  {signed}" in lines
    assert not any("seq" in line for line in lines)
    sentences = ". ".join(lines[:-1]).split(". ")
    assert max(len(sentence.split()) for sentence in sentences) <= MAX_WORDS


def test_moves_after_time_outs_are_named() -> None:
    made = replace(REPORT, unproven=("seq 40: made for seat 1 after a time-out",))
    text = "\n".join(closing_lines(made, TABLE, "game.shx"))
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
