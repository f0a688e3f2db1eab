"""Wrong options and settings of `shithead up` are refused before anything is written."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from service.local import up
from service.local.programs import Servers, Supervisor
from service.local.up import UpOptions
from service.runtime.config import settings_from, variable
from tests.forked_command import run_command

ROOT = Path(__file__).resolve().parents[3]
NOWHERE = "postgresql://u:secret@127.0.0.1:1/d"


def refusal(folder: Path, words: Sequence[str], settings: Mapping[str, str]) -> str:
    """Return the message of `shithead up`, which has created nothing in `folder`."""
    before = sorted(folder.rglob("*"))
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SHITHEAD_")}
    done = run_command(
        ["up", "--port", "0", "--data", folder / "data", *words],
        environment={**ours, **settings},
        folder=ROOT,
        seconds=60,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr
    assert sorted(folder.rglob("*")) == before, done.stderr
    return done.stderr


def test_a_start_that_takes_long_states_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a loopback device, for example, nothing else is printed for half a minute."""
    answers = iter(["Network is unreachable", "503 starting", "ready"])
    monkeypatch.setattr(up, "readiness", lambda _address: next(answers))
    monkeypatch.setattr("service.local.console.SILENT_SECONDS", 0.0)
    supervisor = Supervisor(logs=tmp_path, environment={}, folder=tmp_path, pipe=tmp_path / "life")
    with ExitStack() as stack:
        stack.callback(supervisor.stop, seconds=1)
        up._wait_ready("http://[::1]:9", supervisor, Servers(tmp_path, stack))
    waits = "waiting until the API is ready at http://[::1]:9: "
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" ")[2] for line in lines] == [
        f"{waits}Network is unreachable",
        f"{waits}503 starting",
    ]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"GRANIAN_URL_PATH_PREFIX": "/cards"},
            "GRANIAN_URL_PATH_PREFIX is set: the service needs",
        ),
        ({"SHITHEAD_POOL_SIZE": "many"}, "SHITHEAD_POOL_SIZE is not a whole number"),
        ({"SHITHEAD_PROT": "8"}, "SHITHEAD_PROT is not a setting"),
        ({"SHITHEAD_KEYS": '{"v": 1}'}, "the keys cannot be used: not a key file of version 1"),
        ({"SHITHEAD_METRICS_HOST": "192.0.2.1"}, "on 192.0.2.1 cannot be used"),
    ],
)
def test_a_wrong_setting_is_refused_first(
    tmp_path: Path, settings: dict[str, str], expected: str
) -> None:
    assert f"cannot start: {expected}" in refusal(tmp_path, [], settings).replace("port 0 ", "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--port", "-1"], "port -1 does not exist"),
        (["--port", "65536"], "port 65536 does not exist"),
        (["--workers", "65"], "SHITHEAD_WORKERS is not a whole number from 0 to 64"),
        (["--database-url", "mysql://u:secret@h/d"], "SHITHEAD_DATABASE_URL is not an address"),
        (["--redis-url", "http://h"], "SHITHEAD_REDIS_URL "),
        (["--redis-url", "redis://:secret@127.0.0.1:1/0"], "Redis does not answer"),
        (["--database-url", NOWHERE], "the database does not answer"),
        (["--wal-archive-sync"], "--wal-archive-sync needs --wal-archive"),
        (["--wal-archive", "w", "--database-url", NOWHERE], "--wal-archive archives the embedded"),
    ],
)
def test_a_wrong_option_is_refused_first(tmp_path: Path, words: list[str], expected: str) -> None:
    assert f"cannot start: {expected}" in refusal(tmp_path, words, {})


def test_a_folder_that_the_system_refuses_is_refused_first(tmp_path: Path) -> None:
    """As one below a folder of another user; here a name that is too long, also for root."""
    message = refusal(tmp_path, ["--data", f"{tmp_path}/{'x' * 300}/data"], {})
    assert message.startswith("cannot start: ")
    assert message.endswith("/data/keys.json: File name too long\n")
    (tmp_path / "file").write_text("")
    below = refusal(tmp_path, ["--data", f"{tmp_path}/file/below"], {})
    assert f"{tmp_path}/file cannot be written" in below


@pytest.mark.parametrize("name", ["port", "stream_port", "metrics_port"])
def test_a_port_in_use_is_refused_first(tmp_path: Path, name: str) -> None:
    """Another program's metrics would be read instead of ours."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words, settings = ([], {variable(name): port}) if name != "port" else (["--port", port], {})
        message = refusal(tmp_path, words, settings)
    assert f"port {port} on 127.0.0.1 cannot be used" in message
    assert (variable(name) if settings else "--port") in message


def test_one_port_for_two_servers_is_refused_first(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    message = refusal(tmp_path, ["--port", port], {variable("stream_port"): port})
    assert f"cannot start: port {port} is that of two servers" in message


def test_a_wrong_key_file_is_refused_first(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text("{}")
    message = refusal(tmp_path, [], {variable("key_file"): str(keys)})
    assert f"the keys cannot be used: {keys}: readable by others" in message
    message = refusal(tmp_path, [], {variable("key_file"): str(keys / "below")})
    assert f"{keys / 'below'} cannot be created: the folder {keys} cannot be written" in message


@pytest.mark.parametrize("file", ["system", "wal/000000010000000000000001"])
def test_the_wal_archive_of_another_database_is_refused_first(tmp_path: Path, file: str) -> None:
    archive = tmp_path / "archive"
    (archive / file).parent.mkdir(parents=True)
    (archive / file).write_text("7000000000000000001")
    message = refusal(tmp_path, ["--wal-archive", str(archive)], {})
    assert str(archive) in message
    assert ("another database" if file == "system" else "it is no archive") in message


def test_the_port_of_a_killed_server_is_awaited(tmp_path: Path) -> None:
    """Its last thread has the port for a moment after the process is seen no more."""
    settings = settings_from({"SHITHEAD_DATABASE_URL": "postgresql://h/d", "SHITHEAD_KEYS": "{}"})
    with socket.socket() as dying, ThreadPoolExecutor(1) as pool:
        dying.bind(("127.0.0.1", 0))
        dying.listen()
        port = dying.getsockname()[1]
        options = UpOptions(data=tmp_path, port=port)
        found = pool.submit(up._ports_soon, options, settings)
        time.sleep(0.5)
        dying.close()
        assert found.result(timeout=5)["port"] == str(port)
