"""A monitor drops finished games from its state without missing a fault."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from service.public_log.monitor import (
    MAX_FINDINGS,
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


def retained(*plans: Plan) -> Games:
    """Return the games that a monitor still retains long after their end."""
    games = seen(*plans)
    forget(games, pending=(), now=LATER, remember=LONG)
    return games


def test_the_last_game_of_a_table_is_retained_and_earlier_ones_are_dropped() -> None:
    assert list(retained(FIRST, SECOND, THIRD)) == [id_of(made_game(THIRD))]
    assert len(seen(FIRST, SECOND)) == 2
    games = seen(FIRST, SECOND)
    forget(games, pending=(), now=NOW, remember=LONG)
    assert len(games) == 2, "recent games are retained"
    forget(games, pending=[ID], now=LATER, remember=LONG)
    assert len(games) == 2, "pending games are retained"


def test_the_next_hand_of_a_table_is_accepted_after_a_long_pause() -> None:
    games = retained(FIRST, SECOND)
    games |= seen(THIRD)
    assert list(check_tables(games, [id_of(made_game(THIRD))])) == []


def test_a_hand_dealt_twice_is_found_after_the_first_was_dropped() -> None:
    """An operator gains nothing by waiting until the monitor has dropped a game."""
    games = retained(FIRST, SECOND, THIRD)
    games |= seen(DOUBLE)
    [finding] = check_tables(games, [id_of(made_game(DOUBLE))])
    assert finding.startswith("hands: ")
    assert finding.endswith("was dropped by this monitor because hand 3 followed it")


def test_a_table_that_continues_after_its_games_were_dropped_is_reported() -> None:
    games = seen(FIRST, SECOND)
    forget(games, pending=(), now=NOW + LONG + timedelta(days=1), remember=LONG)
    assert games == {}
    games |= seen(THIRD)
    [finding] = check_tables(games, list(games))
    assert finding.endswith("was dropped by this monitor because of its age")


def test_games_without_a_seal_are_retained_and_private_ones_dropped() -> None:
    old = format_time(NOW)
    running = WatchedGame(table="t", seen=old, version=5, at=old)
    games = {"running": running, "private": WatchedGame(private=True, leaf=5, seen=old)}
    forget(games, pending=(), now=LATER, remember=LONG)
    assert list(games) == ["running"]


def test_a_reused_commitment_is_found_by_its_seed_without_earlier_games() -> None:
    """The commitment binds the game's id: one seed cannot open it for two games."""
    forgery = Forgery(made_game(SECOND))
    forgery.data(0)["commit"] = json.loads(made_game(FIRST)[0])["data"]["commit"]
    lines = list(forgery.lines())
    game = WatchedGame(leaf=len(lines), leaf_head=head(lines[-1]).hex())
    [finding] = read_lines(id_of(lines), game, lines)
    assert finding.startswith(f"commitment: the seed of game {id_of(lines)} does not match")


def test_an_event_after_the_seal_is_found_when_a_game_is_read_again() -> None:
    forgery = Forgery(made_game(FIRST))
    last = len(forgery.events) - 1
    forgery.insert(last + 1, "turn_passed", {"reason": "no_play", "seat": 0, "turn": 1}, by=0)
    lines = list(forgery.lines())
    findings = list(read_lines(ID, WatchedGame(leaf=len(lines)), lines))
    assert findings == [f"sealed: game {ID} has an event after its seal, at seq {last + 1}"]


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
    """A log that serves an invalid checkpoint."""

    def key_list(self) -> KeyList:
        """Return no keys."""
        return KeyList(keys=())

    def checkpoint(self) -> bytes:
        """Return bytes that are not a signed note."""
        return b"no note"


def test_the_number_of_saved_findings_is_limited(tmp_path: Path) -> None:
    """A faulty log must not fill the disk of the monitor."""
    state = MonitorState(findings=[f"fork: {n}" for n in range(MAX_FINDINGS - 1)])
    broken: Any = Broken()
    watching = Monitor(broken, state, now=lambda: NOW, unsealed_after=timedelta(days=1))
    watching.poll()
    assert (len(state.findings), state.more) == (MAX_FINDINGS, False)
    watching.poll()
    assert not state.more, "a finding is reported once"
    state.findings[-1] = "something else"
    watching.poll()
    assert (len(state.findings), state.more) == (MAX_FINDINGS, True)
    save_state(tmp_path / "state", state)
    assert load_state(tmp_path / "state").more


def test_games_in_a_state_of_an_earlier_release_age_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save_state(path, MonitorState(games=seen(FIRST, SECOND)))
    saved = json.loads(path.read_text())
    del saved["more"]
    for game in saved["games"].values():
        del game["seen"]
    path.write_text(json.dumps(saved))
    games = load_state(path).games
    forget(games, pending=(), now=NOW, remember=LONG)
    assert len(games) == 2
    forget(games, pending=(), now=LATER, remember=LONG)
    assert len(games) == 1
