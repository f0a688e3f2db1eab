"""The public log over HTTP, and its proofs in evidence and verifier."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.bootstrap import Services
from service.keys import Keyring
from service.public_log.monitor import Expected
from service.shx.bundle import PROOF, read_bundle, write_bundle
from service.shx.keys import followed, read_keys
from service.shx.receipts import parse_receipt_body, receipt_body
from service.shx.tlog.checkpoint import Cosigner, cosign, open_checkpoint
from service.shx.tlog.notes import NoteSigner, NoteVerifier, parse_note
from service.shx.tlog.tiles import EMPTY, Tile, TiledTree, grow, read_entries
from service.shx.tlog.tree import TlogProof, check_proof, leaf_hash, parse_proof
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Check, Finding, Result
from service.verify.report import Report
from service.verify.verify import verify_bundle
from tests.worlds.api_world import Person, World, make_world, problem_of
from tests.worlds.fake_log import sequencer_of

YEAR = "public, max-age=31536000, immutable"
WITNESS = Cosigner(name="w.example/1", key=Ed25519PrivateKey.from_private_bytes(b"w" * 32))
STRANGER = Cosigner(name="w.example/2", key=Ed25519PrivateKey.from_private_bytes(b"x" * 32))


def sealed_game(person: Person) -> str:
    """Play the shortest possible game and return its path."""
    game = person.game()
    assert person.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    return game


def test_before_the_first_checkpoint_the_log_answers_not_found(world: World) -> None:
    assert problem_of(world.get("/v1/log/checkpoint")) == "not-found"


def test_the_checkpoint_is_plain_text_with_a_short_cache_time(world: World, ada: Person) -> None:
    world.services.sequencer.run_once()
    empty = world.get("/v1/log/checkpoint")
    assert empty.data.startswith(
        b"tests.example\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    )
    sealed_game(ada)
    world.services.sequencer.run_once()
    answer = world.get("/v1/log/checkpoint")
    assert answer.status_code == 200
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=2"
    checkpoint, _, _ = open_checkpoint(answer.data, [world.services.verifier])
    assert (checkpoint.origin, checkpoint.size) == ("tests.example", 2)


def test_tiles_and_entries_form_the_tree_and_are_immutable(world: World, ada: Person) -> None:
    for _ in range(3):
        sealed_game(ada)
        world.services.sequencer.run_once()
    checkpoint, _, _ = open_checkpoint(
        world.get("/v1/log/checkpoint").data, [world.services.verifier]
    )
    tile = Tile(level=None, index=0, width=6)
    entries = world.get(f"/v1/log/{tile.path}")
    hashes = world.get("/v1/log/tile/0/000.p/6")
    for part in (entries, hashes):
        assert part.status_code == 200
        assert part.content_type == "application/octet-stream"
        assert part.headers["Cache-Control"] == YEAR
        assert "Vary" not in part.headers
    leaves = [leaf_hash(entry) for entry in read_entries(entries.data, tile)]
    assert b"".join(leaves) == hashes.data
    assert grow(EMPTY, leaves)[0].root == checkpoint.root
    assert world.get("/v1/log/tile/0/000.p/4").data == hashes.data[: 4 * 32], "an older tile"


@pytest.mark.parametrize(
    "path",
    ["0/000", "0/000.p/3", "0/001.p/1", "1/000.p/1", "entries/000", "x/000", "0/0", "0/000/"],
)
def test_tiles_beyond_the_tree_are_not_found(world: World, ada: Person, path: str) -> None:
    sealed_game(ada)
    world.services.sequencer.run_once()
    assert problem_of(world.get(f"/v1/log/tile/{path}")) == "not-found"


def test_leaves_without_a_checkpoint_are_not_served(world: World, ada: Person) -> None:
    sealed_game(ada)
    world.services.sequencer.run_once()
    game = sealed_game(ada)
    world.services.sequencer.append()
    assert problem_of(world.get("/v1/log/tile/0/000.p/3")) == "not-found"
    assert problem_of(world.get(f"/v1/log/proof?game={game.rpartition('/')[2]}")) == "not-found"
    world.services.sequencer.publish()
    assert world.get("/v1/log/tile/0/000.p/3").status_code == 200


def test_every_caller_gets_the_proof_of_a_game_even_of_a_private_one(
    world: World, ada: Person
) -> None:
    game = ada.game(visibility="private")
    world.services.sequencer.run_once()
    assert world.get(game).status_code == 404
    answer = world.get(f"/v1/log/proof?game={game.rpartition('/')[2]}")
    assert answer.content_type == "text/plain; charset=utf-8"
    leaf = parse_proof(answer.data).extra
    assert leaf is not None
    assert str(parse_receipt_body(leaf.decode()).game) in game
    check_proof(answer.data, leaf, [world.services.verifier])
    assert problem_of(world.get(f"/v1/log/proof?game={uuid4()}")) == "not-found"
    assert problem_of(world.get("/v1/log/proof")) == "malformed"
    assert problem_of(world.get("/v1/log/proof?game=1")) == "malformed"


def finding(report: Report, check: Check) -> Finding:
    return next(found for found in report.findings if found.check is check)


def witnessed_bundle(world: World, person: Person) -> bytes:
    """Return the bundle of a sealed game, in a tree that a witness has cosigned."""
    game = sealed_game(person)
    person.game()
    world.services.sequencer.run_once()
    store = world.services.sequencer._store
    head = store.published()
    assert head is not None
    line = cosign(parse_note(head.note).text, WITNESS, timestamp=1_700_000_000)
    store.keep_cosignature(head.size, str(WITNESS.verifier), line)
    data: bytes = person.get(f"{game}/evidence").data
    return data


def test_the_bundle_of_an_anchored_game_includes_its_proof(world: World, ada: Person) -> None:
    bundle = read_bundle(witnessed_bundle(world, ada))
    evidence = OutsideEvidence(
        server_keys=(world.services.verifier,), witness_keys=(WITNESS.verifier,)
    )
    report = verify_bundle(bundle, evidence)
    assert finding(report, Check.ANCHOR).result is Result.PASS
    assert finding(report, Check.WITNESS).result is Result.PASS
    assert report.witnessed
    assert report.wording == "no evidence of tampering, level L1, witnessed (+W)"
    assert report.result is Result.PASS


def test_missing_outside_keys_are_reported(world: World, ada: Person) -> None:
    bundle = read_bundle(witnessed_bundle(world, ada))
    for evidence, anchor, witness in (
        (OutsideEvidence(), "missing", "n/a"),
        (OutsideEvidence(witnessed=True), "missing", "missing"),
        (OutsideEvidence(witness_keys=(WITNESS.verifier,)), "missing", "pass"),
        (OutsideEvidence(witness_keys=(STRANGER.verifier,), witnessed=True), "missing", "missing"),
        (OutsideEvidence(witness_keys=(STRANGER.verifier,)), "missing", "n/a"),
    ):
        report = verify_bundle(bundle, evidence)
        assert finding(report, Check.ANCHOR).result.value == anchor, evidence
        assert finding(report, Check.WITNESS).result.value == witness, evidence
        assert not report.witnessed, "the log's own signature was not checked"


def test_a_quorum_of_the_witnesses_suffices(world: World, ada: Person) -> None:
    bundle = read_bundle(witnessed_bundle(world, ada))
    both = (WITNESS.verifier, STRANGER.verifier)
    for quorum, result in ((None, Result.MISSING), (2, Result.MISSING), (1, Result.PASS)):
        report = verify_bundle(
            bundle, OutsideEvidence(witness_keys=both, witnessed=True, quorum=quorum)
        )
        assert finding(report, Check.WITNESS).result is result


def test_a_witness_key_supplied_twice_counts_once(world: World, ada: Person) -> None:
    bundle = read_bundle(witnessed_bundle(world, ada))
    twice = (WITNESS.verifier, WITNESS.verifier)
    report = verify_bundle(bundle, OutsideEvidence(witness_keys=twice, witnessed=True))
    assert finding(report, Check.WITNESS).result is Result.PASS
    assert Expected(witnesses=twice).wanted == 1


def tampered(bundle: bytes, kind: str, services: Services) -> bytes:
    """Return a bundle with a false proof, as a cheating operator could make."""
    read = read_bundle(bundle)
    proof = parse_proof(read.files[PROOF])
    other = NoteSigner(name="tests.example", key=Ed25519PrivateKey.generate())
    text = parse_note(proof.checkpoint).text
    signed = proof.checkpoint.partition(b"\n\n")
    body = parse_receipt_body((proof.extra or b"").decode())
    forged = receipt_body(body.origin, body.game, body.seq, bytes(32)).encode()
    stranger = receipt_body(body.origin, uuid4(), body.seq, body.head).encode()
    beyond = receipt_body(body.origin, body.game, body.seq + 1, body.head).encode()
    line = other.key.sign(text.encode())
    from service.shx.tlog.notes import signature_line

    made = {
        "index": (proof.index + 1, proof.hashes, proof.checkpoint, proof.extra),
        "hash": (proof.index, (bytes(32), *proof.hashes[1:]), proof.checkpoint, proof.extra),
        "short": (proof.index, proof.hashes[:-1], proof.checkpoint, proof.extra),
        "head": (proof.index, proof.hashes, proof.checkpoint, forged),
        "game": (proof.index, proof.hashes, proof.checkpoint, stranger),
        "beyond": (proof.index, proof.hashes, proof.checkpoint, beyond),
        "key": (
            proof.index,
            proof.hashes,
            (text + "\n" + signature_line(other.name, other.verifier.key_id, line)).encode(),
            proof.extra,
        ),
        "size": (
            proof.index,
            proof.hashes,
            signed[0].replace(b"\n3\n", b"\n4\n") + signed[1] + signed[2],
            proof.extra,
        ),
    }[kind]
    index, hashes, checkpoint, extra = made
    changed = TlogProof(index=index, hashes=hashes, checkpoint=checkpoint, extra=extra).text
    return write_bundle(read.lines, files={**read.files, PROOF: changed})


@pytest.mark.parametrize(
    "kind", ["index", "hash", "short", "head", "game", "beyond", "key", "size"]
)
def test_a_proof_that_was_tampered_with_fails(world: World, ada: Person, kind: str) -> None:
    bundle = read_bundle(tampered(witnessed_bundle(world, ada), kind, world.services))
    report = verify_bundle(bundle, OutsideEvidence(server_keys=(world.services.verifier,)))
    assert finding(report, Check.ANCHOR).result is Result.FAIL
    assert report.result is Result.FAIL


def test_the_verifier_over_http_accepts_keys_of_witnesses(world: World, ada: Person) -> None:
    bundle = witnessed_bundle(world, ada)
    keys = [str(world.services.verifier), str(WITNESS.verifier)]
    from io import BytesIO

    answer = world.client.post(
        "/v1/verify", data={"file": (BytesIO(bundle), "game.shx"), "key": keys}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json["witnessed"] is True
    assert answer.json["result"] == "pass"


def test_the_audit_of_an_anchored_game_states_its_anchor(world: World, ada: Person) -> None:
    game = sealed_game(ada)
    for expected in ("missing", "pass"):
        checks = {c["check"]: c["result"] for c in ada.get(f"{game}/audit").json["checks"]}
        assert checks["anchor"] == expected
        assert checks["witness"] == "n/a"
        world.services.sequencer.run_once()


def test_a_new_signing_key_is_signed_by_the_old_one_and_both_sign_during_the_overlap(
    database_url: str,
) -> None:
    """Key rotation from outside: a reader who trusts the old key can follow to the new one."""
    old = Keyring.generate()
    world = make_world(database_url)
    now = world.services.world.now()
    new = old.with_new_signing_key(now - timedelta(days=1), overlap=timedelta(days=30))
    late = old.with_new_signing_key(now - timedelta(days=40), overlap=timedelta(days=30))
    world.services.close()
    counts = []
    for keyring in (old, new, Keyring.from_text(new.to_text()), late):
        world = make_world(database_url, keys=keyring.to_text())
        sealed_game(world.person())
        world.services.sequencer.run_once()
        note = parse_note(world.get("/v1/log/checkpoint").data)
        counts.append(len(note.signatures))
        items = world.get("/v1/keys").json["items"]
        first = NoteVerifier(
            name="tests.example", public=old.signing_key.public_key().public_bytes_raw()
        )
        known = followed([first], read_keys(items))
        assert len(known) == len(items) == (1 if keyring is old else 2)
        open_checkpoint(world.get("/v1/log/checkpoint").data, known)
        for item in items[1:]:
            assert re.fullmatch(r"\d{4}-.*Z", item["to"])
        assert items[0]["to"] is None
        world.services.close()
    assert counts == [1, 2, 2, 1]
    stranger = NoteVerifier(name="tests.example", public=bytes(32))
    assert followed([stranger], read_keys(items)) == [stranger]


def test_an_idle_log_signs_its_checkpoint_with_the_new_key(world: World) -> None:
    """An idle log must not remain signed only by an expired key."""
    sequencer_of(world.services.sequencer._store).run_once()
    assert len(parse_note(world.get("/v1/log/checkpoint").data).signatures) == 1
    assert world.services.sequencer.publish()
    assert len(parse_note(world.get("/v1/log/checkpoint").data).signatures) == 2
    assert not world.services.sequencer.publish()


def test_a_tree_is_read_from_tiles_over_http_alone(world: World, ada: Person) -> None:
    for _ in range(4):
        sealed_game(ada)
    world.services.sequencer.run_once()
    tree = TiledTree(8, lambda tile: world.get(f"/v1/log/{tile.path}").data)
    checkpoint, _, _ = open_checkpoint(
        world.get("/v1/log/checkpoint").data, [world.services.verifier]
    )
    assert tree.root() == checkpoint.root
