"""`witness`, `monitor` and `rotate-keys` on the command line, against a service in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from werkzeug.serving import make_server

from service import keys
from service.api.app import create_app
from service.application.signing import signers_at
from service.bootstrap import Services
from service.features import FEATURES
from service.keys import KeyFile, Keyring
from service.runtime.config import Settings
from service.shx.keys import followed, read_key_list
from service.shx.tlog.checkpoint import cosignatures, open_checkpoint, parse_cosigner
from service.shx.tlog.notes import MAX_SIGNATURES, NoteVerifier, parse_note, sign_note
from service.store.database import Database
from tests.unit.cli.conftest import CommandOutput
from tests.worlds.fake_world import services_over, unconnected
from tests.worlds.memory_log import MemoryLog

Shithead = Callable[..., CommandOutput]


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
def services(log: MemoryLog, database_url: str) -> Iterator[Services]:
    made = services_over(Database(database_url), keyring=Keyring.generate(), log_store=log)
    yield made
    made.close()


@pytest.fixture
def url(services: Services) -> Iterator[str]:
    settings = Settings(database_url="postgresql://", rate_limits=False)
    server = make_server("127.0.0.1", 0, create_app(FEATURES, services, settings), threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def run(shithead: Shithead) -> Shithead:
    """Return a function that runs a command line, without the log of the service."""

    def call(*words: str | Path) -> CommandOutput:
        status, out, err = shithead(*words)
        return status, "".join(s for s in out.splitlines(keepends=True) if " ids=" not in s), err

    return call


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def grow(log: MemoryLog, services: Services, number: int) -> None:
    """Add a leaf for an invented game."""
    log.request(UUID(int=number), 1, bytes(32))
    services.sequencer.run_once()


def test_a_witness_prints_its_key_and_the_cosigned_checkpoint(
    run: Shithead, url: str, log: MemoryLog, services: Services
) -> None:
    status, out, err = run("witness", "--log", url, "--once")
    assert (status, out) == (1, ""), "a new witness needs a name"
    assert "needs a name" in err
    for number in (1, 2):
        grow(log, services, number)
        status, out, err = run("witness", "--log", url, "--once", "--name", "w.example/1")
        assert status == 0, err
        key = parse_cosigner(err.splitlines()[0].split()[1])
        assert len(cosignatures(parse_note(out.encode()), [key])) == 1


def test_a_witness_refuses_a_restarted_log(
    run: Shithead, url: str, log: MemoryLog, services: Services
) -> None:
    grow(log, services, 1)
    words = ("witness", "--log", url, "--once", "--name", "w.example/1")
    assert run(*words)[0] == 0
    log.__init__()  # type: ignore[misc] # the same log, with another history
    grow(log, services, 2)
    status, out, err = run(*words)
    assert (status, out) == (1, "")
    assert "REFUSED" in err
    assert len(list(Path().glob("witness.state.refused-*.note"))) == 1


@pytest.mark.attack(
    "TRUNCATION", "a public log rolled back to fewer leaves", check="the witness", needs="WITNESS"
)
def test_a_witness_refuses_a_rolled_back_log_and_stores_the_proof(
    run: Shithead, url: str, log: MemoryLog, services: Services
) -> None:
    """Fewer leaves than the log has signed are a finding (status 1), not a failed request (2)."""
    words = ("witness", "--log", url, "--once", "--name", "w.example/1")
    for number in (1, 2, 3):
        grow(log, services, number)
    assert run(*words)[0] == 0
    log.__init__()  # type: ignore[misc] # an older copy of the log
    grow(log, services, 1)
    status, out, err = run(*words)
    assert (status, out) == (1, "")
    assert "not a prefix of the 3 cosigned leaves" in err
    assert len(list(Path().glob("witness.state.refused-*.note"))) == 1


def test_two_witnesses_do_not_share_a_state(run: Shithead, url: str) -> None:
    import fcntl

    with Path("witness.state.lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        status, _, err = run("witness", "--log", url, "--once", "--name", "w.example/1")
    assert status == 1
    assert "another witness" in err


def test_a_monitor_reports_a_finding_once_and_always_ends_with_1(
    run: Shithead, url: str, log: MemoryLog, services: Services
) -> None:
    grow(log, services, 1)
    assert run("monitor", "--log", url, "--once")[:2] == (0, "")
    log.__init__()  # type: ignore[misc] # the same log, with another history
    grow(log, services, 2)
    status, out, err = run("monitor", "--log", url, "--once")
    assert status == 1
    assert out.startswith("fork: ")
    assert "saved: " in err
    assert run("monitor", "--log", url, "--once")[:2] == (1, "")


@pytest.mark.parametrize("command", ["witness", "monitor"])
def test_a_log_that_does_not_answer_is_status_2(run: Shithead, command: str) -> None:
    status, out, err = run(command, "--log", "http://127.0.0.1:9", "--once")
    assert (status, out) == (2, "")
    assert "cannot be read" in err


@pytest.mark.parametrize("only", [None, "sealing", "signing"])
def test_keys_are_rotated_in_their_file(run: Shithead, only: str | None) -> None:
    path = Path("keys.json")
    before = keys.load_or_create(path.absolute())
    words = [] if only is None else ["--only", only]
    status, out, _ = run("rotate-keys", "--key-file", path.absolute(), *words)
    assert status == 0
    after = keys.load(path.absolute())
    assert (after.current != before.current) is (only != "signing")
    assert (after.signing_since != before.signing_since) is (only != "sealing")
    named = f"sealing key {after.current}, signing key of {after.signing_since}"
    assert out.splitlines() == [named, "a running service reloads them; back up the key file"]
    assert set(before.keys) <= set(after.keys)


def test_a_key_file_that_is_missing_is_reported(run: Shithead) -> None:
    status, _, err = run("rotate-keys", "--key-file", Path("none.json").absolute())
    assert status == 1
    assert "none.json" in err


@pytest.mark.attack("OLD_STATE", "101 rotations within the overlap", check="rotate-keys")
def test_no_more_keys_sign_at_once_than_a_checkpoint_has_lines_for(run: Shithead) -> None:
    """A note has at most 100 signature lines; readers refuse a longer one."""
    path = Path("keys.json").absolute()
    keys.load_or_create(path)
    words = ("rotate-keys", "--key-file", path, "--only", "signing")
    statuses = [run(*words)[0] for _ in range(101)]
    refused = statuses.index(1)
    assert set(statuses[refused:]) == {1}
    loaded = keys.load(path)
    signers = signers_at(loaded, "tests.example", datetime.now(UTC))
    assert 16 <= len(signers) == refused + 1 < MAX_SIGNATURES
    parse_note(sign_note("tests.example\n", signers))
    status, _, err = run(*words)
    assert (status, "would sign each checkpoint" in err) == (1, True)
    assert run(*words, "--overlap", "0")[0] == 0, "the replaced key stops signing at once"


@pytest.mark.heavy
def test_an_idle_log_supports_any_number_of_rotations(
    run: Shithead, log: MemoryLog, tmp_path: Path
) -> None:
    """The same tree is signed by each new key in turn, without an overlap."""
    path = tmp_path / "keys.json"
    made = unconnected(keyring=KeyFile(path), log_store=log)
    grow(log, made, 1)
    for _ in range(110):
        status, *_ = run("rotate-keys", "--key-file", path, "--only", "signing", "--overlap", "0")
        assert status == 0
        made.sequencer.run_once()
    note = made.log.checkpoint()
    assert note is not None
    open_checkpoint(note, [made.verifier])
    assert (
        len(
            followed(
                [NoteVerifier(name="tests.example", public=first_public(path))],
                read_key_list({"items": made.keys()}).keys,
            )
        )
        == 111
    )


def first_public(path: Path) -> bytes:
    """Return the first key of a key file."""
    return keys.load(path).retired[-1].public
