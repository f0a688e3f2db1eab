"""The JavaScript verifier in Node.js, and the Python verifier, on the same files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from service.shx.archives import write_zip
from service.shx.bundle import Bundle
from service.shx.canonical import canonical
from service.verify.evidence import OutsideEvidence
from service.verify.finding import Result
from service.verify.verify import verify_bundle

ROOT: Final = Path(__file__).resolve().parents[2]
VERIFIER: Final = ROOT / "service" / "api" / "static" / "verifier"
NO_NODE: Final = (
    "no Node.js: tests of the JavaScript verifier are left out (apt-get install nodejs)"
)

NEED_THE_DECK: Final = {"legality", "hidden"}
NO_DECK: Final = {"open.unsealed", "open.unread"}
"""The checks that the JavaScript verifier leaves missing without the deck, and their reasons."""

INTACT: Final = "No evidence of tampering"
INTACT_SO_FAR: Final = "No evidence of tampering so far"
UNJUDGED: Final = "Record intact so far. Whether the moves were legal was not checked here"
"""The results of the JavaScript verifier."""

Answer = dict[str, tuple[str, int | None]]
"""For each check its result, and for a fail the seq."""


def node() -> str:
    """Return the path of Node.js; a test that needs it is skipped without it."""
    found = shutil.which("node")
    if found is None:
        pytest.skip(NO_NODE)  # .ci/run installs it, so CI never skips
    return found


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file with evidence from outside, for both verifiers."""

    name: str
    lines: tuple[bytes, ...] = ()
    bundle: bytes | None = None  # the whole file, if it is more than the lines
    files: dict[str, bytes] = field(default_factory=dict)
    evidence: OutsideEvidence = field(default_factory=OutsideEvidence)

    @property
    def content(self) -> bytes:
        """Return the file as the JavaScript verifier reads it."""
        if self.bundle is not None:
            return self.bundle
        if self.files:
            return any_bundle(self.lines, self.files)
        return b"".join(line + b"\n" for line in self.lines)

    def in_python(self) -> Answer:
        """Return the findings of the Python verifier for the common checks."""
        report = verify_bundle(Bundle(lines=self.lines, files=self.files), self.evidence)
        return {
            finding.check.value: (
                finding.result.value,
                finding.seq if finding.result is Result.FAIL else None,
            )
            for finding in report.findings
        }

    def as_json(self) -> str:
        keys = "\n".join(map(str, self.evidence.server_keys))
        witnesses = self.evidence.witness_keys
        return json.dumps(
            {
                "file": b64encode(self.content).decode(),
                "receipts": [b64encode(note).decode() for note in self.evidence.receipts],
                "server_keys": keys,
                "witness_keys": "\n".join(map(str, witnesses)),
                "quorum": self.evidence.quorum or len(set(witnesses)),
            }
        )


def any_bundle(lines: Sequence[bytes], files: dict[str, bytes]) -> bytes:
    """Return a bundle of lines that need not be events."""
    first = json.loads(lines[0])
    content = {**files, "events.jsonl": b"".join(line + b"\n" for line in lines)}
    listed = {
        name: {"sha256": sha256(data).hexdigest(), "size": len(data)}
        for name, data in content.items()
    }
    try:
        made_at = json.loads(lines[-1])["at"]
    except (ValueError, KeyError):
        made_at = first["at"]
    manifest = {"v": 1, "game": first["game"], "profile": "public", "made_at": made_at}
    return write_zip({**content, "manifest.json": canonical({**manifest, "files": listed})})


def in_node(cases: Sequence[Case], *, root: Path = ROOT) -> list[dict[str, Any]]:
    """Return the answers of the JavaScript verifier below `root`, all made in one process."""
    return answers_in_node([case.as_json() for case in cases], root=root)


def answers_in_node(inputs: Sequence[str], *, root: Path = ROOT) -> list[dict[str, Any]]:
    """Return the answers of the JavaScript verifier to inputs of `verify_cases.js`."""
    done = subprocess.run(
        [node(), root / "tests" / "web" / "verify_cases.js"],
        input="".join(line + "\n" for line in inputs),
        # The verifier hashes one line after the other: more threads only wait for each other.
        env={**os.environ, "UV_THREADPOOL_SIZE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def answer_of(output: dict[str, Any]) -> Answer:
    """Return an answer of the JavaScript verifier in comparable form."""
    assert "findings" in output, output
    assert "stopped" not in {one["code"] for one in output["findings"]}, output
    return {
        one["check"]: (one["result"], one["seq"] if one["result"] == "fail" else None)
        for one in output["findings"]
    }


def codes(output: dict[str, Any]) -> set[str]:
    """Return the codes of the reasons in an answer of the JavaScript verifier."""
    return {one["code"] for one in output["findings"]}


def differences(cases: Sequence[Case], outputs: Sequence[dict[str, Any]]) -> list[str]:
    """
    Return a description of every check on which the two verifiers differ.

    `outputs` are the answers of the JavaScript verifier, as `in_node` returns them.
    """
    found = []
    for case, output in zip(cases, outputs, strict=True):
        python, script = case.in_python(), answer_of(output)
        assert python.keys() == script.keys()
        unjudged = NEED_THE_DECK if codes(output) & NO_DECK else set()
        found += [
            f"{case.name}: {check}: {python[check]} in Python, {script[check]} in JavaScript"
            for check in python
            if python[check] != script[check] and check not in unjudged
        ]
    return found
