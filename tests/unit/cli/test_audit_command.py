"""`shithead audit`: answers about a game from its file alone, without a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.audit import DecisionSchema
from service.cli.statuses import MISUSED
from service.shx.bundle import OPENINGS, REFUSALS, write_bundle
from service.shx.canonical import canonical
from service.shx.chain import head
from tests.examples import stride
from tests.random_games import Plan, made_game
from tests.tamper import LOGS, sample
from tests.unit.cli.conftest import SAMPLES, CommandOutput
from tests.unit.verify.test_html import Reader

LEEDS = SAMPLES / "leeds.jsonl"


def test_a_decision_quotes_its_statements(
    shithead: Callable[..., CommandOutput],
) -> None:
    """L8: a play is equal to the top card of the pile, or higher."""
    status, out, _ = shithead("audit", LEEDS, "--move", "60")
    assert status == 0
    assert out.startswith("seq 60, 2026-11-21T02:47:13.987415Z: seat 2, after 2368 ms\n")
    assert "pile      9h  (asks for at least 9)" in out
    assert "  8c  L8  an eight does not fit on the pile" in out
    assert "did       play Kc Kh Ks" in out
    assert "  L8              A play is one or more cards of one rank" in out


QUESTIONS = (("--move", "60"), ("--card", "Kc"), ("--knowledge", "1", "--at", "60"))


@pytest.mark.parametrize("words", QUESTIONS, ids=lambda words: words[0])
def test_the_page_has_the_content_of_the_text_and_loads_nothing(
    shithead: Callable[..., CommandOutput], tmp_path: Path, words: tuple[str, ...]
) -> None:
    path = tmp_path / "answer.html"
    status, out, _ = shithead("audit", LEEDS, *words, "--html", path)
    assert status == 0
    page = Reader(path.read_text("utf-8"))
    assert set("".join(out.split())) <= set("".join(page.words.split()))
    assert all(cell in page.words for line in out.splitlines()[1:6] for cell in line.split())
    assert out.partition("\n")[0] in page.words
    assert not {"script", "link", "img", "a"} & page.tags
    again = tmp_path / "again.html"
    shithead("audit", LEEDS, *words, "--html", again)
    assert again.read_bytes() == path.read_bytes()


def test_the_page_and_text_on_an_invalid_log_begin_with_the_fault(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    forgery = sample("leeds")
    seq = forgery.find("pile_picked_up")
    forgery.data(seq)["turn"] = forgery.data(seq)["seat"]
    forgery.data(0)["engine"]["name"] = "<b>engine</b>"
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(line + b"\n" for line in forgery.lines()))
    path = tmp_path / "answer.html"
    status, out, _ = shithead("audit", log, "--move", seq, "--html", path)
    assert status == 1
    first = [line.partition(": ") for line in out.splitlines()[:3]]
    titles = ["What was changed", "Who can have done it", "What would prove more"]
    assert [title for title, _, _ in first] == titles
    page = Reader(path.read_text("utf-8"))
    assert all(title in page.words for title in titles)
    assert all(text.replace(str(log), log.name) in page.words for _, _, text in first)
    assert "b" not in page.tags
    assert shithead("audit", log, "--move", seq, "--html", tmp_path / "no" / "where")[0] == 3


@pytest.mark.heavy
def test_events_cards_and_knowledge_of_every_sample_can_be_audited(
    shithead: Callable[..., CommandOutput],
) -> None:
    """About each sample CI asks for one of two events and a card, and --long for all three."""
    for number, path in enumerate(LOGS):
        last = len(path.read_bytes().splitlines()) - 1
        questions = (("--move", last // 2), ("--move", last), ("--card", "Th"))
        for words in questions[number % stride(3) :: stride(3)]:
            status, out, err = shithead("audit", path, *map(str, words))
            assert (status, err) == (0, ""), (path.name, words, err)
            assert out
        status, out, _ = shithead("audit", path, "--knowledge", "0", "--at", str(last))
        assert status == 0


def test_custody_and_knowledge_are_printed(shithead: Callable[..., CommandOutput]) -> None:
    out = shithead("audit", LEEDS, "--card", "Th")[1]
    assert "  2–74    up of seat 2, slot 1  seen by all" in out
    out = shithead("audit", LEEDS, "--knowledge", "1", "--at", "60")[1]
    assert "  9h  pile            since seq 2   its own" in out
    assert "unseen (14)" in out


def test_the_json_is_the_object_of_the_api(shithead: Callable[..., CommandOutput]) -> None:
    status, out, _ = shithead("audit", LEEDS, "--move", "60", "--json")
    assert status == 0
    found = json.loads(out)
    assert DecisionSchema().validate(found) == {}
    assert found["did"] == {"type": "play", "cards": ["Kc", "Kh", "Ks"]}


def test_refused_attempts_of_a_bundle_are_printed(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    lines = LEEDS.read_bytes().splitlines()
    at = json.loads(lines[60])["at"]
    row = {"at": at, "seat": 1, "move": {"type": "pick_up", "with": []}, "rule": "L10"}
    broken = {"at": 1, "seat": "x", "move": {"type": "fly"}}
    files = {REFUSALS: canonical(row) + b"\n" + canonical(broken) + b"\nnonsense\n"}
    path = tmp_path / "game.shx"
    path.write_bytes(write_bundle(lines, files=files))
    status, out, _ = shithead("audit", path, "--move", "60")
    assert status == 1, "the seal names none"
    assert f"refused before\n  {at}  pick up  L10" in out
    assert "unproven" in out


def test_the_audit_of_a_running_game_prints_only_public_facts(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    path = tmp_path / "running.jsonl"
    path.write_bytes(b"\n".join(made_game(Plan(name="audit", stop=9))) + b"\n")
    last = len(path.read_bytes().splitlines()) - 1
    status, out, _ = shithead("audit", path, "--move", str(last))
    assert status == 0
    assert "followed" in out
    assert "legal" not in out
    assert shithead("audit", path, "--knowledge", "0")[0] == MISUSED


def test_a_seats_bundle_answers_only_about_the_knowledge_of_that_seat(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    lines = made_game(Plan(name="audit", stop=9))
    path = tmp_path / "seat.shx"
    path.write_bytes(write_bundle(lines, profile="seat-0", files={OPENINGS: canonical([])}))
    assert shithead("audit", path, "--knowledge", "0")[0] in (0, 1)
    assert shithead("audit", path, "--knowledge", "1")[0] == MISUSED


def test_the_audit_of_an_invalid_log_begins_with_the_failure(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    lines = LEEDS.read_bytes().splitlines()
    assert head(lines[59])
    changed = lines[60].replace(b'"Kc"', b'"8c"')
    assert changed != lines[60]
    path = tmp_path / "changed.jsonl"
    path.write_bytes(b"\n".join([*lines[:60], changed, *lines[61:]]) + b"\n")
    status, out, err = shithead("audit", path, "--move", "60")
    assert status == 1
    assert "seq 6" in err
    assert "did       play 8c Kh Ks" in out
    assert "play 8c Kh Ks  " not in out  # it is not among the legal moves


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--move", "1", "--card", "Th"),
        ("--move", "196"),
        ("--move", "-1"),
        ("--card", "X1"),
        ("--card", "\x1b[31m"),
        ("--knowledge", "3"),
        ("--knowledge", "0", "--at", "197"),
        ("--card", "Th", "--at", "3"),
    ],
)
def test_an_impossible_question_ends_with_64(
    shithead: Callable[..., CommandOutput], words: tuple[str, ...]
) -> None:
    status, out, err = shithead("audit", LEEDS, *words)
    assert (status, out) == (MISUSED, "")
    assert "\x1b" not in err


def test_a_missing_or_unreadable_log_ends_with_3(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    assert shithead("audit", tmp_path / "none.shx", "--move", "1")[0] == 3
    nonsense = tmp_path / "nonsense"
    nonsense.write_bytes(b"PK nonsense")
    assert shithead("audit", nonsense, "--move", "1")[0] == 3
