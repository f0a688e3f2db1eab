"""The HTML report: self-contained, reproducible, and with all text of a log escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from service.replay.sentences import Sentence
from service.verify.files import VerifyOptions, main_verify
from service.verify.finding import Check, Finding, Result
from service.verify.report import MAX_LINES, Report, report_html
from tests.changed import replace
from tests.tamper import SAMPLES, report_on, sample, sample_lines

VOID = {"meta", "br"}


class Reader(HTMLParser):
    """A strict HTML parser: requires closed elements, and collects elements and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def page_of(report: Report, name: str = "game.shx") -> str:
    return report_html([(name, report)])


def report_with(text: str) -> Report:
    """Return a report with `text` in every text field."""
    report = report_on(sample_lines("threes"))
    findings = tuple(
        Finding(check=check, result=result, code="bytes.shape", values={"detail": text}, rule=text)
        for check, result in zip(Check, list(Result) * 4, strict=True)
    )
    lines = tuple(
        Sentence(code="outside.contradict", values={"name": text, "at": n}) for n in range(40)
    )
    return replace(
        report, game=text, findings=findings, unproven=lines, missing=lines, outside=lines
    )


def test_the_page_has_every_check_with_its_reason() -> None:
    report = report_on(sample_lines("leeds"))
    words = Reader(page_of(report)).words
    assert report.wording in words
    for finding in report.findings:
        assert finding.check.value in words
        assert finding.reason is None or finding.reason in words
    assert "proved fair" not in words


def test_a_failed_check_is_named_with_its_event_and_statement() -> None:
    forgery = sample("shithead")
    seq = forgery.find("pile_burned", lambda e: e["data"]["cause"] == "rank")
    forgery.data(seq)["cause"] = "set"
    words = Reader(page_of(report_on(forgery.lines()))).words
    sentence = f"seq {seq}: By the rules its top card burns the pile, not a set of one rank. [P12]"
    assert sentence in words
    assert f"the actions do not hold: legality fails at seq {seq}" in words


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '"><img src=x onerror=x>', "</style>&amp;\x1b[2J\u202e"]
)
def test_text_of_a_log_never_becomes_markup(text: str) -> None:
    """A log is untrusted text, and its page is opened in a browser."""
    page = page_of(report_with(text), name=text)
    read = Reader(page)
    assert not read.tags & {"script", "img", "link", "iframe", "a", "svg"}
    assert not any(name.startswith("on") or name in ("src", "href") for name, _ in read.attributes)
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", page)
    assert page.count("<style>") == page.count("</style>") == 1


def test_the_page_loads_nothing_and_its_policy_forbids_it() -> None:
    page = page_of(report_on(sample_lines("threes")))
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"url\(|@import|https?:", page)


def test_long_lists_are_truncated() -> None:
    page = page_of(report_with("x" * 5000))
    assert page.count(f"{40 - MAX_LINES} more.") == 3
    assert len(page) < 40_000


def test_several_logs_are_sections_of_one_page() -> None:
    reports = [(name, report_on(sample_lines(name))) for name in ("threes", "leeds")]
    page = report_html(reports)
    assert page.count("<section>") == 2
    assert page.count("<!doctype html>") == 1


def test_verifying_a_log_twice_writes_the_same_page(tmp_path: Path) -> None:
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    for page in pages:
        assert main_verify([SAMPLES / "leeds.jsonl"], VerifyOptions(html=page)) == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_page_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "nowhere" / "page.html"
    assert main_verify([SAMPLES / "leeds.jsonl"], VerifyOptions(html=page)) == 3
