"""The check `sequence`: findings from one log of a table, and from several together."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from uuid import UUID

import pytest

from tests.random_games import START, Plan, made_game
from tests.tamper import Forgery
from tests.unit.cli.conftest import CommandOutput

Run = Callable[..., CommandOutput]
Lines = tuple[bytes, ...]
OTHER_TABLE = str(UUID(int=77))
ELSEWHERE = str(UUID(int=78))


def plan(name: str, **changes: object) -> Plan:
    days = {"first": 0, "again": 1, "second": 2, "third": 3}.get(name, 4)
    return replace(Plan(name=name, start=START + timedelta(days=days)), **changes)  # type: ignore[arg-type] # fields of Plan


def game_of(lines: Lines) -> str:
    return str(json.loads(lines[0])["game"])


def dealer_after(lines: Lines) -> int:
    """Return the next dealer: the shithead, or after a stalemate the same seat."""
    dealt = next(json.loads(line)["data"] for line in lines if b'"cards_dealt"' in line)
    shithead = json.loads(lines[-2])["data"]["shithead"]
    return int(dealt["dealer"] if shithead is None else shithead)


@cache
def hands() -> tuple[Lines, Lines]:
    """Return the first two hands of a table."""
    first = made_game_of("first")
    return first, made_game_of("second", hand=2, dealer=dealer_after(first), after=first)


def made_game_of(name: str, *, after: Lines | None = None, **changes: object) -> Lines:
    if after is not None:
        changes["prev_game"] = game_of(after)
    return tuple(made_game(plan(name, **changes)))


def sequence(run: Run, folder: Path, *games: Lines) -> tuple[int, list[dict[str, object]]]:
    """Return the exit status for some logs, and the check `sequence` of each."""
    files = []
    for number, lines in enumerate(games):
        files.append(folder / f"{number}.jsonl")
        files[-1].write_bytes(b"\n".join(lines) + b"\n")
    status, out, _ = run("verify", "--json", *files)
    reports = json.loads(out)
    found = [reports] if len(games) == 1 else reports
    checks = [c for report in found for c in report["checks"] if c["check"] == "sequence"]
    return status, checks


def fails(run: Run, folder: Path, *games: Lines) -> str:
    """Return the reason of the failed check `sequence` of the first game."""
    status, [check, *_] = sequence(run, folder, *games)
    assert (status, check["result"], check["seq"]) == (1, "fail", 0)
    return str(check["reason"])


DEALER_CHOSEN = "The dealer of a table’s first hand is drawn by lot, but here one was chosen."


@pytest.mark.attack(
    "WRONG_DEALER", "a chosen dealer of hand 1 with a predecessor", check="sequence"
)
@pytest.mark.parametrize("prev_game", [None, ELSEWHERE])
def test_a_chosen_dealer_of_hand_1_fails_with_any_predecessor(
    shithead: Run, tmp_path: Path, prev_game: str | None
) -> None:
    lines = made_game_of("chosen", dealer=1, prev_game=prev_game)
    assert fails(shithead, tmp_path, lines) == DEALER_CHOSEN


def test_a_chosen_dealer_of_a_second_attempt_at_hand_1_fails(shithead: Run, tmp_path: Path) -> None:
    aborted = made_game_of("again", abort=True)
    lines = made_game_of("chosen", dealer=1, after=aborted)
    assert DEALER_CHOSEN in fails(shithead, tmp_path, lines, aborted)


@pytest.mark.attack("DROP", "a later hand without a predecessor", check="sequence")
def test_a_later_hand_without_a_game_before_it_fails(shithead: Run, tmp_path: Path) -> None:
    lines = made_game_of("second", hand=2, dealer=1)
    assert fails(shithead, tmp_path, lines) == (
        "This is hand 2 of its table, but it does not name the hand before it."
    )


@pytest.mark.parametrize(("hand", "why"), [(1, "open.first_after"), (2, "open.drawn")])
def test_a_missing_predecessor_is_noted_and_lowers_no_level(
    shithead: Run, tmp_path: Path, hand: int, why: str
) -> None:
    lines = made_game_of("second", hand=hand, prev_game=ELSEWHERE)
    status, [check] = sequence(shithead, tmp_path, lines)
    assert (status, check["result"]) == (0, "missing")
    assert check["code"] == why and ELSEWHERE in str(check["values"])
    out = shithead("verify", tmp_path / "0.jsonl")[1]
    assert "sequence     missing  The " in out
    assert "no evidence of tampering, level L1" in out


def test_a_later_hand_with_a_chosen_dealer_passes_alone(shithead: Run, tmp_path: Path) -> None:
    status, [check] = sequence(shithead, tmp_path, hands()[1])
    assert (status, check["result"]) == (0, "n/a")


def test_two_hands_of_a_table_pass_together(shithead: Run, tmp_path: Path) -> None:
    status, checks = sequence(shithead, tmp_path, *hands())
    assert (status, [check["result"] for check in checks]) == (0, ["pass", "pass"])


@pytest.mark.attack(
    "RE_ROLL", "a predecessor from another table", check="sequence", needs="OTHER_LOG"
)
def test_a_game_of_another_table_before_it_fails(shithead: Run, tmp_path: Path) -> None:
    first, _ = hands()
    lines = made_game_of(
        "second", hand=2, dealer=dealer_after(first), after=first, table=OTHER_TABLE
    )
    assert "a game of another table" in fails(shithead, tmp_path, lines, first)


@pytest.mark.attack(
    "WRONG_DEALER", "a drawn dealer of a later hand", check="sequence", needs="OTHER_LOG"
)
def test_a_drawn_dealer_of_a_hand_after_another_fails(shithead: Run, tmp_path: Path) -> None:
    first, _ = hands()
    lines = made_game_of("second", hand=2, after=first)
    due = dealer_after(first)
    drawn = f"was drawn by lot, but the rules give the deal to seat {due + 1}."
    assert drawn in fails(shithead, tmp_path, lines, first)


@pytest.mark.attack(
    "CLOCK", "a changed turn limit or clock in a later hand", check="sequence", needs="OTHER_LOG"
)
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"turn_limit": 1199}, "The turn limit was 1200 in hand 1"),
        (
            {"clock": {"turn_seconds": 30, "swap_seconds": 60}},
            "for the exchange and in reserve were - in hand 1",
        ),
    ],
)
def test_a_changed_turn_limit_or_clock_fails(
    shithead: Run, tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    first, _ = hands()
    dealer = dealer_after(first)
    lines = made_game_of("second", hand=2, dealer=dealer, after=first, **change)
    assert sentence in fails(shithead, tmp_path, first, lines)
    assert sentence in fails(shithead, tmp_path, lines, first)


@pytest.mark.attack(
    "DROP", "a missing hand between two others", check="sequence", needs="OTHER_LOG"
)
def test_a_missing_hand_fails(shithead: Run, tmp_path: Path) -> None:
    first, second = hands()
    third = made_game_of("third", hand=3, dealer=dealer_after(second), after=second)
    assert "A game is missing" in fails(shithead, tmp_path, first, third)
    skipped = made_game_of("third", hand=3, dealer=dealer_after(first), after=first)
    assert fails(shithead, tmp_path, first, skipped) == (
        "Hand 3 follows hand 1. It should be hand 2."
    )


def test_games_that_follow_one_another_in_a_circle_fail(shithead: Run, tmp_path: Path) -> None:
    second = made_game_of("second", hand=2, dealer=1)
    third = made_game_of("third", hand=3, dealer=1, after=second)
    circular = made_game_of("second", hand=2, dealer=1, after=third)
    assert game_of(circular) == game_of(second)
    reason = fails(shithead, tmp_path, circular, third)
    assert reason.startswith("The links between the games form a circle.")


def test_two_first_hands_of_a_table_fail(shithead: Run, tmp_path: Path) -> None:
    first, rival = made_game_of("first"), made_game_of("again")
    sentence = "Two games of one table follow no other game: "
    assert fails(shithead, tmp_path, first, rival).startswith(sentence)


@pytest.mark.attack(
    "RE_ROLL", "two games with one predecessor at two tables", check="sequence", needs="OTHER_LOG"
)
def test_games_with_the_same_predecessor_fail_even_at_two_tables(
    shithead: Run, tmp_path: Path
) -> None:
    first, second = hands()
    dealer = dealer_after(first)
    for table in (None, OTHER_TABLE):
        where = {} if table is None else {"table": table}
        rival = made_game_of("rival", hand=2, dealer=dealer, after=first, **where)
        sentence = f"Two games follow game {game_of(first)}: "
        assert sentence in fails(shithead, tmp_path, second, rival)
        assert sentence in fails(shithead, tmp_path, rival, second)


@pytest.mark.attack(
    "REUSED_SEED",
    "a server commitment used twice, at two tables",
    check="sequence",
    needs="OTHER_LOG",
)
@pytest.mark.parametrize("table", [None, OTHER_TABLE])
def test_a_server_commitment_used_twice_fails_at_any_table(
    shithead: Run, tmp_path: Path, table: str | None
) -> None:
    first, second = hands()
    forgery = Forgery(second)
    forgery.data(0)["commit"] = json.loads(first[0])["data"]["commit"]
    if table is not None:
        forgery.data(0).update(table=table, prev_game=ELSEWHERE)
    twice = "One promise of the server is used twice"
    assert twice in fails(shithead, tmp_path, first, forgery.lines())


@pytest.mark.attack(
    "RE_ROLL", "an aborted attempt hidden by another failure", check="sequence", needs="OTHER_LOG"
)
def test_aborted_attempts_are_listed_even_if_a_check_fails(shithead: Run, tmp_path: Path) -> None:
    aborted = made_game_of("first", abort=True)
    again = made_game_of("again", abort=True, after=aborted)
    second = made_game_of("second", after=again)
    listed = [f"Game {game_of(one)} was broken off (operator)." for one in (aborted, again)]
    status, [check, *_] = sequence(shithead, tmp_path, second, again, aborted)
    assert (status, check["result"], check["reason"]) == (0, "pass", " ".join(listed))
    wrong = made_game_of("second", after=again, dealer=0)
    reason = fails(shithead, tmp_path, wrong, again, aborted)
    assert all(one in reason for one in listed)
    status, [check, *_] = sequence(shithead, tmp_path, second, again)
    assert (status, check["result"]) == (0, "missing")
    assert listed[1] in str(check["reason"])
