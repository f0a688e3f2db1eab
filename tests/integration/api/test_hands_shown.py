"""Hands shown in answers about tables and lists, and pointers of refused ranges."""

from __future__ import annotations

from tests.worlds.api_world import Person, problem_of


def test_the_answer_for_a_table_dealt_at_once_shows_the_hand(ada: Person) -> None:
    table = ada.table()
    assert [hand["id"] for hand in table["games"]] == [table["game"]]
    assert table["games"][0]["hand"] == 1
    assert ada.get(f"/v1/tables/{table['id']}").json["games"] == table["games"]


def test_the_answer_to_the_last_player_seated_shows_the_dealt_hand(
    ada: Person, bob: Person
) -> None:
    table = ada.table("open")
    assert (table["game"], table["games"]) == (None, [])
    sat = bob.post(f"/v1/tables/{table['id']}/seats", {"seat": None}).json
    assert [hand["id"] for hand in sat["games"]] == [sat["game"]]
    assert bob.get(f"/v1/tables/{table['id']}").json["games"] == sat["games"]


def test_a_game_in_a_list_names_its_rules_like_its_view(ada: Person) -> None:
    game = ada.game(ruleset="leeds", options={"next_dealer": "rotate"})
    [item] = ada.get("/v1/games").json["items"]
    view = ada.get(game).json
    assert item["ruleset"] == view["ruleset"]
    assert item["ruleset"]["options"] == {"next_dealer": "rotate"}


def test_an_invalid_range_is_refused_at_its_faulty_end(ada: Person) -> None:
    game = ada.game()
    faults = {
        "from=99": "from",
        "to=99": "to",
        "from=0": "from",
        "to=0": "to",
        "from=2&to=1": "from",
    }
    for query, place in faults.items():
        answer = ada.get(f"{game}/replay?{query}")
        assert problem_of(answer) == "malformed"
        assert [error["at"] for error in answer.json["errors"]] == [place], query
    answer = ada.get(f"{game}?at=99")
    assert [error["at"] for error in answer.json["errors"]] == ["at"]
