"""What tables and lists show of their hands, and the places that a refused range names."""

from __future__ import annotations

from tests.worlds.api_world import Person, problem_of


def test_a_table_that_deals_at_once_shows_the_hand(ada: Person) -> None:
    table = ada.table()
    assert [hand["id"] for hand in table["games"]] == [table["game"]]
    assert table["games"][0]["hand"] == 1
    assert ada.get(f"/v1/tables/{table['id']}").json["games"] == table["games"]


def test_the_last_to_sit_down_is_shown_the_hand_that_this_deals(ada: Person, bob: Person) -> None:
    table = ada.table("open")
    assert (table["game"], table["games"]) == (None, [])
    sat = bob.post(f"/v1/tables/{table['id']}/seats", {"seat": None}).json
    assert [hand["id"] for hand in sat["games"]] == [sat["game"]]
    assert bob.get(f"/v1/tables/{table['id']}").json["games"] == sat["games"]


def test_a_game_in_a_list_says_its_rules_as_its_view_does(ada: Person) -> None:
    game = ada.game(ruleset="leeds", options={"next_dealer": "rotate"})
    [item] = ada.get("/v1/games").json["items"]
    view = ada.get(game).json
    assert item["ruleset"] == view["ruleset"]
    assert item["ruleset"]["options"] == {"next_dealer": "rotate"}


def test_a_range_that_is_none_is_refused_at_the_end_at_fault(ada: Person) -> None:
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
