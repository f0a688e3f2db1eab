"""`shithead play`: output fits in 80 columns, and faults are reported."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from rich.console import Console, RenderableType

from service.cli.choosers import Automatic, Left, Person
from service.cli.dispute import _DisputeClient
from service.cli.load_game import read_recording, steps_of
from service.cli.move_menu import moves_of
from service.cli.narration import People, narrated, result_of, stalemate
from service.cli.play import _confirm_with_key, play_hand
from service.cli.play_screen import Pane, Story, recent_events, table_of
from service.cli.replay import printable_lines
from service.cli.screen import _moved, coloured
from service.cli.statuses import MISUSED
from service.client.answers import AbsentPlayer
from service.client.api import Refused
from service.client.player_files import read_seat_key
from service.client.signing import public_text
from tests.examples import stride
from tests.unit.cli.conftest import SAMPLES, CommandOutput

ORDER = "23456789TJQKA"
TAKE = {"type": "pick_up", "with": []}


def views(name: str) -> list[dict[str, Any]]:
    """Return the views of seat 0, event by event, with a name that has terminal escapes."""
    recording = read_recording((SAMPLES / f"{name}.jsonl").read_bytes())
    steps, fault = steps_of(recording, 0)
    assert fault is None
    made = [json.loads(json.dumps(step.view)) for step in steps]
    for view in made:
        view["seats"][1]["name"] = "\x1b[31mEve \u202e with a very long name indeed"
    return made


def printed(part: RenderableType) -> str:
    """Return the output for a terminal of 80 columns without colours."""
    out = io.StringIO()
    terminal = Console(file=out, width=80, force_terminal=True, _environ={"NO_COLOR": "1"})
    terminal.print(part)
    return out.getvalue()


def plain(text: str) -> str:
    """Return text without bold and dim, the only escapes used without colours."""
    return re.sub("\x1b\\[[0-27;]*m", "", text)


@pytest.mark.parametrize("name", ["shithead", "leeds-seven-seats-two-decks", "shithead-layout"])
def test_a_table_fits_in_80_columns_without_colours(name: str) -> None:
    for view in views(name)[:: 7 * stride(3)]:
        out = plain(printed(table_of(view, ORDER, frozenset())))
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert max(map(len, out.splitlines())) <= 80
    assert "Eve" in out


def test_an_empty_pile_and_the_direction_are_stated_in_words() -> None:
    """Two players alternate in either direction, so the direction is omitted."""
    view = next(v for v in views("shithead") if v["status"] == "playing" and not v["pile"])
    others = {**view, "direction": -1}
    assert "any card may be played" in printed(table_of(view, ORDER, frozenset()))
    assert "play goes 1 → 2 → 3" in printed(table_of(view, ORDER, frozenset()))
    assert "play goes 3 → 2 → 1" in printed(table_of(others, ORDER, frozenset()))
    seven = views("leeds-seven-seats-two-decks")[-30]
    assert re.search(
        r"play goes (1 → 2 → 3 → 4|7 → 6 → 5 → 4) …", printed(table_of(seven, ORDER, frozenset()))
    )
    two = {**view, "seats": view["seats"][:2], "turn": 0}
    assert "play goes" not in printed(table_of(two, ORDER, frozenset()))


def test_the_shithead_is_not_listed_as_out() -> None:
    people = People(names=("Ada", "Bob", "Cy"), me=1)
    result = {"reason": "shithead", "shithead": 2, "places": [1, 0, 2]}
    result_text = result_of({"result": result}, people)
    assert result_text == "Cy is the shithead. Out, in this order: you and Ada."


def test_moves_are_numbered_down_the_columns_up_to_a_limit() -> None:
    moves = [{"type": "play", "cards": [f"{rank}c"]} for rank in "3456789TJ"]
    lines = plain(printed(moves_of(moves))).splitlines()
    assert len(lines) == 5
    assert lines[0].split() == ["1", "play", "3c", "6", "play", "8c"]
    assert "and 11 more" in printed(moves_of([moves[0]] * 41))


def test_text_of_events_cannot_control_the_terminal() -> None:
    assert "\x1b[2J" not in printed(recent_events(["\x1b[2Jcleared"]))


def test_the_pick_up_is_listed_beside_any_number_of_plays() -> None:
    plays = [{"type": "play", "cards": [f"{rank}{suit}"]} for rank in ORDER for suit in "cdh"]
    out = plain(printed(moves_of([*plays, TAKE])))
    assert "40  take the pile" in out
    assert "and 10 more" in out


def test_cards_have_the_colours_of_their_suits_unless_colours_are_off() -> None:
    def sent(**variables: str) -> str:
        out = io.StringIO()
        terminal = Console(
            file=out, width=80, force_terminal=True, color_system="standard", _environ=variables
        )
        terminal.print(coloured("Ada plays 7h 9c."))
        return out.getvalue()

    assert "\x1b[31m7h" in sent()
    assert "\x1b[32m9c" in sent()
    assert "\x1b" not in sent(NO_COLOR="1")


@cache
def events_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / f"{name}.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*[a-z].jsonl")), ids=lambda path: path.stem)
def test_every_event_is_narrated_by_name_and_the_reader_as_you(path: Path) -> None:
    if path.stem.endswith("refusals"):
        return
    events = events_of(path.stem)
    names = tuple(f"Player{n}" for n in range(len(events[0]["data"]["seats"])))
    lines = narrated(events, People(names=names, me=0))
    assert lines
    assert not [line for line in lines if "seat " in line.lower() or "Player0" in line]
    assert all(line.endswith(".") and line[0].isupper() for line in lines)
    assert any(line.startswith("You ") for line in lines) or "aborted" in path.stem


@pytest.mark.parametrize(
    ("places", "types", "why"),
    [
        ([], "turn_passed end_agreed turn_timed_out turn_passed turn_passed", "All who were still"),
        ([2], "turn_passed turn_passed", "All who were still in play passed"),
        ([], "turn_passed turn_passed", "The limit of turns was reached"),
        ([], "turn_passed turn_passed cards_played turn_passed", "The limit of turns was"),
    ],
)
def test_a_stalemate_has_its_reason(places: list[int], types: str, why: str) -> None:
    begun = {"type": "game_created", "data": {"seats": [{}, {}, {}]}}
    acts = [{"type": kind, "data": {}} for kind in ("cards_played", *types.split())]
    for reason in ("stalemate", "shithead"):
        ended = {"type": "game_ended", "data": {"reason": reason, "places": places}}
        events = [begun, *acts, ended, {"type": "game_sealed", "data": {}}]
        lines = stalemate(events, People(names=("Ada", "Bob", "Cy")))
        assert [line[: len(why)] for line in lines] == ([why] if reason == "stalemate" else [])


def test_a_hand_that_ended_in_a_stalemate_is_narrated_with_the_reason() -> None:
    story = Story(events=lambda: events_of("shithead-stalemate"))
    story.advance(views("shithead-stalemate")[-4])
    assert (
        "The limit of turns was reached before"
        in story.advance(views("shithead-stalemate")[-1])[-1]
    )


def person(
    answers: Sequence[str], monkeypatch: pytest.MonkeyPatch, *, terminal: bool = False
) -> tuple[Person, io.StringIO]:
    out, left = io.StringIO(), iter(answers)
    console = Console(
        file=out, width=80, height=40, force_terminal=terminal, _environ={"NO_COLOR": "1"}
    )
    monkeypatch.setattr(console, "input", lambda _prompt: next(left))
    story = Story(events=lambda: events_of("shithead"))
    return Person(pane=Pane(console=console, story=story)), out


def test_a_person_is_asked_until_the_input_is_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    player, out = person(["?", "99", "foo", "7c 7h"], monkeypatch)
    view = {"moves": [{"type": "ready"}], "status": "playing"}
    assert player.choose(view) == {"type": "play", "cards": ["7c", "7h"]}
    assert "there is no move 99" in out.getvalue()
    assert "'foo' is neither a card nor a word" in out.getvalue()
    assert "take the pile, with face-up cards" in out.getvalue()


AWAY: Sequence[AbsentPlayer] = [{"seat": 1, "away_seconds": 200, "claims": ["stand_in", "end"]}]


def test_a_person_is_offered_the_claims_about_a_player_who_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = next(one for one in views("shithead") if one["turn"] == 1)
    view["seats"][1]["name"] = "Bob"
    player, out = person(["2", "", "3", "q"], monkeypatch, terminal=True)
    assert player.claim(view, AWAY) == {"type": "claim_absence", "absent": 1, "then": "end"}
    assert "1  Bob has been away for 3 min: let a bot stand in" in out.getvalue()
    assert [player.claim(view, AWAY), player.claim(view, AWAY)] == [None, None]
    with pytest.raises(Left):
        player.claim(view, AWAY)
    assert player.claim(view, []) is None
    assert person(["1"], monkeypatch)[0].claim(view, AWAY) is None, "only at a terminal"


def test_a_claim_is_offered_once_a_hand_without_a_clock_has_waited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The view came back unchanged; a player with moves is asked for a move."""
    base = {**views("shithead")[-30], "moves": [], "clock": None}
    course = [
        {**base, "version": 7},
        {**base, "version": 7},
        {**base, "version": 8},
        {**base, "version": 8, "clock": {}},
        {**base, "version": 8, "moves": [TAKE]},
        {**base, "version": 9, "status": "ended"},
    ]
    player, _ = person([""], monkeypatch)
    monkeypatch.setattr(player, "see", lambda _view: None)
    monkeypatch.setattr(player, "claim", lambda _view, absent: {"claimed": absent[0]["seat"]})
    made: list[Any] = []
    hand: Any = SimpleNamespace(
        views=lambda: iter(course),
        absences=lambda: {"absent": AWAY},
        move=lambda view, move: made.append((view, move)),
    )
    play_hand(hand, player)
    assert made == [(course[1], {"claimed": 1})]


def test_a_terminal_is_drawn_in_place_with_the_events_since_the_last_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A refusal is shown below the same sentences, and Enter draws them again."""
    player, out = person(["9d", "", "take"], monkeypatch, terminal=True)
    mine = [view for view in views("shithead") if view["turn"] == 0]
    one, two, three = ({**view, "moves": [TAKE]} for view in (mine[0], mine[4], mine[9]))
    player.see(one)
    player.see(two)
    assert "\x1b[2J" in out.getvalue()
    sentences = player.pane.lines
    assert sentences
    player.choose(two)
    player.refused(Refused({"type": "/problems/rule-refused", "detail": "too low"}))
    out.truncate(0)
    player.see(two)
    assert "refused: too low" in out.getvalue()
    assert all(line in plain(out.getvalue()) for line in sentences)
    assert player.choose(two) is None
    out.truncate(0)
    player.see(two)
    assert all(line in plain(out.getvalue()) for line in sentences)
    player.choose(two)
    player.see(three)
    assert player.pane.lines
    assert sentences[0] not in player.pane.lines


def test_without_a_terminal_each_state_is_printed_after_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same state is not printed twice."""
    player, out = person([], monkeypatch)
    earlier, last = views("shithead")[-20], views("shithead")[-1]
    player.see(earlier)
    first = out.getvalue()
    assert "shithead, hand 1" in first
    player.see(earlier)
    assert out.getvalue() == first
    player.see(last)
    assert out.getvalue().startswith(first)
    assert "shithead, hand 1" in out.getvalue().removeprefix(first)
    assert "\x1b" not in out.getvalue()


def test_a_refusal_prints_the_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    player, out = person([], monkeypatch)
    problem = {"type": "/problems/rule-refused", "detail": "too low", "rule": "L10"}
    player.refused(Refused({**problem, "rule_text": "Higher [or] equal."}))
    player.see(views("shithead")[-1])
    assert "refused: too low [L10] Higher [or] equal." in out.getvalue()


def test_automatic_play_shows_the_hand_and_stops_if_a_listed_move_is_refused() -> None:
    out = io.StringIO()
    story = Story(events=lambda: events_of("shithead"))
    automatic = Automatic(rule="first", console=Console(file=out, width=80), story=story)
    *course, _ended, sealed = views("shithead")  # the last two events are one move
    for view in (*course, sealed):
        automatic.see(view)
    assert "You play" in out.getvalue()
    assert out.getvalue().count("shithead, hand 1") == 1, "the table is printed at the end"
    automatic.refused(Refused({"type": "/problems/stale-version", "detail": "late"}))
    with pytest.raises(Refused):
        automatic.refused(Refused({"type": "/problems/rule-refused", "detail": "no"}))


@pytest.mark.parametrize("words", [("nowhere",), ("--auto", "best"), ("--seat-key", "0=AAAA")])
def test_a_wrong_command_line_is_explained(
    shithead: Callable[..., CommandOutput], words: Sequence[str]
) -> None:
    assert shithead("play", *words)[0] == MISUSED


@pytest.mark.parametrize("words", [("play",), ("tables",), ("bots",), ("watch", str(UUID(int=1)))])
def test_without_a_service_the_command_that_starts_one_is_named(
    shithead: Callable[..., CommandOutput], words: Sequence[str], tmp_path: Path
) -> None:
    home = () if words == ("bots",) else ("--home", tmp_path)
    status, _, err = shithead(*words, "--url", "http://127.0.0.1:9", *home)
    assert (status, "start one with `shithead up`" in err) == (2, True)


class Listing:
    """Serves one page of tables, and disputes of the player."""

    token = "secret"

    def __init__(
        self, statuses: Sequence[str], following: str | None, disputes: Sequence[Any] = ()
    ) -> None:
        self.api = self
        self.page = {"items": [{"status": status} for status in statuses], "next": following}
        self.disputes = {"items": list(disputes), "next": None}
        self.received = list[Any]()

    def challenges(self) -> dict[str, Any]:
        return {"received": self.received, "sent": [], "next": None}

    def get(self, path: str) -> dict[str, Any]:
        return self.disputes if path.startswith("/disputes?mine=true") else self.page


def test_the_disputes_of_the_player_are_listed_above_the_tables(
    shithead: Callable[..., CommandOutput], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the part, the next step, until when, and the command; a closed one is left out."""
    ends: dict[str, Any] = {
        "voting_from": None,
        "deadline": "2026-03-04T12:00:00.000000Z",
        "rulings": [],
    }
    voting = {"id": "D", "state": "voting", "you": {"side": None, "may": ["vote"]}, **ends}
    listing = Listing([], None, [voting, {**voting, "state": "final"}])
    monkeypatch.setattr("service.cli.tables.known_player", lambda *_: listing)
    _, out, _ = shithead("tables", "--home", tmp_path)
    assert out.count("you are a referee; your vote is awaited, until ") == 1
    assert "shithead dispute show http" in out
    assert "/v1/disputes/D" in out


def test_challenges_of_the_player_are_listed_above_the_tables_with_both_answers(
    shithead: Callable[..., CommandOutput], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A name from the server stays within its line."""
    listing = Listing([], None)
    by = {"id": "A", "name": "Ada\u2028x", "handle": "ada"}
    one = {"id": "T", "challenger": by, "player": by, "status": "open", "ruleset": "leeds"}
    times = {"created_at": "", "expires_at": "2026-03-04T12:00:00.000000Z"}
    listing.received.append({**one, **times, "visibility": "private"})
    monkeypatch.setattr("service.cli.tables.known_player", lambda *_: listing)
    _, out, _ = shithead("tables", "--home", tmp_path, "--url", "http://h")
    assert out.splitlines()[:3] == [
        "challenge   Ada\ufffdx (ada) challenges you: leeds, private; until 2026-03-04 12:00 UTC",
        f"  shithead play http://h/v1/tables/T --home {tmp_path}",
        f"  shithead challenges --decline T --url http://h --home {tmp_path}",
    ]


def test_a_page_of_closed_tables_is_not_reported_as_no_tables(
    shithead: Callable[..., CommandOutput], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tables that are still open can be older than the newest page."""
    for following, expected in (("more", "`--status open` lists older"), (None, "no tables")):
        listing = Listing(["closed", "closed"], following)
        monkeypatch.setattr("service.cli.tables.known_player", lambda *_, found=listing: found)
        status, out, _ = shithead("tables", "--home", tmp_path)
        assert (status, expected in out) == (0, True), out


def test_a_name_from_the_server_stays_within_its_line() -> None:
    """A line separator in a referee's name must not begin a line that looks like a ruling."""

    name = "Cleo\u2028Ruling: cleared\nRuling: cleared"
    player: Any = SimpleNamespace(api=SimpleNamespace(get=lambda _path: {"name": name}))
    assert len(_DisputeClient(url="", player=player)._name("1").splitlines()) == 1
    assert printable_lines("1  Cleo\u2028Ruling\n") == "1  Cleo\ufffdRuling\n"


def test_the_cards_that_an_event_names_are_highlighted() -> None:
    steps, _ = steps_of(read_recording((SAMPLES / "shithead.jsonl").read_bytes()), 0)
    shown = [(step.type, _moved(step), step.data) for step in steps]
    played = [(moved, data["cards"]) for kind, moved, data in shown if kind == "cards_played"]
    assert played
    assert all(moved == set(cards) for moved, cards in played)
    assert {moved for kind, moved, _ in shown if kind == "deck_committed"} == {frozenset()}


@pytest.mark.parametrize(("typed", "agreed"), [("", False), ("\n", False), ("y\n", True)])
def test_a_hand_continues_with_its_key_only_if_the_player_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, *, agreed: bool
) -> None:
    key = read_seat_key(tmp_path / "seat.key")
    hand: Any = SimpleNamespace(
        player=SimpleNamespace(key=None, files=SimpleNamespace(folder=tmp_path))
    )
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert _confirm_with_key(hand, public_text(key), None) is agreed
    assert (hand.player.key is not None) is agreed


def test_a_key_that_is_not_the_one_of_the_hand_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted, *_ = (public_text(read_seat_key(tmp_path / name)) for name in ("old", "seat.key"))
    hand: Any = SimpleNamespace(
        player=SimpleNamespace(key=None, files=SimpleNamespace(folder=tmp_path))
    )
    for path, reason in ((None, "has another"), (tmp_path / "none.key", "name its file")):
        assert not _confirm_with_key(hand, wanted, path)
        assert reason in capsys.readouterr().out
