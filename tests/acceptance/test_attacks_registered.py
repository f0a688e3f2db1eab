"""The register of attacks is complete, and every attack in it is detected by a test."""

from __future__ import annotations

import ast
import html
import re
from functools import cache
from pathlib import Path

import pytest

from service.cli.dispute_text import finding_sentence
from service.verify.finding import Check
from service.verify.report import Report, audit_object, report_html, report_text
from tests.attacks.attacks_tested_elsewhere import ELSEWHERE, Shown
from tests.attacks.catalogue import ATTACKS, by_family, table
from tests.attacks.cheating import go_on
from tests.attacks.registry import Family, Kind, Needs
from tests.tamper import failing, report_on, sample, sample_lines

TESTS = Path(__file__).parents[1]
RESULTS = TESTS.parent / "ops" / "bench" / "results" / "attacks.md"
ALONE = {Family.REPLACEMENT, Family.RE_ROLL, Family.EQUIVOCATION}
"""Families that a log alone cannot show: they need evidence saved by somebody else."""

PLAYED = (Check.DEAL, Check.CUSTODY, Check.LEGALITY)


@cache
def functions(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_family_of_attacks_is_there_and_the_number_is_what_was_promised() -> None:
    assert set(by_family()) == set(Family)
    names = [kind.name for kind in ATTACKS] + [tested.name for tested in ELSEWHERE]
    assert len(set(names)) == len(names) >= 60


@pytest.mark.parametrize("tested", ELSEWHERE, ids=lambda tested: tested.name)
def test_an_attack_of_another_file_has_its_test(tested: Shown) -> None:
    file, _, function = tested.test.partition("::")
    assert function in functions(file)


def test_what_a_log_cannot_show_by_itself_asks_for_something_from_outside() -> None:
    assert not any(kind.family in ALONE for kind in ATTACKS)
    alone = [tested for tested in ELSEWHERE if tested.family in ALONE]
    assert all(tested.needs is not Needs.NOTHING for tested in alone)
    assert {tested.family for tested in alone} == ALONE


def test_the_table_of_attacks_is_the_present_one() -> None:
    """Written by `python -m tests.attacks.catalogue`."""
    assert RESULTS.read_text("utf-8") == table()


LABELS = ("What was changed: ", "Who can have done it: ", "What would prove more: ")
TECHNICAL = re.compile(
    r"\b(hash|prev|commit\w*|salt|nonce|canonical|opening of|field|head|chain|seq|intent)\b"
)
MOST_WORDS = 30


def check_first_lines(report: Report) -> None:
    """
    Check the first lines of the text and of the page, for a reader who knows no format.

    They name the event that fails, its possible authors, and evidence that would show more, in
    short sentences without technical terms.
    """
    lines = report_text(report, name="game.shx").splitlines()[:3]
    page = html.unescape(report_html([("game.shx", report)])).partition('<p class="game')[0]
    for label, line in zip(LABELS, lines, strict=True):
        assert line.startswith(label)
        text = line.removeprefix(label)
        assert text in page
        assert not TECHNICAL.search(text), text
        sentences = re.split(r"(?<=[.!?])\s", text)
        assert all(len(sentence.split()) <= MOST_WORDS for sentence in sentences), text
        assert all(sentence.endswith(".") for sentence in sentences), text
    named = re.match(r"What was changed: (?:Event|Line) (\d+)", lines[0])
    assert named, lines[0]
    assert int(named[1]) in failing(report).values()
    check_sentences(report_text(report, name="game.shx"))
    for found in audit_object(report)["checks"]:
        told = finding_sentence({**found, "text": found["reason"] or ""})
        sentence, _, behind = told.partition(". (")
        assert max(len(sentence.split()), len(behind.split())) <= MOST_WORDS, told
        assert not TECHNICAL.search(sentence), told


LABEL = re.compile(
    r"^(?:what happened \(\w+\), seq \d+|\w+ +(?:fail|missing) +seq \d+|[^:]+)(?:: |$)"
)


def check_sentences(text: str) -> None:
    """Check that no sentence of a report is long; numbers in a list of events do not count."""
    for line in text.splitlines():
        for sentence in re.split(r"(?<=[.!?])\s", LABEL.sub("", line)):
            words = [word for word in sentence.split() if not re.fullmatch(r"\d+,?", word)]
            assert len(words) <= MOST_WORDS, sentence


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ATTACKS, ids=lambda kind: kind.name.replace(" ", "_"))
def test_an_attack_is_caught_though_all_hashes_were_made_again(kind: Kind) -> None:
    """
    The named check must fail at the forged event, with the original later events and without.

    If an honest game can continue from the forged event, it is played to a new seal: then no
    later event contradicts the forgery, and the check must detect it alone.
    """
    forgery, seq = kind.make()
    report = report_on(forgery.lines())
    found = failing(report)
    assert kind.check in found
    assert seq is None or found[kind.check] == seq
    assert report.level in (None, "L0")
    check_first_lines(report)
    if kind.check in PLAYED and seq and go_on(forgery, seq):
        assert failing(report_on(forgery.lines()))[kind.check] == seq


def test_what_a_log_names_cannot_steer_a_terminal() -> None:
    """The names in a log are untrusted text."""
    forgery = sample("shithead")
    forgery.data(0)["ruleset"]["id"] = "\x1b[2J\u202e<script>\x07"
    report = report_on(forgery.lines())
    assert Check.LEGALITY in failing(report)
    text = report_text(report, name="a log")
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ["shithead", "shithead-keyed", "shithead-aborted"])
def test_a_second_look_gives_the_same_report(name: str) -> None:
    lines = sample_lines(name)
    one, two = report_on(lines), report_on(lines)
    assert report_text(one) == report_text(two)
    assert list(audit_object(one).items()) == list(audit_object(two).items())
