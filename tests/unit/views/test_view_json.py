"""The view of a game as JSON."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import ValidationError

from schemas.views import GameViewSchema, ViewFacts, view_json
from service.domain.commands import Play
from service.domain.events import (
    AbortCause,
    Clock,
    EndReason,
    Entropy,
    EntropyCommitted,
    GameAborted,
    GameCreated,
    GameEnded,
    SeatSetup,
)
from service.domain.evolve import evolve, fold
from service.domain.game import Game, SeatState, Status, new_game
from service.domain.legal import legal_moves
from service.domain.view import ALL, Viewer, seen_by
from tests.changed import replace
from tests.examples import examples
from tests.unit.playing import RULESETS, cards, created, play, rules, seat_counts

ID = "528c9a92-6e09-40f9-ac4e-4c01aef56252"
FACTS = ViewFacts(id=ID, head="ab" * 32, ruleset_hash="cd" * 32)


def table(identity: str, pile: str, *, covering: bool = False) -> Game:
    game = new_game(created(rules(identity), 2))
    return replace(game, status=Status.PLAYING, pile=cards(pile), turn=0, covering=covering)


def demand(identity: str, pile: str, *, covering: bool = False) -> Any:
    return view_json(table(identity, pile, covering=covering), None, FACTS)["demand"]


def test_a_view_has_the_documented_fields() -> None:
    first = replace(
        created(rules("shithead"), 2),
        clock=Clock(turn_seconds=30, swap_seconds=60),
        seats=(
            SeatSetup(kind="human", bot=None, key="a2V5", entropy=Entropy.COMMIT),
            SeatSetup(kind="bot", bot="greedy", key=None, entropy=Entropy.NONE),
        ),
    )
    game = replace(
        new_game(first),
        version=31,
        status=Status.PLAYING,
        seats=(
            SeatState(
                hand=cards("Th 4d 9s"),
                known=cards("9s"),
                up=(cards("Kd Kh"), (), cards("Ac")),
                down=(0, None, 4),
                ready=True,
            ),
            SeatState(hand=cards("5c"), up=((), (), ()), down=(1, 3, 5), ready=True, place=1),
        ),
        deck=cards("2c 3c 4c"),
        stock=(1, 2),
        pile=cards("7h 7c"),
        burned=cards("Ts"),
        dealer=1,
        direction=-1,
        turn=0,
    )
    facts = replace(
        FACTS,
        names=("Ada", None),
        stand_ins=frozenset({0}),
        deadline="2026-11-21T02:46:02.356877Z",
        reserve_from="2026-11-21T02:46:01.356877Z",
        reserves=(1, 0),
        window_until=None,
    )
    moves = (Play(seat=0, cards=cards("9s")),)
    assert view_json(seen_by(game, 0), 0, facts, moves) == {
        "id": ID,
        "table": first.table,
        "hand": 1,
        "ruleset": {"id": "shithead", "ruleset_hash": "cd" * 32, "options": {}},
        "status": "playing",
        "version": 31,
        "head": "ab" * 32,
        "as": 0,
        "dealer": 1,
        "turn": 0,
        "direction": -1,
        "deadline": "2026-11-21T02:46:02.356877Z",
        "reserve_from": "2026-11-21T02:46:01.356877Z",
        "window_until": None,
        "clock": {"turn_seconds": 30, "swap_seconds": 60, "reserve_seconds": 0},
        "commit": "00" * 32,
        "prev_game": None,
        "setup": None,
        "stock": 2,
        "pile": ["7h", "7c"],
        "demand": {
            "kind": "at_least",
            "rank": "7",
            "ranks": ["2", "7", "8", "9", "T", "J", "Q", "K", "A"],
            "besides": ["2"],
        },
        "burned": ["Ts"],
        "seats": [
            {
                "seat": 0,
                "name": "Ada",
                "kind": "human",
                "bot": None,
                "stand_in": True,
                "reserve_seconds": 1,
                "agrees_end": False,
                "key": True,
                "entropy": "commit",
                "ready": True,
                "out": None,
                "hand": {"count": 3, "cards": ["4d", "9s", "Th"], "known": ["9s"]},
                "up": [["Kd", "Kh"], [], ["Ac"]],
                "down": [True, False, True],
            },
            {
                "seat": 1,
                "name": None,
                "kind": "bot",
                "bot": "greedy",
                "stand_in": False,
                "reserve_seconds": 0,
                "agrees_end": False,
                "key": False,
                "entropy": "none",
                "ready": True,
                "out": 1,
                "hand": {"count": 1, "cards": None, "known": []},
                "up": [[], [], []],
                "down": [True, True, True],
            },
        ],
        "moves": [{"type": "play", "cards": ["9s"]}],
        "result": None,
    }


@examples(20)
@given(data=st.data())
def test_every_view_fits_the_schema(data: st.DataObject) -> None:
    ruleset = rules(data.draw(st.sampled_from(RULESETS)))
    seats = data.draw(st.sampled_from(seat_counts(ruleset)))
    game = play(ruleset, seats, data.draw(st.integers(0, 2**32)))
    full = fold(game.events[: data.draw(st.integers(1, len(game.events)))], game.deck)
    viewers: tuple[Viewer, ...] = (None, ALL, *range(seats))
    for viewer in viewers:
        moves = legal_moves(full, viewer) if isinstance(viewer, int) else ()
        view = view_json(seen_by(full, viewer), viewer, FACTS, moves)
        GameViewSchema().load(view)
        assert set(view) == _names(GameViewSchema())


def _names(schema: GameViewSchema) -> set[str]:
    return {field.data_key or name for name, field in schema.fields.items()}


@pytest.mark.parametrize("change", [{"more": 1}, {"as": "nobody"}, {"turn": None, "pile": ["1z"]}])
def test_the_schema_refuses_other_values(change: dict[str, Any]) -> None:
    view = view_json(new_game(created(rules("leeds"), 2)), None, FACTS)
    GameViewSchema().load(view)
    with pytest.raises(ValidationError):
        GameViewSchema().load(view | change)


def test_the_schema_reports_every_missing_key() -> None:
    view = view_json(new_game(created(rules("leeds"), 2)), None, FACTS)
    for name in view:
        with pytest.raises(ValidationError):
            GameViewSchema().load({key: value for key, value in view.items() if key != name})


def test_set_up_shows_the_progress_of_each_seat_until_the_deal() -> None:
    modes = (Entropy.COMMIT, Entropy.VALUE, Entropy.NONE)
    seats = tuple(SeatSetup(kind="human", bot=None, key=None, entropy=mode) for mode in modes)
    first: GameCreated = replace(created(rules("shithead"), 3), seats=seats)
    game = evolve(new_game(first), EntropyCommitted(seat=0, commit="00" * 32))
    assert view_json(game, None, FACTS)["setup"] == [
        {"seat": 0, "entropy": "commit", "state": "committed"},
        {"seat": 1, "entropy": "value", "state": "waiting"},
        {"seat": 2, "entropy": "none", "state": "none"},
    ]
    dealt = fold(play(rules("shithead"), 2, 3).events[:4])
    assert view_json(dealt, None, FACTS)["setup"] is None


def test_an_aborted_game_has_its_status_and_no_result() -> None:
    game = evolve(
        new_game(created(rules("shithead"), 2)), GameAborted(cause=AbortCause.LEFT, seat=1)
    )
    view = view_json(game, None, FACTS)
    assert (view["status"], view["result"]) == ("aborted", None)


def test_the_result_names_reason_shithead_and_places() -> None:
    ended = GameEnded(reason=EndReason.SHITHEAD, shithead=0, places=(1, 0))
    view = view_json(evolve(table("shithead", "7c"), ended), None, FACTS)
    assert view["status"] == "ended"
    assert view["turn"] is None
    assert view["result"] == {"reason": "shithead", "shithead": 0, "places": [1, 0]}


def test_after_the_seal_the_view_of_all_shows_every_hand_and_the_public_view_none() -> None:
    game = play(rules("shithead"), 2, 3)
    full = fold(game.events, game.deck)
    everything = view_json(seen_by(full, ALL), ALL, FACTS)
    assert everything["as"] == "all"
    assert [s["hand"]["cards"] for s in everything["seats"]] == [
        sorted(seat.hand) for seat in full.seats
    ]
    public = view_json(seen_by(full, None), None, FACTS)
    assert [s["hand"]["cards"] for s in public["seats"]] == [None, None]


def test_any_card_fits_an_empty_pile() -> None:
    assert demand("shithead", "") == {
        "kind": "anything",
        "rank": None,
        "ranks": list("23456789TJQKA"),
        "besides": [],
    }


def test_any_card_fits_a_two() -> None:
    assert demand("shithead", "Kc 2c")["kind"] == "anything"


def test_a_seven_asks_for_seven_or_lower_in_leeds() -> None:
    """L19. By L17 a five with a companion fits anywhere, so it is among the ranks."""
    assert demand("leeds", "7c") == {
        "kind": "at_most",
        "rank": "7",
        "ranks": ["2", "3", "4", "5", "6", "7"],
        "besides": [],
    }


def test_ranks_that_the_words_of_the_demand_do_not_name_are_besides_it() -> None:
    """L17: on a nine, nine or higher; a two fits anything, and a five with its companion."""
    assert demand("leeds", "9c")["besides"] == ["2", "5"]


def test_a_three_on_a_seven_still_asks_for_seven_or_lower() -> None:
    """S9: a three is transparent. S10: the next play must be seven or lower, and no tens."""
    assert demand("covered-queen", "7c 3c") == {
        "kind": "at_most",
        "rank": "7",
        "ranks": ["2", "3", "4", "5", "6", "7"],
        "besides": [],
    }


def test_any_card_may_cover_a_queen() -> None:
    """S13: the same player plays any further card on it."""
    assert demand("covered-queen", "Qc", covering=True) == {
        "kind": "anything",
        "rank": None,
        "ranks": list("23456789TJQKA"),
        "besides": [],
    }


def test_jokers_fit_only_if_the_deck_has_some() -> None:
    assert "X" not in demand("shithead", "7c")["ranks"]
    first = created(rules("shithead-six"), 6)
    assert "X" in view_json(new_game(first), None, FACTS)["demand"]["ranks"]
