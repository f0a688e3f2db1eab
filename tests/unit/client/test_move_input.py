"""What people type becomes the move they mean; automatic players choose among those listed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.client.move_input import AUTOMATIC, Unclear, typed, words_of
from service.shx.move_signing import check_move
from tests.tamper import SAMPLES

SEVENS = {"type": "play", "cards": ["7c", "7h"]}
LISTED: list[dict[str, Any]] = [
    {"type": "play", "cards": ["9d"]},
    SEVENS,
    {"type": "play", "cards": ["2s"]},
    {"type": "pick_up", "with": []},
]


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("2", SEVENS),
        ("7c 7h", SEVENS),
        ("X1", {"type": "play", "cards": ["X1"]}),
        ("take", {"type": "pick_up", "with": []}),
        ("take Kd", {"type": "pick_up", "with": ["Kd"]}),
        ("down 0", {"type": "play_blind", "slot": 0}),
        ("stock", {"type": "try_stock"}),
        ("pass", {"type": "pass"}),
        ("forfeit", {"type": "forfeit"}),
        ("lay Kd Kh/Ac/Ts", {"type": "lay", "stacks": [["Kd", "Kh"], ["Ac"], ["Ts"]]}),
    ],
)
def test_moves_are_typed_as_numbers_cards_or_words(text: str, move: dict[str, Any]) -> None:
    assert typed(text, LISTED, swapping=False) == move
    check_move(typed(text, LISTED, swapping=False))


def test_an_exchange_is_typed_in_pairs() -> None:
    swap = {"type": "swap", "up": ["Kd", "Ks"], "hand": ["4c", "5h"]}
    assert typed("Kd=4c Ks=5h", [], swapping=True) == swap
    assert typed("ready", [], swapping=True) == {"type": "ready"}


@pytest.mark.parametrize(("text", "swapping"), [("0", False), ("5", False), ("Kd 4c", True)])
def test_what_means_no_move_is_told(text: str, swapping: bool) -> None:
    with pytest.raises(Unclear):
        typed(text, LISTED, swapping=swapping)


def test_a_pick_up_takes_along_what_goes_along_in_any_case() -> None:
    """A signed move is complete, so nothing is left for the server to add."""
    moves = [{"type": "pick_up", "with": ["Kd"]}]
    assert typed("take", moves, swapping=False) == moves[0]


def test_automatic_players_choose_as_they_are_called() -> None:
    chosen = {rule: choose(LISTED) for rule, choose in AUTOMATIC.items()}
    assert chosen == {"first": LISTED[0], "greedy": SEVENS, "lowest": SEVENS}
    single = [LISTED[0], LISTED[2], LISTED[3]]
    assert AUTOMATIC["lowest"](single) == LISTED[0], "a two is kept"
    only = [LISTED[3]]
    assert {choose(only)["type"] for choose in AUTOMATIC.values()} == {"pick_up"}


def test_every_move_that_samples_list_has_words_and_can_be_chosen() -> None:
    entries = json.loads((SAMPLES / "moves.json").read_bytes())
    lists = [entry["moves"] for log in entries.values() for entry in log if entry["moves"]]
    assert len(lists) > 200
    for moves in lists:
        assert all(words_of(move) for move in moves)
        assert all(choose(moves) in moves for choose in AUTOMATIC.values())
