"""Moves in the terminal: typed text, wording, rank order, and automatic choice."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from service.bots.simple import GREEDY, LOWEST
from service.cli.choosers import AUTOMATIC
from service.cli.move_menu import moves_in_order, words_of
from service.cli.typed_moves import Unclear, in_own_codes, parse_move
from service.shx.moves import check_move
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
        ("7C 7H", SEVENS),
        ("play 7♣ 7♥", SEVENS),
        ("X1", {"type": "play", "cards": ["X1"]}),
        ("x1", {"type": "play", "cards": ["X1"]}),
        ("10h", {"type": "play", "cards": ["Th"]}),
        ("th", {"type": "play", "cards": ["Th"]}),
        ("10C/2", {"type": "play", "cards": ["Tc/2"]}),
        ("Take kd", {"type": "pick_up", "with": ["Kd"]}),
        ("READY", {"type": "ready"}),
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
    assert parse_move(text, LISTED, swapping=False) == move
    check_move(parse_move(text, LISTED, swapping=False))


def test_an_exchange_is_typed_in_pairs() -> None:
    swap = {"type": "swap", "up": ["Kd", "Ts"], "hand": ["4c", "5h"]}
    assert parse_move("Kd=4c Ts=5h", [], swapping=True) == swap
    assert parse_move("kd=4C 10s=5H", [], swapping=True) == swap
    assert parse_move("ready", [], swapping=True) == {"type": "ready"}


@pytest.mark.parametrize(
    ("text", "own", "cards"),
    [
        ("7c", ["7c/2", "Kd"], ["7c/2"]),
        ("7c 7c", ["7c/2", "7c"], ["7c", "7c/2"]),
        ("7c/2", ["7c/2", "7c"], ["7c/2"]),
        ("10c", ["Tc/3", "Tc/2"], ["Tc/3"]),
        ("9d", ["7c"], ["9d"]),
    ],
)
def test_the_deck_number_of_a_card_may_be_omitted(
    text: str, own: list[str], cards: list[str]
) -> None:
    """A card that the player does not hold is sent as typed, and the service refuses it."""
    assert in_own_codes(parse_move(text, [], swapping=False), own)["cards"] == cards


def test_deck_numbers_may_be_omitted_in_exchanges_and_stacks() -> None:
    swap = parse_move("Kd=4c", [], swapping=True)
    assert in_own_codes(swap, ["Kd/2", "4c/2"]) == {**swap, "up": ["Kd/2"], "hand": ["4c/2"]}
    laid = in_own_codes(parse_move("lay Kd Kd/Ac", [], swapping=False), ["Kd", "Kd/2", "Ac/2"])
    assert laid == {"type": "lay", "stacks": [["Kd", "Kd/2"], ["Ac/2"]]}
    assert in_own_codes({"type": "ready"}, ["Kd"]) == {"type": "ready"}


def test_cards_typed_before_play_are_answered_with_their_codes() -> None:
    for text, code in (("10h", "Th"), ("play 10h", "Th"), ("6C", "6c")):
        with pytest.raises(Unclear, match=rf"^{code} cannot be played before play begins; .*Kd=4c"):
            parse_move(text, [], swapping=True)


@pytest.mark.parametrize(
    ("text", "swapping"),
    [("0", False), ("5", False), ("Kd 4c", True), ("foo", False), ("7x 7h", False), ("11h", False)],
)
def test_input_that_is_no_move_is_explained(text: str, swapping: bool) -> None:
    with pytest.raises(Unclear):
        parse_move(text, LISTED, swapping=swapping)


def test_moves_are_listed_by_rank_with_the_pick_up_last() -> None:
    twos_low = "23456789TJQKA"
    shown = [words_of(move) for move in moves_in_order(LISTED[::-1], twos_low)]
    assert shown == ["play 2s", "play 7c 7h", "play 9d", "take the pile"]
    twos_high = "3456789TJQKA2"
    assert words_of(moves_in_order(LISTED, twos_high)[2]) == "play 2s"


def test_a_pick_up_includes_the_cards_that_must_go_along() -> None:
    """A signed move must be complete, because the server cannot add cards to it."""
    moves = [{"type": "pick_up", "with": ["Kd"]}]
    assert parse_move("take", moves, swapping=False) == moves[0]


def test_automatic_players_are_the_bots_of_the_service_or_take_the_first_move() -> None:
    assert (AUTOMATIC["greedy"], AUTOMATIC["lowest"]) == (GREEDY.choose, LOWEST.choose)
    swap = {"type": "swap", "hand": ["2c"], "up": ["3c"]}
    assert AUTOMATIC["first"]({}, [swap, *LISTED], Random(1)) == LISTED[0], "a swap may be undone"


def test_every_move_that_samples_list_has_words_and_can_be_chosen() -> None:
    entries = json.loads((SAMPLES / "moves.json").read_bytes())
    lists = [entry["moves"] for log in entries.values() for entry in log if entry["moves"]]
    assert len(lists) > 200
    for moves in lists:
        assert all(words_of(move) for move in moves)
        assert AUTOMATIC["first"]({}, moves, Random(1)) in moves
