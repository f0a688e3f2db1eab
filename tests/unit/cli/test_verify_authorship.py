"""The possible authors of an event: the producer of the file, or the server if it signed."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from service.shx.bundle import write_bundle
from service.shx.canonical import canonical
from service.shx.chain import head
from service.shx.receipts import issue_receipt, receipt_body
from service.shx.tlog.checkpoint import Checkpoint, sign_checkpoint
from service.shx.tlog.notes import NoteSigner
from service.shx.tlog.tree import TlogProof, leaf_hash, root
from tests.attacks.rule_attacks import a_card_that_does_not_fit
from tests.random_games import private_key
from tests.tamper import sample, sample_lines
from tests.unit.cli.conftest import CommandOutput

Run = Callable[..., CommandOutput]
Lines = tuple[bytes, ...]
SERVER = NoteSigner(name="authors.example", key=private_key("server"))
KEY = ("--server-key", str(SERVER.verifier))
TRUE = sample_lines("shithead")
GAME = UUID(json.loads(TRUE[0])["game"])
PRODUCER = "the party that produced this file wrote it"
BLAME = (
    "let it pass",
    "the server, which judges",
    "no player can do this",
    "the operator made",
)


def with_another_card() -> tuple[Lines, int]:
    """Return the log with one changed card of a play, and its seq; no hash is recomputed."""
    forgery = sample("shithead")
    seq = forgery.find("cards_played", lambda e: e["data"]["zone"] == "hand", n=8)
    event = forgery.events[seq]
    event["data"]["cards"] = ["2s" if event["data"]["cards"] != ["2s"] else "2h"]
    return (*TRUE[:seq], canonical(event), *TRUE[seq + 1 :]), seq


def rechained() -> tuple[Lines, int]:
    """Return a log with a wrong burn and recomputed hashes, and its seq."""
    forgery = sample("shithead")
    seq = forgery.find("pile_burned", lambda e: e["data"]["cause"] == "rank")
    forgery.data(seq)["cause"] = "set"
    return forgery.lines(), seq


def illegal() -> tuple[Lines, int]:
    """Return a log with an illegal play and recomputed hashes, and its seq."""
    forgery = sample("shithead")
    seq = a_card_that_does_not_fit(forgery)
    assert seq is not None
    return forgery.lines(), seq


def receipt(lines: Lines, seq: int) -> bytes:
    return issue_receipt(SERVER, game=GAME, seq=seq, head=head(lines[seq]))


def proof(lines: Lines) -> bytes:
    """Return a proof that the head of the last event is the only leaf of the public log."""
    last = len(lines) - 1
    body = receipt_body(SERVER.name, GAME, last, head(lines[last])).encode()
    checkpoint = Checkpoint(origin=SERVER.name, size=1, root=root([leaf_hash(body)]))
    note = sign_checkpoint(checkpoint, [SERVER])
    return TlogProof(index=0, hashes=(), checkpoint=note, extra=body).text


def bundle(folder: Path, lines: Lines, **files: bytes) -> Path:
    """Write a bundle with a matching manifest."""
    path = folder / "game.shx"
    names = {f"receipts/{name}.note": data for name, data in files.items()}
    path.write_bytes(write_bundle(lines, files=names))
    return path


def note(folder: Path, data: bytes, name: str = "mine.note") -> tuple[str, str, str, str]:
    (folder / name).write_bytes(data)
    return ("--receipt", str(folder / name), *KEY)


def happened(out: str, claim: str) -> str:
    """Return the text of the report on a failed claim."""
    return next(line for line in out.splitlines() if line.startswith(f"what happened ({claim})"))


@pytest.mark.attack(
    "EDIT", "one changed card in a bundle with a recomputed manifest", check="chain"
)
@pytest.mark.parametrize("kept", [None, 10, -10, -1])
def test_a_changed_card_names_its_event_and_blames_no_party(
    shithead: Run, tmp_path: Path, kept: int | None
) -> None:
    """Without a receipt, and with one for an earlier or a later event."""
    lines, seq = with_another_card()
    file = bundle(tmp_path, lines)
    words = () if kept is None else note(tmp_path, receipt(TRUE, kept % len(TRUE)))
    status, out, _ = shithead("verify", file, *words)
    assert status == 1
    assert f"chain        fail     seq {seq}: This event is not the one that was here when" in out
    assert f"chain fails at seq {seq}." in out.splitlines()[-1]
    for claim in ("history", "actions"):
        section = happened(out, claim)
        assert section.startswith(f"what happened ({claim}), seq {seq}: This record states: ")
        assert f"{PRODUCER}. its chain is broken at event {seq}." in section.lower()
    page = tmp_path / "page.html"
    reports = [out, shithead("audit", file, "--move", seq, *words)[1]]
    reports.append(shithead("verify", file, "--json", "--html", page, *words)[1])
    reports.append(page.read_text("utf-8"))
    for report in reports:
        assert not any(blame in report for blame in BLAME), report
    for report in (reports[0], reports[1], reports[3]):  # the JSON report names no author
        assert PRODUCER in report.lower()
    if kept is not None:
        cover = f"{seq + 1}-{kept % len(TRUE)}" if kept < 0 else f"0-{kept}"
        assert f" The server’s signatures cover these events: {cover}.\n" in out
    checks = json.loads(reports[2])["checks"]
    assert min(c["seq"] for c in checks if c["result"] == "fail") == seq


@pytest.mark.attack(
    "EDIT", "a log rewritten by its holder to blame a seat", check="receipts", needs="RECEIPT"
)
def test_a_rewritten_log_contradicted_by_a_receipt_is_attributed_to_its_producer(
    shithead: Run, tmp_path: Path
) -> None:
    for forged, seq in (rechained(), illegal()):
        words = note(tmp_path, receipt(TRUE, seq + 1))
        status, out, _ = shithead("verify", bundle(tmp_path, forged), *words)
        assert status == 1
        denied = "A receipt that the server signed shows another history: mine.note."
        assert f"wrote it. {denied}" in happened(out, "actions")
        audit = shithead("audit", tmp_path / "game.shx", "--move", seq, *words)[1]
        assert f"The party that produced this file wrote it. {denied}" in " ".join(audit.split())
        assert not any(blame in out + audit for blame in BLAME[:2])


def test_without_evidence_of_its_author_a_log_is_attributed_to_its_producer_first(
    shithead: Run, tmp_path: Path
) -> None:
    forged, seq = illegal()
    file = bundle(tmp_path, forged)
    for words in ((), note(tmp_path, receipt(forged, seq - 1))):
        out = shithead("verify", file, *words)[1]
        reading = f"{PRODUCER}, or this is the server’s log. "
        reading += "The server, which checks every move, let it pass. "
        assert reading[1:] in happened(out, "actions")
        audit = shithead("audit", file, "--move", seq, *words)[1]
        first, _, second = audit.partition("If this is the server’s log:")
        assert "The party that produced this file wrote it: no signature" in first
        assert "made this move, and the server, which judges every move, accepted it." in second


def test_events_covered_by_a_server_signature_are_attributed_to_the_server(
    shithead: Run, tmp_path: Path
) -> None:
    """By a receipt, even one in the bundle, or by a checkpoint, if its key is supplied."""
    forged, seq = illegal()
    (tmp_path / "game.tlog-proof").write_bytes(proof(forged))
    plain, noted = bundle(tmp_path, forged), tmp_path / "noted.shx"
    noted.write_bytes(write_bundle(forged, files={"receipts/a.note": receipt(forged, seq + 3)}))
    for file, words in (
        (plain, note(tmp_path, receipt(forged, seq))),
        (plain, ("--proof", str(tmp_path / "game.tlog-proof"), *KEY)),
        (noted, KEY),
    ):
        out = shithead("verify", file, *words)[1]
        section = happened(out, "actions")
        assert (
            f"seq {seq}: Seat " in section
            and ". The server, which checks every move, let it pass. " in section
        )
        assert "produced this file" not in section and "This record states" not in section
        audit = shithead("audit", file, "--move", seq, *words)[1]
        assert "made this move, and the server, which judges every move, accepted it." in audit
        assert "roduced this file" not in audit


def relinked(lines: Lines, seq: int, *, path: Path) -> Path:
    """Return a file of the log in which one event has a wrong link."""
    event = json.loads(lines[seq])
    event["prev"] = "07" * 32
    path.write_bytes(b"\n".join((*lines[:seq], canonical(event), *lines[seq + 1 :])))
    return path


def test_a_changed_link_names_its_own_event(shithead: Run, tmp_path: Path) -> None:
    """It breaks the links before and after it, and its neighbours are unchanged."""
    lines, seq = with_another_card()
    lines = (*lines[:seq], TRUE[seq], *lines[seq + 1 :])
    out = shithead("verify", relinked(lines, seq, path=tmp_path / "events.jsonl"))[1]
    assert f"seq {seq}: The link of this event to the one before it was changed" in out


def test_a_changed_event_before_a_changed_link_is_named(shithead: Run, tmp_path: Path) -> None:
    """With the right link the next event would not have the head that the one after it names."""
    lines, seq = with_another_card()
    out = shithead("verify", relinked(lines, seq + 1, path=tmp_path / "events.jsonl"))[1]
    assert f"seq {seq}: Events between this one and event {seq + 1} were removed" in out


def test_changed_events_in_a_row_are_named_from_the_first(shithead: Run, tmp_path: Path) -> None:
    lines, seq = with_another_card()
    for linked in (seq + 1, seq + 2):
        path = relinked(lines, linked, path=tmp_path / "events.jsonl")
        lines = tuple(path.read_bytes().splitlines())
    out = shithead("verify", path)[1]
    assert f"seq {seq}: Events between this one and event {seq + 1} were removed" in out


@pytest.mark.attack(
    "DOWNGRADE", "receipts without the key that signed them", check="the report", needs="RECEIPT"
)
@pytest.mark.parametrize(
    ("given", "closing"),
    [
        (("receipt",), "1 receipt was supplied without the server’s key, which is missing"),
        (
            ("receipt", "other"),
            "2 receipts were supplied without the server’s key, which is missing",
        ),
        (("proof",), "A proof of the public log was supplied without the server’s key"),
        (("key",), "The server’s key was supplied without a receipt that it signed"),
    ],
)
def test_evidence_without_its_key_is_reported_as_incomplete(
    shithead: Run, tmp_path: Path, given: tuple[str, ...], closing: str
) -> None:
    """It states that the key is missing, not that no evidence was given."""
    words: list[str] = []
    for one in given:
        if one == "key":
            words += KEY
        elif one == "proof":
            (tmp_path / one).write_bytes(proof(TRUE))
            words += ["--proof", str(tmp_path / one)]
        else:
            (tmp_path / one).write_bytes(receipt(TRUE, 40 + len(one)))
            words += ["--receipt", str(tmp_path / one)]
    page = tmp_path / "page.html"
    status, out, _ = shithead("verify", bundle(tmp_path, TRUE), "--html", page, *words)
    assert status == (0 if given == ("key",) else 2)
    assert out.splitlines()[-1].startswith(f"no evidence of tampering, level L1. {closing}")
    shown = html.unescape(page.read_text("utf-8"))
    for text in (out, shown):
        assert closing in text
        assert "nothing from outside" not in text
    if "receipt" in given:
        assert "for more: The server’s key, for the receipts that were supplied." in out
        assert "receipts     missing  To check who signed, the server’s key is needed." in out


def test_the_command_in_the_first_lines_identifies_the_author(
    shithead: Run, tmp_path: Path
) -> None:
    """With a receipt for this log: the operator. With one for another history: a file holder."""
    lines, seq = illegal()
    file = bundle(tmp_path, lines)
    _, author, advice = shithead("verify", file)[1].splitlines()[:3]
    assert (
        "Two parties are possible: a person who had this file before you, or the operator" in author
    )
    [command] = re.findall(r"`shithead ([^`]+)`", advice)
    words = command.split()
    assert words == ["verify", str(file), "--receipt", "FOLDER", "--server-key", "keys.json"]
    (tmp_path / "keys.json").write_text(str(SERVER.verifier), "utf-8")
    for signed in (lines, TRUE):
        folder = tmp_path / str(signed is lines)
        folder.mkdir()
        note(folder, receipt(signed, seq))
        paths = {"FOLDER": folder, "keys.json": tmp_path / "keys.json"}
        status, out, _ = shithead(*(paths.get(word, word) for word in words))
        assert status == 1
        author = out.splitlines()[1]
        if signed is lines:
            assert author.startswith("Who can have done it: The operator, who runs the server: ")
            assert "Two parties are possible" not in author
        else:
            assert re.search(r"^receipts +fail", out, re.MULTILINE)
            assert author.startswith(
                "Who can have done it: A person who had this file and changed it"
            )
