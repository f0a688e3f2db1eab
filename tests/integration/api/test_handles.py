"""Handles over HTTP: choose, change, search, several players by id; a handle is a name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from schemas.players import MAX_FOUND, OwnPlayerSchema, PeopleSchema, PlayerSchema
from service.application.handles import CHANGED_EVERY
from tests.worlds.api_world import Answer, Person, World, problem_of


def choose(person: Person, handle: str) -> Answer:
    return person.call("PUT", "/v1/players/me/handle", json={"handle": handle})


def found(person: Person, prefix: str) -> list[str]:
    answer = person.get(f"/v1/handles?prefix={prefix}")
    assert answer.status_code == 200, answer.text
    assert PeopleSchema().validate(answer.json) == {}
    return [item["handle"] for item in answer.json["items"]]


def test_a_player_chooses_a_handle_and_others_find_it(ada: Person, bob: Person) -> None:
    assert ada.get("/v1/players/me").json["handle"] is None
    assert ada.get("/v1/players/me").json["handle_fixed_until"] is None
    first = choose(ada, "ada-lovelace")
    assert (first.status_code, first.json["handle"]) == (200, "ada-lovelace")
    assert OwnPlayerSchema().validate(first.json) == {}
    until = datetime.fromisoformat(first.json["handle_fixed_until"])
    assert timedelta(0) <= datetime.now(UTC) + CHANGED_EVERY - until < timedelta(minutes=1)
    assert choose(ada, "ada-lovelace").json == first.json, "repeated"
    assert found(bob, "ada") == ["ada-lovelace"]
    page = bob.get(f"/v1/players/{ada.id}").json
    assert PlayerSchema().validate(page) == {}
    assert page["handle"] == "ada-lovelace"


@pytest.mark.parametrize("handle", ["ada-l0ve1ace", "operator"])
def test_taken_look_alike_and_reserved_handles_are_refused_alike(
    ada: Person, bob: Person, handle: str
) -> None:
    choose(ada, "ada-lovelace")
    refused = choose(bob, handle)
    assert (refused.status_code, problem_of(refused)) == (409, "handle-taken")
    assert refused.json["detail"] == "this handle, or one that looks like it, is not free"
    assert bob.get("/v1/players/me").json["handle"] is None


def test_a_handle_of_other_characters_is_refused(ada: Person) -> None:
    refused = choose(ada, "ada_l")
    assert problem_of(refused) == "invalid-body"
    assert refused.json["errors"][0]["at"] == "/handle"


def test_a_second_choice_within_30_days_waits(ada: Person) -> None:
    choose(ada, "ada")
    refused = choose(ada, "ada-l")
    assert (refused.status_code, problem_of(refused)) == (429, "rate-limited")
    assert refused.json["limit"] == "handles"
    left = timedelta(seconds=int(refused.headers["Retry-After"]))
    assert timedelta(days=29, hours=23) < left <= CHANGED_EVERY
    assert ada.get("/v1/players/me").json["handle"] == "ada"


def test_a_search_needs_two_characters(ada: Person) -> None:
    for query in ("", "?prefix=", "?prefix=a", "?prefix=Ada", "?prefix=%25", "?prefix=a_b"):
        assert problem_of(ada.get(f"/v1/handles{query}")) == "malformed", query


def test_a_search_finds_ten_at_most_the_whole_handle_first(world: World, ada: Person) -> None:
    for n in range(MAX_FOUND + 2):
        choose(world.person(), f"dora-{n:02}" if n else "dora")
    names = found(ada, "dora")
    assert (len(names), names[0]) == (MAX_FOUND, "dora")
    assert names == sorted(names)
    assert found(ada, "dora-") == [*names[1:], "dora-10"]


def test_a_block_changes_nothing_in_a_search(ada: Person, bob: Person) -> None:
    choose(bob, "bob")
    before = ada.get("/v1/handles?prefix=bo")
    bob.call("PUT", f"/v1/players/me/blocks/{ada.id}")
    after = ada.get("/v1/handles?prefix=bo")
    assert (after.status_code, after.data) == (before.status_code, before.data)


def test_several_players_are_read_in_one_call(world: World, ada: Person, bob: Person) -> None:
    choose(bob, "bob")
    gone = world.person("Gone")
    gone.call("DELETE", "/v1/players/me")
    ids = f"{bob.id},{uuid4()},{ada.id},{gone.id},{bob.id}"
    answer = world.get(f"/v1/players?ids={ids}")
    assert PeopleSchema().validate(answer.json) == {}
    assert answer.json == {
        "items": [
            {"id": bob.id, "name": "Bob", "handle": "bob"},
            {"id": ada.id, "name": "Ada", "handle": None},
            {"id": gone.id, "name": None, "handle": None},
        ],
        "next": None,
    }
    for query in ("", "?ids=", "?ids=me", f"?ids={','.join([ada.id] * 51)}"):
        assert problem_of(world.get(f"/v1/players{query}")) == "malformed", query


@pytest.mark.parametrize("form", ["urn:uuid:{}", "%7B{}%7D", "{}%0A"])
def test_ids_have_one_form(world: World, ada: Person, form: str) -> None:
    for one in (form.format(ada.id), ada.id.replace("-", "")):
        assert problem_of(world.get(f"/v1/players?ids={one}")) == "malformed", one


def test_an_erased_handle_is_found_by_nobody_and_kept_from_others(
    ada: Person, bob: Person, database_url: str
) -> None:
    choose(ada, "unmistakable")
    assert holding(database_url, "unmistakable") == {("handles", "handle")}
    assert ada.call("DELETE", "/v1/players/me").status_code == 204
    assert found(bob, "unmistakable") == []
    assert bob.get(f"/v1/players/{ada.id}").json["handle"] is None
    assert problem_of(choose(bob, "unmistakable")) == "handle-taken"
    assert holding(database_url, "unmistakable") == set()


def holding(url: str, text: str) -> set[tuple[str, str]]:
    """Return the columns of the database in which a text is."""
    with psycopg.connect(url) as owner:
        columns = owner.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " JOIN information_schema.tables USING (table_schema, table_name)"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        ).fetchall()
        return {
            (table, column)
            for table, column in columns
            if owner.execute(
                sql.SQL(
                    "SELECT FROM {} t WHERE strpos(t.{}::text, {}) > 0"
                    " OR strpos(encode(convert_to(t.{}::text, 'UTF8'), 'escape'), {}) > 0 LIMIT 1"
                ).format(
                    sql.Identifier(table),
                    sql.Identifier(column),
                    sql.Literal(text),
                    sql.Identifier(column),
                    sql.Literal(text),
                )
            ).fetchall()
        }


def test_a_handle_is_in_no_record_and_no_preview(ada: Person) -> None:
    """A handle is a name: what is public and permanent, and what other sites show, lacks it."""
    choose(ada, "unmistakable")
    game = ada.game()
    ada.post(f"{game}/moves", {"type": "forfeit"})
    identity = game.rsplit("/", 1)[1]
    own = [f"{game}{path}" for path in ("", "/events", "/replay", "/transcript", "/evidence")]
    own += [
        f"{game}/picture.svg",
        f"{game}/audit",
        f"{game}/receipt",
        "/v1/ratings?ruleset=shithead",
    ]
    own += [f"/v1/players/{ada.id}/hands", "/v1/games", "/v1/tables", f"/replay/{identity}"]
    own += [f"/play/{identity}", f"/embed/{identity}", f"/v1/log/proof?game={identity}"]
    for path in own:
        answer = ada.get(path)
        assert answer.status_code in (200, 404), (path, answer.status_code)
        assert b"unmistakable" not in answer.data, path
