"""Checkpoints, cosignatures and proofs: the published examples, and malformed ones."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.shx.canonical import RecordError
from service.shx.tlog.checkpoint import (
    Checkpoint,
    CosignatureVerifier,
    Cosigner,
    cosign,
    cosignatures,
    open_checkpoint,
    parse_checkpoint,
    parse_cosigner,
    sign_checkpoint,
)
from service.shx.tlog.notes import NoteSigner, parse_note, parse_verifier, sign_note
from service.shx.tlog.tree import (
    TlogProof,
    check_proof,
    inclusion_proof,
    leaf_hash,
    parse_proof,
    root,
)

# The example in C2SP's tlog-cosignature: the checkpoint of tlog-checkpoint, with a cosignature.
C2SP_CHECKPOINT = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "\u2014 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Z"
    "hcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    "\u2014 witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJs"
    "X3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
).encode()

# A checkpoint of a public log, with the cosignature of a public witness.
REAL_CHECKPOINT = (
    "arche2025h1.staging.ct.transparency.dev\n1432088532\n"
    "U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n\n"
    "\u2014 arche2025h1.staging.ct.transparency.dev "
    "ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=\n"
    "\u2014 remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobW"
    "X9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==\n"
).encode()
REAL_WITNESS = "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"
LOG_KEY = "TEST+7997405c+AQcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6"

LOG = NoteSigner(name="cards.example", key=Ed25519PrivateKey.from_private_bytes(b"h" * 32))
OTHER = NoteSigner(name="other.example", key=Ed25519PrivateKey.from_private_bytes(b"t" * 32))
WITNESS = Cosigner(name="w.example/1", key=Ed25519PrivateKey.from_private_bytes(b"w" * 32))
LEAVES = [leaf_hash(bytes([number])) for number in range(7)]
HEAD = Checkpoint(origin="cards.example", size=7, root=root(LEAVES))


def test_the_checkpoint_of_c2sp_is_read_and_written_unchanged() -> None:
    note = parse_note(C2SP_CHECKPOINT)
    read = parse_checkpoint(note.text)
    assert (read.origin, read.size) == ("example.com/behind-the-sofa", 20852163)
    assert read.body == note.text
    log, witness = note.signatures
    assert (log.name, log.key_id.hex(), len(log.signature)) == (read.origin, "033de0ae", 64)
    assert (witness.name, witness.key_id.hex()) == ("witness.example.com/w1", "8d66cf3f")
    assert len(witness.signature) == 72
    assert int.from_bytes(witness.signature[:8], "big") == 1679315147  # stated by C2SP


def test_a_cosignature_of_a_public_witness_is_valid() -> None:
    verifier = parse_cosigner(REAL_WITNESS)
    assert str(verifier) == REAL_WITNESS
    (found,) = cosignatures(parse_note(REAL_CHECKPOINT), [verifier])
    assert found.verifier == verifier
    assert found.timestamp == 0x6A122120
    changed = REAL_CHECKPOINT.replace(b"\n1432088532\n", b"\n1432088533\n")
    with pytest.raises(RecordError, match="cosignature of remora"):
        cosignatures(parse_note(changed), [verifier])


def test_log_keys_and_witness_keys_are_not_interchangeable() -> None:
    """The algorithm byte keeps them apart: a log's signature must not count as a witness."""
    parse_verifier(LOG_KEY)
    with pytest.raises(RecordError):
        parse_cosigner(LOG_KEY)
    with pytest.raises(RecordError):
        parse_verifier(REAL_WITNESS)


def test_a_log_signature_by_a_witness_key_is_not_a_cosignature() -> None:
    namesake = NoteSigner(name=WITNESS.name, key=WITNESS.key)
    note = parse_note(sign_note(HEAD.body, [LOG, namesake]))
    assert cosignatures(note, [WITNESS.verifier]) == []


def test_a_checkpoint_is_signed_and_cosigned() -> None:
    signed = sign_checkpoint(HEAD, [LOG])
    line = cosign(HEAD.body, WITNESS, timestamp=1679315147)
    read, note, keys = open_checkpoint(signed + line.encode(), [LOG.verifier])
    assert (read, keys) == (HEAD, [LOG.verifier])
    (found,) = cosignatures(note, [WITNESS.verifier])
    assert found.timestamp == 1679315147


def test_the_message_of_a_cosignature_is_that_of_the_specification() -> None:
    line = cosign(HEAD.body, WITNESS, timestamp=1679315147)
    raw = b64decode(line.split()[2])
    assert raw[:4] == sha256(b"w.example/1\n\x04" + WITNESS.verifier.public).digest()[:4]
    message = f"cosignature/v1\ntime 1679315147\n{HEAD.body}".encode()
    WITNESS.key.public_key().verify(raw[12:], message)


def test_a_cosignature_moved_to_another_time_is_wrong() -> None:
    raw = bytearray(b64decode(cosign(HEAD.body, WITNESS, timestamp=5).split()[2]))
    raw[11] = 6
    line = f"\u2014 {WITNESS.name} {b64encode(raw).decode()}\n"
    note = parse_note(sign_checkpoint(HEAD, [LOG]) + line.encode())
    with pytest.raises(RecordError):
        cosignatures(note, [WITNESS.verifier])


def test_several_cosignatures_of_one_key_count_once() -> None:
    lines = "".join(cosign(HEAD.body, WITNESS, timestamp=time) for time in (5, 9, 7))
    note = parse_note(sign_checkpoint(HEAD, [LOG]) + lines.encode())
    (found,) = cosignatures(note, [WITNESS.verifier])
    assert found.timestamp == 9
    twice = CosignatureVerifier(name="w.example/2", public=WITNESS.verifier.public)
    assert len(cosignatures(note, [WITNESS.verifier, twice])) == 1


def test_a_log_signs_only_in_its_own_name() -> None:
    with pytest.raises(RecordError):
        sign_checkpoint(HEAD, [OTHER])
    with pytest.raises(RecordError, match="whose name is not the origin"):
        open_checkpoint(sign_note(HEAD.body, [OTHER]), [LOG.verifier, OTHER.verifier])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n7\n", "\n07\n"),
        ("\n7\n", "\n-7\n"),
        ("\n7\n", "\n+7\n"),
        ("\n7\n", "\n\n"),
        ("\n7\n", "\n9223372036854775808\n"),
        ("\n7\n", "\n\u0667\n"),
        ("=\n", "\n"),
        ("=\n", "=\n\n"),
        ("=\n", "="),
        ("cards.example\n", "\n"),
        ("cards.example\n", ""),
    ],
)
def test_a_malformed_checkpoint_is_refused(old: str, new: str) -> None:
    assert old in HEAD.body
    with pytest.raises(RecordError):
        parse_checkpoint(HEAD.body.replace(old, new))


def test_extension_lines_are_retained_and_signed() -> None:
    more = parse_checkpoint(HEAD.body + "more\n")
    assert more.extensions == ("more",)
    assert more.body == HEAD.body + "more\n"


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_an_extension_line(separator: str) -> None:
    """A witness signs the text that it was sent, also if a line has another line separator."""
    text = f"{HEAD.body}one{separator}line\n"
    checkpoint = parse_checkpoint(text)
    assert (checkpoint.extensions, checkpoint.body) == ((f"one{separator}line",), text)


def proof_of(index: int, extra: bytes | None = None) -> TlogProof:
    signed = sign_checkpoint(HEAD, [LOG])
    hashes = inclusion_proof(LEAVES, index)
    return TlogProof(index=index, hashes=hashes, checkpoint=signed, extra=extra)


@pytest.mark.parametrize("index", range(7))
def test_a_proof_is_read_back_and_valid(index: int) -> None:
    made = proof_of(index, extra=bytes([index]))
    assert parse_proof(made.text) == made
    assert check_proof(made.text, bytes([index]), [LOG.verifier]) == HEAD
    with pytest.raises(RecordError, match="does not lead"):
        check_proof(made.text, bytes([index + 1]), [LOG.verifier])
    with pytest.raises(RecordError):
        check_proof(made.text, bytes([index]), [OTHER.verifier])


def test_the_text_of_a_proof_is_that_of_c2sp() -> None:
    """The cases of the tests of transparency-dev/formats."""
    one, two = sha256(b"hash1").digest(), sha256(b"hash2").digest()
    first, second = b64encode(one).decode(), b64encode(two).decode()
    extra = b64encode(b"extra information").decode()
    cases = [
        (
            TlogProof(index=5, hashes=(one, two), checkpoint=b"test checkpoint\n"),
            f"c2sp.org/tlog-proof@v1\nindex 5\n{first}\n{second}\n\ntest checkpoint\n",
        ),
        (
            TlogProof(
                index=10, hashes=(one,), checkpoint=b"test checkpoint\n", extra=b"extra information"
            ),
            f"c2sp.org/tlog-proof@v1\nextra {extra}\nindex 10\n{first}\n\ntest checkpoint\n",
        ),
        (
            TlogProof(index=0, hashes=(), checkpoint=b"checkpoint\n"),
            "c2sp.org/tlog-proof@v1\nindex 0\n\ncheckpoint\n",
        ),
    ]
    for proof, text in cases:
        assert proof.text.decode() == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("c2sp.org/tlog-proof@v1", "wrong-header"),
        ("c2sp.org/tlog-proof@v1", "c2sp.org/tlog-proof@v2"),
        ("extra ", "extra !!"),
        ("extra ", "extras "),
        ("index 3\n", ""),
        ("index 3", "index three"),
        ("index 3", "index -3"),
        ("index 3", "index 03"),
        ("index 3", "index  3"),
        ("\n\ncards", "\n!!\n\ncards"),
        ("\n\ncards", "\n" + b64encode(bytes(64)).decode() + "\n\ncards"),
        ("\n\ncards", "\n" + (b64encode(bytes(32)).decode() + "\n") * 64 + "\ncards"),
        ("\n\ncards", "\ncards"),
        ("\n7\n", "\n07\n"),
    ],
)
def test_a_malformed_proof_is_refused(old: str, new: str) -> None:
    text = proof_of(3, extra=b"\3").text.decode()
    assert old in text
    with pytest.raises(RecordError):
        parse_proof(text.replace(old, new, 1).encode())
