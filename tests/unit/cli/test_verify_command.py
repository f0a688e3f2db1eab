"""`shithead verify`: its options, its output, and its exit statuses."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.cli.statuses import MISUSED
from service.shx.bundle import write_bundle
from service.shx.chain import head
from service.shx.moves import sign_key_change
from service.shx.receipts import issue_receipt, receipt_body
from service.shx.tlog.checkpoint import Checkpoint, CosignatureVerifier, sign_checkpoint
from service.shx.tlog.notes import NoteSigner, NoteVerifier
from service.shx.tlog.tree import TlogProof, leaf_hash, root
from tests.unit.cli.conftest import SAMPLES, CommandOutput

LOG = SAMPLES / "leeds.jsonl"
SERVER = NoteSigner(name="court.example", key=Ed25519PrivateKey.from_private_bytes(bytes(32)))
KEY = str(SERVER.verifier)


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    """Return a file with the server's receipt for the end of the log."""
    lines = LOG.read_bytes().splitlines()
    game = UUID(json.loads(lines[0])["game"])
    note = issue_receipt(SERVER, game=game, seq=len(lines) - 1, head=head(lines[-1]))
    path = tmp_path / "mine.note"
    path.write_bytes(note)
    return path


def test_a_valid_log_ends_with_0_and_a_closing_line(
    shithead: Callable[..., CommandOutput],
) -> None:
    status, out, _ = shithead("verify", LOG)
    assert status == 0
    assert out.splitlines()[-1].startswith("no evidence of tampering, level L1; no evidence")
    assert "\nlegality     pass" in out


def test_a_bundle_is_read_like_a_log(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    bundle = tmp_path / "game.shx"
    bundle.write_bytes(write_bundle(LOG.read_bytes().splitlines()))
    assert shithead("verify", bundle)[0] == 0


def test_a_changed_log_ends_with_1_and_names_the_event(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    lines = LOG.read_bytes().splitlines(keepends=True)
    lines[7] = lines[7].replace(b'"turn":0', b'"turn":1').replace(b'"turn":2', b'"turn":1')
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(b"".join(lines[:30]))
    assert lines[7] != LOG.read_bytes().splitlines(keepends=True)[7]
    status, out, _ = shithead("verify", changed)
    assert status == 1
    assert "chain        fail     seq 7: This event is not the one that was here" in out


def test_an_unfinished_game_ends_with_2(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    part = tmp_path / "part.jsonl"
    part.write_bytes(b"".join(LOG.read_bytes().splitlines(keepends=True)[:30]))
    status, out, _ = shithead("verify", part)
    assert status == 2
    assert out.splitlines()[-1].startswith("no evidence of tampering, level L1 so far; no evidence")


def test_a_file_that_is_not_a_log_ends_with_3(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    for path in (tmp_path / "picture.png", tmp_path / "missing", tmp_path):
        status, out, err = shithead("verify", path)
        assert (status, out) == (3, "")
        assert err.startswith("shithead verify: ")


def test_a_receipt_and_the_server_key_give_l2(
    shithead: Callable[..., CommandOutput], receipt: Path, tmp_path: Path
) -> None:
    older = NoteSigner(name=SERVER.name, key=Ed25519PrivateKey.generate()).verifier
    (tmp_path / "server.key").write_text(f"{older}\n{KEY}\n")
    public = b64encode(SERVER.verifier.public).decode()
    answer = {"items": [{"name": SERVER.name, "public": public}], "next": None}
    (tmp_path / "keys.json").write_text(json.dumps(answer))
    words = ("verify", LOG, "--level", "L2")
    assert shithead(*words)[0] == 2
    assert shithead(*words, "--receipt", receipt)[0] == 2
    for key in (KEY, tmp_path / "server.key", tmp_path / "keys.json"):
        status, out, _ = shithead(*words, "--receipt", receipt, "--server-key", key)
        assert status == 0
        assert out.endswith("no evidence of tampering, level L2\n")


def test_the_page_goes_into_its_file(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    status, out, _ = shithead("verify", LOG, "--html", page)
    assert status == 0
    assert out.splitlines()[-1] in page.read_text()


def test_the_report_as_json_is_the_audit_object(shithead: Callable[..., CommandOutput]) -> None:
    status, out, _ = shithead("verify", LOG, "--json")
    audit = json.loads(out)
    assert (status, audit["result"], audit["level"]) == (0, "pass", "L1")
    assert [c["check"] for c in audit["checks"]][:3] == ["bytes", "chain", "order"]


@pytest.mark.parametrize(
    "words",
    [
        ("--server-key", "court.example+00000000+AAAA"),
        ("--server-key", '{"items":[{"name":"court.example"}]}'),
        ("--server-key", "[]"),
        ("--server-key", ""),
        ("--server-key", '{"items":[{"name":"court.example","public":"AAAA"}]}'),
        ("--seat-key", "AAAA"),
        ("--seat-key", "0=AAAA"),
        ("--seat-key", "x=" + b64encode(bytes(32)).decode()),
        ("--seat-key", "0=not base64"),
        ("--seat-key", "0=" + b64encode(bytes(32)).decode()),
        ("--seat-key", "0=" + b64encode(bytes([2, *bytes(31)])).decode()),
        ("--seat-key", "0=8P" + "/" * 39 + "38="),
        ("--server-key", str(NoteVerifier(name="a.example", public=bytes([2, *bytes(31)])))),
        ("--witness-key", str(CosignatureVerifier(name="a", public=bytes([2, *bytes(31)])))),
        ("--level", "L4"),
    ],
)
def test_an_invalid_key_is_a_wrong_command_line(
    shithead: Callable[..., CommandOutput], words: tuple[str, ...]
) -> None:
    status, out, _ = shithead("verify", LOG, *words)
    assert (status, out) == (MISUSED, "")


def test_a_missing_file_of_keys_is_named_as_such(
    shithead: Callable[..., CommandOutput],
) -> None:
    status, _, err = shithead("verify", LOG, "--server-key", "keys.json")
    assert (status, "there is no file 'keys.json'" in err) == (MISUSED, True)


def test_a_proof_beside_a_plain_log_counts_like_one_in_a_bundle(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    lines = LOG.read_bytes().splitlines()
    game = UUID(json.loads(lines[0])["game"])
    body = receipt_body(SERVER.name, game, len(lines) - 1, head(lines[-1])).encode()
    leaves = [leaf_hash(body), leaf_hash(b"another")]
    signed = Checkpoint(origin=SERVER.name, size=2, root=root(leaves))
    proof = TlogProof(
        index=0, hashes=(leaves[1],), checkpoint=sign_checkpoint(signed, [SERVER]), extra=body
    )
    path = tmp_path / "game.tlog-proof"
    path.write_bytes(proof.text)
    status, out, _ = shithead("verify", LOG, "--proof", path, "--server-key", KEY)
    assert (status, "anchor       pass" in out) == (0, True)
    other = SAMPLES / "threes.jsonl"
    status, out, _ = shithead("verify", LOG, other, "--proof", path, "--server-key", KEY)
    assert (status, out.count("anchor       pass"), out.count("anchor       missing")) == (0, 1, 1)
    status, out, _ = shithead("verify", other, "--proof", path, "--server-key", KEY)
    assert (status, "anchor       fail" in out) == (1, True)


def test_key_changes_are_passed_to_the_verifier(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    keyed = SAMPLES / "shithead-keyed.jsonl"
    data = json.loads(keyed.read_bytes().splitlines()[0])["data"]
    seat, key = next((n, s["key"]) for n, s in enumerate(data["seats"]) if s["key"])
    table, old = UUID(data["table"]), SERVER.key
    sig = sign_key_change(old, table=table, seat=seat, key=b64decode(key))
    change = {"v": 1, "table": str(table), "seat": seat, "key": key}
    path = tmp_path / "changes.json"
    path.write_text(json.dumps({"items": [{"change": change, "sig": sig}], "next": None}))
    mine = ("--seat-key", f"{seat}={b64encode(SERVER.verifier.public).decode()}")
    assert shithead("verify", keyed, *mine)[0] == 1
    assert shithead("verify", keyed, *mine, "--key-change", path)[0] == 0
    path.write_text("{}")
    status, out, err = shithead("verify", keyed, "--key-change", path)
    assert (status, out) == (3, "")
    assert "changes.json" in err


def test_seat_keys_are_passed_to_the_verifier(shithead: Callable[..., CommandOutput]) -> None:
    keyed = SAMPLES / "shithead-keyed.jsonl"
    created = json.loads(keyed.read_bytes().splitlines()[0])["data"]
    keys = {seat: s["key"] for seat, s in enumerate(created["seats"]) if s["key"]}
    words = [word for seat, key in keys.items() for word in ("--seat-key", f"{seat}={key}")]
    assert shithead("verify", keyed, *words)[0] == 0
    other = b64encode(SERVER.verifier.public).decode()
    assert shithead("verify", keyed, "--seat-key", f"{min(keys)}={other}")[0] == 1


def test_a_folder_in_place_of_a_log_is_reported_as_such(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    status, _, err = shithead("verify", tmp_path)
    assert status == 3
    assert f"{tmp_path} is a folder: name the file in it" in err
