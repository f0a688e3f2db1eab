"""`shithead verify` of many files: a line for each, a summary, several processes."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakSet

import pytest

from service.shx.bundle import read_log
from service.verify.evidence import OutsideEvidence
from service.verify.files import MANY, VerifyOptions, main_verify, verify_all
from service.verify.log import Log
from service.verify.report import audit_object
from tests.random_games import Plan, made_game
from tests.tamper import SAMPLES, Forgery

NUMBER = MANY + 2


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return logs of several tables, of the same two hands each."""
    folder = tmp_path_factory.mktemp("files")
    logs = [
        made_game(Plan(name=f"many {n}", table=f"{n:08x}-0000-4000-8000-{n:012x}"))
        for n in range(NUMBER)
    ]
    paths = [folder / f"{number:02}.jsonl" for number in range(NUMBER)]
    for path, lines in zip(paths, logs, strict=True):
        path.write_bytes(b"\n".join(lines) + b"\n")
    return paths


def run(paths: Sequence[Path], options: VerifyOptions | None = None) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    status = main_verify(paths, options, out=out, errors=errors)
    return status, out.getvalue(), errors.getvalue()


@pytest.mark.heavy
def test_each_of_many_files_has_a_line_and_the_last_line_counts_them(
    files: Sequence[Path], tmp_path: Path
) -> None:
    forged, cut, odd = (tmp_path / name for name in ("forged.jsonl", "cut.jsonl", "odd.jsonl"))
    forgery = Forgery(files[0].read_bytes().splitlines())
    forgery.data(forgery.find("cards_played", lambda _: True))["turn"] = 9
    forged.write_bytes(b"\n".join(forgery.lines()) + b"\n")
    cut.write_bytes(b"\n".join(files[1].read_bytes().splitlines()[:8]) + b"\n")
    odd.write_bytes(b"hello")
    status, out, errors = run([*files[2:], forged, cut, odd])
    *lines, last = out.splitlines()
    assert (status, len(lines)) == (3, NUMBER)
    assert lines[0] == f"pass     {files[2]}: no evidence of tampering, level L1"
    assert lines[-2].startswith(f"fail     {forged}: ")
    assert " fails at seq " in lines[-2]
    assert lines[-1].startswith(f"missing  {cut}: no evidence of tampering, level L1 so far")
    assert errors.startswith(f"shithead verify: {odd}: neither a ZIP archive nor a log")
    assert last.startswith(
        f"{NUMBER + 1} files: {NUMBER - 2} passed, 1 failed (the first: {forged}), "
        f"1 lacks evidence (the first: {cut}), 1 cannot be read (the first: {odd})"
    )
    assert run([*files[2:], files[2], files[3]])[0] == 0, "a copy counts as the same log"


def test_the_logs_of_another_table_do_not_change_the_report_on_a_log(
    files: Sequence[Path], tmp_path: Path
) -> None:
    """Two histories of one game are a fault of its own table."""
    other = Forgery(files[0].read_bytes().splitlines())
    other.data(0)["turn_limit"] += 1
    path = tmp_path / "other.jsonl"
    path.write_bytes(b"\n".join(other.lines()) + b"\n")
    status, out, _ = run([*files, path])
    failed = [line for line in out.splitlines() if line.startswith("fail")]
    assert (status, len(failed)) == (1, 2)
    assert "two histories of one game" in failed[0]


def test_no_more_than_one_log_is_in_memory(
    files: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: WeakSet[Log] = WeakSet()
    most = 0

    class Counted(Log):
        def __init__(self, lines: Sequence[bytes], *, name: str | None = None) -> None:
            nonlocal most
            super().__init__(lines, name=name)
            alive.add(self)
            most = max(most, len(alive))

    monkeypatch.setattr("service.verify.file_work.Log", Counted)
    assert run(files)[0] == 0
    assert most <= 2, "the next log is read before the last one is freed"


@pytest.mark.heavy
def test_several_processes_print_what_one_prints(files: Sequence[Path], tmp_path: Path) -> None:
    page, other = tmp_path / "page.html", tmp_path / "other.html"
    receipt = tmp_path / "foreign.note"
    receipt.write_bytes(b"not a receipt\n")
    one = run(files, VerifyOptions(jobs=1, html=page, receipts=[receipt]))
    two = run(files, VerifyOptions(jobs=2, html=other, receipts=[receipt]))
    assert one == two
    assert one[0] == 1
    assert page.read_bytes() == other.read_bytes()
    assert page.read_text("utf-8").count("<section>") == NUMBER


def test_json_is_the_list_of_the_audit_objects() -> None:
    paths = [SAMPLES / f"{name}.jsonl" for name in ("leeds", "threes", "shithead")]
    bundles = [read_log(path.read_bytes()) for path in paths]
    reports = verify_all(bundles, OutsideEvidence(), names=[path.name for path in paths])
    _, out, _ = run(paths, VerifyOptions(as_json=True))
    assert out == json.dumps([audit_object(one) for one in reports], indent=1) + "\n"


def test_a_time_limit_holds_for_all_files_together(files: Sequence[Path]) -> None:
    status, out, _ = run(files, VerifyOptions(budget=1e-6))
    assert status == 2
    assert out.count("not finished within the budget") == NUMBER
