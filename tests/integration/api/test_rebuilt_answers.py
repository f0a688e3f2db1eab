"""Answers to repeated moves are rebuilt from the log, and their rows are small."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest

from tests.client import chosen
from tests.worlds.api_world import Person, World, problem_of

MAX_BYTES = 100
"""Limit of a row's content; a full answer takes two kilobytes."""


def game_of(ada: Person, bob: Person, **more: Any) -> str:
    """Return the path of a hand of two."""
    table = ada.table("open", window_seconds=0, **more)["id"]
    return f"/v1/games/{bob.post(f'/v1/tables/{table}/seats').json['game']}"


def played(ada: Person, bob: Person, path: str) -> list[tuple[Person, Any, Any]]:
    """Play a hand, and return each move with its player and answer."""
    moves: list[tuple[Person, Any, Any]] = []
    chance = random.Random(7)
    while True:
        for person in (ada, bob):
            view = person.get(path).json
            if view["status"] == "ended":
                return moves
            if view["moves"]:
                move = chosen(view["moves"], chance)
                key = {"Idempotency-Key": f"move-{len(moves)}"}
                answer = person.post(f"{path}/moves", move, headers=key)
                assert answer.status_code == 201, answer.text
                moves.append((person, move, answer))


@pytest.fixture
def hand(ada: Person, bob: Person) -> tuple[str, list[tuple[Person, Any, Any]]]:
    """Return a hand that has been played, with all its moves."""
    path = game_of(ada, bob)
    return path, played(ada, bob, path)


def test_every_repeated_move_of_a_hand_gets_its_first_answer(
    world: World, hand: tuple[str, list[tuple[Person, Any, Any]]]
) -> None:
    """After the seal each answer still has the version, hand and legal moves of its time."""
    path, moves = hand
    for number, (person, move, first) in enumerate(moves):
        if number % 9 and number < len(moves) - 2:
            continue
        key = {"Idempotency-Key": f"move-{number}"}
        again = person.post(f"{path}/moves", move, headers=key)
        assert again.status_code == first.status_code
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.headers["ETag"] == first.headers["ETag"]
        assert again.json == first.json
        other = person.post(f"{path}/moves", {"type": "forfeit"}, headers=key)
        assert problem_of(other) == "idempotency-conflict"


def test_a_row_holds_neither_cards_nor_the_answer(
    database_url: str, world: World, hand: tuple[str, list[tuple[Person, Any, Any]]]
) -> None:
    _, moves = hand
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT sealed FROM answers WHERE substr(sealed, 1, 4) = 'log:'::bytea"
        ).fetchall()
    assert len(rows) == len(moves)
    assert max(len(row[0]) for row in rows) <= MAX_BYTES
    assert not any(b'"cards"' in row[0] for row in rows)


def test_a_repeated_entropy_is_answered_from_the_log_as_well(ada: Person, bob: Person) -> None:
    path = game_of(ada, bob, entropy="value")
    body, key = {"value": "ab" * 32}, {"Idempotency-Key": "entropy"}
    first = ada.post(f"{path}/entropy", body, headers=key)
    assert first.status_code == 201, first.text
    ada.post(f"{path}/moves", {"type": "ready"})
    again = ada.post(f"{path}/entropy", body, headers=key)
    assert again.json == first.json
    assert again.headers["Idempotency-Replayed"] == "true"
