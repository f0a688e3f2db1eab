"""Audits of moves, cards and seats over HTTP: content, access, access log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from schemas.audit import CustodySchema, DecisionSchema, KnowledgeSchema
from service.application.signing import signers_at
from service.public_log.sequencer import Sequencer
from service.replay.sentences import sentence
from service.store.database import Database
from service.store.public_log import PostgresLog
from tests.worlds.api_world import Person, World, problem_of


@pytest.fixture
def game(ada: Person, bob: Person) -> str:
    """Return the path of a running game between two people, ada at seat 0."""
    table = ada.table("open")
    seated = bob.post(f"/v1/tables/{table['id']}/seats")
    return f"/v1/games/{seated.json['game']}"


def own_hand(player: Person, game: str) -> list[str]:
    view = player.get(game).json
    cards: list[str] = view["seats"][view["as"]]["hand"]["cards"]
    return cards


def test_before_the_seal_only_a_seat_itself_gets_what_it_saw(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    seq = ada.post(f"{game}/moves", {"type": "ready"}).json["version"] - 1
    answer = ada.get(f"{game}/audit/moves/{seq}")
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.json["did"] == {"type": "ready"}
    assert answer.json["saw"]["seats"][0]["hand"]["cards"] == own_hand(ada, game)
    assert answer.json["refused"] == []
    for other in (bob.get(f"{game}/audit/moves/{seq}"), world.get(f"{game}/audit/moves/{seq}")):
        assert [other.json[name] for name in ("saw", "legal", "not_legal", "refused")] == [None] * 4
        assert other.json["effects"] == answer.json["effects"]
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert world.get(f"{game}/audit/moves/{seq}").json["saw"] == answer.json["saw"]


def test_a_bot_judges_the_moves_of_a_turn_only_after_the_seal(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    for person in (ada, bob):
        seq = person.post(f"{game}/moves", {"type": "ready"}).json["version"] - 1
    player = next(one for one in (ada, bob) if one.get(game).json["moves"])
    move = player.get(game).json["moves"][0]
    played = player.post(f"{game}/moves", move).json["events"][0]["seq"]
    path = f"{game}/audit/moves/{played}"
    assert problem_of(player.get(f"{path}?opinion=true")) == "sealed"
    assert "opinion" not in player.get(f"{path}?opinion=false").json
    ada.post(f"{game}/moves", {"type": "forfeit"})
    found = world.get(f"{path}?opinion=true").json
    assert DecisionSchema().validate(found) == {}
    assert found["opinion"]["bot"] == "expert"
    assert "not evidence" in found["opinion"]["wording"]
    moves = found["opinion"]["moves"]
    assert sum(one["made"] for one in moves) == 1
    assert [one["chance"] for one in moves] == sorted((m["chance"] for m in moves), reverse=True)
    assert world.get(f"{path}?opinion=true").json == found, "equal requests have equal answers"
    assert world.get(f"{game}/audit/moves/{seq}?opinion=true").json["opinion"] is None
    assert problem_of(world.get(f"{path}?opinion=maybe")) == "malformed"


def test_a_refused_move_is_shown_to_its_player_and_after_the_seal_to_all(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    theirs = own_hand(bob, game)
    move = {"type": "swap", "up": theirs[:1], "hand": theirs[1:2]}
    assert problem_of(ada.post(f"{game}/moves", move)) == "rule-refused"
    seq = ada.post(f"{game}/moves", {"type": "ready"}).json["version"] - 1
    [attempt] = ada.get(f"{game}/audit/moves/{seq}").json["refused"]
    assert (attempt["move"], attempt["rule"]) == (move, "P4")
    unheld = sentence("move.not_held", {"cards": (*move["up"], *move["hand"])})
    assert attempt["text"] == unheld
    assert bob.get(f"{game}/audit/moves/{seq}").json["refused"] is None
    bob.post(f"{game}/moves", {"type": "forfeit"})
    assert world.get(f"{game}/audit/moves/{seq}").json["refused"] == [attempt]


def test_a_card_is_followed_as_far_as_the_caller_could_see_it(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    card = own_hand(ada, game)[0]
    path = f"{game}/audit/cards/{card}"
    [stretch] = ada.get(path).json["path"]
    assert (stretch["zone"], stretch["seat"], stretch["seen_by"]) == ("hand", 0, [0])
    for other in (bob.get(path).json, world.get(path).json):
        assert (other["p"], other["path"]) == (None, [])
    ada.post(f"{game}/moves", {"type": "forfeit"})
    after = world.get(path).json
    assert [part["zone"] for part in after["path"]] == ["stock", "hand"]
    assert after["p"] == ada.get(path).json["p"]


def test_card_codes_that_are_not_in_the_game_are_unknown(ada: Person) -> None:
    game = ada.game()
    for code in ("X1", "7c/2", "nothing", "??"):
        assert problem_of(ada.get(f"{game}/audit/cards/{code}")) in ("unknown-card", "not-found")
    assert problem_of(ada.get(f"{game}/audit/cards/7c/2")) == "unknown-card"


def test_cards_of_a_second_deck_have_a_path(world: World, ada: Person) -> None:
    game = ada.game(*({"bot": "lowest"},) * 6, ruleset="leeds")
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert world.get(f"{game}/audit/cards/7c/2").json["card"] == "7c/2"
    assert world.get(f"{game}/audit/cards/7c%2F2").json["path"]


def test_the_knowledge_of_a_seat_is_its_own_before_the_seal(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    mine = ada.get(f"{game}/audit/knowledge").json
    version = ada.get(game).json["version"]
    assert (mine["seat"], mine["version"]) == (0, version)
    assert {line["card"] for line in mine["cards"] if line["by"] == "own"} == set(
        own_hand(ada, game)
    )
    assert set(own_hand(bob, game)) <= set(mine["unseen"])
    for other in (bob, None):
        get = other.get if other else world.get
        assert problem_of(get(f"{game}/audit/knowledge?seat=0")) == "sealed"
    assert problem_of(world.get(f"{game}/audit/knowledge")) == "malformed"
    assert problem_of(ada.get(f"{game}/audit/knowledge?seat=5")) == "malformed"
    assert problem_of(ada.get(f"{game}/audit/knowledge?at={version + 1}")) == "malformed"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert world.get(f"{game}/audit/knowledge?seat=0&at={version}").json == mine


def test_answers_fit_their_schemas(world: World, ada: Person, game: str) -> None:
    ada.post(f"{game}/moves", {"type": "forfeit"})
    version = ada.get(game).json["version"]
    for seq in range(version):
        found = world.get(f"{game}/audit/moves/{seq}").json
        assert DecisionSchema().validate(found) == {}
    assert CustodySchema().validate(world.get(f"{game}/audit/cards/Th").json) == {}
    assert KnowledgeSchema().validate(world.get(f"{game}/audit/knowledge?seat=1").json) == {}


def test_an_audit_of_an_unknown_event_or_a_hidden_game_is_not_found(
    world: World, ada: Person, bob: Person
) -> None:
    game = ada.game(visibility="private")
    version = ada.get(game).json["version"]
    assert problem_of(ada.get(f"{game}/audit/moves/{version}")) == "not-found"
    assert problem_of(ada.get(f"{game}/audit/moves/-1")) == "not-found"
    for path in ("moves/1", "cards/Th", "knowledge?seat=0", "readings"):
        assert problem_of(bob.get(f"{game}/audit/{path}")) == "not-found"


def test_an_audit_is_cacheable_once_it_cannot_change(
    world: World, ada: Person, bob: Person, database_url: str
) -> None:
    """It is the same for every caller, but the public log adds the game only after the seal."""
    game = ada.game()
    path = f"{game}/audit"
    for viewer, refusal in (("all", "sealed"), ("1", "sealed"), ("9", "malformed")):
        assert problem_of(bob.get(f"{path}?as={viewer}")) == refusal
    assert ada.get(f"{path}?as=0").json == ada.get(path).json == bob.get(f"{path}?as=public").json
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert ada.get(f"{path}?as=all").headers["Cache-Control"] == "private, no-store"
    database = Database(database_url, size=1)
    sequencer = Sequencer(
        store=PostgresLog(database),
        origin="tests.example",
        signers=lambda now: signers_at(world.services.keyring.present, "tests.example", now),
        now=lambda: datetime.now(UTC),
    )
    while sequencer.run_once():
        pass
    database.close()
    final = bob.get(f"{path}?as=all")
    [anchor] = [c for c in final.json["checks"] if c["check"] == "anchor"]
    assert anchor["result"] == "pass"
    assert final.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert ada.get(path).headers["Cache-Control"] == "private, no-store"


def test_reads_of_another_seats_cards_in_a_private_game_are_recorded(
    world: World, ada: Person, bob: Person
) -> None:
    table = ada.table("open", visibility="private")
    seated = bob.post(f"/v1/tables/{table['id']}/seats", {"invite": table["invite"]})
    game = f"/v1/games/{seated.json['game']}"
    seq = ada.post(f"{game}/moves", {"type": "ready"}).json["version"] - 1
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert ada.get(f"{game}/audit/moves/{seq}").status_code == 200
    assert ada.get(f"{game}/audit/readings").json == {"items": [], "next": None}
    bob.get(f"{game}/audit/moves/{seq}")
    guest, invite = world.person("Guest"), {"Shithead-Invite": table["invite"]}
    assert guest.get(f"{game}/audit/knowledge?seat=0", headers=invite).status_code == 200
    first = ada.get(f"{game}/audit/readings?limit=1").json
    assert [(item["reader"], item["what"]) for item in first["items"]] == [
        (guest.id, f"{game}/audit/knowledge?seat=0")
    ]
    rest = ada.get(f"{game}/audit/readings?cursor={first['next']}").json
    assert [item["what"] for item in rest["items"]] == [f"{game}/audit/moves/{seq}"]
    assert rest["next"] is None
    assert problem_of(guest.get(f"{game}/audit/readings", headers=invite)) == "not-seated"
    assert problem_of(world.get(f"{game}/audit/readings", headers=invite)) == "unauthorized"
    assert problem_of(ada.get(f"{game}/audit/readings?cursor=9")) == "malformed"
