"""Other lines of a finished hand over HTTP: access, the engine, bots, limits."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.what_if import WhatIfSchema
from service.application.games import what_if
from tests.worlds.api_world import Person, World, problem_of


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def hand(ada: Person, bob: Person) -> str:
    """Return the path of a hand between two people in which both are ready."""
    table = ada.table("open")
    seated = bob.post(f"/v1/tables/{table['id']}/seats")
    path = f"/v1/games/{seated.json['game']}"
    for person in (ada, bob):
        assert person.post(f"{path}/moves", {"type": "ready"}).status_code == 201
    return path


@pytest.fixture
def game(ada: Person, bob: Person) -> str:
    """Return the path of a sealed hand, in which two moves were made and ada gave up."""
    path = hand(ada, bob)
    for _ in range(2):
        player = next(one for one in (ada, bob) if one.get(path).json["moves"])
        player.post(f"{path}/moves", player.get(path).json["moves"][0])
    ada.post(f"{path}/moves", {"type": "forfeit"})
    return path


def ask(caller: Person, game: str, **wanted: Any) -> Any:
    """Return the answer to a line."""
    return caller.post(f"{game}/what-if", {"moves": [], "then": None, "as": "all", **wanted})


def first_turn(world: World, game: str) -> dict[str, Any]:
    """Return the first view of a hand in which somebody is on turn."""
    frames = world.get(f"{game}/replay?as=all").json["items"]
    view: dict[str, Any] = next(one["view"] for one in frames if one["view"]["turn"] is not None)
    return view


def test_before_the_seal_nobody_gets_a_line(ada: Person, bob: Person) -> None:
    path = hand(ada, bob)
    for caller in (ada, bob):
        assert problem_of(ask(caller, path, at=1)) == "sealed"
        assert problem_of(caller.post(f"{path}/what-if", {"no": "body"})) == "sealed"


def test_the_moves_that_were_made_lead_to_the_hand_that_was_played(
    world: World, ada: Person, game: str
) -> None:
    frames = world.get(f"{game}/replay?as=all").json["items"]
    begin = first_turn(world, game)
    later = [one["seq"] for one in frames if one["version"] > begin["version"]]
    made = [world.get(f"{game}/audit/moves/{seq}").json for seq in later]
    moves = [
        {"seat": one["seat"], "move": one["did"]}
        for seq, one in zip(later, made, strict=True)
        if one["first"] == seq
    ]
    line = ask(ada, game, at=begin["version"], moves=moves).json
    assert WhatIfSchema().validate(line) == {}
    assert line["hypothetical"] is True
    real = [one for one in frames if one["version"] > begin["version"]]
    shown = [(one["version"], one["caption"], one["event"]["type"]) for one in line["frames"]]
    assert shown == [
        (one["version"], one["caption"], one["event"]["type"])
        for one in real
        if one["event"]["type"] != "game_sealed"
    ]
    for here, there in zip(line["frames"], real, strict=False):
        assert here["event"]["data"] == there["event"]["data"]
        assert {**here["view"], "head": ""} == {**there["view"], "head": ""}
    assert line["legal"] == []


def test_another_move_is_carried_out_with_the_real_deck_and_stored_nowhere(
    world: World, ada: Person, game: str
) -> None:
    before = world.get(f"{game}/events").json["items"]
    begin = first_turn(world, game)
    [acting] = ask(ada, game, at=begin["version"]).json["legal"]
    assert acting["seat"] == begin["turn"]
    for move in acting["moves"]:
        line = ask(ada, game, at=begin["version"], moves=[{"seat": acting["seat"], "move": move}])
        assert [one["move"] for one in line.json["moves"]] == [move]
        assert line.json["view"]["version"] > begin["version"]
    assert world.get(f"{game}/events").json["items"] == before


def test_bots_play_the_line_to_its_end_alike_each_time(
    world: World, ada: Person, game: str
) -> None:
    version = first_turn(world, game)["version"]
    line = ask(ada, game, at=version, then="lowest").json
    assert line == ask(ada, game, at=version, then="lowest").json
    assert line["stopped"] in (None, "moves", "time")
    assert {one["by"] for one in line["moves"]} == {"lowest"}
    if line["stopped"] is None:
        assert line["view"]["result"]["shithead"] in (0, 1)
    again = [{"seat": one["seat"], "move": one["move"]} for one in line["moves"]]
    replayed = ask(ada, game, at=version, moves=again).json
    assert replayed["frames"] == line["frames"]


def test_a_line_stops_after_its_time(
    world: World, ada: Person, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if, "MAX_SECONDS", 0.0)
    line = ask(ada, game, at=first_turn(world, game)["version"], then="greedy").json
    assert line["stopped"] == "time"
    assert len(line["moves"]) == 1


def test_a_seat_sees_only_its_cards_in_a_line(world: World, ada: Person, game: str) -> None:
    line = ask(ada, game, at=first_turn(world, game)["version"], then="lowest", **{"as": "1"})
    for frame in line.json["frames"]:
        assert frame["view"]["as"] == 1
        assert frame["view"]["seats"][0]["hand"]["cards"] is None


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"at": 0}, "invalid-body"),
        ({"at": 99_999}, "invalid-body"),
        ({"then": "expert"}, "invalid-body"),
        ({"as": "7"}, "invalid-body"),
        ({"moves": [{"seat": 7, "move": {"type": "pass"}}]}, "invalid-body"),
        ({"moves": [{"seat": 0, "move": {"type": "ready"}}] * 201}, "invalid-body"),
        ({"moves": [{"seat": 0, "move": {"type": "play", "cards": ["Zz"]}}]}, "unknown-card"),
    ],
)
def test_a_wrong_line_is_refused(
    world: World, ada: Person, game: str, changed: dict[str, Any], code: str
) -> None:
    view = first_turn(world, game)
    moves = changed.get("moves", [])
    if code == "unknown-card":
        moves[0]["seat"] = view["turn"]
    assert problem_of(ask(ada, game, **{"at": view["version"], **changed})) == code


def test_an_illegal_move_is_refused_with_its_rule_and_its_place(
    world: World, ada: Person, game: str
) -> None:
    view = first_turn(world, game)
    seat, version = view["turn"], view["version"]
    other = {"seat": 1 - seat, "move": {"type": "pick_up"}}
    assert problem_of(ask(ada, game, at=version, moves=[other])) == "not-your-turn"
    refused = ask(ada, game, at=version, moves=[{"seat": seat, "move": {"type": "ready"}}])
    assert problem_of(refused) == "rule-refused"
    assert refused.json["detail"].startswith("/moves/0: ")
    assert refused.json["rule_text"]
    assert refused.json["legal"]
