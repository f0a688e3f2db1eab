"""How people end a hand without a result: `agree_end` of all of them."""

from __future__ import annotations

from typing import Any

from tests.worlds.api_world import Answer, Person, problem_of

AGREE = {"type": "agree_end"}


def hand_of(ada: Person, bob: Person) -> str:
    """Return the address of a hand of two people without a clock."""
    table = ada.table("open")
    seated = bob.post(f"/v1/tables/{table['id']}/seats").json
    return f"/v1/games/{seated['game']}"


def agree(person: Person, game: str) -> Answer:
    return person.post(f"{game}/moves", AGREE)


def agreed(person: Person, game: str) -> list[bool]:
    view: dict[str, Any] = person.get(game).json
    return [seat["agrees_end"] for seat in view["seats"]]


def test_a_hand_ends_once_all_people_agreed_and_counts_for_nobody(ada: Person, bob: Person) -> None:
    game = hand_of(ada, bob)
    assert agree(ada, game).status_code == 201
    assert agreed(bob, game) == [True, False]
    answer = agree(bob, game)
    assert [event["type"] for event in answer.json["events"]] == ["end_agreed", "game_aborted"]
    assert answer.json["events"][-1]["data"]["cause"] == "agreed"
    assert (answer.json["game"]["status"], answer.json["game"]["result"]) == ("aborted", None)
    assert problem_of(agree(ada, game)) == "game-over"


def test_a_move_takes_an_agreement_back(ada: Person, bob: Person) -> None:
    game = hand_of(ada, bob)
    agree(ada, game)
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    assert agreed(ada, game) == [False, False]
    assert agree(bob, game).json["game"]["status"] == "swapping"


def test_nobody_agrees_alone_to_end_a_hand_against_bots(ada: Person) -> None:
    """A loss against bots counts; the rule is cited."""
    refused = agree(ada, ada.game({"bot": "lowest"}))
    assert problem_of(refused) == "rule-refused"
    assert (refused.json["code"], refused.json["rule"]) == ("refused.agree_alone", "1-agreed-end")


def test_an_agreement_is_decided_on_what_its_person_knew_of_the_own_moves(
    ada: Person, bob: Person
) -> None:
    """Moves of others in between do not matter; an own one that it did not know makes it stale."""
    game = hand_of(ada, bob)
    seen = {"headers": {"If-Match": ada.get(game).headers["ETag"]}}
    bob.post(f"{game}/moves", {"type": "ready"})
    assert ada.post(f"{game}/moves", AGREE, **seen).status_code == 201
    ada.post(f"{game}/moves", {"type": "ready"})
    assert problem_of(ada.post(f"{game}/moves", AGREE, **seen)) == "stale-version"
