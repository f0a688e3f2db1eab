"""Disputes over HTTP and a real database, from the accusation to the last ruling."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID

import orjson
import psycopg
import pytest

from schemas.disputes import DisputePageSchema, DisputeSchema
from service.application.disputes import files
from service.application.quotas import QUOTAS
from service.shx.bundle import read_log
from service.shx.receipts import statement_commitment, vote_commitment
from service.store.events import QuotaKind, StreamKind
from tests.streams import numbered
from tests.worlds.api_world import Person, World, make_world, problem_of

SALT = b"s" * 32
WORDS = "It was not so."
WHY = "He saw the card in a mirror."
AT_ONCE = {"referee_hands": 0, "referee_account_seconds": 0, "referee_seated_seconds": 0}


@pytest.fixture
def settings() -> dict[str, int]:
    """Return settings under which every player can be a referee, and vote as soon as seated."""
    return dict(AT_ONCE)


@pytest.fixture
def judges(world: World) -> list[Person]:
    """Return people without a seat."""
    return [world.person(f"Judge {n}") for n in range(3)]


@pytest.fixture
def game(ada: Person, bob: Person) -> str:
    """Return the path of a running game of Ada and Bob in which Bob is ready."""
    table = ada.table("open")
    assert bob.post(f"/v1/tables/{table['id']}/seats").status_code == 201
    path = f"/v1/games/{ada.get('/v1/tables/' + table['id']).json['game']}"
    assert bob.post(f"{path}/moves", {"type": "ready"}).status_code == 201
    return path


@pytest.fixture
def sealed(game: str, ada: Person) -> str:
    """Return the path of a game that is over."""
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    return game


def seq_of(game: str, world: Any, kind: str = "seat_ready", by: int | None = 1) -> int:
    """Return the seq of the first event of a type by a seat."""
    events = world.get(f"{game}/events").json["items"]
    return int(next(e["seq"] for e in events if e["type"] == kind and e["by"] == by))


def accusation(game: str, world: Any, **more: Any) -> dict[str, Any]:
    """Return the accusation that Bob was not ready."""
    wanted = {"accused": 1, "charge": "other", "statement": WORDS, **more}
    return wanted if "seq" in wanted else {**wanted, "seq": seq_of(game, world)}


def open_at(person: Person, game: str, **more: Any) -> dict[str, Any]:
    """Open a dispute and return it."""
    answer = person.post(f"{game}/disputes", accusation(game, person, **more))
    assert answer.status_code == 201, answer.text
    return checked(answer.json)


def checked(dispute: Any) -> dict[str, Any]:
    """Return a dispute that fits its schema, with no field missing."""
    assert not DisputeSchema().validate(dispute)
    assert dispute.keys() == set(DisputeSchema().fields)
    return dict(dispute)


def do(person: Person, dispute: dict[str, Any], what: str, body: Any = None) -> dict[str, Any]:
    """Perform an action in a dispute and return its new state."""
    answer = person.post(f"/v1/disputes/{dispute['id']}/{what}", body)
    assert answer.status_code == 201, answer.text
    return checked(answer.json)


def refused(person: Person, dispute: dict[str, Any], what: str, body: Any = None) -> str:
    """Return the problem type of a refused action in a dispute."""
    return problem_of(person.post(f"/v1/disputes/{dispute['id']}/{what}", body))


def seen(person: Any, dispute: dict[str, Any]) -> dict[str, Any]:
    """Return a dispute as a person sees it."""
    return checked(person.get(f"/v1/disputes/{dispute['id']}").json)


def seated(judges: list[Person], dispute: dict[str, Any]) -> dict[str, int]:
    """Seat referees and return their numbers."""
    numbers = {}
    for judge in judges:
        shown = do(judge, dispute, "referees")
        [numbers[judge.id]] = [r["referee"] for r in shown["referees"] if r["player"] == judge.id]
    return numbers


def settle(judges: list[Person], dispute: dict[str, Any], *votes: str) -> dict[str, Any]:
    """Let referees sit, vote and reveal; return the resulting dispute."""
    numbers = seated(judges, dispute)
    for judge, vote in zip(judges, votes, strict=True):
        commit = vote_commitment(UUID(dispute["id"]), numbers[judge.id], vote, SALT).hex()
        shown = do(judge, dispute, "votes", {"commit": commit})
    assert shown["state"] == "revealing"
    for judge, vote in zip(judges, votes, strict=True):
        shown = do(judge, dispute, "votes", {"vote": vote, "salt": SALT.hex()})
    return shown


def cad(world: World, person: Person) -> bool:
    """Return whether a player is shown as a cad, to everybody and to the player alike."""
    is_cad = world.get(f"/v1/players/{person.id}").json["cad"]
    assert person.get("/v1/players/me").json["cad"] is is_cad
    return is_cad is True


@pytest.mark.attack(
    "STEERED_RULING", "a cad before there was time for an appeal", check="the state"
)
def test_a_dispute_from_the_accusation_to_the_appeal(
    world: World, ada: Person, bob: Person, sealed: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, sealed)
    assert (dispute["by"], dispute["accused"], dispute["state"]) == (0, 1, "open")
    ruled = settle(judges, dispute, "cheated", "cheated", "cheated")
    assert ruled["state"] == "ruled"
    assert ruled["ruling"] is None, "no player is a cad before the dispute is final"
    assert ruled["earlier"] == []
    assert ruled["deadline"] is not None
    assert [vote["vote"] for vote in ruled["votes"]] == ["cheated"] * 3
    assert cad(world, bob) is False
    assert world.get(f"/v1/players/{ada.id}").json["accusations"] == {"made": 1, "upheld": 0}

    assert refused(ada, dispute, "appeal") == "forbidden", "she did not lose"
    assert do(bob, dispute, "appeal")["state"] == "appealed"
    assert refused(judges[0], dispute, "referees") == "forbidden"
    others = [world.person(f"Other {n}") for n in range(3)]
    final = settle(others, dispute, "cheated", "not_proven", "cheated")
    assert final["state"] == "final"
    assert final["ruling"]["verdict"] == "cleared", "the ruling is the one that stands"
    assert [ruling["verdict"] for ruling in final["earlier"]] == ["cad"]
    assert final["ruling"]["at"] > final["earlier"][0]["at"]
    assert cad(world, bob) is False
    assert ada.get("/v1/players/me").json["accusations"] == {"made": 1, "upheld": 0}
    assert refused(ada, dispute, "appeal") == "forbidden"
    assert refused(ada, dispute, "statements", {"text": "But"}) == "forbidden"
    listed = world.get(f"{sealed}/disputes").json
    assert not DisputePageSchema().validate(listed)
    assert [item["id"] for item in listed["items"]] == [dispute["id"]]


@pytest.mark.parametrize("settings", [{**AT_ONCE, "appeal_seconds": 0}])
def test_a_final_ruling_makes_a_cad(
    world: World, ada: Person, bob: Person, sealed: str, judges: list[Person]
) -> None:
    final = settle(judges, open_at(ada, sealed), "cheated", "cheated", "cheated")
    assert final["state"] == "final"
    assert final["deadline"] is None
    assert final["ruling"]["verdict"] == "cad"
    assert cad(world, bob) is True
    assert world.get(f"/v1/players/{ada.id}").json["accusations"] == {"made": 1, "upheld": 1}


@pytest.mark.attack("STEERED_RULING", "the cleared accused uses up the appeal", check="403")
def test_the_cleared_accused_does_not_use_up_the_appeal(
    ada: Person, bob: Person, sealed: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, sealed)
    ruled = settle(judges, dispute, "cheated", "not_proven", "cheated")
    assert ruled["ruling"]["verdict"] == "cleared"
    assert refused(bob, dispute, "appeal") == "forbidden"
    assert do(ada, dispute, "appeal")["state"] == "appealed"


@pytest.mark.attack("STEERED_RULING", "a vote before the seal", check="403")
def test_the_voting_opens_only_after_the_seal(
    world: World, ada: Person, bob: Person, game: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, game)
    seated(judges, dispute)
    shown = seen(world, dispute)
    assert (shown["state"], shown["voting_from"], shown["deadline"]) == ("open", None, None)
    assert refused(judges[0], dispute, "votes", {"vote": "cheated"}) == "forbidden"
    do(bob, dispute, "referees", {"refuse": 0})
    assert refused(judges[0], dispute, "referees") == "forbidden", "refused, so not again"
    do(world.person("Fourth"), dispute, "referees")
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    shown = seen(world, dispute)
    assert shown["state"] == "voting", "although no event of the dispute followed"
    assert shown["voting_from"] is not None
    assert refused(bob, dispute, "referees", {"refuse": 1}) == "forbidden"
    assert refused(judges[0], dispute, "votes", {"vote": "cheated"}) == "forbidden"
    assert world.services.dispute_jobs.process(UUID(dispute["id"])) == "done"
    assert seen(world, dispute)["voting_from"] == shown["voting_from"]
    do(judges[1], dispute, "votes", {"vote": "cheated", "reason": WHY})
    assert refused(judges[1], dispute, "votes", {"vote": "cheated"}) == "forbidden"


@pytest.mark.attack("STEERED_RULING", "new accounts that judge at once", check="403")
@pytest.mark.parametrize("settings", [{**AT_ONCE, "referee_seated_seconds": 3600}])
def test_newly_seated_referees_cannot_vote(
    ada: Person, bob: Person, sealed: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, sealed)
    seated(judges, dispute)
    shown = seen(ada, dispute)
    assert shown["state"] == "open"
    assert shown["voting_from"] > shown["opened_at"]
    assert refused(judges[0], dispute, "votes", {"vote": "cheated"}) == "forbidden"
    for number in range(3):
        shown = do(bob, dispute, "referees", {"refuse": number})
    assert [r["state"] for r in shown["referees"]] == ["recused"] * 3
    assert shown["voting_from"] is None


@pytest.mark.parametrize(
    "settings",
    [{}, {"referee_hands": 0}, {"referee_account_seconds": 0}],
)
def test_a_referee_needs_an_account_of_some_age_and_finished_hands(
    world: World, ada: Person, sealed: str, settings: dict[str, int]
) -> None:
    dispute, judge = open_at(ada, sealed), world.person("Judge")
    answer = judge.post(f"/v1/disputes/{dispute['id']}/referees")
    assert problem_of(answer) == "forbidden"
    hands = settings.get("referee_hands", 5)
    age = settings.get("referee_account_seconds", 259200)
    detail = answer.json["detail"]
    assert f"needs {hands} finished hands" in detail
    assert f"at least {'3 days' if age else '0 seconds'};" in detail, "no raw number of seconds"
    assert "you have 0 finished hands and an account of" in detail


@pytest.mark.parametrize("settings", [{**AT_ONCE, "referee_hands": 1}])
def test_aborted_hands_do_not_qualify_a_referee(world: World, ada: Person, sealed: str) -> None:
    dispute, judge = open_at(ada, sealed), world.person("Judge")
    assert refused(judge, dispute, "referees") == "forbidden"
    path = judge.game()
    assert refused(judge, dispute, "referees") == "forbidden"
    assert judge.post(f"{path}/moves", {"type": "forfeit"}).status_code == 201
    do(judge, dispute, "referees")


def test_the_host_cannot_be_a_referee(world: World, ada: Person, bob: Person) -> None:
    host = world.person("Host")
    wanted = {"ruleset": "shithead", "seats": ["open", "open"]}
    table = host.post("/v1/tables", wanted).json["id"]
    ada.post(f"/v1/tables/{table}/seats")
    path = f"/v1/games/{bob.post(f'/v1/tables/{table}/seats').json['game']}"
    bob.post(f"{path}/moves", {"type": "ready"})
    assert refused(host, open_at(ada, path), "referees") == "forbidden"


def test_votes_are_hidden_until_all_are_revealed(
    ada: Person, sealed: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, sealed)
    numbers = seated(judges, dispute)
    for judge in judges:
        commit = vote_commitment(UUID(dispute["id"]), numbers[judge.id], "cheated", SALT).hex()
        do(judge, dispute, "votes", {"commit": commit})
    path = f"/v1/disputes/{dispute['id']}/votes"
    lie = judges[0].post(path, {"vote": "not_proven", "salt": SALT.hex()})
    assert problem_of(lie) == "invalid-body"
    assert lie.json["errors"][0]["at"] == "/salt"
    shown = do(judges[0], dispute, "votes", {"vote": "cheated", "salt": SALT.hex()})
    assert shown["votes"] == []
    assert [r["state"] for r in shown["referees"]] == ["revealed", "committed", "committed"]
    assert [r["sealed_by"] for r in shown["referees"]] == ["referee"] * 3


def test_the_server_seals_a_plain_vote_and_reveals_it_with_the_last(
    world: World, ada: Person, sealed: str, judges: list[Person], database_url: str
) -> None:
    dispute = open_at(ada, sealed)
    seated(judges, dispute)
    with psycopg.connect(database_url) as connection:

        def stored() -> list[bytes]:
            rows = connection.execute("SELECT sealed FROM dispute_votes").fetchall()
            return [bytes(row[0]) for row in rows]

        do(judges[0], dispute, "votes", {"vote": "cheated"})
        shown = do(judges[1], dispute, "votes", {"vote": "not_proven"})
        assert [r["state"] for r in shown["referees"]] == ["committed", "committed", "seated"]
        assert [r["sealed_by"] for r in shown["referees"]] == ["server", "server", None]
        assert shown["votes"] == []
        assert len({len(sealed) for sealed in stored()}) == 1, "the length must not reveal the vote"
        stream = world.services.store.read(UUID(dispute["id"]))
        assert stream is not None
        assert b"not_proven" not in b"".join(stream.events)
        shown = do(judges[2], dispute, "votes", {"vote": "cheated"})
        assert shown["state"] == "ruled"
        assert [v["vote"] for v in shown["votes"]] == ["cheated", "not_proven", "cheated"]
        assert shown["ruling"]["verdict"] == "cleared"
        connection.rollback()
        assert stored() == []
    stream = world.services.store.read(UUID(dispute["id"]))
    assert stream is not None
    events = [orjson.loads(line) for line in stream.events]
    commits = {
        e["data"]["referee"]: e["data"]["commit"] for e in events if e["type"] == "vote_committed"
    }
    for event in (e["data"] for e in events if e["type"] == "vote_revealed"):
        salt = bytes.fromhex(event["salt"])
        made = vote_commitment(UUID(dispute["id"]), event["referee"], event["vote"], salt)
        assert made.hex() == commits[event["referee"]]


def found_allowed(world: World, person: Person, game: str) -> dict[str, Any]:
    """Open a dispute about a move that the findings say is allowed, and return it."""
    dispute = open_at(person, game)
    assert not dispute["reason_needed"], "there are no findings yet"
    assert world.services.dispute_jobs.process(UUID(dispute["id"])) == "done"
    found = seen(world, dispute)
    assert {f["check"]: f["result"] for f in found["findings"]}["event"] == "pass"
    assert found["reason_needed"]
    return found


def reasons(person: Any, dispute: dict[str, Any]) -> list[Any]:
    """Return the reasons of the votes, as a person sees them."""
    return [vote["reason"] for vote in seen(person, dispute)["votes"]]


def test_a_vote_against_an_allowed_move_needs_a_reason_that_is_shown_with_the_ruling(
    world: World, ada: Person, sealed: str, judges: list[Person], database_url: str
) -> None:
    dispute = found_allowed(world, ada, sealed)
    seated(judges, dispute)
    path = f"/v1/disputes/{dispute['id']}/votes"
    without = judges[0].post(path, {"vote": "cheated"})
    assert (problem_of(without), without.json["errors"][0]["at"]) == ("invalid-body", "/reason")
    assert problem_of(judges[0].post(path, {"vote": "cheated", "reason": " "})) == "invalid-body"
    do(judges[0], dispute, "votes", {"vote": "cheated", "reason": WHY})
    do(judges[1], dispute, "votes", {"vote": "not_proven"})
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT reason FROM dispute_votes").fetchall()
        assert len({len(row[0]) for row in rows}) == 1, "the length must not reveal the vote"
        assert connection.execute("SELECT seq FROM dispute_texts").fetchall() == [(1,)]
    commit = vote_commitment(UUID(dispute["id"]), 2, "cheated", SALT).hex()
    do(judges[2], dispute, "votes", {"commit": commit})
    assert reasons(judges[0], dispute) == []
    opened = {"vote": "cheated", "salt": SALT.hex()}
    without = judges[2].post(path, opened)
    assert (problem_of(without), without.json["errors"][0]["at"]) == ("invalid-body", "/reason")
    shown = do(judges[2], dispute, "votes", {**opened, "reason": "I as well."})
    assert shown["state"] == "ruled"
    assert [vote["reason"] for vote in shown["votes"]] == [WHY, None, "I as well."]
    for reader in (ada, world):
        assert reasons(reader, dispute) == [WHY, None, "I as well."]
    bundle = read_log(ada.get(f"{sealed}/evidence?profile=public").data)
    assert WHY.encode() not in bundle.files[f"dispute/{dispute['id']}.json"]


def test_the_stream_has_the_commitment_to_a_reason_whose_text_can_be_erased(
    world: World, ada: Person, sealed: str, judges: list[Person]
) -> None:
    dispute = found_allowed(world, ada, sealed)
    identity = UUID(dispute["id"])
    seated(judges, dispute)
    for judge in judges:
        do(judge, dispute, "votes", {"vote": "cheated", "reason": f"{WHY} {judge.id}"})
    stream = world.services.store.read(identity)
    assert stream is not None
    assert WHY.encode() not in b"".join(stream.events)
    events = [orjson.loads(line) for line in stream.events]
    voted = {e["data"]["referee"]: e["seq"] for e in events if e["type"] == "vote_committed"}
    texts = world.services.directory.dispute_texts(identity)
    for event in (e["data"] for e in events if e["type"] == "vote_revealed"):
        seq = voted[event["referee"]]
        text, salt = texts[seq].text, texts[seq].salt
        assert text is not None
        assert salt is not None
        assert statement_commitment(identity, seq, text, salt).hex() == event["reason"]
    assert judges[1].call("DELETE", "/v1/players/me").status_code == 204
    assert [bool(reason) for reason in reasons(world, dispute)] == [True, False, True]
    assert world.services.store.read(identity) == stream


def test_the_reason_of_a_referee_who_was_erased_before_the_ruling_is_gone(
    world: World, ada: Person, sealed: str, judges: list[Person]
) -> None:
    dispute = found_allowed(world, ada, sealed)
    seated(judges, dispute)
    for judge in judges[:2]:
        do(judge, dispute, "votes", {"vote": "cheated", "reason": WHY})
    assert judges[0].call("DELETE", "/v1/players/me").status_code == 204
    shown = do(judges[2], dispute, "votes", {"vote": "cheated", "reason": WHY})
    assert shown["state"] == "ruled"
    assert [vote["reason"] for vote in shown["votes"]] == [None, WHY, WHY]


def test_a_vote_without_a_finding_on_the_move_needs_no_reason(
    ada: Person, sealed: str, judges: list[Person]
) -> None:
    shown = settle(judges, open_at(ada, sealed), *["cheated"] * 3)
    assert not shown["reason_needed"]
    assert [vote["reason"] for vote in shown["votes"]] == [None] * 3


@pytest.mark.attack("STEERED_RULING", "referees who do not vote", check="the deadline for votes")
@pytest.mark.parametrize("settings", [{**AT_ONCE, "vote_seconds": 0}])
def test_referees_that_miss_the_deadline_leave_the_panel(
    ada: Person, sealed: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, sealed)
    seated(judges[:2], dispute)
    shown = do(judges[2], dispute, "referees")
    assert shown["state"] == "open"
    assert [r["state"] for r in shown["referees"]] == ["recused"] * 3


@pytest.mark.parametrize("settings", [{**AT_ONCE, "dispute_seconds": 0}])
def test_a_dispute_without_a_panel_becomes_final(ada: Person, game: str) -> None:
    dispute = open_at(ada, game)
    assert dispute["state"] == "open"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    shown = seen(ada, dispute)
    assert (shown["state"], shown["ruling"], shown["deadline"]) == ("final", None, None)
    again = open_at(ada, game)
    assert again["state"] == "final", "and the same may be opened again"


def test_the_periods_in_force_at_the_opening_apply(
    world: World, ada: Person, sealed: str, database_url: str
) -> None:
    """A process with other settings judges a referee by the periods of the dispute."""
    dispute = open_at(ada, sealed)
    stream = world.services.store.read(UUID(dispute["id"]))
    assert stream is not None
    assert orjson.loads(stream.events[0])["data"]["periods"] == {
        "referee_hands": 0,
        "referee_account_seconds": 0,
        "referee_seated_seconds": 0,
        "vote_seconds": 172800,
        "appeal_seconds": 604800,
        "dispute_seconds": 2592000,
    }
    other = make_world(database_url, keys=world.services.keyring.present.to_text())
    do(other.person("Judge"), dispute, "referees")
    other.services.close()


@pytest.mark.attack("COUNTERS", "the players behind the referees of others", check="null")
def test_referees_are_named_only_to_the_sides_and_the_referees(
    world: World, ada: Person, bob: Person, game: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, game)
    seated(judges[:2], dispute)
    ids = [judge.id for judge in judges[:2]]
    for person in (ada, bob, *judges[:2]):
        assert [r["player"] for r in seen(person, dispute)["referees"]] == ids
    strangers: tuple[Any, ...] = (world, judges[2])
    for stranger in strangers:
        assert [r["player"] for r in seen(stranger, dispute)["referees"]] == [None, None]
        [listed] = stranger.get(f"{game}/disputes").json["items"]
        assert [r["player"] for r in listed["referees"]] == [None, None]
    bundle = read_log(ada.get(f"{game}/evidence?profile=public").data)
    assert judges[0].id.encode() not in bundle.files[f"dispute/{dispute['id']}.json"]


def test_evidence_is_frozen_and_is_part_of_the_bundle(world: World, ada: Person, game: str) -> None:
    frozen = ada.get(f"{game}/evidence?profile=public").data
    dispute = open_at(ada, game)
    assert dispute["bundle_sha256"] == hashlib.sha256(frozen).hexdigest()
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    bundle = read_log(ada.get(f"{game}/evidence?profile=public").data)
    assert bundle.files[f"dispute/{dispute['id']}.shx"] == frozen
    kept = orjson.loads(bundle.files[f"dispute/{dispute['id']}.json"])
    assert kept["bundle_sha256"] == dispute["bundle_sha256"]
    assert WORDS.encode() not in bundle.files[f"dispute/{dispute['id']}.json"]
    answer = world.client.post(
        "/v1/verify",
        data=ada.get(f"{game}/evidence?profile=public").data,
        content_type="application/zip",
    )
    assert answer.json["result"] != "fail"


def test_copies_of_evidence_leave_room_for_the_game(
    ada: Person, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many disputes must not make a bundle larger than readers accept."""
    first, second = (open_at(ada, game, charge=charge)["id"] for charge in ("other", "time"))
    monkeypatch.setattr(files, "MAX_COPIED", 1)
    bundle = read_log(ada.get(f"{game}/evidence?profile=public").data)
    assert {f"dispute/{first}.json", f"dispute/{second}.json"} <= bundle.files.keys()
    assert not [name for name in bundle.files if name.endswith(".shx")]


def test_findings_are_made_at_once_and_again_after_the_seal(
    world: World, ada: Person, game: str
) -> None:
    dispute = open_at(ada, game)
    identity = UUID(dispute["id"])
    assert world.services.dispute_jobs.process(identity) == "done"
    assert world.services.dispute_jobs.process(identity) == "nothing"
    by_check = {finding["check"]: finding for finding in seen(ada, dispute)["findings"]}
    assert by_check["event"]["seq"] == dispute["seq"]
    assert by_check["event"]["result"] == "pass"
    assert by_check["event"]["rule"]
    assert by_check["seal"]["result"] == "missing"
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    assert identity in world.services.dispute_jobs.due(limit=10)
    assert world.services.dispute_jobs.process(identity) == "done"
    shown = seen(ada, dispute)
    assert {f["check"]: f["result"] for f in shown["findings"]}["seal"] == "pass"
    assert identity not in world.services.dispute_jobs.due(limit=10)


def test_statements_are_shown_only_to_the_sides_and_the_referees(
    world: World, ada: Person, bob: Person, game: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, game)
    do(bob, dispute, "statements", {"text": "It was."})

    def texts(person: Any) -> list[Any]:
        return [statement["text"] for statement in seen(person, dispute)["statements"]]

    assert texts(ada) == texts(bob) == [WORDS, "It was."]
    assert texts(world) == texts(judges[0]) == [None, None]
    assert refused(judges[0], dispute, "statements", {"text": "Well"}) == "forbidden"
    do(judges[0], dispute, "referees")
    assert texts(judges[0]) == [WORDS, "It was."]


def test_erased_statements_leave_a_valid_stream(
    world: World, ada: Person, game: str, database_url: str
) -> None:
    dispute = open_at(ada, game)
    identity = UUID(dispute["id"])
    kept = world.services.directory.dispute_texts(identity)[1]
    stream = world.services.store.read(identity)
    assert stream is not None
    assert stream.kind is StreamKind.DISPUTE
    assert WORDS.encode() not in b"".join(stream.events)
    data = orjson.loads(stream.events[1])["data"]
    assert kept.text is not None
    assert kept.salt is not None
    commit = statement_commitment(identity, 1, kept.text, kept.salt).hex()
    assert data == {"side": "accuser", "commit": commit}
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert ada.call("DELETE", "/v1/players/me").status_code == 204
    [statement] = seen(world, dispute)["statements"]
    assert statement["text"] is None
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT words, salt FROM dispute_texts").fetchall()
    assert rows == [(None, None)]
    assert world.services.store.read(identity) == stream


def test_only_players_of_the_game_can_accuse(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    other = world.person("Other")
    answer = other.post(f"{game}/disputes", accusation(game, ada))
    assert problem_of(answer) == "not-seated"


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"accused": 0}, "/accused"),
        ({"accused": 2}, "/accused"),
        ({"accused": None}, "/accused"),
        ({"accused": None, "charge": "illegal_move"}, "/accused"),
        ({"seq": 4000}, "/seq"),
        ({"seq": 0}, "/seq"),
        ({"seq": 2}, "/seq"),
        ({"charge": "rudeness"}, "/charge"),
        ({"statement": ""}, "/statement"),
        ({"statement": "x" * 4001}, "/statement"),
        ({"more": 1}, "/more"),
    ],
)
def test_an_inconsistent_accusation_is_refused(
    ada: Person, game: str, change: Any, at: str
) -> None:
    answer = ada.post(f"{game}/disputes", {**accusation(game, ada), **change})
    assert problem_of(answer) == "invalid-body"
    assert answer.json["errors"][0]["at"] == at
    last = answer.json["errors"][0].get("values", {}).get("last")
    assert last == (ada.get(game).json["version"] - 1 if change == {"seq": 4000} else None)


@pytest.mark.attack("STEERED_RULING", "a seat accused of another seat's move", check="422")
def test_a_seat_is_not_accused_of_another_seat_s_move(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    own = seq_of(game, world, by=0)
    answer = ada.post(f"{game}/disputes", accusation(game, ada, seq=own))
    assert (problem_of(answer), answer.json["errors"][0]["at"]) == ("invalid-body", "/seq")
    assert (
        bob.post(f"{game}/disputes", accusation(game, bob, accused=0, seq=own)).status_code == 201
    )


def test_an_event_caused_by_a_move_is_charged_to_its_seat(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    """The start of play is caused by the last ready seat; a forfeit is a move of its seat."""
    ada.post(f"{game}/moves", {"type": "ready"})
    started = seq_of(game, world, "play_started", None)
    open_at(bob, game, accused=0, seq=started)
    ada.post(f"{game}/moves", {"type": "forfeit"})
    for kind in ("game_ended", "game_sealed"):
        body = accusation(game, ada, seq=seq_of(game, world, kind, None))
        assert problem_of(ada.post(f"{game}/disputes", body)) == "invalid-body"
    open_at(bob, game, accused=0, seq=seq_of(game, world, "game_sealed", None))


@pytest.mark.attack("STEERED_RULING", "the same accusation twice", check="409")
def test_only_one_dispute_on_a_move_and_charge_is_open_at_a_time(
    ada: Person, bob: Person, game: str
) -> None:
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    first = open_at(bob, game, accused=0, seq=seq_of(game, bob, by=0))
    again = bob.post(
        f"{game}/disputes",
        accusation(game, bob, accused=0, seq=seq_of(game, bob, "play_started", None)),
    )
    assert problem_of(again) == "dispute-open"
    assert again.status_code == 409
    assert again.json["id"] == first["id"]
    other = open_at(bob, game, accused=0, seq=first["seq"], charge="time")
    assert other["id"] != first["id"]


def test_the_server_can_be_accused_and_only_the_accuser_acts_for_that_side(
    world: World, ada: Person, bob: Person, sealed: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, sealed, accused=None, seq=2, charge="wrong_deal")
    assert dispute["accused"] is None
    assert refused(bob, dispute, "statements", {"text": "I saw it"}) == "forbidden"
    first = world.person("First")
    do(first, dispute, "referees")
    assert refused(bob, dispute, "referees", {"refuse": 0}) == "forbidden"
    do(ada, dispute, "referees", {"refuse": 0})
    ruled = settle(judges, dispute, "cheated", "cheated", "cheated")
    assert ruled["state"] == "ruled"
    assert ruled["ruling"]["verdict"] == "proven"
    assert refused(bob, dispute, "appeal") == "forbidden"
    assert refused(ada, dispute, "appeal") == "forbidden"


@pytest.mark.parametrize("settings", [{**AT_ONCE, "appeal_seconds": 0}])
def test_a_proven_charge_against_the_server_makes_nobody_a_cad(
    world: World, ada: Person, bob: Person, sealed: str, judges: list[Person]
) -> None:
    dispute = open_at(ada, sealed, accused=None, seq=2, charge="altered_log")
    assert settle(judges, dispute, *["cheated"] * 3)["state"] == "final"
    assert ada.get("/v1/players/me").json["accusations"] == {"made": 1, "upheld": 1}
    assert not cad(world, ada)
    assert not cad(world, bob)


def test_a_player_opens_a_limited_number_of_disputes(
    ada: Person, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind.NEW_DISPUTES, 2))
    for charge in ("time", "other"):
        open_at(ada, game, charge=charge)
    answer = ada.post(f"{game}/disputes", accusation(game, ada, charge="illegal_move"))
    assert problem_of(answer) == "rate-limited", "the disputes of a day; waiting helps"
    assert answer.headers["Retry-After"] == "86400"


@pytest.mark.parametrize("settings", [{**AT_ONCE, "referee_seated_seconds": 86_400}])
def test_those_who_may_refuse_a_referee_read_what_the_referee_has_done(
    world: World, ada: Person, sealed: str, judges: list[Person]
) -> None:
    assert judges[0].post(f"{judges[0].game()}/moves", {"type": "forfeit"}).status_code == 201
    dispute = open_at(ada, sealed)
    seated(judges[:2], dispute)
    first, second = seen(ada, dispute)["referees"]
    registered = world.get(f"/v1/players/{judges[0].id}").json["created_at"]
    assert first["experience"] == {"registered_at": registered, "hands": 1, "judged": 0}
    assert second["experience"]["hands"] == 0
    assert seen(judges[0], dispute)["referees"][0]["experience"] == first["experience"]
    for stranger in (world, judges[2]):
        shown = seen(stranger, dispute)["referees"]
        assert [one["experience"] for one in shown] == [None, None]
    done = do(ada, dispute, "referees", {"refuse": 0})
    assert [one["experience"] is None for one in done["referees"]] == [True, False]


def test_a_dispute_is_withdrawn_while_it_is_unanswered(
    world: World, ada: Person, bob: Person, sealed: str, judges: list[Person]
) -> None:
    """It ends without a ruling; the same player cannot make the charge again, another one can."""
    dispute = open_at(ada, sealed, accused=None, seq=2, charge="altered_log")
    assert not dispute["withdrawn"]
    assert "withdraw" in dispute["you"]["may"]
    assert refused(bob, dispute, "withdrawal") == "forbidden"
    done = do(ada, dispute, "withdrawal")
    assert (done["state"], done["withdrawn"], done["ruling"]) == ("final", True, None)
    assert (done["deadline"], done["you"]["may"]) == (None, [])
    assert seen(world, dispute)["withdrawn"]
    assert refused(judges[0], dispute, "referees") == "forbidden"
    assert refused(ada, dispute, "withdrawal") == "forbidden"
    body = accusation(sealed, ada, accused=None, seq=2, charge="altered_log")
    again = ada.post(f"{sealed}/disputes", body)
    assert (problem_of(again), again.json["id"]) == ("dispute-withdrawn", dispute["id"])
    assert ada.get("/v1/players/me").json["accusations"]["made"] == 1
    stream = world.services.store.read(UUID(dispute["id"]))
    assert stream is not None
    assert orjson.loads(stream.events[-1])["type"] == "dispute_withdrawn"
    assert bob.post(f"{sealed}/disputes", body).status_code == 201
    answered = open_at(ada, sealed)
    do(bob, answered, "statements", {"text": "I was."})
    answer = ada.post(f"/v1/disputes/{answered['id']}/withdrawal")
    assert (problem_of(answer), answer.json["code"]) == ("forbidden", "panel.answered")


def test_a_withdrawn_dispute_counts_in_the_limit_of_the_day(
    ada: Person, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind.NEW_DISPUTES, 2))
    do(ada, open_at(ada, game, charge="time"), "withdrawal")
    do(ada, open_at(ada, game, accused=None, seq=0, charge="altered_log"), "withdrawal")
    assert problem_of(ada.post(f"{game}/disputes", accusation(game, ada))) == "rate-limited"


def test_a_repeated_accusation_opens_one_dispute(ada: Person, game: str) -> None:
    key, body = {"Idempotency-Key": "once"}, accusation(game, ada)
    first = ada.post(f"{game}/disputes", body, headers=key)
    second = ada.post(f"{game}/disputes", body, headers=key)
    assert second.json == first.json
    assert second.headers["Idempotency-Replayed"] == "true"
    assert len(ada.get(f"{game}/disputes").json["items"]) == 1


@pytest.mark.parametrize("settings", [{**AT_ONCE, "appeal_seconds": 0}])
def test_disputes_about_private_games_are_counted_for_others_once_they_are_ruled_on(
    world: World, ada: Person, judges: list[Person]
) -> None:
    table = ada.table(visibility="private")
    game = f"/v1/games/{table['game']}"
    dispute = open_at(ada, game, accused=None, seq=0, charge="altered_log")

    def counts() -> list[int]:
        shown = (ada.get("/v1/players/me"), world.get(f"/v1/players/{ada.id}"))
        return [answer.json["accusations"]["made"] for answer in shown]

    assert counts() == [1, 0]
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    invited = {"Shithead-Invite": table["invite"]}
    for judge in judges:
        path = f"/v1/disputes/{dispute['id']}/referees"
        assert judge.post(path, headers=invited).status_code == 201
    assert counts() == [1, 0]
    for judge in judges:
        shown = do(judge, dispute, "votes", {"vote": "not_proven"})
    assert shown["state"] == "final"
    assert counts() == [1, 1]


def test_referees_may_read_a_private_game_and_their_reads_are_recorded(
    world: World, ada: Person, judges: list[Person]
) -> None:
    table = ada.table(visibility="private")
    game = f"/v1/games/{table['game']}"
    dispute = open_at(ada, game, accused=None, seq=0, charge="altered_log")
    path, judge = f"/v1/disputes/{dispute['id']}", judges[0]
    assert problem_of(judge.get(path)) == "not-found"
    assert problem_of(judge.post(f"{path}/referees")) == "not-found"
    invited = {"Shithead-Invite": table["invite"]}
    assert judge.post(f"{path}/referees", headers=invited).status_code == 201
    assert judge.get(path).status_code == 200
    view = judge.get(game)
    assert view.status_code == 200
    assert view.json["as"] == "public"
    assert all(seat["hand"]["cards"] is None for seat in view.json["seats"])
    assert problem_of(judge.get(f"/v1/tables/{table['id']}")) == "not-found"
    assert problem_of(judges[1].get(game)) == "not-found"
    read = world.services.directory.readings(UUID(table["game"])).items
    assert {(reading.reader, reading.what) for reading in read} == {
        (UUID(judge.id), path),
        (UUID(judge.id), f"{path}/referees"),
        (UUID(judge.id), game),
    }
    assert ada.post(f"{path}/referees", {"refuse": 0}).status_code == 201
    assert problem_of(judge.get(game)) == "not-found"
