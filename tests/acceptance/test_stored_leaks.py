"""Stored data, metrics and logs of a running game reveal no more than its log."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import prometheus_client
import psycopg
import pytest
from psycopg import sql
from structlog.testing import capture_logs

from service.domain.game import Status
from service.domain.legal import may_act
from service.rulesets.catalogue import catalogue
from tests.acceptance.test_leaks import people_at
from tests.databases import Databases
from tests.indistinguishable_decks import (
    DIGITS,
    Deck,
    Service,
    Step,
    changed,
    dealt,
    dealt_at,
    json_of,
    twins_of,
)
from tests.worlds.fake_world import legal, lines_of

pytestmark = pytest.mark.heavy

FIRST = ("shithead", "covered-queen", "threes")
OTHERS = tuple(identity for identity in catalogue() if identity not in FIRST)
RULESETS = (*FIRST, *(pytest.param(other, marks=pytest.mark.long) for other in OTHERS))
STEPS = 8

BY_CHANCE = {
    *(("answers", "created_at"), ("outbox", "created_at"), ("players", "created_at")),
    *(("refusals", "refusal_id"), ("readings", "reading_id")),
    *(("tokens", "token_id"), ("tokens", "used_on")),
}
"""Columns that the database fills in by itself."""

Stored = dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class StoredData:
    """The data of a game on the server besides its log."""

    stored: Stored
    counted: dict[str, float]
    logged: list[dict[str, Any]]
    woken: list[Any]


@dataclass(frozen=True, kw_only=True)
class Act:
    """A move that a person makes or attempts, and the status of the answer."""

    step: Step
    status: int


def fill(service: Service, rng: random.Random) -> tuple[list[Act], list[Step]]:
    """Play at random, with refused attempts in between; return the acts of people and all moves."""
    acts: list[Act] = []
    moves = service.let_bots()
    for _ in range(STEPS):
        game = service.entry_game()
        if game.over:
            break
        tried = Step(
            seat=rng.randrange(service.people),
            move={"type": "play", "cards": [rng.choice(sorted(game.deck))]},
        )
        steps = [tried]
        people = [(s, legal(service.services, service.game, s)) for s in range(service.people)]
        able = [(seat, listed) for seat, listed in people if listed]
        if able:
            seat, listed = rng.choice(able)
            ready = [move for move in listed if move["type"] == "ready"]
            steps.append(Step(seat=seat, move=(ready or [rng.choice(listed)])[0]))
        for step in steps:
            status = service.make(step).status
            acts.append(Act(step=step, status=status))
            if status == 201:
                moves.append(step)
        moves += service.let_bots()
        observe(service)
    return acts, moves


def observe(service: Service) -> None:
    """Let every player request a view so that the answer with its legal moves is stored."""
    for seat in range(service.people):
        key = {"Idempotency-Key": f"look-{len(service.made)}"}
        service.ask("POST", f"/v1/games/{service.game}/back", seat, key, json={})


def repeat(service: Service, acts: Sequence[Act]) -> bool:
    """Repeat the acts; return whether the same ones were accepted."""
    service.let_bots()
    for act in _in_turns(acts):
        for one in act:
            if (service.make(one.step).status == 201) != (one.status == 201):
                return False
        service.let_bots()
        observe(service)
    return True


def _in_turns(acts: Sequence[Act]) -> Iterator[Sequence[Act]]:
    """Yield the acts between two rounds of the bots: an attempt, and usually a move."""
    at = 0
    while at < len(acts):
        yield acts[at : at + 2]
        at += 2


def public_log(service: Service) -> list[bytes]:
    """Return the log as everybody reads it, without the digits of hashes."""
    return [DIGITS.sub(b"#", line) for line in lines_of(service.services, service.game)]


def play_over(
    ruleset: str, people: int, deck: Deck | None, acts: Sequence[Act], url: str
) -> StoredData:
    """Play a game over a database, and return the stored data."""
    before = metrics()
    with capture_logs() as logged, dealt_at(url, ruleset, people, deck, bots=("lowest",)) as game:
        assert repeat(game, acts)
    for line in logged:
        line.pop("milliseconds", None)
    after = metrics()
    return StoredData(
        stored=stored(url),
        counted={name: value - before.get(name, 0) for name, value in after.items()},
        logged=[dict(line) for line in logged],
        woken=[*game.notifier.woken, *game.notifier.announced],
    )


def metrics() -> dict[str, float]:
    """Return all metrics except those of time and of the process."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for metric in prometheus_client.REGISTRY.collect()
        if metric.name.startswith("shithead")
        for sample in metric.samples
        if not sample.name.endswith(("_created", "_bucket", "_sum"))
    }


def stored(url: str) -> Stored:
    """Return the rows of every table; bytes outside the events are replaced by their length."""
    found: Stored = {}
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
        for (table,) in tables:
            cursor = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)))
            columns = [column.name for column in cursor.description or ()]
            found[table] = sorted(
                " ".join(
                    f"{name}={_shown(table, name, value)}"
                    for name, value in zip(columns, row, strict=True)
                )
                for row in cursor
            )
    return {table: rows for table, rows in found.items() if not table.startswith("applied_")}


def _shown(table: str, column: str, value: Any) -> str:
    if (table, column) in BY_CHANCE:
        return "by chance"
    if isinstance(value, bytes | memoryview) and table != "events":
        return f"{len(bytes(value))} bytes"
    raw = bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
    return DIGITS.sub(b"#", raw).decode()


@pytest.fixture
def urls(databases: Databases) -> Iterator[tuple[str, str]]:
    """Return two databases."""
    with databases.lent() as one, databases.lent() as other:
        yield one, other


def twin_game(databases: Databases, ruleset: str, people: int) -> tuple[Deck, Deck, list[Act]]:
    """Return a deck, another with the same public log, and the acts of both games."""
    for seed in range(20):
        rng = random.Random(f"stored {ruleset} {seed}")
        with dealt(databases, ruleset, people, bots=("lowest",)) as first:
            acts, moves = fill(first, rng)
            log, deck = public_log(first), first.entry_game().deck
            twins = sorted(twins_of(first, moves, None, rng), key=lambda twin: -changed(twin, deck))
        for twin in twins:
            with dealt(databases, ruleset, people, twin, bots=("lowest",)) as second:
                if repeat(second, acts) and public_log(second) == log:
                    return deck, twin, acts
    raise AssertionError("no twin: the test would show nothing")


@pytest.mark.parametrize("ruleset", RULESETS)
def test_two_games_that_look_equal_to_the_public_leave_equal_stored_data(
    databases: Databases, ruleset: str, urls: tuple[str, str]
) -> None:
    """The database with its answers and attempts, metrics, logs and wake-ups are equal."""
    people = max(2, people_at(ruleset) - 1)
    deck, twin, acts = twin_game(databases, ruleset, people)
    one = play_over(ruleset, people, deck, acts, urls[0])
    other = play_over(ruleset, people, twin, acts, urls[1])
    assert one.stored["answers"]
    assert one.stored["refusals"]
    for table, rows in one.stored.items():
        assert rows == other.stored[table], table
    assert one.counted == other.counted
    assert one.logged == other.logged
    assert one.woken == other.woken


def at_the_opening(service: Service) -> list[Act]:
    """Make every player ready, and stop before the end of the bots' window."""
    service.services.turns.play_due_moves(service.game, len(public_log(service)))
    ready = [Step(seat=seat, move={"type": "ready"}) for seat in range(service.people)]
    return [Act(step=step, status=service.make(step).status) for step in ready]


@pytest.mark.parametrize("ruleset", ["threes", "threes-house"])
def test_stored_data_does_not_reveal_whether_a_bot_may_open(
    databases: Databases, ruleset: str, urls: tuple[str, str]
) -> None:
    found: dict[bool, tuple[Deck, list[bytes]]] = {}
    with dealt(databases, ruleset, 2, bots=("lowest",)) as service:
        at_the_opening(service)
        decks = list(twins_of(service, [], None, random.Random(ruleset)))
    for deck in decks:
        if len(found) == 2:
            break
        with dealt(databases, ruleset, 2, deck, bots=("lowest",)) as service:
            at_the_opening(service)
            game = service.entry_game()
            if game.status is Status.PLAYING:
                found.setdefault(may_act(game, 2), (deck, public_log(service)))
    assert set(found) == {True, False}
    assert found[True][1] == found[False][1]
    left_behind = []
    for url, (deck, _) in zip(urls, found.values(), strict=True):
        with dealt_at(url, ruleset, 2, deck, bots=("lowest",)) as service:
            at_the_opening(service)
        left_behind.append((stored(url), service.notifier.woken, service.notifier.announced))
    assert left_behind[0] == left_behind[1]


def test_an_attempt_out_of_turn_stores_the_same_as_an_illegal_one_but_for_its_status(
    databases: Databases,
) -> None:
    """
    The status tells whether it was the seat's turn, which is public, and nothing tells the seat.

    Where the hidden hand decides about the turn, the status is the same (`test_calls.py`).
    """
    with dealt(databases, "leeds", 2) as service:
        for seat in range(2):
            service.make(Step(seat=seat, move={"type": "ready"}))
        on_turn = service.entry_game().turn
        assert on_turn is not None
        hand = service.entry_game().seats[1 - on_turn].hand
        refused, left_behind = [], []
        for seat in (on_turn, 1 - on_turn):
            before = metrics()
            with capture_logs() as logged:
                answer = service.make(Step(seat=seat, move={"type": "play", "cards": [hand[0]]}))
            refused.append((answer.status, json_of(answer)["type"]))
            counts = {n: v - before.get(n, 0) for n, v in metrics().items() if "requests" in n}
            [line] = logged
            assert line.pop("status") == answer.status
            shown = {
                name.replace(f"'{answer.status}'", "its status") for name, v in counts.items() if v
            }
            left_behind.append((shown, {**line, "milliseconds": 0}))
        assert refused == [(422, "/problems/rule-refused"), (409, "/problems/not-your-turn")]
        assert left_behind[0] == left_behind[1]
        attempts = service.services.directory.refusals(service.game)
        assert [attempt.seat for attempt in attempts] == [on_turn, 1 - on_turn]
        assert len({len(attempt.sealed) for attempt in attempts}) == 1
        [known] = service.services.auditing.refusals.of(service.game)
        assert known["seat"] == on_turn
