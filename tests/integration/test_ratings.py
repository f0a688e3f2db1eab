"""Ratings of the service, and the same numbers from a dump alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.application import ratings
from service.backup.check import Progress, whole_check
from service.cli.__main__ import run
from service.store.database import Database
from tests.worlds.api_world import Person, World, problem_of

MONTH = f"{datetime.now(UTC):%Y-%m}"


def given_up(loser: Person, *others: Any, **more: Any) -> str:
    table = loser.table(*others, **more)
    answer = loser.post(f"/v1/games/{table['game']}/moves", {"type": "forfeit"})
    assert answer.status_code == 201
    game: str = table["game"]
    return game


def won(winner: Person, loser: Person, **more: Any) -> str:
    """Deal a hand of two people, which one of them gives up; return its id."""
    table = winner.table("open", **more)
    invite = {"Shithead-Invite": table["invite"]} if "invite" in table else {}
    loser.post(f"/v1/tables/{table['id']}/seats", {"seat": None}, headers=invite)
    game: str = winner.get(f"/v1/tables/{table['id']}").json["game"]
    assert loser.post(f"/v1/games/{game}/moves", {"type": "forfeit"}).status_code == 201
    return game


def rate(world: World) -> None:
    """Let the public log and the ratings catch up."""
    world.services.sequencer.run_once()
    while world.services.ratings.advance():
        pass


def listed(world: World, ruleset: str = "shithead") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = world.get(f"/v1/ratings?ruleset={ruleset}").json["items"]
    return items


NUMBERS = ("rank", "player", "bot", "rating", "mu", "sigma", "hands", "provisional")


def computed(
    world: World, folder: Path, capsys: pytest.CaptureFixture[str], ruleset: str = "shithead"
) -> list[dict[str, Any]]:
    """Return the ratings that the command computes from a dump of everything."""
    world.services.dumps.write(MONTH, folder)
    capsys.readouterr()
    assert run(["ratings", str(folder), "--json", "--ruleset", ruleset]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)[ruleset]
    return found


def numbers(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: item[name] for name in NUMBERS} for item in items]


def test_the_command_computes_the_numbers_of_the_service_from_a_dump_alone(
    world: World,
    ada: Person,
    bob: Person,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ratings, "LEAVES", 3)
    for _ in range(3):
        won(ada, bob)
    given_up(ada)
    given_up(ada, ruleset="leeds")
    won(ada, bob, visibility="private")
    ada.table()
    rate(world)
    items = listed(world)
    assert [item["name"] for item in items] == ["Ada", None, "Bob"]
    assert [item["hands"] for item in items] == [4, 1, 3]
    assert all(item["provisional"] for item in items)
    assert items[1]["bot"] == "lowest"
    assert computed(world, tmp_path / "dump", capsys) == numbers(items)
    leeds = listed(world, "leeds")
    assert {item["hands"] for item in leeds} == {1}
    assert computed(world, tmp_path / "again", capsys, "leeds") == numbers(leeds)
    assert run(["ratings", str(tmp_path / "dump")]) == 0
    out = capsys.readouterr().out
    assert f"{items[0]['rating']:.4f}" in out
    assert "4?" in out
    assert "the testimony of the operator" in " ".join(out.split())
    profile = world.get(f"/v1/players/{ada.id}").json["ratings"]
    assert [one["ruleset"] for one in profile] == ["leeds", "shithead"]
    assert profile[1]["rating"] == items[0]["rating"]


@pytest.mark.heavy
def test_the_deep_check_names_a_rating_that_the_log_does_not_lead_to(
    world: World, ada: Person, bob: Person, database_url: str
) -> None:
    won(ada, bob)
    won(bob, ada, ruleset="leeds")
    rate(world)

    def faults() -> list[tuple[str, str]]:
        with closing(Database(database_url, size=2)) as database:
            *_, last = whole_check(database, None, None, Progress(deep=True))
        return [(fault.where, fault.check) for fault in last.faults]

    assert faults() == []
    with psycopg.connect(database_url, autocommit=True) as owner:
        changed = "UPDATE ratings SET mu = mu + 0.001 WHERE ruleset_id = 'leeds' AND player_id = %s"
        assert owner.execute(changed, [ada.id]).rowcount == 1
        assert faults() == [("ruleset leeds", "row")]
        owner.execute("DELETE FROM ratings WHERE ruleset_id = 'shithead'")
        assert faults() == [("ruleset leeds", "row"), *[("ruleset shithead", "row")] * 2]
    assert bob.call("DELETE", "/v1/players/me").status_code == 204
    assert faults() == []  # they are computed anew
    rate(world)
    assert faults() == []


def test_an_erasure_and_a_final_ruling_change_the_ratings_as_in_the_next_dump(
    world: World,
    ada: Person,
    bob: Person,
    database_url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The erased player is a newcomer in each hand, and a hand of a cad does not count."""
    cat = world.person("Cat")
    games = [won(ada, bob), won(ada, bob), won(cat, ada), won(ada, cat)]
    rate(world)
    before = listed(world)
    assert bob.call("DELETE", "/v1/players/me").status_code == 204
    assert bob.id not in {item["player"] for item in listed(world)}, "at once"
    rate(world)
    erased = listed(world)
    assert {item["player"] for item in erased} == {ada.id, cat.id}
    assert numbers(erased) != [one for one in numbers(before) if one["player"] != bob.id]
    assert computed(world, tmp_path / "erased", capsys) == numbers(erased)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO disputes (dispute_id, game_id, version, state, accuser, accused, charge,"
            " move, verdict, opened_at) VALUES (gen_random_uuid(), %s, 1, 'final', %s, %s, 'other',"
            " 0, 'cad', now())",
            (games[2], ada.id, cat.id),
        )
    rate(world)
    ruled = listed(world)
    assert [item["hands"] for item in ruled] == [3, 1]
    assert computed(world, tmp_path / "ruled", capsys) == numbers(ruled)


def test_erasures_one_after_another_do_not_stop_the_ratings(
    world: World, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each began the run again from the first leaf: one free account a second stopped it."""
    monkeypatch.setattr(ratings, "LEAVES", 1)
    others = [world.person(name) for name in ("Cat", "Dan", "Eve")]
    for other in others:
        won(ada, other)
    won(ada, bob)
    rate(world)
    leaves = world.get("/v1/ratings?ruleset=shithead").json["leaves"]
    won(bob, ada)
    world.services.sequencer.run_once()
    assert others.pop().call("DELETE", "/v1/players/me").status_code == 204
    assert world.services.ratings.advance()
    while others:  # in the middle of the run
        assert others.pop().call("DELETE", "/v1/players/me").status_code == 204
        world.services.ratings.advance()
    for _ in range(leaves):
        world.services.ratings.advance()
    assert world.get("/v1/ratings?ruleset=shithead").json["leaves"] > leaves
    assert {item["player"] for item in listed(world)} == {ada.id, bob.id}, "none who was erased"
    rate(world)
    assert [item["hands"] for item in listed(world)] == [5, 2]


def test_an_erasure_of_an_account_that_never_played_counts_nothing_again(
    world: World, ada: Person, bob: Person
) -> None:
    won(ada, bob)
    rate(world)
    cat = world.person("Cat")
    cat.table("open")
    assert cat.call("DELETE", "/v1/players/me").status_code == 204
    stored, now = world.services.directory.ratings_reached()
    assert stored == now
    assert bob.call("DELETE", "/v1/players/me").status_code == 204
    stored, now = world.services.directory.ratings_reached()
    assert (stored.erased, now.erased) == (0, 1)


def test_the_list_is_divided_into_pages(world: World, ada: Person, bob: Person) -> None:
    for other in ("lowest", "greedy"):
        given_up(ada, {"bot": other})
    won(bob, ada)
    rate(world)
    whole, page = listed(world), "/v1/ratings?ruleset=shithead&limit=3"
    first = world.get(page).json
    assert (first["items"], first["next"]) == (whole[:3], "3")
    last = world.get(f"{page}&cursor=3").json
    assert (last["items"], last["next"]) == (whole[3:], None)
    assert [item["rank"] for item in whole] == [1, 2, 3, 4]
    assert problem_of(world.get("/v1/ratings?ruleset=nothing")) == "not-found"
    assert problem_of(world.get("/v1/ratings")) == "malformed"


def test_two_processes_count_no_hand_twice(
    world: World, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up(ada)
    world.services.sequencer.run_once()
    service = world.services.ratings
    keep: Callable[..., bool] = service._directory.keep_ratings
    others: list[bool] = []

    def second_first(*args: Any, **more: Any) -> bool:
        if not others:
            others.append(True)
            assert not service.advance()
        return keep(*args, **more)

    monkeypatch.setattr(service._directory, "keep_ratings", second_first)
    service.advance()
    assert {item["hands"] for item in listed(world)} == {1}


def test_a_damaged_dump_is_not_rated(
    world: World, ada: Person, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given_up(ada)
    rate(world)
    computed(world, tmp_path / "dump", capsys)
    tar = tmp_path / "dump" / "hands-0001.tar"
    data = bytearray(tar.read_bytes())
    data[700] ^= 1
    tar.write_bytes(bytes(data))
    assert run(["ratings", str(tmp_path / "dump")]) == 1
    assert "is not the bundle of the index" in capsys.readouterr().err
