"""The hands of a player in bulk: lines, filters, cursors, and a tar file of bundles."""

from __future__ import annotations

import io
import re
import tarfile
import threading
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from service.application.errors import Refusal
from service.application.games import hands
from service.shx.bundle import read_bundle
from service.store.events import StoreUnavailable
from tests.worlds.api_world import Person, World, problem_of

NDJSON = "application/x-ndjson"


def lines_of(person: Person, of: Person, query: str = "") -> list[dict[str, Any]]:
    answer = person.get(f"/v1/players/{of.id}/hands{query}")
    assert (answer.status_code, answer.content_type) == (200, NDJSON), answer.text
    return [orjson.loads(line) for line in answer.get_data().splitlines()]


def given_up(person: Person, *others: Any, **more: Any) -> dict[str, Any]:
    """Deal a hand and give it up at once; return its table."""
    table = person.table(*others, **more)
    answer = person.post(f"/v1/games/{table['game']}/moves", {"type": "forfeit"})
    assert answer.status_code == 201, answer.text
    return table


def test_each_finished_hand_is_a_line_with_its_result_and_links(
    ada: Person, bob: Person, world: World
) -> None:
    table = given_up(ada, ruleset="leeds")
    ada.table()  # is still being played
    [line] = lines_of(bob, ada)
    game = table["game"]
    listed = next(i for i in ada.get("/v1/games").json["items"] if i["id"] == game)
    same = ("id", "table", "hand", "status", "version", "created_at", "ended_at", "result")
    assert {name: line[name] for name in same} == {name: listed[name] for name in same}
    assert (line["ruleset"], line["seat"]) == ("leeds", 0)
    assert line["result"]["reason"] == "forfeit"
    assert [seat["name"] for seat in line["seats"]] == ["Ada", "lowest"]
    assert line["seats"][0]["player"] == ada.id
    for link in line["links"].values():
        assert world.get(link).status_code == 200, link


def test_filters_combine_and_are_those_of_the_list_of_games(ada: Person, bob: Person) -> None:
    alone = given_up(ada, ruleset="leeds")["game"]
    table = ada.table("open")
    bob.post(f"/v1/tables/{table['id']}/seats", {"seat": None})
    both = ada.get(f"/v1/tables/{table['id']}").json["game"]
    bob.post(f"/v1/games/{both}/moves", {"type": "forfeit"})
    dealt = ada.get(f"/v1/games?player={ada.id}").json["items"]
    second = next(item["created_at"] for item in dealt if item["id"] == both)
    wanted = {
        "": {alone, both},
        "ruleset=leeds": {alone},
        f"with={bob.id}": {both},
        "result=lost": {alone},
        "result=first": set(),  # nobody goes out when a hand is given up
        "result=forfeit": {alone, both},
        "result=stalemate": set(),
        "result=aborted": set(),
        f"since={second}": {both},
        f"until={second}": {alone},
        "since=2001-01-01&until=9999-12-31T23:59:59Z": {alone, both},
        f"result=lost&with={bob.id}": set(),
    }
    for query, expected in wanted.items():
        assert {line["id"] for line in lines_of(bob, ada, f"?{query}")} == expected, query
        for of in (f"player={ada.id}", f"player={ada.id}&table={table['id']}"):
            listed = bob.get(f"/v1/games?{of}&{query}").json["items"]
            at_table = {both} if "table" in of else {alone, both}
            assert {item["id"] for item in listed} == expected & at_table, (of, query)
    for query, at in (
        ("result=lost", "result"),
        ("since=2026-13-01", "since"),
        ("until=yesterday", "until"),
        ("with=mine", "with"),
        ("since=2026-11-02&until=2026-11-02", "until"),
        ("ended_since=2026-11-02&ended_until=2026-11-01T23:00:00Z", "ended_until"),
        ("result=won", "result"),
    ):
        answer = bob.get(f"/v1/games?{query}")
        assert problem_of(answer) == "malformed"
        assert [error["at"] for error in answer.json["errors"]] == [at], query
    assert {item["id"] for item in bob.get("/v1/games?result=forfeit").json["items"]} == {
        alone,
        both,
    }
    nobody = "00000000-0000-4000-8000-000000000000"
    for query in ("ruleset=nope", f"with={nobody}", f"player={nobody}"):
        assert problem_of(bob.get(f"/v1/games?{query}")) == "not-found", query
    assert problem_of(bob.get("/v1/tables?ruleset=nope")) == "not-found"
    assert bob.get("/v1/games?ruleset=leeds&result=aborted").json["items"] == []


def test_a_pull_by_the_end_misses_no_hand_that_was_dealt_earlier(ada: Person) -> None:
    """A hand that was dealt first and ends last is in the pull after the one of the other hand."""
    long = ada.table()["game"]
    first = given_up(ada)["game"]
    [line] = lines_of(ada, ada)
    pulled_until = line["ended_at"]
    ada.post(f"/v1/games/{long}/moves", {"type": "forfeit"})
    ended = {line["id"]: line["ended_at"] for line in lines_of(ada, ada)}
    assert ended[long] > pulled_until == ended[first]
    later = f"ended_since={ended[long]}"
    assert [one["id"] for one in lines_of(ada, ada, f"?{later}")] == [long]
    assert [one["id"] for one in lines_of(ada, ada, f"?ended_until={ended[long]}")] == [first]
    for of in ("", f"&player={ada.id}", f"&table={ada.get(f'/v1/games/{long}').json['table']}"):
        listed = ada.get(f"/v1/games?{later}{of}").json["items"]
        assert [one["id"] for one in listed] == [long], of
    assert lines_of(ada, ada, f"?since={ended[long]}") == [], "it was dealt before"


def test_me_names_the_caller_wherever_a_player_is_named(
    world: World, ada: Person, bob: Person
) -> None:
    table = ada.table("open", invited=[bob.id])
    own = given_up(ada)["game"]
    assert (
        ada.get("/v1/players/me/hands").get_data()
        == ada.get(f"/v1/players/{ada.id}/hands").get_data()
    )
    assert ada.get("/v1/players/me/hands.tar").status_code == 200
    assert problem_of(world.get("/v1/players/me/hands")) == "unauthorized"
    assert problem_of(world.get("/v1/games?with=me")) == "unauthorized"
    assert [one["id"] for one in ada.get("/v1/games?with=me&result=forfeit").json["items"]] == [own]
    declined = bob.call("DELETE", f"/v1/tables/{table['id']}/invitations/me")
    assert declined.status_code == 204
    assert problem_of(bob.call("PUT", "/v1/players/me/blocks/me")) == "forbidden"
    assert problem_of(bob.get("/v1/players/mine/hands")) == "not-found"


def test_a_broken_answer_is_continued_from_the_cursor_of_any_line(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = [given_up(ada)["game"] for _ in range(5)][::-1]
    monkeypatch.setattr(hands, "BATCH", 2)
    lines = lines_of(ada, ada)
    assert [line["id"] for line in lines] == games
    for number, line in enumerate(lines, 1):
        rest = lines_of(ada, ada, f"?cursor={line['cursor']}")
        assert [one["id"] for one in rest] == games[number:]
    other = ada.get("/v1/games?limit=1").json["next"]
    refused = ada.get(f"/v1/players/{ada.id}/hands?cursor={other}")
    assert problem_of(refused) == "malformed"


def test_a_private_hand_is_a_line_for_those_who_may_see_it_and_the_read_is_recorded(
    ada: Person, bob: Person
) -> None:
    table = given_up(ada, visibility="private")
    assert lines_of(bob, ada) == []
    invited = {"Shithead-Invite": table["invite"]}
    answer = bob.get(f"/v1/players/{ada.id}/hands", headers=invited)
    assert [orjson.loads(line)["id"] for line in answer.get_data().splitlines()] == [table["game"]]
    readings = ada.get(f"/v1/games/{table['game']}/audit/readings").json["items"]
    assert [(one["reader"], one["what"]) for one in readings] == [
        (bob.id, f"/v1/players/{ada.id}/hands")
    ]
    assert [line["id"] for line in lines_of(ada, ada)] == [table["game"]]


def test_an_error_in_the_course_of_an_answer_is_its_last_line_and_frees_its_slot(
    ada: Person, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client must not take a part of the hands for all of them."""
    for _ in range(3):
        given_up(ada)
    monkeypatch.setattr(hands, "BATCH", 1)
    directory = world.services.hands.directory
    whole: Callable[..., Any] = type(directory).list_games
    calls = 0

    def failing(*args: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise StoreUnavailable("gone")
        return whole(*args, **more)

    monkeypatch.setattr(type(directory), "list_games", failing)
    hand, problem = lines_of(ada, ada)
    assert "cursor" in hand
    assert (problem["type"], problem["status"]) == ("/problems/unavailable", 503)
    streams = world.app.extensions["shithead"].streams
    assert streams._held == {}
    assert len(lines_of(ada, ada)) == 3
    bundle, read = type(world.services.hands.evidence).bundle, list[Any]()

    def unread(*args: Any, **more: Any) -> Any:
        read.append(args)
        if len(read) == 2:
            raise StoreUnavailable("gone")
        return bundle(*args, **more)

    monkeypatch.setattr(type(world.services.hands.evidence), "bundle", unread)
    cut = ada.get(f"/v1/players/{ada.id}/hands.tar").get_data()
    assert cut[-1024:] != bytes(1024), "a tar file without its end"
    assert streams._held == {}


def test_no_more_answers_are_sent_at_once_than_there_are_slots(ada: Person, world: World) -> None:
    streams = world.app.extensions["shithead"].streams
    held = []
    with pytest.raises(Refusal):
        while True:
            held.append(streams.acquire("127.0.0.1"))
    for path in ("hands", "hands.tar"):
        refused = ada.get(f"/v1/players/{ada.id}/{path}")
        assert (problem_of(refused), refused.json["limit"]) == (
            "rate-limited",
            "streams_of_address",
        )
    for slot in held:
        streams.release(slot)
    assert ada.call("HEAD", f"/v1/players/{ada.id}/hands").status_code == 200
    assert streams._held == {}


def names_in(data: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        return packed.getnames()


def test_tar_files_have_parts_of_which_each_can_be_asked_for_again(ada: Person) -> None:
    """The next part is named by Link, and is the same after more hands were played."""
    games = [given_up(ada)["game"] for _ in range(5)][::-1]
    address, parts = f"/v1/players/{ada.id}/hands.tar?limit=2", list[tuple[str, bytes]]()
    while address:
        answer = ada.get(address)
        parts.append((address, answer.get_data()))
        link = re.fullmatch(r'<(.*)>; rel="next"', answer.headers.get("Link", ""))
        address = link[1] if link else ""
    packed = [names_in(data) for _, data in parts]
    assert packed == [[f"{game}.shx" for game in games[n : n + 2]] for n in (0, 2, 4)]
    given_up(ada)
    assert ada.get(parts[1][0]).get_data() == parts[1][1]
    assert problem_of(ada.get(f"/v1/players/{ada.id}/hands.tar?limit=201")) == "malformed"


def test_the_tar_file_has_the_bundles_of_the_callers_own_hands(ada: Person, bob: Person) -> None:
    games = [given_up(ada)["game"] for _ in range(3)][::-1]
    answer = ada.get(f"/v1/players/{ada.id}/hands.tar")
    assert answer.content_type == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(answer.get_data())) as packed:
        members = packed.getmembers()
        assert [member.name for member in members] == [f"{game}.shx" for game in games]
        for member, game in zip(members, games, strict=True):
            content = packed.extractfile(member)
            assert content is not None
            data = content.read()
            assert data == ada.get(f"/v1/games/{game}/evidence").get_data()
            assert str(read_bundle(data).game) == game
    assert problem_of(bob.get(f"/v1/players/{ada.id}/hands.tar")) == "forbidden"
    one = ada.get(f"/v1/players/{ada.id}/hands.tar?until=2001-01-01").get_data()
    with tarfile.open(fileobj=io.BytesIO(one)) as empty:
        assert empty.getnames() == []


def test_a_tar_file_ends_with_its_token(ada: Person) -> None:
    """It was looked at once in 500 hands."""
    for _ in range(3):
        given_up(ada)
    answer = ada.get(f"/v1/players/{ada.id}/hands.tar", buffered=False)
    pieces = answer.iter_encoded()
    begun = next(pieces)
    assert ada.call("DELETE", f"/v1/players/me/tokens/{ada.get('/v1/token').json['id']}")
    rest = b"".join(pieces)
    assert begun
    assert rest == b"", "no further bundle, and no end of the file"


def test_the_bundles_of_a_tar_file_are_built_in_the_counted_places(
    ada: Person, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those after the first piece, when the request itself is over."""
    for _ in range(3):
        given_up(ada)
    slots = world.app.extensions["shithead"].long_games.slots
    bundle = type(world.services.hands.evidence).bundle
    held = []

    def built(*args: Any, **more: Any) -> Any:
        held.append(slots.held("127.0.0.1"))
        return bundle(*args, **more)

    monkeypatch.setattr(type(world.services.hands.evidence), "bundle", built)
    assert ada.get(f"/v1/players/{ada.id}/hands.tar").get_data()
    assert held == [1, 1, 1]
    assert slots.held("127.0.0.1") == 0


def test_a_tar_file_waits_for_a_place_instead_of_being_cut_off(ada: Person, world: World) -> None:
    given_up(ada)
    slots = world.app.extensions["shithead"].long_games.slots
    while slots.acquire("127.0.0.1"):
        pass
    threading.Timer(0.3, slots.release, ["127.0.0.1"]).start()
    packed = ada.get(f"/v1/players/{ada.id}/hands.tar").get_data()
    with tarfile.open(fileobj=io.BytesIO(packed)) as whole:
        assert len(whole.getnames()) == 1
