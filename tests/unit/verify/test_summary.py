"""The first lines of a report in plain words: each reason has a sentence, each command works."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from service.verify import anchoring, receipts, signatures
from service.verify.finding import Check, EvidenceWeight, Finding, Objection, Result
from service.verify.log import Authorship
from service.verify.plain import in_words
from service.verify.summary import summary_of
from tests.attacks.record_attacks import (
    a_time_that_goes_back,
    another_seed_than_the_one_committed_to,
)
from tests.attacks.registry import game_at
from tests.tamper import report_on, sample

SPOKEN = (signatures, receipts, anchoring)
"""The modules whose reasons must all have a plain sentence."""


def reasons(module: ModuleType) -> Iterator[str]:
    """Yield each text with which a check of a module fails; every value in it is 7."""
    tree = ast.parse(inspect.getsource(module))
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        call = node.func
        fails = isinstance(call, ast.Name) and call.id == "Failed"
        notes = isinstance(call, ast.Attribute) and call.attr == "note"
        if not (fails or notes):
            continue
        text = node.args[1]
        if isinstance(text, ast.Name):
            text = named[text.id]
        if isinstance(text, ast.BinOp):
            continue  # a sentence of the module with an addition
        yield "".join(
            str(part.value) if isinstance(part, ast.Constant) else "7"
            for part in (text.values if isinstance(text, ast.JoinedStr) else [text])
        )


@pytest.mark.parametrize("module", SPOKEN, ids=lambda module: module.__name__)
def test_each_reason_of_a_failure_has_a_plain_sentence(module: ModuleType) -> None:
    found = [reason for reason in reasons(module) if re.search("[a-z]", reason)]
    assert len(found) >= 2
    assert [reason for reason in found if in_words(reason) is None] == []


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("mine.note names another history than this one; they agree up to seq 4: …", "event 4"),
        ("mine.note names another history than this one; something up to seq 9 was …", "event 9"),
        ("mine.note names seq 12, and the log ends before it", "event 12"),
        ("prev is not the hash of seq 3: seq 4, or it and seq 3, was changed", "the one before"),
        (
            "seq is 41, not 40",
            "The number 40 comes next, and this event has 41: events are missing",
        ),
        ("not the event that seq 5 names as the one before it: seq 4 was changed", "event 5"),
    ],
)
def test_a_receipt_or_a_broken_link_names_the_event(reason: str, said: str) -> None:
    assert said in (in_words(reason) or "")


def test_the_shithead_that_a_record_claims_is_named() -> None:
    forgery = sample("shithead")
    seq = forgery.find("game_ended")
    true = forgery.data(seq)["shithead"]
    forgery.data(seq)["shithead"] = other = forgery.data(seq)["places"][0]
    summary = report_on(forgery.lines()).summary
    assert summary is not None
    assert f"the hand was over: seat {other} was the shithead." in summary.changed
    assert f"By the rules seat {true} is the shithead, not seat {other}." in summary.changed


def test_a_move_out_of_turn_names_the_seat_whose_turn_it_was() -> None:
    forgery = sample("shithead")
    seq = forgery.find("cards_played")
    due = forgery.data(seq)["seat"]
    forgery.data(seq)["seat"] = forgery.events[seq]["by"] = other = (due + 1) % 3
    forgery.data(seq)["cards"] = [str(game_at(forgery, seq).seats[other].hand[0])]
    summary = report_on(forgery.lines()).summary
    assert summary is not None
    assert f"It was the turn of seat {due}, not of seat {other}." in summary.changed


def test_a_time_that_goes_back_leaves_two_possible_authors() -> None:
    """All links are whole: the check `chain` fails, and the server may have written the event."""
    forgery = sample("shithead")
    a_time_that_goes_back(forgery)
    summary = report_on(forgery.lines()).summary
    assert summary is not None
    assert "earlier time than the event before it" in summary.changed
    assert summary.author.startswith("Two are possible")


def test_a_false_seed_is_named_before_the_deck_derived_from_it() -> None:
    forgery = sample("shithead")
    another_seed_than_the_one_committed_to(forgery)
    summary = report_on(forgery.lines()).summary
    assert summary is not None
    assert "The server showed another secret number for the shuffle" in summary.changed
    assert "dealer" not in summary.changed


def test_a_file_that_proves_nothing_blames_no_party() -> None:
    """A damaged receipt beside a true record."""
    reason = "mine.note does not hold: malformed; it proves nothing, for or against"
    finding = Finding(
        check=Check.RECEIPTS, result=Result.FAIL, reason=reason, weight=EvidenceWeight.NOTHING
    )
    assert finding.objections == (
        Objection(seq=None, reason=reason, weight=EvidenceWeight.NOTHING),
    )
    summary = summary_of(None, [finding], (), Authorship())
    assert summary is not None
    changed, author, proof = summary.lines("my game.shx")
    assert "Nothing in the record itself is shown to be changed. One of the receipts" in changed
    assert "Nobody can be blamed" in author
    assert "`shithead verify 'my game.shx'`" in proof
