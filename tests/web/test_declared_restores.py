"""The JavaScript verifier shows a declared restore in the same cases as the Python one."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode
from datetime import timedelta
from pathlib import Path

import pytest

from tests.unit.verify.test_declared_restores import declaration, time_of
from tests.unit.verify.test_receipts import LINES, SERVER, THIEF, note
from tests.web.node import VERIFIER, node

LAST = len(LINES) - 1
EXPLAINED = {
    "the event in its place came after": (40, LINES, declaration(time_of(40)), True),
    "the event in its place came before": (
        *(40, LINES, declaration(time_of(40) + timedelta(microseconds=1))),
        False,
    ),
    "nothing in its place yet": (
        *(LAST, LINES[:-1], declaration(time_of(LAST) + timedelta(seconds=1))),
        True,
    ),
    "not signed by the server": (40, LINES, declaration(time_of(40), THIEF), False),
}


@pytest.mark.parametrize("case", EXPLAINED)
def test_a_declared_restore_is_shown_beside_the_receipt_that_fails(
    case: str, tmp_path: Path
) -> None:
    seq, lines, restore, explained = EXPLAINED[case]
    log, receipt, keys = (tmp_path / name for name in ("events.jsonl", "lost.note", "keys.json"))
    log.write_bytes(b"".join(line + b"\n" for line in lines))
    receipt.write_bytes(note(seq, changed=True))
    key = {"name": SERVER.name, "public": b64encode(SERVER.verifier.public).decode()}
    keys.write_text(json.dumps({"items": [key], "restores": [restore.decode()]}))
    command = [node(), str(VERIFIER / "cli.js"), str(log), "--json"]
    command += ["--receipt", str(receipt), "--server-key", str(keys)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 1, answer.stderr
    [found] = [one for one in json.loads(answer.stdout)["findings"] if one["check"] == "receipts"]
    assert found["result"] == "fail"
    shown = [one["values"] for one in found["remarks"] if one["code"] == "receipts.restored"]
    assert len(shown) == explained, found
    assert all(one["leaf"] == "9" for one in shown)
