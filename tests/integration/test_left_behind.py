"""Clean-up: socket folders after a kill, files of failed starts and restores, log files."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from service.cli.__main__ import run
from service.local import processes
from service.local.processes import LogRotation, Sockets, name_for, rotate_log
from tests.running import wait_for

pytestmark = pytest.mark.heavy


def test_a_socket_folder_is_removed_when_its_process_is_killed(tmp_path: Path) -> None:
    """The shell waits until the server has removed its socket; here the test removes it."""
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from service.local.processes import Sockets\n"
        "made = Sockets(Path(sys.argv[1]), longest_name='s')\n"
        "(made.folder / 's').touch()\n"
        "print(made.folder, flush=True)\n"
        "time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    folder = Path(child.stdout.readline().strip())
    assert folder.is_dir()
    child.send_signal(signal.SIGKILL)
    child.wait()
    (folder / "s").unlink()
    wait_for(lambda: not folder.exists(), seconds=20)


def _socket_folders(data: Path) -> set[Path]:
    """Return the folders whose names belong to a folder under `data`."""
    inside = [data, *(path for path in data.rglob("*") if path.is_dir())]
    names = {name_for(path) for folder in inside for path in (folder, folder / "valkey")}
    return {folder for folder in Path("/tmp").glob("shithead-*") if folder.name in names}


def test_a_killed_supervisor_leaves_no_socket_folder(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "up", "--data", str(tmp_path), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "SHITHEAD_API_PROCESSES": "1"},
    )
    assert child.stdout is not None
    assert child.stdout.readline().startswith("ready")
    made = _socket_folders(tmp_path)
    assert len(made) == 2
    child.send_signal(signal.SIGKILL)
    child.wait()
    wait_for(lambda: not any(folder.exists() for folder in made), seconds=40)


def test_deleted_sockets_are_created_again(tmp_path: Path) -> None:
    sockets = Sockets(tmp_path, longest_name="s")
    sockets.folder.rmdir()
    sockets.make()
    assert sockets.folder.is_dir()
    sockets.remove()
    assert not sockets.folder.exists()


def test_a_start_on_a_taken_port_leaves_no_folder(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "service.cli", "up", "--data", str(tmp_path / "new")]
        done = subprocess.run(
            [*command, "--port", port], capture_output=True, text=True, check=False
        )
    assert (done.returncode, f"port {port}" in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("existing", [False, True])
def test_a_failed_restore_leaves_no_files(tmp_path: Path, *, existing: bool) -> None:
    (tmp_path / "bad.backup").write_bytes(b"no backup")
    data = tmp_path / "deep" / "new"
    if existing:
        data.mkdir(parents=True, mode=0o700)
        (data / "erased-players.txt").write_text("")
    assert run(["restore", str(tmp_path / "bad.backup"), "--data", str(data)]) == 1
    if existing:
        assert [path.name for path in data.iterdir()] == ["erased-players.txt"]
    else:
        assert not (tmp_path / "deep").exists()


def test_a_full_log_is_renamed_and_three_older_ones_are_retained(tmp_path: Path) -> None:
    log = tmp_path / "postgres.log"
    for number in range(1, 6):
        log.write_bytes(b"%d" % number * 100)
        assert rotate_log(log, limit=50, kept=3)
        assert not log.exists()
    log.write_bytes(b"6" * 50)
    assert not rotate_log(log, limit=50, kept=3)
    assert log.read_bytes() == b"6" * 50
    copies = [tmp_path / f"postgres.log.{number}" for number in (1, 2, 3, 4)]
    found = [copy.read_bytes()[:1] if copy.exists() else b"" for copy in copies]
    assert found == [b"5", b"4", b"3", b""]
    log.unlink()
    assert not rotate_log(log, limit=50, kept=3), "it was moved or removed meanwhile"


def test_all_logs_of_a_folder_are_rotated_at_most_every_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [tmp_path / "API.log", tmp_path / "postgres.log"]
    rotation, rotated = LogRotation(tmp_path), list[int]()
    for now in (100.0, 109.0, 110.0):
        clock = SimpleNamespace(monotonic=partial(float, now))
        monkeypatch.setattr(processes, "time", clock)
        for log in logs:
            with log.open("wb") as file:
                file.truncate((16 << 20) + 1)
        rotation.rotate_due()
        rotated.append(sum(not log.exists() for log in logs))
    assert rotated == [2, 0, 2]
