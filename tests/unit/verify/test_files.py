"""Verification of files: output and exit status."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from service.replay.sentences import catalogue
from service.shx.archives import read_zip, write_zip
from service.shx.bundle import write_bundle
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner
from service.verify.evidence import PublicKeys
from service.verify.files import VerifyOptions, main_verify
from service.verify.finding import Check, Finding, Result
from service.verify.log import Log
from service.verify.report import report_text
from tests.changed import replace
from tests.packed_again import in_folder, packed, packed_again
from tests.random_games import private_key
from tests.tamper import SAMPLES, failing, report_on, sample, sample_lines

SERVER = NoteSigner(name="example.org/shithead", key=private_key("server"))

ALONE = catalogue()["result.alone"]


def run(*paths: Path, options: VerifyOptions | None = None) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    status = main_verify(paths, options, out=out, errors=errors)
    return status, out.getvalue(), errors.getvalue()


def cut_lines(name: str) -> tuple[bytes, ...]:
    """Return the first lines of a sample, up to the end of a move."""
    lines = sample_lines(name)
    return lines[: Log(lines).grouped[0][20].last + 1]


def sample_path(name: str) -> Path:
    return SAMPLES / f"{name}.jsonl"


def test_a_valid_log_gives_exit_status_0_and_the_last_line_states_the_level() -> None:
    status, out, _ = run(sample_path("shithead"))
    assert status == 0
    assert out.splitlines()[-1] == f"no evidence of tampering, level L1; {ALONE}"
    printed = [line.split()[0] for line in out.splitlines()[2:18]]
    assert printed == [check.value for check in Check]
    assert "proved" not in out


def test_a_bundle_is_read_like_a_log(tmp_path: Path) -> None:
    path = tmp_path / "game.shx"
    path.write_bytes(write_bundle(sample_lines("threes")))
    assert run(path)[0] == 0


def edited(name: str) -> tuple[dict[str, bytes], int]:
    """Return the files of a bundle, and an event in which a card was edited afterwards."""
    lines = sample_lines(name)
    files = read_zip(write_bundle(lines))
    seq = next(i for i, line in enumerate(lines) if b'"type":"cards_played"' in line)
    card = json.loads(lines[seq])["data"]["cards"][0].encode()
    other = lines[seq].replace(card, b"2c" if card != b"2c" else b"3c")
    return {**files, "events.jsonl": files["events.jsonl"].replace(lines[seq], other)}, seq


def test_an_event_edited_under_an_untouched_manifest_fails_bytes_and_is_named(
    tmp_path: Path,
) -> None:
    files, seq = edited("threes")
    path = tmp_path / "game.shx"
    for data in (write_zip(files), packed(in_folder(files))):
        path.write_bytes(data)
        status, out, errors = run(path)
        assert (status, errors) == (1, "")
        assert out.startswith(f"What was changed: Event {seq}, in turn ")
        changed = "The file events.jsonl of the bundle was changed or damaged after the bundle was"
        assert changed in next(line for line in out.splitlines() if line.startswith("bytes"))
        assert "as far as the log can be read" not in out


def test_a_file_changed_beside_an_intact_log_fails_bytes_and_is_named(tmp_path: Path) -> None:
    """Without the manifest's hash no check would see a note that was removed or added."""
    lines = sample_lines("threes")
    files = read_zip(write_bundle(lines, files={"dispute/1.json": b"{}"}))
    path = tmp_path / "game.shx"
    for name, change in (("removed", None), ("changed or damaged", b"[]")):
        left = {**files, "dispute/1.json": change}
        path.write_bytes(write_zip({n: data for n, data in left.items() if data is not None}))
        status, out, _ = run(path)
        assert status == 1
        sentence = f"The file dispute/1.json of the bundle was {name} after the bundle was made."
        assert out.startswith(f"What was changed: {sentence}")
        assert "A person who had this file and changed it after the server wrote it" in out


@pytest.mark.heavy
def test_a_bundle_packed_again_or_unpacked_is_verified_with_a_remark(tmp_path: Path) -> None:
    bundle = write_bundle(sample_lines("threes"))
    path = tmp_path / "game.shx.zip"
    for name, data in packed_again(bundle):
        path.write_bytes(data)
        status, out, errors = run(path)
        assert (status, errors) == (0, ""), name
        assert "Packed again" in out, name
    folder = tmp_path / "unpacked"
    for name, content in {**read_zip(bundle), ".DS_Store": b"Bud1"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    status, out, errors = run(folder)
    assert (status, errors) == (0, "")
    assert "Packed again" in out
    (folder / "receipts").mkdir()
    (folder / "receipts" / "a.note").symlink_to("/etc/passwd")
    assert run(folder)[0] == 3
    (folder / "manifest.json").unlink()
    status, out, errors = run(folder)
    assert (status, "is a folder: name the file in it" in errors) == (3, True)


def test_a_failed_check_gives_exit_status_1_and_names_the_event(tmp_path: Path) -> None:
    forgery = sample("shithead")
    seq = forgery.find("pile_burned", lambda e: e["data"]["cause"] == "rank")
    forgery.data(seq)["cause"] = "set"
    path = tmp_path / "forged.jsonl"
    path.write_bytes(b"\n".join(forgery.lines()) + b"\n")
    status, out, _ = run(path)
    assert status == 1
    sentence = f"seq {seq}: By the rules its top card burns the pile, not a set of one rank. [P12]"
    assert sentence in out
    sentence = f"the actions do not hold: legality fails at seq {seq}"
    assert out.splitlines()[-1] == f"{sentence}. Nothing against the deck or the history"


def test_an_unfinished_game_gives_exit_status_2(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b"\n".join(cut_lines("threes")) + b"\n")
    status, out, _ = run(path)
    assert status == 2
    sentence = "no evidence of tampering, level L1 so far"
    assert out.splitlines()[-1] == f"{sentence}; {ALONE}"


@pytest.mark.parametrize(
    "options", [VerifyOptions(level="L2"), VerifyOptions(level="L3"), VerifyOptions(witnessed=True)]
)
def test_missing_requested_evidence_gives_exit_status_2(options: VerifyOptions) -> None:
    assert run(sample_path("threes"), options=options)[0] == 2


@pytest.mark.parametrize("data", [b"", b"hello", b"PK\x03\x04", b"\x00" * 50])
def test_a_file_that_is_not_a_bundle_gives_exit_status_3(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    status, out, errors = run(path)
    assert (status, out) == (3, "")
    assert errors.startswith("shithead verify: ")


def test_a_missing_file_gives_exit_status_3(tmp_path: Path) -> None:
    assert run(tmp_path / "nothing")[0] == 3


def test_an_endless_file_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.verify.file_work.MAX_FILE", 1000)
    endless = Path("/dev/zero")
    status, _, errors = run(endless)
    assert (status, "more than 1000 bytes" in errors) == (3, True)
    assert run(sample_path("shithead-aborted"), options=VerifyOptions(receipts=[endless]))[0] == 3


def test_receipts_are_assigned_to_their_games_and_the_worst_status_counts(tmp_path: Path) -> None:
    notes = []
    for name in ("threes", "shithead"):
        log = Log(sample_lines(name))
        note = issue_receipt(SERVER, game=log.game, seq=log.end, head=log.heads[-1])
        notes.append(tmp_path / f"{name}.note")
        notes[-1].write_bytes(note)
    options = VerifyOptions(level="L2", receipts=notes, keys=PublicKeys(server=(SERVER.verifier,)))
    status, out, _ = run(sample_path("shithead"), sample_path("threes"), options=options)
    assert status == 0
    assert out.count("no evidence of tampering, level L2\n") == 2
    alone = run(sample_path("shithead"), options=options)
    assert alone[0] == 1, "the receipt of the other game belongs to no log"
    notes[1].write_bytes(notes[1].read_bytes().replace(b"\n", b"\r\n"))
    status, out, _ = run(sample_path("shithead"), options=options)
    assert status == 1
    assert "a carriage return, which some text editors add and a signed note never has" in out
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"\n".join(cut_lines("leeds")) + b"\n")
    assert run(sample_path("shithead"), cut)[0] == 2


def test_json_is_the_audit_object_of_the_api() -> None:
    status, out, _ = run(sample_path("leeds"), options=VerifyOptions(as_json=True))
    audit = json.loads(out)
    assert status == 0
    assert list(audit) == [
        "game",
        "version",
        "sealed",
        "level",
        "witnessed",
        "result",
        "checks",
        "entropy",
        "timed_out",
        "missing",
        "wording",
    ]
    assert [check["check"] for check in audit["checks"]] == [check.value for check in Check]
    assert set(audit["checks"][0]) == {"check", "result", "seq", "code", "values", "reason", "rule"}
    assert (audit["level"], audit["result"], audit["sealed"]) == ("L1", "pass", True)


def test_verifying_a_log_twice_prints_the_same_text() -> None:
    assert run(sample_path("leeds")) == run(sample_path("leeds"))


def test_text_from_a_log_cannot_control_a_terminal() -> None:
    report = report_on(sample_lines("threes"))
    values = {"detail": "\x1b[2J\x07red\u202e"}
    nasty = Finding(check=Check.CHAIN, result=Result.FAIL, code="bytes.shape", values=values)
    text = report_text(replace(report, findings=(nasty,)))
    assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert "\u202e" not in text


def test_an_exception_within_a_check_is_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(*_: object) -> None:
        raise ZeroDivisionError("by a setting")

    monkeypatch.setattr("service.verify.verify.check_legality", raising)
    report = report_on(sample_lines("threes"))
    assert list(failing(report)) == [Check.LEGALITY]
