"""`shithead play`: output fits in 80 columns, and faults are reported."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from service.cli.__main__ import MISUSED
from service.cli.load_game import read_recording, steps_of
from service.cli.play import Automatic, Person, moves_of, recent_events, table_of
from service.client.api import Refused
from tests.unit.cli.conftest import SAMPLES, Said


def views(name: str) -> list[dict[str, Any]]:
    """Return what seat 0 saw, event by event, with a name that tries to steer the terminal."""
    recording = read_recording((SAMPLES / f"{name}.jsonl").read_bytes())
    steps, fault = steps_of(recording, 0)
    assert fault is None
    made = [json.loads(json.dumps(step.view)) for step in steps]
    for view in made:
        view["seats"][1]["name"] = "\x1b[31mEve \u202e with a very long name indeed"
    return made


def printed(part: RenderableType) -> str:
    """Return what a terminal of 80 columns is sent that asks for no colours."""
    out = io.StringIO()
    terminal = Console(file=out, width=80, force_terminal=True, _environ={"NO_COLOR": "1"})
    terminal.print(part)
    return out.getvalue()


def plain(text: str) -> str:
    """Return text without bold and dim, the only marks that are left without colours."""
    return re.sub("\x1b\\[[0-27;]*m", "", text)


@pytest.mark.parametrize("name", ["shithead", "leeds-seven-seats-two-decks", "shithead-layout"])
def test_a_table_fits_in_80_columns_without_colours(name: str) -> None:
    for view in views(name)[::7]:
        out = plain(printed(table_of(view)))
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert max(map(len, out.splitlines())) <= 80
    assert "Eve" in out


def test_moves_are_numbered_down_the_columns_and_no_more_than_can_be_read() -> None:
    moves = [{"type": "play", "cards": [f"{rank}c"]} for rank in "3456789TJ"]
    lines = plain(printed(moves_of(moves))).splitlines()
    assert len(lines) == 5
    assert lines[0].split() == ["1", "play", "3c", "6", "play", "8c"]
    assert "and 11 more" in printed(moves_of([moves[0]] * 41))


def test_what_happened_cannot_steer_the_terminal() -> None:
    assert "\x1b[2J" not in printed(recent_events(["\x1b[2Jcleared"]))


class Hand:
    """Stands where a hand would; nothing is asked of it here."""

    def captions(self, first: int, last: int) -> list[str]:
        """Return nothing."""
        return []


def person(answers: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Person, io.StringIO]:
    out, left = io.StringIO(), iter(answers)
    console = Console(file=out, width=80)
    monkeypatch.setattr(console, "input", lambda _prompt: next(left))
    hand: Any = Hand()
    return Person(hand=hand, console=console), out


def test_a_person_is_asked_until_there_is_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    somebody, out = person(["?", "99", "7c 7h"], monkeypatch)
    view = {"moves": [{"type": "ready"}], "status": "playing"}
    assert somebody.choose(view) == {"type": "play", "cards": ["7c", "7h"]}
    assert "there is no move 99" in out.getvalue()
    assert "take the pile, with face-up cards" in out.getvalue()


def test_a_refusal_tells_the_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    somebody, out = person([], monkeypatch)
    problem = {"type": "/problems/rule-refused", "detail": "too low", "rule": "L10"}
    somebody.refused(Refused({**problem, "rule_text": "Higher [or] equal."}))
    assert "refused: too low [L10] Higher [or] equal." in out.getvalue()


def test_playing_by_itself_stops_where_a_listed_move_is_refused() -> None:
    automatic = Automatic(rule="first", console=Console(file=io.StringIO()))
    automatic.refused(Refused({"type": "/problems/stale-version", "detail": "late"}))
    with pytest.raises(Refused):
        automatic.refused(Refused({"type": "/problems/rule-refused", "detail": "no"}))


@pytest.mark.parametrize("words", [("nowhere",), ("--auto", "best"), ("--seat-key", "0=AAAA")])
def test_a_wrong_command_line_is_told(shithead: Callable[..., Said], words: Sequence[str]) -> None:
    assert shithead("play", *words)[0] == MISUSED


def test_a_service_that_is_not_there_is_told(
    shithead: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.client.api.time.sleep", lambda _seconds: None)
    status, _, err = shithead("play", "--url", "http://127.0.0.1:9", "--home", tmp_path)
    assert (status, "does not answer" in err) == (2, True)
