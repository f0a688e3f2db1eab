"""Findings of a monitor about the games of a log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from service.public_log.log_client import ListedGame
from service.public_log.monitor import (
    Games,
    as_json,
    check_tables,
    from_json,
    left_out,
    note_leaf,
    read_lines,
)
from service.shx.canonical import format_time
from service.shx.chain import decode_event, head
from service.shx.receipts import Receipt
from tests.random_games import Plan, made_game

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def seen(*plans: Plan) -> Games:
    """Return games whose leaves and events a monitor has read."""
    games: Games = {}
    for plan in plans:
        lines = made_game(plan)
        identity = id_of(lines)
        for seq in (0, len(lines) - 1):
            assert list(note_leaf(games, leaf(identity, seq, lines[seq]), NOW)) == []
        assert list(read_lines(identity, games[identity], lines)) == []
        assert games[identity].leaves == {}
    return games


def id_of(lines: list[bytes]) -> str:
    return str(decode_event(lines[0])["game"])


def leaf(game: str, seq: int, line: bytes) -> Receipt:
    return Receipt(origin="cards.example", game=UUID(game), seq=seq, head=head(line))


def kinds(games: Games) -> set[str]:
    return {finding.partition(":")[0] for finding in check_tables(games, list(games))}


FIRST = Plan(name="one", hand=1)
LINES = made_game(FIRST)
ID = id_of(LINES)
SECOND = Plan(name="two", hand=2, dealer=0, prev_game=ID)


def test_consecutive_hands_have_no_finding() -> None:
    assert kinds(seen(FIRST, SECOND)) == set()
    aborted = Plan(name="one", hand=1, abort=True)
    assert kinds(seen(aborted, Plan(name="again", hand=1, prev_game=ID))) == set()


@pytest.mark.attack(
    "RE_ROLL",
    "a hand in the public log that the table does not list",
    check="monitor",
    needs="WITNESS",
)
@pytest.mark.heavy
@pytest.mark.parametrize(
    "plans",
    [
        [FIRST, Plan(name="two", hand=3, dealer=0, prev_game=ID)],
        [FIRST, Plan(name="two", hand=1, dealer=0, prev_game=ID)],
        [SECOND],
        [Plan(name="two", hand=2, dealer=0)],
        [FIRST, SECOND, Plan(name="three", hand=2, dealer=0, prev_game=ID)],
        [FIRST, Plan(name="two", hand=1)],
        [Plan(name="one", hand=1, stop=3), SECOND],
        [FIRST, Plan(name="two", hand=2, dealer=0, prev_game=ID, table=ID)],
    ],
)
def test_a_missing_repeated_or_misplaced_hand_is_found(plans: list[Plan]) -> None:
    assert kinds(seen(*plans)) == {"hands"}


def test_a_server_commitment_used_twice_is_found() -> None:
    games = seen(FIRST, SECOND)
    one, two = games.values()
    two.commit = one.commit
    assert kinds(games) == {"commitment"}


def test_repeated_unordered_or_late_leaves_are_found() -> None:
    games = seen(FIRST)
    last = len(LINES) - 1
    cases = [
        (leaf(ID, 0, LINES[0]), "order"),
        (leaf(ID, last, LINES[last]), "twice"),
        (leaf(ID, last, b"other"), "twice"),
        (leaf(ID, last + 1, b"other"), "sealed"),
    ]
    for receipt, kind in cases:
        [finding] = note_leaf(games, receipt, NOW)
        assert finding.startswith(f"{kind}:")


@pytest.mark.attack(
    "EQUIVOCATION", "a head that differs from the public log", check="monitor", needs="WITNESS"
)
def test_a_head_that_differs_from_the_leaf_is_a_fork() -> None:
    games: Games = {}
    assert list(note_leaf(games, leaf(ID, 5, b"another event"), NOW)) == []
    findings = list(read_lines(ID, games[ID], LINES))
    assert [one.partition(":")[0] for one in findings] == ["fork"]
    assert games[ID].version == 6, "the events up to the leaf"


@pytest.mark.parametrize("change", ["drop", "swap", "edit", "garbage"])
def test_changed_events_are_found(change: str) -> None:
    lines = list(LINES)
    match change:
        case "drop":
            del lines[3]
        case "swap":
            lines[3], lines[4] = lines[4], lines[3]
        case "edit":
            lines[3] = lines[3].replace(b'"seat":0', b'"seat":1').replace(b'"by":0', b'"by":1')
            lines[3] = lines[3].replace(b"2026-", b"2027-")
        case _:
            lines[3] = b"{}"
    games: Games = {}
    list(note_leaf(games, leaf(ID, len(LINES) - 1, LINES[-1]), NOW))
    findings = list(read_lines(ID, games[ID], lines))
    assert len(findings) == 1
    assert findings[0].startswith(("fork:", "events:"))


def test_the_state_is_the_same_after_saving_and_loading() -> None:
    import json

    games = seen(FIRST, SECOND)
    list(note_leaf(games, leaf(str(UUID(int=1)), 4, b"x"), NOW))
    assert from_json(json.loads(json.dumps(as_json(games)))) == games


@pytest.mark.parametrize(
    ("age", "is_reported"),
    [
        (timedelta(minutes=10), False),
        (timedelta(minutes=10, seconds=1), True),
        (timedelta(days=7, seconds=-1), True),
        (timedelta(days=7), False),
    ],
)
def test_a_listed_game_without_a_leaf_is_reported_from_ten_minutes_to_seven_days(
    age: timedelta, is_reported: bool
) -> None:
    """Each deal is logged at once; older games may have left the state of the monitor."""
    listed = ListedGame(id=ID, created_at=format_time(NOW - age))
    assert [line.partition(":")[0] for line in left_out([listed], {}, NOW)] == [
        "stale"
    ] * is_reported
    assert list(left_out([listed], {ID}, NOW)) == []
