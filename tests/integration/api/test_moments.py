"""Moments that players keep: who may keep which, what is listed, changed, exported and erased."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Thread
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import ValidationError
from psycopg.types.json import Jsonb
from werkzeug.serving import make_server

from schemas.moments import (
    LONGEST_MOMENT,
    MomentChangeSchema,
    MomentSchema,
    MomentsFileSchema,
    MomentsPageSchema,
)
from schemas.visible_text import clusters, is_visible
from service.application import moments
from service.application.quotas import Bound
from service.client import Api, KeptMoments, Refused
from tests.contract.conftest import address_of_service
from tests.examples import examples
from tests.worlds.api_world import Answer, Person, World, problem_of

MOMENTS = "/v1/players/me/moments"
FILE = f"{MOMENTS}/export"


def wanted(game: str, text: str = "Look here.", **more: Any) -> dict[str, Any]:
    """Return the body that keeps a moment of a hand."""
    hand = game.rpartition("/")[2]
    return {"game": hand, "version": 2, "as": "public", "list": "Endings", "text": text, **more}


def keep(person: Person, game: str, text: str = "Look here.", **more: Any) -> dict[str, Any]:
    answer = person.post(MOMENTS, wanted(game, text, **more))
    assert answer.status_code == 201, answer.text
    assert MomentSchema().validate(answer.json) == {}
    return dict(answer.json)


def texts(person: Person, query: str = "") -> list[str]:
    found = person.get(f"{MOMENTS}{query}").json
    assert MomentsPageSchema().validate(found) == {}
    return [one["text"] for one in found["items"]]


def patched(person: Person, moment: str, **body: Any) -> Answer:
    return person.call("PATCH", f"{MOMENTS}/{moment}", json=body)


def test_a_moment_is_kept_for_its_player_alone(ada: Person, bob: Person) -> None:
    game = ada.game()
    answer = ada.post(MOMENTS, wanted(game, **{"as": "0"}))
    kept = answer.json
    assert kept == {**wanted(game, **{"as": "0"}), "id": kept["id"], "kept_at": kept["kept_at"]}
    place = answer.headers["Location"]
    assert ada.get(place).json == kept
    assert "private, no-store" in answer.headers["Cache-Control"]
    assert texts(bob) == []
    for method in ("GET", "DELETE"):
        assert problem_of(bob.call(method, place)) == "not-found"
    assert problem_of(patched(bob, kept["id"], text="mine")) == "not-found"
    other_list = {"list": "Endings", "to": "Mine"}
    assert problem_of(bob.call("PATCH", MOMENTS, json=other_list)) == "not-found"
    assert bob.get(FILE).json["moments"] == []
    assert ada.get(place).json == kept


def test_who_may_look_so_may_keep_so(ada: Person, bob: Person) -> None:
    """The rule is that of the view: before the seal the public and the own seat, then everybody."""
    game = ada.game()

    def outcome(person: Person, viewer: str) -> str | int:
        answer = person.post(MOMENTS, wanted(game, **{"as": viewer}))
        view = person.get(f"{game}?at=2&as={viewer}")
        assert answer.status_code // 100 == view.status_code // 100, "as the view is answered"
        return answer.status_code if answer.status_code == 201 else problem_of(answer)

    def outcomes(person: Person) -> list[str | int]:
        return [outcome(person, viewer) for viewer in ("public", "0", "1", "all")]

    assert outcomes(ada) == [201, 201, "sealed", "sealed"]
    assert outcomes(bob) == [201, "sealed", "sealed", "sealed"]
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert outcomes(ada) == outcomes(bob) == [201] * 4
    assert outcome(ada, "2") == "invalid-body"
    version = ada.get(game).json["version"]
    assert ada.post(MOMENTS, wanted(game, version=version)).status_code == 201
    for wrong in (0, version + 1, "1"):
        refused = ada.post(MOMENTS, wanted(game, version=wrong))
        assert problem_of(refused) == "invalid-body"
        assert [error["at"] for error in refused.json["errors"]] == ["/version"]
    assert problem_of(ada.post(MOMENTS, wanted(str(uuid4())))) == "not-found"


def test_a_hand_that_can_no_longer_be_seen_shows_nothing_but_its_id(
    ada: Person, bob: Person
) -> None:
    """Bob had the invite of a private table when he kept the moment."""
    table = ada.table(visibility="private")
    game, key = f"/v1/games/{table['game']}", {"Shithead-Invite": table["invite"]}
    assert problem_of(bob.post(MOMENTS, wanted(game))) == "not-found"
    kept = bob.post(MOMENTS, wanted(game), headers=key)
    assert kept.status_code == 201
    assert problem_of(bob.get(game)) == "not-found"
    own = set(wanted(game)) | {"id", "kept_at"}
    assert [set(one) for one in bob.get(MOMENTS).json["items"]] == [own]
    assert [set(one) for one in bob.get(FILE).json["moments"]] == [own]
    assert ada.get(f"{game}/audit/readings").json["items"] == [], "nothing of the hand was read"


def test_a_repeated_request_keeps_one_moment_and_none_again_once_deleted(ada: Person) -> None:
    body, key = wanted(ada.game()), {"Idempotency-Key": "one"}
    first = ada.post(MOMENTS, body, headers=key)
    again = ada.post(MOMENTS, body, headers=key)
    assert again.data == first.data
    assert (first.headers.get("Idempotency-Replayed"), len(texts(ada))) == (None, 1)
    assert again.headers["Idempotency-Replayed"] == "true"
    other = ada.post(MOMENTS, {**body, "text": "other"}, headers=key)
    assert problem_of(other) == "idempotency-conflict"
    assert ada.call("DELETE", f"{MOMENTS}/{first.json['id']}").status_code == 204
    assert ada.post(MOMENTS, body, headers=key).data == first.data
    assert texts(ada) == []


def test_a_moment_gets_another_text_or_list_and_is_deleted(ada: Person) -> None:
    kept = keep(ada, ada.game(), "first")
    changed = patched(ada, kept["id"], text="second").json
    assert changed == {**kept, "text": "second"}
    changed = patched(ada, kept["id"], list="Blind tens").json
    assert changed == {**kept, "text": "second", "list": "Blind tens"}
    assert patched(ada, kept["id"]).json == changed, "nothing was to be changed"
    for body in ({"text": None}, {"version": "3"}, {"list": ""}):
        assert problem_of(patched(ada, kept["id"], **body)) == "invalid-body"
    assert ada.call("DELETE", f"{MOMENTS}/{kept['id']}").status_code == 204
    assert problem_of(ada.call("DELETE", f"{MOMENTS}/{kept['id']}")) == "not-found"
    assert problem_of(patched(ada, kept["id"], text="third")) == "not-found"
    assert ada.get(MOMENTS).json == {"items": [], "lists": [], "next": None}


def test_moments_are_listed_by_list_and_lists_by_name(ada: Person) -> None:
    """A list is renamed for all of its moments; with the name of another the two become one."""
    game = ada.game()
    for text, list_ in (("a", "Tens"), ("b", "Å"), ("c", "Tens")):
        keep(ada, game, text, list=list_)
    assert texts(ada) == ["c", "b", "a"]
    assert texts(ada, "?list=Tens") == ["c", "a"]
    assert texts(ada, "?list=A%CC%8A") == ["b"], "in normal form, as it was stored"
    assert texts(ada, "?list=none") == []
    assert ada.get(f"{MOMENTS}?list=none").json["lists"] == [
        {"name": "Tens", "moments": 2},
        {"name": "Å", "moments": 1},
    ]
    renamed = ada.call("PATCH", MOMENTS, json={"list": "Tens", "to": "Burns"})
    assert (renamed.status_code, renamed.json) == (200, {"moved": 2})
    assert texts(ada, "?list=Burns") == ["c", "a"]
    ada.call("PATCH", MOMENTS, json={"list": "Å", "to": "Burns"})
    assert ada.get(MOMENTS).json["lists"] == [{"name": "Burns", "moments": 3}]
    gone = ada.call("PATCH", MOMENTS, json={"list": "Å", "to": "Burns"})
    assert problem_of(gone) == "not-found"


def test_a_page_continues_after_the_last_moment_though_others_come_and_go(ada: Person) -> None:
    game = ada.game()
    kept = [keep(ada, game, str(number)) for number in range(5)]
    page = ada.get(f"{MOMENTS}?limit=2&list=Endings")
    assert [one["text"] for one in page.json["items"]] == ["4", "3"]
    following = page.headers["Link"].split(">")[0].strip("<")
    keep(ada, game, "new")
    ada.call("DELETE", f"{MOMENTS}/{kept[3]['id']}")
    rest = ada.get(following).json
    assert [one["text"] for one in rest["items"]] == ["2", "1"]
    last = ada.get(f"{MOMENTS}?limit=2&cursor={rest['next']}").json
    assert ([one["text"] for one in last["items"]], last["next"]) == (["0"], None)
    ada.game()
    other = ada.get("/v1/tables?limit=1&mine=true").json["next"]
    assert problem_of(ada.get(f"{MOMENTS}?cursor={other}")) == "malformed"


def test_a_player_keeps_no_more_than_the_quota_and_exports_all(ada: Person, bob: Person) -> None:
    game = ada.game()
    keep(bob, game)
    few = Bound(of="player", most=3, counts="moments", rows=("moments",))
    with patch.object(moments, "MOMENTS_OF_PLAYER", few):
        kept = [keep(ada, game, str(number), **{"as": "0"}) for number in range(3)]
        refused = ada.post(MOMENTS, wanted(game))
        assert (problem_of(refused), refused.json["limit"]) == ("limit-reached", "moments")
        answer = ada.get(FILE)
        ada.call("DELETE", f"{MOMENTS}/{kept[0]['id']}")
        keep(ada, game, "3")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="moments.json"'
    assert MomentsFileSchema().validate(answer.json) == {}
    whole = {"format": "moments/1", "player": ada.id, "moments": kept[::-1]}
    assert answer.json == whole


def test_of_two_requests_at_once_the_second_counts_the_first(
    ada: Person, database_url: str
) -> None:
    """It waits until the first is committed, though its own row is another one."""
    call = "SELECT keep_moment(%s, 1)"
    row = {"player_id": ada.id, "game_id": ada.id, "version": 1, "viewer": "public"}
    row |= {"list_name": "Tens", "words": "Look.", "kept_at": "2026-11-29T00:00:00Z"}

    def kept(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
        columns = Jsonb({**row, "moment_id": str(uuid4())})
        [(is_kept,)] = connection.execute(call, (columns,)).fetchall()
        return bool(is_kept)

    address = address_of_service(database_url)
    with psycopg.connect(address) as one, psycopg.connect(address) as other:
        assert kept(one)
        with ThreadPoolExecutor() as pool:
            second = pool.submit(kept, other)
            wait([second], timeout=0.3)
            one.commit()
            assert second.result() is False
    assert texts(ada) == ["Look."]


def test_moments_are_deleted_with_their_player(
    world: World, database_url: str, bob: Person
) -> None:
    eve = world.person("Eve")
    game = bob.game()
    keep(eve, game, "to be forgotten")
    keep(bob, game, "Bob's")
    assert eve.call("DELETE", "/v1/players/me").status_code == 204
    with psycopg.connect(database_url) as owner:
        [row] = owner.execute("SELECT player_id, words FROM moments").fetchall()
    assert row == (UUID(bob.id), "Bob's")


@pytest.mark.parametrize("text", ["", "a\nb", "x" * 201, 7])
def test_a_wrong_text_is_refused_where_it_is_written(ada: Person, text: Any) -> None:
    game = ada.game()
    refused = ada.post(MOMENTS, wanted(game, text))
    assert problem_of(refused) == "invalid-body"
    assert [error["at"] for error in refused.json["errors"]] == ["/text"]
    assert problem_of(ada.post(MOMENTS, wanted(game, list=text))) == "invalid-body"
    assert texts(ada) == []


REFUSED = "".join(
    chr(one)
    for one in (
        *(*range(9), *range(10, 32), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F)),
        *(*range(0x2066, 0x206A), *range(0xFDD0, 0xFDF0), 0xFFFE, 0x10FFFF),
    )
)
"""Control characters, what ends a line or turns the direction of text, noncharacters."""


@examples(40)
@given(text=st.text(st.characters(codec="utf-8"), max_size=LONGEST_MOMENT + 20))
def test_a_text_is_refused_or_one_visible_line_in_normal_form(text: str) -> None:
    """What is accepted fits its column, and is accepted as it is when it is sent again."""
    try:
        kept = MomentChangeSchema().load({"text": text})["text"]
    except ValidationError as error:
        assert isinstance(error.messages, dict)
        assert set(error.messages) == {"text"}
        assert (
            not is_visible(text)
            or len(unicodedata.normalize("NFC", text)) > LONGEST_MOMENT
            or any(unicodedata.category(one) in ("Cc", "Cn", "Zl", "Zp") for one in text)
            or any(one in REFUSED for one in text)
        )
        return
    assert 1 <= len(clusters(kept)) <= len(kept) <= LONGEST_MOMENT
    assert len(kept.encode()) <= 800, "the check of the column"
    assert not any(one in REFUSED for one in kept)
    assert kept == unicodedata.normalize("NFC", kept)
    assert MomentChangeSchema().load({"text": kept})["text"] == kept


@examples(40)
@given(text=st.text(st.sampled_from("aé字"), max_size=9), one=st.sampled_from(REFUSED))
def test_a_refused_character_is_refused_wherever_it_stands(text: str, one: str) -> None:
    for at in range(len(text) + 1):
        with pytest.raises(ValidationError):
            MomentChangeSchema().load({"text": f"a{text[:at]}{one}{text[at:]}a"})


@pytest.fixture
def kept(world: World, ada: Person) -> Iterator[KeptMoments]:
    """Return the moments of Ada, through the client library."""
    server = make_server("127.0.0.1", 0, world.app)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield KeptMoments(Api(url=f"http://127.0.0.1:{server.server_port}", token=ada.token))
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_library_keeps_lists_changes_and_forgets_moments(
    ada: Person, kept: KeptMoments
) -> None:
    game = UUID(ada.game().rpartition("/")[2])
    one, two = (
        kept.keep(game, 2, text, viewer="0", in_list="Tens") for text in ("first", "second")
    )
    assert [one["text"] for one in kept.listed("Tens")] == ["second", "first"]
    changed = kept.change(UUID(one["id"]), text="third", list="Ä & o")
    assert list(kept.listed("Ä & o")) == [changed]
    assert kept.lists() == {"Tens": 1, "Ä & o": 1}
    kept.rename("Tens", "Ä & o")
    assert kept.lists() == {"Ä & o": 2}
    kept.forget(UUID(two["id"]))
    assert list(kept.listed()) == kept.export()["moments"] == [changed]
    with pytest.raises(Refused, match="nothing with this id"):
        kept.forget(UUID(two["id"]))
