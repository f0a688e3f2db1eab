"""Which seat a sentence names: in every place and language that of the event, counted from 1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import expect
from rich.console import Console

from service.cli.__main__ import run
from service.cli.load_game import read_recording
from service.cli.load_game import steps_of as steps_on_screen
from service.cli.narration import People
from service.cli.screen import Shown, screen
from service.domain.view import ALL
from service.replay.frames import frames_of, transcript
from service.replay.history import steps_of
from service.replay.picture import picture, spelled
from service.replay.sentences import LANGUAGES, Voice, sentence
from service.verify.finding import Check
from tests.tamper import Forgery, report_on
from tests.unit.verify.test_anchoring import LINES
from tests.web.browsing import Visits
from tests.web.node import ROOT
from tests.web.test_verifier import run_cli
from tests.web.test_verify_page import choose_file

SEAT: Final = {"en": r"[Ss]eat (\d+)", "sv": r"[Pp]lats (\d+)", "ja": r"席 (\d+)"}
"""A seat in a sentence of each language."""

LOCALES: Final = {"en": "en-GB", "sv": "sv-SE", "ja": "ja-JP"}

FORGERY: Final = Forgery(LINES)
SEQ: Final = FORGERY.find(
    "cards_played", lambda event: event["data"]["zone"] == "hand" and event["data"]["seat"] == 1
)
FORGERY.data(SEQ)["cards"] = [
    next(card for card in ("2c", "3c", "4c") if card not in FORGERY.data(SEQ)["cards"])
]
FORGED: Final = FORGERY.lines()
"""A record in which seat 1 of the data plays a card that it does not hold, at event SEQ."""


def log_of(lines: tuple[bytes, ...]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def of_the_replay() -> Iterator[tuple[str, str, str]]:
    """Yield the place, the language and the text of the sentences about the event."""
    recording = read_recording(log_of(LINES))
    events = [record.event for record in recording.log]
    steps = [*enumerate(steps_of(events, recording.deck), 1)][: SEQ + 1]
    for language in LANGUAGES:
        frame = [*frames_of(steps, viewer=ALL, say=spelled(language))][-1]
        yield "caption", language, frame.caption
        drawn = picture(frame, language)
        yield "title of the picture", language, re.findall(r"<title>.*", drawn)[0]
        labels = re.findall(rf">{SEAT[language]}<", drawn)
        assert labels == [str(n + 1) for n in range(recording.seats)], language
    told = transcript(events, deck=recording.deck, viewer=ALL)
    yield "transcript", "en", re.findall(rf"^ +{SEQ}  .*", told, re.MULTILINE)[0]
    zones = re.findall(rf"^ +{SEAT['en']}: hand", told, re.MULTILINE)
    assert {*zones} == {str(n + 1) for n in range(recording.seats)}


def of_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """Yield the texts of the terminal about the event, each with the seat first."""
    intact, forged = tmp_path / "intact.jsonl", tmp_path / "forged.jsonl"
    intact.write_bytes(log_of(LINES))
    forged.write_bytes(log_of(FORGED))
    steps, _ = steps_on_screen(read_recording(log_of(LINES)), ALL)
    console = Console(width=120, height=30, record=True, file=StringIO())
    console.print(screen(steps[SEQ], Shown(viewer=1, versions=len(steps))))
    drawn = console.export_text()
    yield re.findall(r"as seat \d+ sees it", drawn)[0]
    yield re.findall(r"by seat \d+", drawn)[0]
    yield re.findall(r"^Seat \d+ played.*", drawn, re.MULTILINE)[0]
    seats = re.findall(r"^[▶ ] +(\d) random|^[▶ ] +(\d) \w+", drawn, re.MULTILINE)
    assert ["".join(found) for found in seats] == ["1", "2", "3"]
    run(["audit", str(intact), "--move", str(SEQ)])
    yield capsys.readouterr().out
    run(["audit", str(intact), "--knowledge", "1"])
    yield capsys.readouterr().out
    run(["verify", str(forged)])
    yield from re.findall(r"[Ss]eat \d+ played the .*", capsys.readouterr().out)
    page = tmp_path / "report.html"
    run(["verify", str(forged), "--html", str(page)])
    capsys.readouterr()
    yield from re.findall(r"[Ss]eat \d+ played the .*", page.read_text("utf-8"))
    yield re.findall(rf"^custody .*seq {SEQ}: .*", run_cli(forged).stdout, re.MULTILINE)[0]
    nobody = [{"seat": n, "name": None, "bot": None, "kind": "human"} for n in range(2)]
    yield People.of({"as": "public", "seats": nobody}).names[1]


@pytest.mark.heavy
def test_every_place_and_language_names_the_seat_of_the_event_counted_from_1(
    visits: Visits, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Captions, picture, transcript, terminal, audit, report, both verifiers, and the page."""
    said = [*of_the_replay()]
    said += [("terminal", "en", text) for text in of_the_terminal(tmp_path, capsys)]
    custody = next(f for f in report_on(FORGED).findings if f.check is Check.CUSTODY)
    for language in LANGUAGES:
        voice = Voice(language=language)
        said.append(("finding", language, sentence(custody.code or "", custody.values, voice)))
        said.append(("refusal", language, sentence("refused.other_on_turn", {"seat": 1}, voice)))
        bundle = sentence("chain.seat", {"seat": 1}, voice)
        said.append(("profile of a bundle", language, bundle))
        page = visits.page(locale=LOCALES[language])
        page.goto("/verify")
        choose_file(page, "events.jsonl", log_of(FORGED))
        reason = page.locator("#check-custody .reason")
        expect(reason).not_to_be_empty()
        said.append(("page /verify", language, reason.inner_text()))
        said.append(("title on /verify", language, page.locator("#check-custody h4").inner_text()))
    named = [(re.search(SEAT[language], text), place, text) for place, language, text in said]
    assert [(place, text) for found, place, text in named if not found or found[1] != "2"] == []
    assert len(said) > 30, said


OWN_WORDS: Final = re.compile(
    r"\bseat \$?\{(?!act)|\bseat #|\bseat(?:\.seat)? \+ 1(?! \+|\) %| :\])", re.IGNORECASE
)
"""A number of a seat that a program puts into words, or counts from 1, by itself."""

HOMES: Final = {
    "service/replay/sentences.py": 1,
    "service/api/static/app/i18n.js": 1,
    "service/api/static/verifier/cli.js": 1,
}
"""The modules that may, and how often."""


def test_only_the_home_of_each_program_puts_a_seat_into_words() -> None:
    found = {
        str(path.relative_to(ROOT)): len(OWN_WORDS.findall(path.read_text("utf-8")))
        for part in (
            "service/**/*.py",
            "workers/*.py",
            "schemas/*.py",
            "service/api/static/**/*.js",
        )
        for path in ROOT.glob(part)
    }
    assert {path: count for path, count in found.items() if count} == HOMES
