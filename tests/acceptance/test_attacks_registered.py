"""The register of attacks is complete, and every attack in it is detected by a test."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from service.cli.dispute_text import finding_sentence
from service.verify.clauses import MAX_WORDS
from service.verify.finding import Check
from service.verify.report import Report, audit_object, report_html, report_text
from service.verify.stored_findings import in_words
from tests.attacks.catalogue import ATTACKS, by_family, elsewhere, table
from tests.attacks.cheating import go_on
from tests.attacks.registry import Family, Kind, Needs
from tests.tamper import failing, report_on, sample, sample_lines

TESTS = Path(__file__).parents[1]
RESULTS = TESTS.parent / "ops" / "bench" / "results" / "attacks.md"
ALONE = {Family.REPLACEMENT, Family.RE_ROLL, Family.EQUIVOCATION}
"""Families that a log alone cannot show: they need evidence saved outside the server."""

PLAYED = (Check.DEAL, Check.CUSTODY, Check.LEGALITY)


def check_finding(found: Mapping[str, Any]) -> None:
    """Check the finding of a dispute in the API and in the terminal: short sentences first."""
    code = found["code"] or f"passes.{found['check']}"
    finding = {**found, "code": code, "text": found["reason"] or ""}
    shown = finding_sentence(finding)
    words, _, behind = shown.rpartition(" (")
    assert in_words(finding) == words
    for sentence in (*re.split(r"(?<=[.!?])\s", words), behind):
        assert len(sentence.split()) <= MAX_WORDS, shown
    assert not TECHNICAL.search(words), shown
    assert behind.startswith(found["check"])


def test_every_family_has_attacks_and_sixty_or_more_are_registered() -> None:
    assert set(by_family()) == set(Family)
    names = [kind.name for kind in ATTACKS] + [tested.name for tested in elsewhere()]
    assert len(set(names)) == len(names) >= 60


def test_an_attack_that_a_log_alone_cannot_show_names_the_outside_evidence() -> None:
    assert not any(kind.family in ALONE for kind in ATTACKS)
    alone = [tested for tested in elsewhere() if tested.family in ALONE]
    assert all(tested.needs is not Needs.NOTHING for tested in alone)
    assert {tested.family for tested in alone} == ALONE


def test_the_table_of_attacks_is_up_to_date() -> None:
    """Written by `python -m tests.attacks.catalogue`."""
    assert RESULTS.read_text("utf-8") == table()


LABELS = ("What was changed: ", "Who can have done it: ", "What would prove more: ")
TECHNICAL = re.compile(
    r"\b(hash\w*|prev|commit\w*|salt|nonce|canonical|opening of|field|head|chain\w*|seq|intent"
    r"|merkle|digest|position|entropy|\w+_\w+|slot|seed|accepted|may not act|just before it)\b",
    re.IGNORECASE,
)


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
        assert not TECHNICAL.search(re.sub(r"`[^`]+`|/v1/\S+", "", text)), text
        sentences = re.split(r"(?<=[.!?])\s", text)
        assert all(len(sentence.split()) <= MAX_WORDS for sentence in sentences), text
        assert all(sentence.endswith(".") for sentence in sentences), text
        assert all(sentence[0].isupper() or sentence[0].isdigit() for sentence in sentences), text
    no_blame = ("This file does not show who.", "During the game no player could do this")
    assert any(text in lines[1] for text in no_blame)
    assert re.search(r"\bAsk (?:the|another) player", lines[2]), "it names the players to ask"
    assert len(re.findall(r"`shithead \w+ \S+", lines[2])) == 1, "it has one command"
    assert len(re.findall(r"\. If [^.]+", lines[2])) == 3, "it explains each result"
    named = re.match(r"What was changed: (?:Event|Line) (\d+)", lines[0])
    assert named, lines[0]
    assert int(named[1]) in failing(report).values()
    for found in audit_object(report)["checks"]:
        check_finding(found)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ATTACKS, ids=lambda kind: kind.name.replace(" ", "_"))
def test_an_attack_is_caught_even_if_all_hashes_are_recomputed(kind: Kind) -> None:
    """
    The named check must fail at the forged event, first with the original later events.

    If an honest game can continue from the forged event, it is then played to a new seal: no
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


@pytest.mark.attack("MARKUP", "control characters in a log", check="the report")
def test_names_in_a_log_cannot_control_a_terminal() -> None:
    """The names in a log are untrusted text."""
    forgery = sample("shithead")
    forgery.data(0)["ruleset"]["id"] = "\x1b[2J\u202e<script>\x07"
    report = report_on(forgery.lines())
    assert failing(report) == {Check.BYTES: 0}
    text = report_text(report, name="a log")
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ["shithead", "shithead-keyed", "shithead-aborted"])
def test_a_second_verification_gives_the_same_report(name: str) -> None:
    lines = sample_lines(name)
    one, two = report_on(lines), report_on(lines)
    assert report_text(one) == report_text(two)
    assert list(audit_object(one).items()) == list(audit_object(two).items())
