"""Error texts about request bodies: one sentence that states what to change."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.worlds.api_world import Person, World, problem_of

TYPES = (
    "play, play_blind, pick_up, try_stock, pass, swap, lay, ready, forfeit, agree_end, "
    "claim_absence"
)
SWITCHES = "1, 2, 3, 4, 5, 6"
TABLE = {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}]}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def errors_of(answer: Any) -> dict[str, str]:
    assert problem_of(answer) == "invalid-body"
    return {error["at"]: error["message"] for error in answer.json["errors"]}


def test_the_detail_quotes_the_first_fault(world: World, ada: Person) -> None:
    answer = world.client.post("/v1/players", json={})
    assert problem_of(answer) == "invalid-body"
    assert answer.json["detail"] == "/name: is missing"
    two = ada.post("/v1/tables", {"ruleset": "leeds", "seats": ["me"], "clock": 1})
    assert two.json["detail"] == "/seats: is not 2 to 64 long (and 1 more)"
    late = ada.post("/v1/tables", {**TABLE, "seats": ["me", {"bot": "nobody"}]})
    assert late.json["detail"].startswith(
        "/seats/1/bot: there is no bot of this name: GET /v1/bots"
    )
    whole = world.client.post("/v1/players", json=[])
    assert whole.json["detail"] == "the body: is not an object"


def test_a_long_field_name_is_quoted_in_part(world: World) -> None:
    answer = world.client.post("/v1/players", json={"name": "Ada", "x" * 10_000: 1})
    assert problem_of(answer) == "invalid-body"
    assert len(answer.json["detail"]) < 300


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/players", {"name": None, "more": 1}),
        ("/v1/players", {"name": 5}),
        ("/v1/tables", {}),
        ("/v1/tables", {"ruleset": 1, "seats": {}, "options": [], "clock": {}, "visibility": "x"}),
        ("/v1/tables", {**TABLE, "turn_limit": 0, "window_seconds": "a", "deal": 1, "key": "x"}),
        ("/v1/rulesets", {"name": "x" * 81, "base": "", "changes": 5}),
        ("{game}/entropy", {"commit": "x", "more": 1}),
        ("{game}/moves", {"type": "play", "cards": []}),
        ("{game}/moves", {"type": "swap", "up": ["7c"], "hand": 1}),
    ],
)
def test_faults_have_one_style(ada: Person, path: str, body: Any) -> None:
    answer = ada.post(path.format(game=ada.game()), body)
    for at, message in errors_of(answer).items():
        assert message[0].islower(), (at, message)
        assert not message.endswith("."), (at, message)


def test_an_unknown_field_is_answered_with_the_one_that_was_meant(ada: Person) -> None:
    table = ada.post("/v1/tables", {"rulesets": "leeds", "seats": TABLE["seats"]})
    assert errors_of(table)["/rulesets"] == "is not known here: `ruleset` is"
    seek = ada.post("/v1/seeks", {"ruleset": "leeds", "seats": 2})
    assert errors_of(seek)["/ruleset"] == "is not known here: `rulesets` is"
    far = ada.post("/v1/tables", {**TABLE, "more": 1, "clock": {"turn_second": 1}})
    assert errors_of(far)["/more"] == "is not known here"
    assert errors_of(far)["/clock/turn_second"] == "is not known here: `turn_seconds` is"
    query = ada.get("/v1/games?resultt=lost")
    assert query.json["errors"][0]["message"] == "is not known here: `result` is"


def test_a_large_number_in_a_query_is_a_number_out_of_range(world: World) -> None:
    for large in ("201", str(2**63), str(2**64), "9" * 400):
        answer = world.get(f"/v1/bots?limit={large}")
        assert problem_of(answer) == "malformed"
        assert answer.json["errors"][0]["message"] == "is not from 1 to 200", large


@pytest.mark.parametrize("body", [{"type": "none"}, {"type": 7}, {}, {"cards": ["7c"]}])
def test_a_move_without_a_valid_type_lists_the_types(ada: Person, body: Any) -> None:
    answer = ada.post(f"{ada.game()}/moves", body)
    assert errors_of(answer) == {"/type": f"is not one of {TYPES}"}


@pytest.mark.parametrize("name", ["x" * 41, "x" * 5000])
def test_a_name_of_a_wrong_length_has_one_fault(world: World, name: str) -> None:
    answer = world.client.post("/v1/players", json={"name": name})
    assert errors_of(answer) == {"/name": "is not 1 to 40 characters long"}
    assert len(answer.json["errors"]) == 1


@pytest.mark.parametrize(
    "unseen", ["\u200b", "\u200e", "\u200f", "\u061c", "\u202e", "\u2066", "\u2060", "\ufeff"]
)
def test_a_name_that_looks_like_another_s_is_refused(world: World, unseen: str) -> None:
    answer = world.client.post("/v1/players", json={"name": f"A{unseen}da"})
    assert list(errors_of(answer)) == ["/name"]


def test_a_name_may_be_an_emoji_of_several_people(world: World) -> None:
    name = "\U0001f469\u200d\U0001f680"
    assert world.client.post("/v1/players", json={"name": name}).json["name"] == name


@pytest.mark.parametrize(
    ("ruleset", "options", "at", "words"),
    [
        ("leeds", {"nope": 1}, "nope", "is no option of leeds, which has: next_dealer"),
        ("leeds", {"a/b": 1}, "a~1b", "is no option of leeds, which has: next_dealer"),
        ("leeds", {"next_dealer": None}, "next_dealer", "is not one of loser, rotate"),
        ("morehead", {"jokers": True}, "jokers", "is not one of 0, 2"),
        ("guarducci", {"switches": 5}, "switches", f"is not a list of any of {SWITCHES}"),
        (
            *("guarducci", {"switches": [1, 1]}, "switches"),
            f"is not a list of any of {SWITCHES}, each once",
        ),
    ],
)
def test_an_option_is_refused_by_its_name(
    ada: Person, ruleset: str, options: dict[str, Any], at: str, words: str
) -> None:
    body = {**TABLE, "ruleset": ruleset, "options": options}
    assert errors_of(ada.post("/v1/tables", body)) == {f"/options/{at}": words}


@pytest.mark.parametrize(
    ("query", "named"),
    [("from=0", "from"), ("from=9999", "from"), ("to=9999", "to"), ("from=3&to=2", "from")],
)
def test_an_impossible_range_names_the_faulty_end(ada: Person, query: str, named: str) -> None:
    answer = ada.get(f"{ada.game()}/replay?{query}")
    assert problem_of(answer) == "malformed"
    assert {error["at"] for error in answer.json["errors"]} == {named}
    assert answer.json["detail"].startswith(f"invalid query: {named}: ")


def test_a_problem_states_what_would_be_valid(ada: Person, bob: Person) -> None:
    """The lists to read, the code of a card, the seat on turn, the exceeded limit."""
    unlisted = errors_of(ada.post("/v1/tables", {**TABLE, "ruleset": "nope"}))
    assert "GET /v1/rulesets" in unlisted["/ruleset"]
    table = ada.table("open")
    path = f"/v1/tables/{table['id']}"
    game = f"/v1/games/{bob.post(f'{path}/seats', {'seat': None}).json['game']}"
    spelled = ada.post(f"{game}/moves", {"type": "swap", "up": ["10H"], "hand": ["Kd"]})
    assert problem_of(spelled) == "unknown-card"
    assert spelled.json["detail"] == "there is no card 10H in this game; its code is Th"
    assert ada.get(f"{game}/audit/cards/7C").json["detail"].endswith("its code is 7c")
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    waits = ada.post(f"{game}/moves", {"type": "ready"})
    assert problem_of(waits) == "not-your-turn"
    assert "seat 2" in waits.json["detail"]
    turn = bob.post(f"{game}/moves", {"type": "ready"}).json["game"]["turn"]
    other = (bob, ada)[turn]
    passed = other.post(f"{game}/moves", {"type": "pass"})
    assert f"turn of seat {turn + 1}" in passed.json["detail"]
    large = ada.post("/v1/players", {"name": "x" * (1 << 20)})
    assert problem_of(large) == "too-large"
    assert "32768 bytes" in large.json["detail"]


@pytest.mark.parametrize(
    ("path", "part", "of"),
    [
        ("/v1/games/abc", "abc", "game"),
        ("/v1/games/abc/events", "abc", "game"),
        ("/v1/tables/7", "7", "table"),
        (f"/v1/disputes/{'f' * 32}", "f" * 32, "dispute"),
    ],
)
def test_a_path_with_an_invalid_id_quotes_it(world: World, path: str, part: str, of: str) -> None:
    answer = world.get(path)
    assert (answer.status_code, problem_of(answer)) == (404, "not-found")
    assert answer.json["detail"] == f"'{part}' is not the id of a {of}: ids are UUIDs"


def test_an_unknown_address_refers_to_the_document(world: World) -> None:
    assert "/docs lists" in world.get("/v1/nothing").json["detail"]


@pytest.mark.parametrize("data", [b'{"items": [], "next": null}', b"{}", b'{"seq": 1}\n{"a": 2}'])
def test_a_json_file_that_is_not_a_log_is_refused_as_a_bundle(world: World, data: bytes) -> None:
    for media in ("application/x-ndjson", "application/octet-stream"):
        answer = world.client.post("/v1/verify", data=data, content_type=media)
        assert problem_of(answer) == "not-a-bundle", answer.text


def test_an_invalid_key_is_answered_with_both_valid_forms(world: World) -> None:
    line = b'{"prev":"","seq":0,"type":"x"}'
    parts = {"file": (io.BytesIO(line), "log"), "key": "abc"}
    found = errors_of(world.client.post("/v1/verify", data=parts))["/key"]
    assert found.endswith("a key is name+id+key, or a saved answer of /v1/keys")


def test_ready_is_listed_before_the_exchanges(ada: Person) -> None:
    view = ada.get(ada.game()).json
    assert [move["type"] for move in view["moves"][:2]] == ["ready", "swap"]
