"""Why cards cannot be played: asked for free on one's own turn, about one's own cards only."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.audit import ReasonsSchema
from service.client.answers import Reasons
from tests.worlds.api_world import Person, World, problem_of


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


@pytest.fixture
def game(ada: Person, bob: Person) -> str:
    """Return the path of a game between two people, at its first turn."""
    table = ada.table("open")
    seated = bob.post(f"/v1/tables/{table['id']}/seats")
    game = f"/v1/games/{seated.json['game']}"
    for person in (ada, bob):
        person.post(f"{game}/moves", {"type": "ready"})
    return game


def on_turn(game: str, *people: Person) -> tuple[Person, Person, dict[str, Any]]:
    """Return the player on turn, the other one, and the view of the player on turn."""
    views = [one.get(game).json for one in people]
    turn = views[0]["turn"]
    seat = next(n for n, view in enumerate(views) if view["as"] == turn)
    return people[seat], people[1 - seat], views[seat]


def reasons(person: Person, game: str, *cards: str) -> Any:
    return person.get(f"{game}/reasons?cards={','.join(cards)}")


def test_the_reasons_are_those_of_the_audit_and_nothing_is_recorded(
    ada: Person, bob: Person, game: str
) -> None:
    """Each of several turns is asked about before its move, and audited after it."""
    refused = 0
    for _ in range(12):
        player, _, view = on_turn(game, ada, bob)
        own = view["seats"][view["as"]]
        asked = {card: reasons(player, game, card).json for card in own["hand"]["cards"]}
        whole = reasons(player, game, *own["hand"]["cards"]).json
        assert ReasonsSchema().validate(whole) == {}
        assert Reasons.__annotations__.keys() == whole.keys()
        assert player.get(game).json["version"] == view["version"], "a question is no event"
        plays = [move["cards"] for move in view["moves"] if move["type"] == "play"]
        for card, found in asked.items():
            assert found["legal"] == ([card] in plays)
            assert bool(found["rules"]) != found["legal"] and bool(found["text"]) != found["legal"]
        move = next((one for one in view["moves"] if one["type"] == "play"), view["moves"][0])
        seq = player.post(f"{game}/moves", move).json["events"][0]["seq"]
        audit = player.get(f"{game}/audit/moves/{seq}").json
        for line in audit["not_legal"]:
            found = asked[line["card"]]
            assert (found["rules"], found["text"]) == (line["rules"], line["text"])
            refused += 1
        assert audit["refused"] == []
    assert refused, "some card of these turns did not fit"


def test_a_card_that_is_not_ones_own_is_refused_alike_wherever_it_lies(
    ada: Person, bob: Person, game: str
) -> None:
    """Else the call would name the face-down cards, the stock and the other hand."""
    player, other, view = on_turn(game, ada, bob)
    own, seats = view["seats"][view["as"]], view["seats"]
    mine = {*own["hand"]["cards"], *(card for stack in own["up"] for card in stack)}
    answers = set()
    for card in (rank + suit for rank in "23456789TJQKA" for suit in "cdhs"):
        answer = reasons(player, game, card)
        if card in mine:
            assert answer.status_code == 200
        else:
            assert answer.status_code == 403
            answers.add((answer.json["type"], answer.json["detail"]))
    assert len(answers) == 1
    assert reasons(player, game, "5c", "X1", "5c/7").status_code == 403, "unknown cards as well"
    up = next(card for stack in own["up"] for card in stack)
    assert "hand is empty" in reasons(player, game, up).json["text"]
    theirs = other.get(game).json["seats"][1 - view["as"]]["hand"]["cards"][0]
    assert seats[1 - view["as"]]["hand"]["cards"] is None
    assert problem_of(reasons(player, game, theirs)) == "forbidden"


def test_only_the_seat_on_turn_is_answered(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    player, other, view = on_turn(game, ada, bob)
    card = view["seats"][view["as"]]["hand"]["cards"][0]
    assert world.get(f"{game}/reasons?cards={card}").status_code == 401
    assert problem_of(reasons(other, game, card)) == "not-your-turn"
    assert problem_of(player.get(f"{game}/reasons")) == "malformed"
    assert problem_of(player.get(f"{game}/reasons?cards=Th,")) == "malformed"
    other.post(f"{game}/moves", {"type": "forfeit"})
    assert problem_of(reasons(player, game, card)) == "game-over"
