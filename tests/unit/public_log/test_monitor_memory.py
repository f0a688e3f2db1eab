"""A monitor forgets what is over, and misses nothing for it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from service.public_log.monitor import (
    MOST_FINDINGS,
    RECENT,
    Games,
    Monitor,
    MonitorState,
    WatchedGame,
    check_tables,
    forget,
    load_state,
    read_lines,
    save_state,
)
from service.shx.canonical import format_time
from service.shx.chain import head
from service.shx.keys import KeyList
from tests.random_games import Plan, made_game
from tests.tamper import Forgery
from tests.unit.public_log.test_monitor_games import FIRST, ID, NOW, SECOND, id_of, seen

LONG = timedelta(days=730)
LATER = NOW + RECENT + timedelta(days=1)
DOUBLE = Plan(name="double", hand=2, dealer=0, prev_game=ID)
THIRD = Plan(name="three", hand=3, dealer=0, prev_game=id_of(made_game(SECOND)))


def after_a_while(*plans: Plan) -> Games:
    """Return what is left of games that were over long ago."""
    games = seen(*plans)
    forget(games, pending=(), now=LATER, remember=LONG)
    return games


def test_of_a_table_the_last_game_is_kept_and_those_before_it_are_not() -> None:
    assert list(after_a_while(FIRST, SECOND, THIRD)) == [id_of(made_game(THIRD))]
    assert len(seen(FIRST, SECOND)) == 2
    games = seen(FIRST, SECOND)
    forget(games, pending=(), now=NOW, remember=LONG)
    assert len(games) == 2, "what is recent stays"
    forget(games, pending=[ID], now=LATER, remember=LONG)
    assert len(games) == 2, "what is still to be read stays"


def test_the_next_hand_of_a_table_is_right_however_long_it_takes() -> None:
    games = after_a_while(FIRST, SECOND)
    games |= seen(THIRD)
    assert list(check_tables(games, [id_of(made_game(THIRD))])) == []


def test_a_hand_dealt_twice_is_noticed_after_the_first_is_forgotten() -> None:
    """An operator who waits until the monitor forgot gains nothing."""
    games = after_a_while(FIRST, SECOND, THIRD)
    games |= seen(DOUBLE)
    [said] = check_tables(games, [id_of(made_game(DOUBLE))])
    assert said.startswith("hands: ")
    assert "which hand 3 came after long ago" in said


def test_a_table_that_wakes_after_longer_is_reported() -> None:
    games = seen(FIRST, SECOND)
    forget(games, pending=(), now=NOW + LONG + timedelta(days=1), remember=LONG)
    assert games == {}
    games |= seen(THIRD)
    [said] = check_tables(games, list(games))
    assert said.endswith("or had longer ago than is remembered")


def test_games_without_a_seal_are_remembered_and_private_ones_forgotten() -> None:
    old = format_time(NOW)
    running = WatchedGame(table="t", seen=old, version=5, at=old)
    games = {"running": running, "private": WatchedGame(private=True, leaf=5, seen=old)}
    forget(games, pending=(), now=LATER, remember=LONG)
    assert list(games) == ["running"]


def test_a_commitment_used_twice_shows_in_the_seed_and_needs_no_memory() -> None:
    """The commitment binds the game's id: one seed cannot open it for two games."""
    forgery = Forgery(made_game(SECOND))
    forgery.data(0)["commit"] = json.loads(made_game(FIRST)[0])["data"]["commit"]
    lines = list(forgery.lines())
    game = WatchedGame(leaf=len(lines), leaf_head=head(lines[-1]).hex())
    [said] = read_lines(id_of(lines), game, lines)
    assert said.startswith(f"commitment: the seed of game {id_of(lines)} is not")


def test_a_game_that_goes_on_after_its_seal_is_noticed_when_read_anew() -> None:
    forgery = Forgery(made_game(FIRST))
    last = len(forgery.events) - 1
    forgery.insert(last + 1, "turn_passed", {"reason": "no_play", "seat": 0, "turn": 1}, by=0)
    lines = list(forgery.lines())
    said = list(read_lines(ID, WatchedGame(leaf=len(lines)), lines))
    assert said == [f"sealed: game {ID} goes on at seq {last + 1}, after its seal"]


def test_many_finished_games_leave_a_small_state(tmp_path: Path) -> None:
    old = format_time(NOW)
    games = {
        str(UUID(int=n)): WatchedGame(
            table="one table", hand=n + 1, prev=str(UUID(int=n - 1)), seal="game_sealed", seen=old
        )
        for n in range(1, 5000)
    }
    state = MonitorState(games=games)
    forget(state.games, pending=(), now=LATER, remember=LONG)
    save_state(tmp_path / "state", state)
    assert (tmp_path / "state").stat().st_size < 2000
    assert load_state(tmp_path / "state") == state


class Broken:
    """A log whose checkpoint is none."""

    def key_list(self) -> KeyList:
        """Return no keys."""
        return KeyList(keys=())

    def checkpoint(self) -> bytes:
        """Return nothing that could be read."""
        return b"no note"


def test_findings_are_kept_up_to_a_number_and_that_there_were_more_is_too(tmp_path: Path) -> None:
    """A log that lies all day must not fill the disk of who watches it."""
    state = MonitorState(findings=[f"fork: {n}" for n in range(MOST_FINDINGS - 1)])
    broken: Any = Broken()
    watching = Monitor(broken, state, now=lambda: NOW, unsealed_after=timedelta(days=1))
    watching.look()
    assert (len(state.findings), state.more) == (MOST_FINDINGS, False)
    watching.look()
    assert not state.more, "a finding is reported once"
    state.findings[-1] = "something else"
    watching.look()
    assert (len(state.findings), state.more) == (MOST_FINDINGS, True)
    save_state(tmp_path / "state", state)
    assert load_state(tmp_path / "state").more


def test_a_state_of_before_is_read_and_its_games_begin_to_age(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save_state(path, MonitorState(games=seen(FIRST, SECOND)))
    said = json.loads(path.read_text())
    del said["more"]
    for game in said["games"].values():
        del game["seen"]
    path.write_text(json.dumps(said))
    games = load_state(path).games
    forget(games, pending=(), now=NOW, remember=LONG)
    assert len(games) == 2
    forget(games, pending=(), now=LATER, remember=LONG)
    assert len(games) == 1
