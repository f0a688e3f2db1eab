"""Signed notes and receipts, compared with published notes."""

from __future__ import annotations

from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from service.shx.canonical import RecordError
from service.shx.receipts import check_receipt, issue_receipt, parse_receipt_body, receipt_body
from service.shx.tlog.notes import (
    NoteSigner,
    NoteVerifier,
    key_id,
    open_note,
    parse_note,
    parse_verifier,
    sign_note,
    signature_line,
)

# The example in the documentation of Go's sumdb/note, from which C2SP's format comes.
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n\n"
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgK"
    "vqfqdngotpRZb6KE6RyyBwJnAM=\n"
).encode()
# The example in C2SP's signed-note.
C2SP_NOTE = (
    "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\n"
    "ed \u00e8 subito sera.\n\n"
    "\u2014 quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKON"
    "rMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
).encode()

OWN = NoteSigner(name="cards.example", key=Ed25519PrivateKey.from_private_bytes(b"h" * 32))
OTHER = NoteSigner(name="other.example", key=Ed25519PrivateKey.from_private_bytes(b"t" * 32))
GAME = UUID("00010203-0405-4607-8809-0a0b0c0d0e0f")


def test_a_note_of_the_go_implementation_is_verified() -> None:
    verifier = parse_verifier(GO_KEY)
    note, signed = open_note(GO_NOTE, [verifier])
    assert signed == [verifier]
    assert note.text.endswith("your problem is.\n")
    assert str(verifier) == GO_KEY


def test_the_example_of_c2sp_is_parsed_at_its_last_empty_line() -> None:
    note = parse_note(C2SP_NOTE)
    assert note.text.endswith("sole:\n\ned \u00e8 subito sera.\n")
    (line,) = note.signatures
    assert (line.name, line.key_id.hex()) == ("quasimodo.example/salvatore", "367ba04b")
    assert len(line.signature) == 64
    assert (note.text + "\n" + signature_line(line.name, line.key_id, line.signature)).encode() == (
        C2SP_NOTE
    )


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n")))
def test_any_text_can_be_signed_and_opened(text: str) -> None:
    note, signed = open_note(sign_note(text + "\n", [OWN]), [OWN.verifier])
    assert note.text == text + "\n"
    assert signed == [OWN.verifier]


def test_every_signer_of_a_note_is_reported() -> None:
    data = sign_note("text\n", [OWN, OTHER])
    assert open_note(data, [OTHER.verifier])[1] == [OTHER.verifier]
    assert len(open_note(data, [OTHER.verifier, OWN.verifier])[1]) == 2


def test_a_bad_signature_of_a_known_key_invalidates_the_note() -> None:
    good, other = sign_note("text\n", [OWN]), sign_note("text?\n", [OTHER])
    data = good + other.partition(b"\n\n")[2]
    assert open_note(data, [OWN.verifier])[1] == [OWN.verifier]
    with pytest.raises(RecordError, match="signature of other"):
        open_note(data, [OWN.verifier, OTHER.verifier])


def test_signatures_of_unknown_keys_are_ignored_even_under_a_known_name() -> None:
    namesake = NoteSigner(name=OWN.name, key=OTHER.key)
    data = sign_note("text\n", [namesake])
    with pytest.raises(RecordError, match="not signed by a known key"):
        open_note(data, [OWN.verifier])
    assert open_note(sign_note("text\n", [namesake, OWN]), [OWN.verifier])[1] == [OWN.verifier]


def test_sixteen_signatures_are_accepted() -> None:
    signers = [NoteSigner(name=f"w{n}.example", key=OWN.key) for n in range(16)]
    data = sign_note("text\n", signers)
    assert len(open_note(data, [signer.verifier for signer in signers])[1]) == 16


def signature() -> str:
    return signature_line(OWN.name, OWN.verifier.key_id, OWN.key.sign(b"text\n"))


@pytest.mark.parametrize(
    "data",
    [
        "",
        "text\n",
        "text\n\n",
        "text\n\n\n" + signature(),
        "text\n" + signature(),
        "text\n\n" + signature().rstrip("\n"),
        "text\n\n" + signature() + "more\n",
        "text\n\n" + signature() + "\n",
        "text\n\n" + signature().replace("\u2014", "-"),
        "text\n\n" + signature().replace("\u2014 ", "\u2014"),
        "text\n\n" + signature().replace(" cards", "  cards"),
        "text\n\n" + signature().replace("cards.", "cards+"),
        "text\n\n" + signature().replace("cards.", "cards\u00a0"),
        "text\n\n" + signature().replace("\n", " \n"),
        "text\n\n" + signature().replace("=", ""),
        "text\n\n\u2014 cards.example AAAA\n",
        "te\txt\n\n" + signature(),
        "text\r\n\r\n" + signature(),
        "text\n\n" + signature() * 101,
    ],
)
def test_a_malformed_note_is_refused(data: str) -> None:
    with pytest.raises(RecordError):
        open_note(data.encode(), [OWN.verifier])


@pytest.mark.parametrize("start", ["\u2014", "- ", "", "\u2014  ", "\u2013 "])
def test_a_signature_line_begins_with_an_em_dash_and_a_space(start: str) -> None:
    line = signature().removeprefix("\u2014 ")
    with pytest.raises(RecordError):
        parse_note(f"text\n\n{start}{line}".encode())


def test_bytes_that_are_not_utf8_are_not_a_note() -> None:
    with pytest.raises(RecordError):
        parse_note(b"\xff\n\n" + signature().encode())


@pytest.mark.parametrize("text", ["no newline", "tab\t\n", "", "\ud800\n"])
def test_a_text_that_cannot_be_a_note_is_not_signed(text: str) -> None:
    with pytest.raises(RecordError):
        sign_note(text, [OWN])


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u2003b", "a\nb", "a\x00b"])
def test_an_invalid_key_name_is_refused(name: str) -> None:
    with pytest.raises(RecordError):
        key_id(name, b"\x01", b"p" * 32)


@pytest.mark.parametrize(
    "text",
    [
        "",
        GO_KEY.replace("c74f", "c74e"),
        GO_KEY.replace("Peter", "Pieter"),
        GO_KEY + "=",
        GO_KEY.replace("+AR", "+Ah"),
        GO_KEY.rpartition("+")[0],
        GO_KEY[:-4],
    ],
)
def test_a_verifier_key_that_does_not_fit_its_id_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        parse_verifier(text)


def test_a_signer_shows_no_key() -> None:
    assert repr(OWN) == "NoteSigner(name='cards.example')"


def test_the_text_of_a_receipt_is_that_of_the_protocol() -> None:
    text = receipt_body("cards.example", GAME, 16, b"\0" * 32)
    assert text == f"cards.example/g/{GAME}\n17\n{'A' * 43}=\n"
    receipt = parse_receipt_body(text)
    assert (receipt.seq, receipt.head, receipt.body) == (16, b"\0" * 32, text)


def test_a_receipt_is_valid_only_for_its_server() -> None:
    note = issue_receipt(OWN, game=GAME, seq=3, head=b"\1" * 32)
    receipt = check_receipt(note, [OWN.verifier, OTHER.verifier])
    assert (receipt.origin, receipt.game, receipt.seq) == ("cards.example", GAME, 3)
    with pytest.raises(RecordError):
        check_receipt(note.replace(b"\n4\n", b"\n5\n"), [OWN.verifier])
    with pytest.raises(RecordError):
        check_receipt(note, [NoteVerifier(name=OWN.name, public=OTHER.verifier.public)])


def test_a_receipt_in_the_name_of_another_server_is_refused() -> None:
    body = receipt_body("cards.example", GAME, 3, b"\1" * 32)
    with pytest.raises(RecordError, match="whose name is not the origin"):
        check_receipt(sign_note(body, [OTHER]), [OWN.verifier, OTHER.verifier])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n17\n", "\n0\n"),
        ("\n17\n", "\n017\n"),
        ("\n17\n", "\n100001\n"),
        ("=\n", "=\nmore\n"),
        ("0a0b", "0A0B"),
        ("AAA=", "AAB="),
        ("/g/", "/h/"),
        ("cards", "ca rds"),
        ("00010203-0405-", "000102-030405-"),
    ],
)
def test_a_malformed_receipt_is_refused(old: str, new: str) -> None:
    text = receipt_body("cards.example", GAME, 16, b"\0" * 32)
    assert old in text
    with pytest.raises(RecordError):
        parse_receipt_body(text.replace(old, new))
