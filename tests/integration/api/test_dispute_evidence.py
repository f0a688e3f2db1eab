"""The evidence of a dispute: its frozen copy, the public log's proof, receipts of the sides."""

from __future__ import annotations

import hashlib
import io
import zipfile
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from schemas.disputes import LONGEST_RECEIPT
from service.domain.dispute_rules import MAX_RECEIPTS
from service.shx.bundle import PROOF
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner
from tests.worlds.api_world import Person, World, problem_of

AT_ONCE = {"referee_hands": 0, "referee_account_seconds": 0, "referee_seated_seconds": 0}
AFTER_AN_HOUR = timedelta(hours=1)


@pytest.fixture
def settings() -> dict[str, int]:
    """Return settings under which new players may judge, and a panel is complete at once."""
    return dict(AT_ONCE)


@pytest.fixture
def game(ada: Person, bob: Person) -> str:
    """Return the path of a running game of Ada and Bob in which Bob is ready."""
    return game_of(ada, bob)


def game_of(ada: Person, bob: Person) -> str:
    table = ada.table("open")
    seated = bob.post(f"/v1/tables/{table['id']}/seats")
    path = f"/v1/games/{seated.json['game']}"
    assert bob.post(f"{path}/moves", {"type": "ready"}).status_code == 201
    return path


def seal(ada: Person, game: str) -> None:
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201


def opened(ada: Person, game: str, charge: str = "altered_log") -> dict[str, Any]:
    """Return a dispute of Ada about the first event, against the server."""
    body = {"accused": None, "seq": 0, "charge": charge, "statement": "A gap."}
    answer = ada.post(f"{game}/disputes", body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json)


def examined(world: World, dispute: dict[str, Any]) -> dict[str, Any]:
    """Return the findings of a dispute by their checks, after the job that makes them."""
    world.services.dispute_jobs.process(UUID(dispute["id"]))
    shown = world.get(f"/v1/disputes/{dispute['id']}").json
    return {finding["check"]: finding for finding in shown["findings"]}


def frozen(person: Any, game: str, dispute: dict[str, Any]) -> zipfile.ZipFile:
    """Return the frozen evidence of a dispute from the bundle of the game."""
    with zipfile.ZipFile(io.BytesIO(person.get(f"{game}/evidence").data)) as whole:
        data = whole.read(f"dispute/{dispute['id']}.shx")
    assert hashlib.sha256(data).hexdigest() == dispute["bundle_sha256"]
    return zipfile.ZipFile(io.BytesIO(data))


def is_due(world: World, dispute: dict[str, Any], after: timedelta = timedelta()) -> bool:
    """Return whether a dispute is due for the sweeper after a time."""
    now = datetime.now(UTC) + after
    found = world.services.directory.due_disputes(
        now=now, opened_before=now - AFTER_AN_HOUR, limit=99
    )
    return UUID(dispute["id"]) in found


def receipt_of(person: Person, game: str) -> str:
    return bytes(person.get(f"{game}/receipt").data).decode()


def forged(world: World, game: str, seq: int, key: Ed25519PrivateKey | None = None) -> str:
    """Return a receipt of another history of a game, signed by the server or by another key."""
    services = world.services
    signer = NoteSigner(name=services.origin, key=key or services.keyring.present.signing_key)
    identity = UUID(game.rpartition("/")[2])
    return issue_receipt(signer, game=identity, seq=seq, head=bytes(32)).decode()


def submit(person: Person, dispute: dict[str, Any], receipt: Any) -> Any:
    return person.post(f"/v1/disputes/{dispute['id']}/receipts", {"receipt": receipt})


def test_evidence_frozen_after_the_seal_has_the_proof_of_the_public_log(
    world: World, ada: Person, game: str
) -> None:
    seal(ada, game)
    world.services.sequencer.run_once()
    dispute = opened(ada, game)
    proof = ada.get(f"/v1/log/proof?game={game.rpartition('/')[2]}").data
    assert frozen(ada, game, dispute).read(PROOF) == proof
    found = examined(world, dispute)["anchor"]
    assert (found["result"], found["plain"]) == ("pass", "The public log contains this game.")
    assert world.services.dispute_jobs.process(UUID(dispute["id"])) == "nothing"


def test_findings_are_repeated_when_the_public_log_has_the_proof(
    world: World, ada: Person, game: str
) -> None:
    """Until then the finding states that there is no proof yet and what happens next."""
    dispute = opened(ada, game)
    running = examined(world, dispute)["anchor"]
    assert running["result"] == "missing"
    assert running["plain"].startswith("The public log confirms a game within seconds after it is")
    seal(ada, game)
    early = examined(world, dispute)["anchor"]
    assert early["result"] == "missing"
    assert early["code"] == "open.no_proof_yet"
    assert early["plain"].startswith("The public log had no proof of this game yet")
    assert "checked again" in early["text"]
    assert not is_due(world, dispute)
    assert is_due(world, dispute, AFTER_AN_HOUR)
    assert world.services.dispute_jobs.process(UUID(dispute["id"])) == "nothing"
    assert is_due(world, dispute, AFTER_AN_HOUR), "the proof is looked for again"
    world.services.sequencer.run_once()
    assert examined(world, dispute)["anchor"]["result"] == "pass"
    assert not is_due(world, dispute, AFTER_AN_HOUR)


def test_a_receipt_that_agrees_confirms_the_log(world: World, ada: Person, game: str) -> None:
    dispute = opened(ada, game)
    assert examined(world, dispute)["receipts"]["result"] == "missing"
    note = receipt_of(ada, game)
    shown = submit(ada, dispute, note).json
    [stored] = shown["receipts"]
    version = ada.get(game).json["version"]
    assert (stored["by"], stored["seq"], stored["note"]) == ("accuser", version - 1, note)
    assert is_due(world, dispute), "the findings do not cover it yet"
    found = examined(world, dispute)["receipts"]
    assert (found["result"], found["seq"]) == ("pass", None)
    assert not is_due(world, dispute)


def test_a_receipt_of_another_history_is_a_failure(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    """The strongest evidence is the server's signature on a history that is not in its log."""
    dispute = opened(ada, game)
    assert submit(ada, dispute, forged(world, game, 2)).status_code == 201
    found = examined(world, dispute)["receipts"]
    assert (found["result"], found["seq"]) == ("fail", 2)
    assert (found["code"], found["values"]) == ("receipts.head", {})
    assert found["text"].startswith(found["plain"])
    assert "Its name: receipt 1 of the accuser." in found["text"]
    seal(ada, game)
    assert examined(world, dispute)["receipts"]["result"] == "fail", "after the seal as well"
    refused = submit(bob, dispute, receipt_of(bob, game))
    assert problem_of(refused) == "forbidden", "the server is accused, Bob is no side"


def test_a_receipt_of_an_event_after_the_frozen_copy_is_no_failure(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    dispute = opened(ada, game)
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    assert submit(ada, dispute, receipt_of(bob, game)).status_code == 201
    assert examined(world, dispute)["receipts"]["result"] == "pass"


def test_both_sides_submit_receipts_and_unknown_signatures_are_dropped(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    seq = next(e["seq"] for e in ada.get(f"{game}/events").json["items"] if e["by"] == 1)
    body = {"accused": 1, "seq": seq, "charge": "other", "statement": "No."}
    dispute = ada.post(f"{game}/disputes", body).json
    note = receipt_of(bob, game)
    more = forged(world, game, 3, Ed25519PrivateKey.generate()).rpartition("\n\n")[2]
    windows = (note + more).replace("\n", "\r\n").rstrip()
    shown = submit(bob, dispute, windows).json
    assert [(one["by"], one["note"]) for one in shown["receipts"]] == [("accused", note)]
    assert submit(ada, dispute, forged(world, game, 3)).status_code == 201
    assert "receipt 2 of the accuser" in examined(world, dispute)["receipts"]["text"]


def test_a_receipt_of_another_game_or_form_is_refused(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    dispute, note = opened(ada, game), receipt_of(ada, game)
    assert submit(ada, dispute, note).status_code == 201
    damaged = f"{note[:-20]}{'B' if note[-20] == 'A' else 'A'}{note[-19:]}"  # in its signature
    refusals = {
        note: "this receipt was handed in before",
        receipt_of(ada, game_of(ada, bob)): "this is a receipt of another game",
        forged(
            world, game, 2, Ed25519PrivateKey.generate()
        ): "this server did not sign this receipt",
        damaged: "this server did not sign this receipt",
        "My receipt": "this server did not sign this receipt",
        "x" * (LONGEST_RECEIPT + 1): "is not 1 to 4000 long",
        "": "is not 1 to 4000 long",
        1: "string",
    }
    for receipt, reason in refusals.items():
        answer = submit(ada, dispute, receipt)
        assert problem_of(answer) == "invalid-body", receipt
        [error] = answer.json["errors"]
        assert error["at"] == "/receipt"
        assert reason in error["message"]
    other = world.person("Other")
    assert problem_of(submit(other, dispute, "x")) == "forbidden", "no side of the dispute"
    assert problem_of(submit(ada, {"id": uuid4()}, note)) == "not-found"
    assert len(ada.get(f"/v1/disputes/{dispute['id']}").json["receipts"]) == 1


def test_a_side_submits_a_limited_number_of_receipts(world: World, ada: Person, game: str) -> None:
    dispute = opened(ada, game)
    for seq in range(MAX_RECEIPTS):
        assert submit(ada, dispute, forged(world, game, seq)).status_code == 201
    answer = submit(ada, dispute, forged(world, game, MAX_RECEIPTS))
    assert problem_of(answer) == "forbidden"
    assert f"at most {MAX_RECEIPTS} receipts" in answer.json["detail"]
    key = {"Idempotency-Key": "once"}
    path, body = f"/v1/disputes/{dispute['id']}/receipts", {"receipt": forged(world, game, 1)}
    assert problem_of(ada.post(path, body, headers=key)) == "forbidden"


def test_the_charge_of_a_false_pick_up_names_a_move_that_takes_the_pile(
    ada: Person, bob: Person, game: str
) -> None:
    """The refusal cites the statement of the rules on taking the pile."""
    seq = next(e["seq"] for e in ada.get(f"{game}/events").json["items"] if e["by"] == 1)
    body = {"accused": 1, "seq": seq, "charge": "false_pick_up", "statement": "He did."}
    answer = ada.post(f"{game}/disputes", body)
    assert (answer.status_code, problem_of(answer)) == (422, "invalid-body")
    [error] = answer.json["errors"]
    assert error["at"] == "/seq"
    assert f"event {seq} does not take the pile" in error["message"]
    assert "(P9 of the rules)" in error["message"]
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    while (pick_up := first_pick_up(ada, game)) is None:
        mover = next(person for person in (ada, bob) if person.get(game).json["moves"])
        last = mover.get(game).json["moves"][-1]
        assert mover.post(f"{game}/moves", last).status_code == 201
    accuser = ada if pick_up["by"] == 1 else bob
    answer = accuser.post(
        f"{game}/disputes", {**body, "accused": pick_up["by"], "seq": pick_up["seq"]}
    )
    assert answer.status_code == 201, answer.text


def first_pick_up(person: Person, game: str) -> dict[str, Any] | None:
    """Return the first event with which a seat took the pile."""
    events = person.get(f"{game}/events?limit=200").json["items"]
    return next((event for event in events if event["type"] == "pile_picked_up"), None)
