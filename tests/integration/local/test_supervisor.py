"""Programs that end while the service starts."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from service.local import programs
from service.local.processes import log_tail
from service.local.programs import HUNG_SECONDS, Program, StartError, Supervisor, program_of
from service.runtime.config import LogFormat, Settings
from service.runtime.heartbeat import ROUNDS, NamedPipe
from service.runtime.telemetry import SHARED_FOLDER

pytestmark = pytest.mark.heavy

ENDS = """
import pathlib, sys, time
starts = pathlib.Path(sys.argv[1])
with starts.open("a") as file:
    file.write("x")
if len(starts.read_text()) <= int(sys.argv[2]):
    sys.exit("no port")
time.sleep(60)
"""


@pytest.mark.parametrize("ends", [1, 99])
def test_a_program_that_ends_once_during_the_start_does_not_end_the_service(
    tmp_path: Path, ends: int
) -> None:
    (tmp_path / "ending.py").write_text(ENDS)
    environment = {"PYTHONPATH": str(tmp_path), SHARED_FOLDER: ""}  # not forked
    supervisor = Supervisor(logs=tmp_path, environment=environment, folder=tmp_path)
    starts = tmp_path / "starts"
    supervisor.start(Program(name="relay", module="ending", arguments=[str(starts), str(ends)]))
    try:
        end = time.monotonic() + 20
        while not (starts.exists() and len(starts.read_text()) == 2 and ends == 1):
            supervisor.supervise()
            supervisor.check_running()
            assert time.monotonic() < end
            time.sleep(0.02)
    except StartError as error:
        assert ends > 1
        assert "the relay does not start:\n  no port" in str(error)
    finally:
        supervisor.stop(seconds=1)


BEATS = """
import pathlib, sys, time
from service.runtime.heartbeat import show_life_of_program
with pathlib.Path(sys.argv[1]).open("a") as file:
    file.write("x")
if sys.argv[2] == "beats":
    show_life_of_program()
time.sleep(60)
"""


@pytest.mark.parametrize(("beats", "shows_life"), [(True, True), (False, True), (False, False)])
def test_a_program_that_hangs_is_replaced_if_it_is_one_that_shows_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, beats: bool, shows_life: bool
) -> None:
    """It may hang before its first sign of life, for which it has a longer time."""
    monkeypatch.setattr(programs, "HUNG_SECONDS", 2.0)
    monkeypatch.setattr(programs, "START_SECONDS", 60.0 if beats else 4.0)
    (tmp_path / "beating.py").write_text(BEATS)
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).resolve().parents[3])])
    supervisor = Supervisor(
        logs=tmp_path,
        environment={"PYTHONPATH": paths, SHARED_FOLDER: ""},  # not forked
        folder=tmp_path,
        pipe=tmp_path / "life",
    )
    starts, words = tmp_path / "starts", "beats" if beats else "silent"
    program = Program(
        name="relay",
        module="beating",
        arguments=[str(starts), words],
        shows_life=shows_life,
    )
    supervisor.start(program)
    try:
        ended = list[str]()
        end = time.monotonic() + (60 if shows_life else 5)
        stopped = False
        while time.monotonic() < end and not ended:
            ended += supervisor.supervise()
            [running] = supervisor._running
            if beats and running.silent == 0 and not stopped:  # it has shown life
                os.kill(supervisor.processes()["relay"], signal.SIGSTOP)
                stopped = True
            time.sleep(0.02)
        assert stopped == beats
        assert ended == (["relay"] if shows_life else [])
    finally:
        supervisor.stop(seconds=1)


@pytest.mark.parametrize("look", [0.05, 0.5, 0.65])
def test_the_looks_of_the_supervisor_do_not_lengthen_its_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: float
) -> None:
    """Rounds that were counted from a look on took a second each instead of 0.7 s."""
    (tmp_path / "beating.py").write_text(BEATS)
    supervisor = Supervisor(
        logs=tmp_path,
        environment={"PYTHONPATH": str(tmp_path), SHARED_FOLDER: ""},  # not forked
        folder=tmp_path,
        pipe=tmp_path / "life",
    )
    words = [str(tmp_path / "starts"), "silent"]
    supervisor.start(Program(name="relay", module="beating", arguments=words))
    try:
        clock = 1000.0

        def looked() -> float:
            with monkeypatch.context() as patched:
                patched.setattr(programs, "time", SimpleNamespace(monotonic=lambda: clock))
                supervisor.supervise()
            return clock + look

        for _ in range(3):
            clock = looked()
        [running] = supervisor._running
        running.silent = 0  # it has shown life
        began = clock
        while running.silent < ROUNDS and clock < began + 60:
            clock = looked()
        assert HUNG_SECONDS * (1 - 1 / ROUNDS) <= clock - began <= HUNG_SECONDS + 2 * look
    finally:
        supervisor.stop(seconds=1)


class Rounds:
    """A supervisor of one program that is no process, whose rounds a test makes."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.killed = list[object]()
        self.heard = self.unreported = False
        monkeypatch.setattr(programs, "kill_group", self.killed.append)
        monkeypatch.setattr(programs, "kill_fork_server", lambda: self.killed.append("server"))
        monkeypatch.setattr(programs, "_is_unreported", lambda _child: self.unreported)
        monkeypatch.setattr(NamedPipe, "heard", lambda _pipe: {7} if self.heard else set())
        monkeypatch.setattr(Program, "start", lambda _program, **_more: self.child())
        self.supervisor = Supervisor(
            logs=folder, environment={}, folder=folder, pipe=folder / "life"
        )
        monkeypatch.setattr(programs, "START_SECONDS", 3 * HUNG_SECONDS)
        self.supervisor.start(Program(name="relay", module="", arguments=[], shows_life=True))
        [self.running] = self.supervisor._running
        self._now = 0.0

    def child(self, status: int | None = None) -> Any:
        return SimpleNamespace(pid=7, returncode=status, poll=lambda: status)

    def make(self, number: int) -> None:
        for _ in range(number):
            self._now += HUNG_SECONDS / ROUNDS
            self.supervisor._end_hung(self._now)


@pytest.fixture
def rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rounds:
    return Rounds(tmp_path, monkeypatch)


def test_each_sign_of_life_begins_the_count_of_rounds_again(rounds: Rounds) -> None:
    rounds.make(2 * ROUNDS)  # of the longer time for the first sign
    for _ in range(3):
        rounds.heard = True
        rounds.make(1)
        rounds.heard = False
        rounds.make(ROUNDS - 1)
    assert rounds.killed == []
    rounds.make(ROUNDS)
    assert rounds.killed == [rounds.running.child], "once"


def test_a_program_that_is_started_again_has_the_longer_time_again(rounds: Rounds) -> None:
    first = rounds.running.silent
    rounds.running.silent, rounds.running.child = ROUNDS - 1, rounds.child(status=1)
    assert rounds.supervisor.supervise() == ["relay"]
    rounds.running.due = 0.0
    assert rounds.supervisor.supervise() == []
    assert rounds.running.silent == first == -2 * ROUNDS


def test_a_fork_server_is_killed_only_if_one_report_is_missing_for_all_rounds(
    rounds: Rounds,
) -> None:
    rounds.heard = True
    for _ in range(3):
        rounds.unreported = True
        rounds.make(ROUNDS - 1)
        rounds.unreported = False
        rounds.make(1)
    assert rounds.killed == []
    rounds.unreported = True
    rounds.make(2 * ROUNDS)
    assert rounds.killed == ["server"]


def test_the_web_server_logs_json_if_the_service_does() -> None:
    for chosen in LogFormat:
        settings = Settings(database_url="", log_format=chosen)
        words = program_of(settings, "api").arguments
        assert ("--log-config" in words) is (chosen is LogFormat.JSON)


def test_the_end_of_a_log_is_shown_in_words(tmp_path: Path) -> None:
    """Otherwise the reason of a failed start would be one long line of JSON."""
    log = tmp_path / "relay.log"
    lines = [
        "2026-11-27 02:00:00 UTC FATAL:  as PostgreSQL writes",
        '{"event":"cannot start","fault":"the keys cannot be used","level":"critical"}',
        '{"event":"the program ended","exception":"Traceback:\\n  line 1\\nMemoryError"}',
    ]
    log.write_text("\n".join([*lines, ""]))
    assert log_tail(log).splitlines() == [
        "  2026-11-27 02:00:00 UTC FATAL:  as PostgreSQL writes",
        "  cannot start: the keys cannot be used",
        "  the program ended: Traceback:",
        "    line 1",
        "  MemoryError",
    ]
