"""`witness`, `monitor` and `rotate-keys` on the command line, against a service in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from werkzeug.serving import make_server

from service import keyring
from service.api.app import create_app
from service.bootstrap import Services, compose
from service.config import Settings
from service.event_store.memory import MemoryStore
from service.event_store.memory_directory import MemoryDirectory
from service.keyring import Keyring
from service.public_log.memory_log import MemoryLog
from service.record.cosignature import cosignatures, parse_cosigner
from service.record.notes import parse_note

Said = tuple[int, str, str]
Shithead = Callable[..., Said]


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
def services(log: MemoryLog) -> Services:
    store = MemoryStore()
    return compose(
        store=store,
        directory=MemoryDirectory(store),
        keyring=Keyring.generate(),
        origin="tests.example",
        log_store=log,
    )


@pytest.fixture
def url(services: Services) -> Iterator[str]:
    settings = Settings(database_url="postgresql://", rate_limits=False)
    server = make_server("127.0.0.1", 0, create_app(services, settings), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def asked(shithead: Shithead) -> Shithead:
    """Return a way to run a command line, without what the service in this process logs."""

    def call(*words: str | Path) -> Said:
        status, out, err = shithead(*words)
        return status, "".join(s for s in out.splitlines(keepends=True) if " ids=" not in s), err

    return call


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def grow(log: MemoryLog, services: Services, number: int) -> None:
    """Let the log have a leaf of a game that nobody can read."""
    log.ask(UUID(int=number), 1, bytes(32))
    services.sequencer.run_once()


def test_a_witness_prints_its_key_and_the_cosigned_checkpoint(
    asked: Shithead, url: str, log: MemoryLog, services: Services
) -> None:
    status, out, err = asked("witness", "--log", url, "--once")
    assert (status, out) == (1, ""), "a new witness needs a name"
    assert "needs a name" in err
    for number in (1, 2):
        grow(log, services, number)
        status, out, err = asked("witness", "--log", url, "--once", "--name", "w.example/1")
        assert status == 0, err
        key = parse_cosigner(err.splitlines()[0].split()[1])
        assert len(cosignatures(parse_note(out.encode()), [key])) == 1


def test_a_witness_refuses_a_log_that_began_anew(
    asked: Shithead, url: str, log: MemoryLog, services: Services
) -> None:
    grow(log, services, 1)
    words = ("witness", "--log", url, "--once", "--name", "w.example/1")
    assert asked(*words)[0] == 0
    log.__init__()  # type: ignore[misc] # the same log, with another past
    grow(log, services, 2)
    status, out, err = asked(*words)
    assert (status, out) == (1, "")
    assert "REFUSED" in err
    assert len(list(Path().glob("witness.state.refused-*.note"))) == 1


def test_a_witness_refuses_a_log_that_was_set_back_and_keeps_the_proof(
    asked: Shithead, url: str, log: MemoryLog, services: Services
) -> None:
    """It shows fewer leaves than it signed, and what they were is gone: that is no failed call."""
    words = ("witness", "--log", url, "--once", "--name", "w.example/1")
    for number in (1, 2, 3):
        grow(log, services, number)
    assert asked(*words)[0] == 0
    log.__init__()  # type: ignore[misc] # an older copy of the log
    grow(log, services, 1)
    status, out, err = asked(*words)
    assert (status, out) == (1, "")
    assert "do not begin the 3 seen" in err
    assert len(list(Path().glob("witness.state.refused-*.note"))) == 1


def test_two_witnesses_do_not_share_a_state(asked: Shithead, url: str) -> None:
    import fcntl

    with Path("witness.state.lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        status, _, err = asked("witness", "--log", url, "--once", "--name", "w.example/1")
    assert status == 1
    assert "another witness" in err


def test_a_monitor_says_once_what_does_not_fit_and_ends_with_1_ever_after(
    asked: Shithead, url: str, log: MemoryLog, services: Services
) -> None:
    grow(log, services, 1)
    assert asked("monitor", "--log", url, "--once")[:2] == (0, "")
    log.__init__()  # type: ignore[misc] # the same log, with another past
    grow(log, services, 2)
    status, out, err = asked("monitor", "--log", url, "--once")
    assert status == 1
    assert out.startswith("fork: ")
    assert "kept: " in err
    assert asked("monitor", "--log", url, "--once")[:2] == (1, "")


@pytest.mark.parametrize("command", ["witness", "monitor"])
def test_a_log_that_does_not_answer_is_status_2(asked: Shithead, command: str) -> None:
    status, out, err = asked(command, "--log", "http://127.0.0.1:9", "--once")
    assert (status, out) == (2, "")
    assert "cannot be read" in err


@pytest.mark.parametrize("only", [None, "sealing", "signing"])
def test_keys_are_rotated_in_their_file(asked: Shithead, only: str | None) -> None:
    path = Path("keys.json")
    before = keyring.load_or_create(path.absolute())
    words = [] if only is None else ["--only", only]
    status, out, _ = asked("rotate-keys", "--key-file", path.absolute(), *words)
    assert status == 0
    after = keyring.load(path.absolute())
    assert (after.current != before.current) is (only != "signing")
    assert (after.signing_since != before.signing_since) is (only != "sealing")
    assert "a running service has them" in out
    assert set(before.keys) <= set(after.keys)


def test_a_key_file_that_is_not_there_is_said_to_be_so(asked: Shithead) -> None:
    status, _, err = asked("rotate-keys", "--key-file", Path("none.json").absolute())
    assert status == 1
    assert "none.json" in err
