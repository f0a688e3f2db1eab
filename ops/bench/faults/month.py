"""The last check of a run: archive all hands into a folder, dump the month, and verify it."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from ops.bench.faults.checks import Checked
from ops.bench.faults.steps import ROOT
from service.shx.dumps import read_index

SECONDS = 120.0


def check_month(data: Path, owner_url: str, api: str, checked: Checked) -> None:
    """Check that a dump of what was archived is authentic and has each public hand once."""
    archive, dump, keys = data / "archive", data / "dump", data / "public-keys.json"
    with urllib.request.urlopen(f"{api}/v1/keys", timeout=SECONDS) as answer:
        keys.write_bytes(answer.read())
    with psycopg.connect(owner_url) as connection:
        rows = connection.execute(
            "SELECT game_id, public, ended_at FROM games WHERE status = 'ended'"
        ).fetchall()
    months = Counter(row[2].astimezone(UTC).strftime("%Y-%m") for row in rows)
    month = max(months, default=datetime.now(UTC).strftime("%Y-%m"))
    wanted = {
        str(game) for game, public, at in rows if public and f"{at.astimezone(UTC):%Y-%m}" == month
    }
    with_keys = ("--database-url", owner_url, "--key-file", str(data / "keys.json"))
    archiving = ("--older-than", "0", "--to", str(archive))
    end = time.monotonic() + SECONDS
    while _ended(checked, "admin", *with_keys, "--yes", "archive", *archiving, final=False):
        if time.monotonic() > end:
            checked.wrong.append("not every hand was archived")
            break
        time.sleep(2)
    checked.counts["hands archived"] += len(list(archive.rglob("*.shx")))
    _ended(checked, "dump", "--month", month, *with_keys, "--archive", str(archive), str(dump))
    _ended(checked, "verify", "--dump", str(dump), "--server-key", str(keys))
    dumped = Counter(str(hand.game) for hand in read_index(dump)) if dump.exists() else Counter()
    checked.counts["public hands of the month, each in the dump once"] += len(wanted)
    if dumped != Counter(wanted):
        missing, more = wanted - dumped.keys(), dumped.keys() - wanted
        checked.wrong.append(f"the dump lacks {len(missing)} hands and has {len(more)} others")


def _ended(checked: Checked, *words: str, final: bool = True) -> int:
    """Run a command and return its status; one that fails is a finding if it is `final`."""
    command = [sys.executable, "-m", "service.cli", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode and final:
        checked.wrong.append(f"{words[0]} ends with {done.returncode}: {done.stderr[-300:]}")
    return done.returncode
