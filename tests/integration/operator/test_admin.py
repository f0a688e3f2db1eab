"""Operator actions, each recorded in the operator log, and refused actions."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from service.shx.bundle import Bundle
from service.verify.finding import Result
from service.verify.verify import verify_bundle
from tests.worlds.api_world import Person, World, problem_of
from tests.worlds.operator_world import Operator, process_outbox, two_seats


def test_a_revoked_token_is_refused_and_the_recovery_code_gives_a_new_one(
    operator: Operator, world: World, ada: Person
) -> None:
    hook = {"url": "https://bots.example/"}
    assert ada.call("PUT", "/v1/players/me/webhook", json=hook).status_code == 200
    operator.done("revoke-token", ada.id)
    assert world.services.directory.webhook(UUID(ada.id)) is None, "a thief may have set it"
    assert problem_of(ada.get("/v1/players/me")) == "unauthorized"
    fresh = world.client.post("/v1/players/recover", json={"recovery": ada.recovery})
    bearer = {"Authorization": f"Bearer {fresh.json['token']}"}
    assert world.get("/v1/players/me", headers=bearer).json["id"] == ada.id
    assert operator.trail() == [("revoke-token", ada.id, "done")]


def test_a_renamed_player_has_the_new_name(operator: Operator, world: World, ada: Person) -> None:
    operator.done("rename", ada.id, "e\u0301")
    assert world.get(f"/v1/players/{ada.id}").json["name"] == "\u00e9"
    assert operator.trail() == [("rename", ada.id, "done")]


@pytest.mark.parametrize("name", ["", " ", "x" * 41, "a\nb"])
def test_a_name_that_registration_refuses_is_refused_for_a_rename(
    operator: Operator, ada: Person, world: World, name: str
) -> None:
    assert operator.admin("rename", ada.id, name)[0] == 64
    assert world.get(f"/v1/players/{ada.id}").json["name"] == "Ada Unmistakable"


def test_an_erased_player_is_gone_and_their_games_stay_valid(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    table = two_seats(ada, bob)
    assert operator.admin("erase", ada.id)[0] == 1
    assert world.get(f"/v1/players/{ada.id}").json["name"] == "Ada Unmistakable"
    bob.post(f"/v1/games/{table['game']}/moves", {"type": "forfeit"})
    operator.done("erase", ada.id)
    assert world.get(f"/v1/players/{ada.id}").json["name"] is None
    assert problem_of(ada.get("/v1/players/me")) == "unauthorized"
    seats = world.get(f"/v1/tables/{table['id']}").json["seats"]
    assert [seat["kind"] for seat in seats] == ["open", "human"]
    assert world.get(f"/v1/games/{table['game']}/audit").json["result"] == "pass"
    assert operator.admin("erase", ada.id)[0] == 1
    assert operator.trail() == [
        ("erase", ada.id, "hand-running"),
        ("erase", ada.id, "done"),
        ("erase", ada.id, "not-found"),
    ]


def test_the_operator_gets_the_evidence_of_a_private_table_with_a_trail(
    operator: Operator, world: World, ada: Person, bob: Person, tmp_path: Path
) -> None:
    """To answer a dispute against the server about a game that the operator cannot read."""
    game = two_seats(ada, bob, visibility="private")["game"]
    path, file = f"/v1/games/{game}", tmp_path / "game.shx"
    assert ada.post(f"{path}/moves", {"type": "forfeit"}).status_code == 201
    assert world.get(f"{path}/evidence").status_code == 404
    operator.done("evidence", game, file)
    assert file.read_bytes() == ada.get(f"{path}/evidence").data
    process_outbox(world, UUID(game))
    whole = ada.get(f"{path}/evidence").data
    operator.done("archive", "--game", game, "--to", operator.archive)
    operator.done("evidence", game, file, "--archive", operator.archive)
    assert file.read_bytes() == whole
    status, _, err = operator.admin("evidence", game, file)
    assert (status, "SHITHEAD_ARCHIVE is not set" in err) == (1, True)
    assert operator.admin("evidence", uuid4(), file)[0] == 1
    acts = [(act, outcome) for act, _, outcome in operator.trail()]
    assert acts == [
        *[("evidence", "done"), ("archive", "done"), ("evidence", "done")],
        ("evidence", "not-found"),
    ]


def test_a_note_is_removed_with_a_trail(operator: Operator, ada: Person, bob: Person) -> None:
    game = two_seats(ada, bob)["game"]
    path = f"/v1/games/{game}/notes/1"
    assert ada.call("PUT", path, json={"text": "x", "visibility": "me"}).status_code == 200
    operator.done("remove-note", game, "1", ada.id)
    assert ada.get(f"/v1/games/{game}/notes").json["items"] == []
    assert operator.admin("remove-note", game, "1", ada.id)[0] == 1
    assert operator.trail() == [("remove-note", game, "done"), ("remove-note", game, "not-found")]


def test_the_operator_log_holds_no_player_name(
    operator: Operator, ada: Person, bob: Person
) -> None:
    operator.done("rename", ada.id, "Another Unmistakable")
    operator.done("revoke-token", ada.id)
    operator.done("erase", ada.id)
    with psycopg.connect(operator.database_url) as owner:
        rows = owner.execute("SELECT trail::text FROM trail").fetchall()
    assert len(rows) == 3
    assert not [row for row in rows if "Unmistakable" in row[0]]


def test_the_operator_closes_any_table_between_hands(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    table = two_seats(ada, bob, visibility="private")
    status, _, err = operator.admin("close", table["id"])
    assert (status, "hand-running" in err) == (1, True)
    bob.post(f"/v1/games/{table['game']}/moves", {"type": "forfeit"})
    operator.done("close", table["id"])
    assert ada.get(f"/v1/tables/{table['id']}").json["status"] == "closed"
    assert problem_of(ada.post(f"/v1/tables/{table['id']}/games")) == "forbidden"


@pytest.mark.parametrize("entropy", ["none", "commit"])
def test_an_aborted_game_reveals_its_seed_and_its_table_deals_again(
    operator: Operator, world: World, ada: Person, bob: Person, entropy: str
) -> None:
    """Also during the set-up, when there is no deck to reveal."""
    table = two_seats(ada, bob, entropy=entropy)
    path = f"/v1/games/{table['game']}"
    operator.done("abort", table["game"])
    view = world.get(path).json
    assert (view["status"], view["result"]) == ("aborted", None)
    last = world.get(f"{path}/events").json["items"][-1]
    assert (last["type"], last["by"]) == ("game_aborted", None)
    assert (last["data"]["cause"], last["data"]["seat"]) == ("operator", None)
    assert (last["data"]["deck"] is None) == (entropy == "commit")
    report = verify_bundle(Bundle(lines=world.services.game_cache.lines(UUID(table["game"]))))
    assert Result.FAIL not in {finding.result for finding in report.findings}
    assert problem_of(ada.post(f"{path}/moves", {"type": "ready"})) == "game-over"
    again = ada.post(f"/v1/tables/{table['id']}/games")
    assert (again.status_code, again.json["game"]["hand"]) == (201, 1)
    assert operator.admin("abort", table["game"])[0] == 1
    assert operator.trail() == [
        ("abort", table["game"], "done"),
        ("abort", table["game"], "game-over"),
    ]


def test_a_game_without_its_seed_is_listed_as_stuck_and_cannot_be_aborted(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    lost, foreign = two_seats(ada, bob)["game"], two_seats(ada, bob)["game"]
    assert operator.admin("stuck")[0] == 0
    with psycopg.connect(operator.database_url) as owner:
        owner.execute("DELETE FROM secrets WHERE game_id = %s", (lost,))
        owner.execute("UPDATE secrets SET key_id = 'k-other' WHERE game_id = %s", (foreign,))
    status, out, _ = operator.admin("--json", "stuck")
    why = {line["game"]: line["why"] for line in map(json.loads, out.splitlines())}
    assert status == 2
    assert "seed is lost" in why[lost]
    assert "k-other" in why[foreign]
    for game in (lost, foreign):
        status, _, err = operator.admin("abort", game)
        assert (status, "unavailable" in err) == (1, True), err
        assert operator.trail()[-1] == ("abort", game, "unavailable")


def test_games_far_past_their_deadline_are_listed_as_stuck(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    """No worker runs, so the bot never moves and the set-up stays open."""
    bot_game = ada.table({"bot": "lowest"}, window_seconds=0)["game"]
    ada.post(f"/v1/games/{bot_game}/moves", {"type": "ready"})
    silent = two_seats(ada, bob, entropy="value")["game"]
    thinking = two_seats(ada, bob)["game"]
    timed = two_seats(ada, bob, clock={"turn_seconds": 30, "swap_seconds": 30})["game"]
    assert operator.admin("stuck", "--late", "3600")[0] == 0
    with psycopg.connect(operator.database_url) as owner:
        owner.execute("UPDATE games SET wake_at = wake_at - interval '2 hours'")
    status, out, _ = operator.admin("stuck", "--late", "3600")
    assert status == 2
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert lines.keys() == {bot_game, silent, timed}
    assert "a bot has the turn" in lines[bot_game]
    assert "entropy is overdue" in lines[silent]
    assert "past its deadline" in lines[timed]
    assert thinking not in out


def test_an_action_on_an_unknown_id_is_refused_and_recorded(operator: Operator) -> None:
    acts = ["revoke-token", "erase", "close", "abort"]
    target = str(uuid4())
    for act in acts:
        status, _, err = operator.admin(act, target)
        assert (status, "not-found" in err) == (1, True), err
    status, out, _ = operator.admin("--json", "rename", target, "Ann")
    assert (status, json.loads(out)["outcome"]) == (1, "not-found")
    assert operator.trail() == [(act, target, "not-found") for act in (*acts, "rename")]


def test_an_action_and_its_line_in_the_log_are_written_together_or_not_at_all(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    """If the operator log cannot be written, no action takes effect."""
    table = two_seats(ada, bob)
    with psycopg.connect(operator.database_url) as owner:
        owner.execute("ALTER TABLE trail ADD CONSTRAINT trail_is_full CHECK (act = '') NOT VALID")
    for words in (
        ("revoke-token", ada.id),
        ("rename", ada.id, "Ann"),
        ("abort", table["game"]),
        ("stuck",),
    ):
        assert operator.admin(*words)[0] == 1
    assert ada.get("/v1/players/me").json["name"] == "Ada Unmistakable"
    assert world.get(f"/v1/games/{table['game']}").json["status"] == "swapping"


def test_the_operator_log_names_the_operator_and_is_listed_newest_first(
    operator: Operator, ada: Person
) -> None:
    operator.admin("revoke-token", ada.id, name="Grace")
    operator.admin("rename", ada.id, "Ann", name="Linus")
    first = operator.done("trail", "--limit", "1")
    assert "Linus" in first
    assert "Grace" not in first
    assert [line.split()[3] for line in operator.done("trail").splitlines()] == [
        *("trail", "rename", "revoke-token")
    ]
    assert operator.admin("trail", name="\x1b[2J")[0] == 64


@pytest.mark.parametrize(
    ("words", "acts"),
    [
        (("--by", "Grace"), ["revoke-token"]),
        (("--act", "rename", "--outcome", "done"), ["rename"]),
        (("--act", "rename", "--outcome", "not-found"), []),
        (("--since", "2000-01-01", "--until", "2000-01-02"), []),
        (("--since", "2000-01-01T00:00:00Z"), ["rename", "revoke-token"]),
    ],
)
def test_the_operator_log_is_listed_with_filters(
    operator: Operator, ada: Person, words: tuple[str, ...], acts: list[str]
) -> None:
    operator.admin("revoke-token", ada.id, name="Grace")
    operator.admin("rename", ada.id, "Ann", name="Linus")
    both = (*words, "--target", ada.id)
    assert [line.split()[3] for line in operator.done("trail", *both).splitlines()] == acts
    assert operator.done("trail", *words, "--target", str(uuid4())) == ""


def test_the_role_of_the_service_cannot_perform_operator_actions(
    operator: Operator, world: World, ada: Person
) -> None:
    from tests.contract.conftest import address_of_service

    url = address_of_service(operator.database_url)
    keys = operator.folder / "keys.json"
    words = ("--database-url", url, "--key-file", keys, "--yes", "rename", ada.id, "Ann")
    status, _, err = operator.run("admin", *words)
    assert (status, "connect as the owner" in err) == (1, True), err
    assert ada.get("/v1/players/me").json["name"] == "Ada Unmistakable"


def test_irreversible_actions_ask_for_confirmation_and_are_refused_without_a_terminal(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    game = two_seats(ada, bob)["game"]
    connection = (
        "--database-url",
        operator.database_url,
        "--key-file",
        operator.folder / "keys.json",
    )
    for words in (("abort", game), ("erase", ada.id)):
        status, _, err = operator.run("admin", *connection, *words)
        assert (status, "--yes" in err) == (64, True), err
    assert world.get(f"/v1/games/{game}").json["status"] == "swapping"
    assert operator.trail() == []


def test_without_an_address_the_command_looks_for_a_local_service(
    operator: Operator, tmp_path: Path
) -> None:
    status, _, err = operator.run("admin", "--data", tmp_path / "nothing", "trail")
    assert (status, "no server uses the folder" in err) == (1, True), err


def test_an_operator_reads_and_answers_disputes_against_the_server(
    operator: Operator, world: World, ada: Person, bob: Person
) -> None:
    game = f"/v1/games/{two_seats(ada, bob)['game']}"
    body = {"accused": None, "seq": 2, "charge": "wrong_deal", "statement": "Five aces."}
    dispute = ada.post(f"{game}/disputes", body).json
    [listed] = [json.loads(line) for line in operator.done("--json", "disputes").splitlines()]
    assert listed["id"] == dispute["id"]
    assert [statement["text"] for statement in listed["statements"]] == ["Five aces."]
    assert "accuser: Five aces." in operator.done("disputes")
    assert dispute["id"] in operator.done("answer", dispute["id"], "There are eight.")
    shown = ada.get(f"/v1/disputes/{dispute['id']}").json
    assert shown["statements"][1] == {
        "by": "accused",
        "at": shown["statements"][1]["at"],
        "text": "There are eight.",
    }
    assert world.get(f"/v1/disputes/{dispute['id']}").json["statements"][1]["text"] is None
    assert operator.admin("answer", dispute["id"], "")[0] == 64
    assert operator.admin("answer", uuid4(), "Where?")[0] == 1
    assert [act for act, _, outcome in operator.trail() if outcome == "done"] == [
        "disputes",
        "disputes",
        "answer",
    ]


def test_an_operator_is_not_a_side_if_a_seat_is_accused(
    operator: Operator, ada: Person, bob: Person
) -> None:
    game = f"/v1/games/{two_seats(ada, bob)['game']}"
    ready = bob.post(f"{game}/moves", {"type": "ready"}).json["events"][0]["seq"]
    body = {"accused": 1, "seq": ready, "charge": "wrong_deal", "statement": "He was not."}
    dispute = ada.post(f"{game}/disputes", body).json["id"]
    assert operator.done("disputes") == ""
    status, _, err = operator.admin("answer", dispute, "He was.")
    assert (status, "forbidden" in err) == (1, True)
    assert ("answer", dispute, "forbidden") in operator.trail()
