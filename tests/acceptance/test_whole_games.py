"""Whole games over HTTP by a client written from the contract alone; each verifies at L1."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.client import Client, open_table, play_on, register
from tests.forked_command import run_command
from tests.running import Running

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]
BOTS = ("lowest", "greedy", "random")


@dataclass(frozen=True, kw_only=True)
class TableSize:
    """How many people and bots play at a table."""

    people: int
    bots: int


def sizes(ruleset: str, count: int) -> list[TableSize]:
    """Return tables from the smallest to the largest, every other one with bots."""
    most = 5 if ruleset == "shithead" else 6
    tables = []
    for number in range(count):
        seats = 2 + number % (most - 1)
        bots = min(seats - 1, 1 + number // 2 % 3) if number % 2 else 0
        tables.append(TableSize(people=seats - bots, bots=bots))
    return tables


def play(service: Running, ruleset: str, size: TableSize, rng: random.Random) -> tuple[Client, str]:
    """Play one game to its end, and return a player and the game."""
    people = [register(service.port, f"Player {n}") for n in range(size.people)]
    bots = tuple(rng.choice(BOTS) for _ in range(size.bots))
    game = open_table(people, ruleset=ruleset, bots=bots, window_seconds=0)
    view = play_on(people, game, rng)
    assert view["status"] == "ended"
    assert view["result"]["reason"] in ("shithead", "stalemate")
    return people[0], game


def verify_bundle(player: Client, game: str, folder: Path) -> None:
    """Fetch the bundle without a token, and verify it with `shithead verify`."""
    answer = player.call("GET", f"/v1/games/{game}/evidence?profile=public")
    assert answer.status == 200
    bundle = folder / f"{game}.shx"
    bundle.write_bytes(answer.body)
    checked = run_command(["verify", bundle], environment=os.environ, folder=ROOT)
    assert checked.returncode == 0, (checked.stdout, checked.stderr)
    assert "L1" in checked.stdout, checked.stdout


@pytest.mark.parametrize(
    ("ruleset", "tables"),
    [
        ("shithead", (TableSize(people=2, bots=0), TableSize(people=1, bots=2))),
        ("leeds", (TableSize(people=1, bots=2),)),
        ("covered-queen", (TableSize(people=2, bots=0),)),
    ],
)
def test_games_of_people_and_bots_end_and_verify(
    service: Running, tmp_path: Path, ruleset: str, tables: tuple[TableSize, ...]
) -> None:
    rng = random.Random(f"short {ruleset}")
    for size in tables:
        player, game = play(service, ruleset, size, rng)
        verify_bundle(player, game, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("ruleset", ["shithead", "leeds", "covered-queen"])
def test_twenty_games_of_different_sizes_end_and_verify(
    service: Running, tmp_path: Path, ruleset: str
) -> None:
    rng = random.Random(f"long {ruleset}")
    for size in sizes(ruleset, 20):
        player, game = play(service, ruleset, size, rng)
        verify_bundle(player, game, tmp_path)
