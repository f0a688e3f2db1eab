"""A witness cosigns only consistent checkpoints; statuses are those of C2SP tlog-witness."""

from __future__ import annotations

import http.client
import threading
from base64 import b64decode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.public_log.witness import (
    Witness,
    WitnessResponse,
    WitnessState,
    load_cosigner,
    witness_server,
)
from service.public_log.witness_client import (
    NoCosignature,
    RemoteWitness,
    WitnessRefused,
    ask_witness,
    parse_witnesses,
    write_request,
)
from service.shx.canonical import RecordError
from service.shx.tlog.checkpoint import (
    Checkpoint,
    Cosigner,
    cosign,
    cosignatures,
    sign_checkpoint,
)
from service.shx.tlog.notes import NoteSigner, parse_note, signature_line
from service.shx.tlog.tiles import EMPTY, Tile, TiledTree, grow
from service.shx.tlog.tree import consistency_proof, leaf_hash, root
from tests.malformed import malformed

LOG = NoteSigner(name="cards.example", key=Ed25519PrivateKey.from_private_bytes(b"h" * 32))
THIEF = NoteSigner(name="cards.example", key=Ed25519PrivateKey.from_private_bytes(b"t" * 32))
OTHER = NoteSigner(name="other.example", key=Ed25519PrivateKey.from_private_bytes(b"o" * 32))
WITNESS = Cosigner(name="w.example/1", key=Ed25519PrivateKey.from_private_bytes(b"w" * 32))
LEAVES = [leaf_hash(bytes([number])) for number in range(40)]
FORGED = [leaf_hash(b"forged"), *LEAVES[1:]]
NOW = 1_700_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "witness.state"


def witness_at(path: Path) -> Witness:
    return Witness(
        cosigner=WITNESS,
        logs={LOG.name: [LOG.verifier]},
        state=WitnessState(path),
        now=lambda: NOW,
    )


@pytest.fixture
def witness(path: Path) -> Witness:
    return witness_at(path)


def note_of(size: int, leaves: list[bytes] = LEAVES, signer: NoteSigner = LOG) -> bytes:
    checkpoint = Checkpoint(origin=signer.name, size=size, root=root(leaves[:size]))
    return sign_checkpoint(checkpoint, [signer])


def add_checkpoint(
    witness: Witness,
    old: int,
    size: int,
    leaves: list[bytes] = LEAVES,
    proof: tuple[bytes, ...] | None = None,
) -> WitnessResponse:
    made = consistency_proof(leaves[:size], old) if proof is None and old <= size else proof or ()
    return witness.add_checkpoint(write_request(old, made, note_of(size, leaves)))


def test_a_log_that_grows_is_cosigned_each_time(witness: Witness) -> None:
    before = 0
    for size in (1, 2, 5, 5, 8, 9, 40):
        answer = add_checkpoint(witness, before, size)
        assert (answer.status, answer.media_type) == (200, "text/plain; charset=utf-8")
        (found,) = cosignatures(parse_note(note_of(size) + answer.body), [WITNESS.verifier])
        assert found.timestamp == NOW
        before = size
    assert witness.seen(LOG.name).size == 40


def test_a_rotated_log_key_is_followed_and_an_unrelated_key_is_refused(
    witness: Witness,
) -> None:
    """After the overlap only the new key signs, and the witness must continue."""
    note = note_of(5, signer=THIEF)
    assert witness.add_checkpoint(write_request(0, (), note)).status == 403
    witness.learn([THIEF.verifier, OTHER.verifier])
    assert witness.keys() == [LOG.verifier, THIEF.verifier]
    assert witness.add_checkpoint(write_request(0, (), note)).status == 200
    assert add_checkpoint(witness, 5, 7).status == 200, "the old key still counts"
    unknown = write_request(0, (), note_of(5, signer=OTHER))
    assert witness.add_checkpoint(unknown).status == 404


def test_a_request_with_an_outdated_size_is_answered_with_the_current_size(
    witness: Witness,
) -> None:
    assert add_checkpoint(witness, 0, 7).status == 200
    for old in (0, 3, 8):
        answer = add_checkpoint(witness, old, 9)
        assert (answer.status, answer.body) == (409, b"7\n")
        assert answer.media_type == "text/x.tlog.size"


@pytest.mark.attack(
    "EQUIVOCATION", "a different tree of the same size", check="the witness", needs="WITNESS"
)
def test_a_different_tree_of_equal_size_is_refused_and_saved(witness: Witness, path: Path) -> None:
    """Equivocation: two signed checkpoints of one size are proof against the log."""
    assert add_checkpoint(witness, 0, 7).status == 200
    answer = add_checkpoint(witness, 7, 7, FORGED)
    assert answer.status == 409
    assert answer.media_type != "text/x.tlog.size"
    [kept] = path.parent.glob("*.note")
    assert kept.read_bytes() == note_of(7, FORGED)
    assert witness.seen(LOG.name).root == root(LEAVES[:7])


@pytest.mark.parametrize("size", [8, 9, 40])
def test_a_changed_past_is_refused(witness: Witness, size: int) -> None:
    """Refused with the proof of the forged tree, with that of the true one, and without a proof."""
    assert add_checkpoint(witness, 0, 7).status == 200
    for leaves in (FORGED, LEAVES):
        proof = consistency_proof(leaves[:size], 7)
        assert add_checkpoint(witness, 7, size, FORGED, proof).status == 422
    assert add_checkpoint(witness, 7, size, FORGED, ()).status == 422
    assert add_checkpoint(witness, 7, size).status == 200


def test_a_smaller_tree_is_not_cosigned_after_a_greater_one(witness: Witness) -> None:
    """A log that was rolled back shows a smaller tree."""
    assert add_checkpoint(witness, 0, 9).status == 200
    assert add_checkpoint(witness, 9, 7, proof=()).status == 400
    assert add_checkpoint(witness, 7, 7).status == 409
    assert add_checkpoint(witness, 0, 7).status == 409


def test_a_consistency_proof_from_size_zero_is_empty(witness: Witness) -> None:
    assert add_checkpoint(witness, 0, 7, proof=(LEAVES[0],)).status == 422


def test_unknown_logs_and_invalid_signatures_have_different_statuses(witness: Witness) -> None:
    def status(signer: NoteSigner) -> int:
        return witness.add_checkpoint(write_request(0, (), note_of(3, signer=signer))).status

    assert status(OTHER) == 404
    assert status(THIEF) == 403
    assert status(LOG) == 200


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"old 0\n",
        b"old 0\n\n",
        b"old 00\n\n" + note_of(3),
        b"old -1\n\n" + note_of(3),
        b"old  0\n\n" + note_of(3),
        b"new 0\n\n" + note_of(3),
        b"old 0\nxx\n\n" + note_of(3),
        b"old 0\nAAAA\n\n" + note_of(3),
        b"old 0" + note_of(3),
        write_request(0, (LEAVES[0],) * 64, note_of(3)),
        b"old 0\n\n" + note_of(3).replace(b"\n3\n", b"\n03\n"),
        b"\xff",
    ],
)
def test_a_malformed_request_is_refused(witness: Witness, request_: bytes) -> None:
    assert witness.add_checkpoint(request_).status == 400


def test_the_last_cosigned_tree_survives_a_restart(witness: Witness, path: Path) -> None:
    assert add_checkpoint(witness, 0, 7).status == 200
    again = witness_at(path)
    assert add_checkpoint(again, 0, 7, FORGED).status == 409
    assert add_checkpoint(again, 7, 8).status == 200
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_unreadable_state_is_not_replaced(path: Path) -> None:
    for text in ("", "{", "[]", '{"logs":{"a":{}}}'):
        path.write_text(text)
        with pytest.raises(RecordError):
            WitnessState(path)


def test_no_cosignature_is_sent_before_the_state_is_on_disk(
    witness: Witness, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("service.public_log.witness.write_whole", full)
    with pytest.raises(OSError, match="disk full"):
        add_checkpoint(witness, 0, 7)
    assert witness.seen(LOG.name).size == 0


def test_concurrent_requests_never_store_an_older_tree(path: Path) -> None:
    """The race in the specification: a later answer must not store an earlier tree."""
    witness, answers = witness_at(path), dict[int, WitnessResponse]()

    def ask(size: int) -> None:
        answers[size] = add_checkpoint(witness, 0, size)

    threads = [threading.Thread(target=ask, args=(size,)) for size in range(1, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [cosigned] = [size for size, answer in answers.items() if answer.status == 200]
    assert witness.seen(LOG.name).size == WitnessState(path).seen(LOG.name).size == cosigned


def test_the_key_of_a_witness_is_made_once_and_keeps_its_name(tmp_path: Path) -> None:
    file = tmp_path / "witness.key"
    with pytest.raises(RecordError):
        load_cosigner(file, None)
    made = load_cosigner(file, "w.example/1")
    assert load_cosigner(file, None).verifier == made.verifier
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RecordError, match="has the name"):
        load_cosigner(file, "w.example/2")
    file.write_text("{}")
    with pytest.raises(RecordError):
        load_cosigner(file, None)


class Served:
    """A witness served over HTTP, and a log that asks it."""

    def __init__(self, witness: Witness) -> None:
        self.server = witness_server(witness, "127.0.0.1", 0)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.remote = RemoteWitness(url=url, verifier=WITNESS.verifier)

    def ask(self, size: int, known: int, leaves: list[bytes] = LEAVES) -> str:
        _, added = grow(EMPTY, leaves[:size])
        hashes = {(level, position): one for level, position, one in added}

        def read(tile: Tile) -> bytes:
            places = range(tile.first, tile.first + tile.width)
            return b"".join(hashes[tile.level or 0, place] for place in places)

        return ask_witness(self.remote, note_of(size, leaves), TiledTree(size, read), known)


@pytest.fixture
def served(witness: Witness) -> Served:
    return Served(witness)


def test_a_log_asks_over_http_and_continues_from_the_size_in_the_answer(served: Served) -> None:
    """The log may assume too large or too small a size of the witness's last tree."""
    served.ask(5, 0)
    for size, known in ((9, 0), (20, 9), (20, 9), (30, 7)):
        line = served.ask(size, known)
        (found,) = cosignatures(parse_note(note_of(size) + line.encode()), [WITNESS.verifier])
        assert found.verifier == WITNESS.verifier
    served.server.shutdown()


@pytest.mark.parametrize("length", ["9" * 5000, "1000000", "many"])
def test_a_request_of_excessive_or_unknown_length_is_refused(served: Served, length: str) -> None:
    host, port = served.server.server_address[:2]
    connection = http.client.HTTPConnection(str(host), port, timeout=10)
    connection.request("POST", "/add-checkpoint", headers={"Content-Length": length})
    assert connection.getresponse().status == 413
    connection.close()
    served.server.shutdown()


def test_a_forked_or_rolled_back_log_is_refused_over_http(served: Served) -> None:
    served.ask(9, 0)
    for size, leaves in ((9, FORGED), (12, FORGED), (7, LEAVES)):
        with pytest.raises(WitnessRefused):
            served.ask(size, 0, leaves)
    served.server.shutdown()


def test_an_answer_of_another_witness_is_rejected(served: Served) -> None:
    other = Cosigner(name="w.example/2", key=WITNESS.key)
    served.remote = RemoteWitness(url=served.remote.url, verifier=other.verifier)
    with pytest.raises(NoCosignature, match="no cosignature of the key"):
        served.ask(5, 0)
    served.server.shutdown()


def test_an_unreachable_witness_is_reported(served: Served) -> None:
    served.server.shutdown()
    served.server.server_close()
    with pytest.raises(NoCosignature, match="does not answer"):
        served.ask(5, 0)


def test_the_setting_names_witnesses_by_key_and_address() -> None:
    key = str(WITNESS.verifier)
    one, two = parse_witnesses(f"{key} https://a.example/w/, {key}  http://b.example")
    assert (one.url, two.url) == ("https://a.example/w", "http://b.example")
    assert one.verifier == WITNESS.verifier
    assert parse_witnesses("") == ()
    for wrong in (key, f"{key} ftp://a", f"x {key}", f"{LOG.verifier} https://a.example"):
        with pytest.raises(RecordError):
            parse_witnesses(wrong)


C2SP_PROOF = (
    "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=",
    "jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=",
    "5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=",
    "/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=",
)
C2SP_NOTE = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "\u2014 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Z"
    "hcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    "\u2014 example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+4"
    "9/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=\n"
).encode()
C2SP_ANSWER = (
    "\u2014 witness.example/w1 CMp+6LWBU0anHGH5aNDTJkH/gj79sG+T6+iP2ThYN5krrDJbR1HDnucjL39QsZTSvVjy"
    "QLrdk3DXDqI5G2HgLatVs0pWh6Up69HVOw==\n"
    "\u2014 witness.example/w1 I7rEps0pvK2UqkS2gSpVUDhrhVtQV9lgF6pRrWAvjJHjyWpW7VcE3SiOlVlbQNt64vWh"
    "O+DlkL0+UfzuOBMh9ChdMkP1vi/lCAsmlw==\n"
    "\u2014 witness.example/w2 AWui8Sk55XjYLOijihBjhqEH6nS1ndDymE0a+6idX7pLcnoB+dhnz0854aLZgrrKbYKA"
    "7nC3HNJhm/kWl7oJlqU3rXXvpysAdyP3wQ==\n"
)
"""The examples of a request and of its answer in the text of C2SP tlog-witness."""


def test_the_request_is_byte_for_byte_that_of_c2sp() -> None:
    proof = [b64decode(one) for one in C2SP_PROOF]
    lines = ("old 20852014", *C2SP_PROOF, "", "")
    assert write_request(20852014, proof, C2SP_NOTE) == "\n".join(lines).encode() + C2SP_NOTE


def test_of_the_lines_of_strangers_our_witness_is_found() -> None:
    """The answer of C2SP, a post-quantum cosignature, and that of the witness in the settings."""
    note, own = note_of(5), Cosigner(name="witness.example/w3", key=WITNESS.key)
    line = cosign(parse_note(note).text, own, timestamp=9)
    large = signature_line("witness.example/w4", b"\x01\x02\x03\x04", bytes(8 + 2420))
    with malformed() as server:
        body = (C2SP_ANSWER + large + line).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
        server.answer = head.encode() + body
        stranger = RemoteWitness(url=server.url, verifier=own.verifier)
        tree = TiledTree(5, lambda _tile: b"".join(LEAVES[:5]))
        assert ask_witness(stranger, note, tree, 5) == line
