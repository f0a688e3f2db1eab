"""The units of systemd run every process of this service, confined."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.cli.run import ROLES
from tests.unit.test_manifests import OPS, SETTINGS

FOLDER = OPS / "systemd"
UNITS = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.service"))}
COMMON = (FOLDER / "shithead-.service.d/common.conf").read_text()
PROGRAM = "/opt/shithead/current/bin/shithead"

HIGHEST_EXPOSURE = 2
"""The score of `systemd-analyze security` from 0 (confined) to 10 that no unit may exceed."""

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze (Debian: systemd)"
)


def commands() -> dict[str, str]:
    """Return the command of each unit, without the program."""
    return {
        name: found[1]
        for name, text in UNITS.items()
        if (found := re.search(rf"^ExecStart={PROGRAM} (.*)$", text, re.MULTILINE))
    }


def test_every_role_has_a_unit_that_the_target_starts_again() -> None:
    assert set(commands().values()) == {*(f"run {role}" for role in ROLES), "migrate"}
    for name, command in commands().items():
        is_process = command != "migrate"
        assert ("Restart=always" in UNITS[name]) == is_process, name
        assert ("WantedBy=shithead.target" in UNITS[name]) == is_process, name


def test_every_process_has_a_port_of_its_own_and_settings_that_exist() -> None:
    ports = re.findall(
        r"^Environment=SHITHEAD_METRICS_PORT=(\S+)$", "\n".join(UNITS.values()), re.MULTILINE
    )
    assert len(ports) == len(set(ports)) == len(ROLES)
    text = "\n".join([*UNITS.values(), COMMON, (FOLDER / "service.env").read_text()])
    assert set(re.findall(r"SHITHEAD_[A-Z_]+(?==)", text)) <= SETTINGS


def test_a_process_that_hangs_is_replaced_by_its_server_or_by_systemd() -> None:
    watched = {name for name, text in UNITS.items() if "WatchdogSec=" in text}
    assert set(UNITS) - watched == {f"shithead-{n}.service" for n in ("api", "streams", "migrate")}


@pytest.fixture
def installed(tmp_path: Path) -> list[Path]:
    """Return the units as they are installed, but with a program that every machine has."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    for name, text in UNITS.items():
        (tmp_path / name).write_text(text.replace(PROGRAM, "/bin/true").replace("=/etc", "=-/etc"))
    (tmp_path / "shithead-worker@.service").rename(tmp_path / "shithead-worker@1.service")
    return sorted([*tmp_path.glob("*.service"), *tmp_path.glob("*.target")])


@needs_systemd
def test_systemd_reads_every_unit_without_a_complaint(installed: list[Path]) -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, installed)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
def test_every_unit_is_confined(installed: list[Path]) -> None:
    units = [str(path) for path in installed if path.suffix == ".service"]
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager"]
    limit = f"--threshold={10 * HIGHEST_EXPOSURE}"
    done = subprocess.run([*words, limit, *units], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Overall exposure level") == len(units)
