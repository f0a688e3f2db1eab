"""`shithead witness` against stolen log keys, malformed answers, and a lost state file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from uuid import UUID

import pytest
from werkzeug.serving import make_server

from service.api.app import create_app
from service.bootstrap import Services
from service.features import FEATURES
from service.keys import KeyFile
from service.public_log.sequencer import Sequencer
from service.runtime.config import Settings
from service.shx.tlog.checkpoint import cosignatures, parse_cosigner
from service.shx.tlog.notes import NoteSigner, parse_note
from tests.malformed import CUT, DEEP, ICY, Malformed, malformed
from tests.unit.cli.conftest import CommandOutput
from tests.worlds.fake_world import unconnected
from tests.worlds.memory_log import MemoryLog

Shithead = Callable[..., CommandOutput]
ORIGIN = "tests.example"
WORDS = ("--once", "--name", "w.example/1")
ROOT = Path(__file__).resolve().parents[3]


class ForgeableService:
    """A service in this process with a key file; `forge` makes it serve another log."""

    def __init__(self, keys: Path) -> None:
        self.log = MemoryLog()
        self.keys = keys
        self.services = unconnected(keyring=KeyFile(keys), origin=ORIGIN, log_store=self.log)
        settings = Settings(database_url="postgresql://", rate_limits=False)
        self._app = create_app(FEATURES, self.services, settings)
        self._settings = settings
        self.forged_app: Any = None

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        forged = self.forged_app is not None and environ["PATH_INFO"].startswith("/v1/log/")
        return (self.forged_app if forged else self._app)(environ, start_response)

    @property
    def signer(self) -> NoteSigner:
        return NoteSigner(name=ORIGIN, key=self.services.keyring.present.signing_key)

    def grow(self, *numbers: int) -> None:
        """Add leaves for invented games."""
        for number in numbers:
            self.log.request(UUID(int=number), 1, bytes(32))
        self.services.sequencer.run_once()

    def forge(self, signer: NoteSigner, *numbers: int) -> None:
        """Serve a log with other leaves from now on, signed with a stolen key."""
        log = MemoryLog()
        for number in numbers:
            log.request(UUID(int=number), 1, bytes(32))
        Sequencer(
            store=log,
            origin=ORIGIN,
            signers=lambda _now: [signer],
            now=self.services.world.now,
        ).run_once()
        forger = unconnected(
            keyring=self.services.keyring.present,
            origin=ORIGIN,
            log_store=log,
        )
        self.forged_app = create_app(FEATURES, forger, self._settings)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgeableService:
    monkeypatch.chdir(tmp_path)
    return ForgeableService(tmp_path / "keys.json")


@pytest.fixture
def port(service: ForgeableService) -> Iterator[int]:
    server = make_server("127.0.0.1", 0, service, threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server.server_port
    server.shutdown()


@pytest.fixture
def url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


@pytest.mark.attack(
    "KEY_SWAP",
    "a retired server key that signs a longer tree",
    check="the witness",
    needs="WITNESS",
)
def test_a_retired_key_gets_no_cosignature(
    shithead: Shithead, service: ForgeableService, url: str
) -> None:
    """After the rotation the stolen old key signs the true tree with three more leaves."""
    service.grow(1, 2)
    pinned, stolen = str(service.services.verifier), service.signer
    words = ("witness", "--log", url, *WORDS, "--log-key", pinned)
    assert shithead(*words)[0] == 0
    assert shithead("rotate-keys", "--key-file", service.keys, "--overlap", "0")[0] == 0
    service.forge(stolen, 1, 2, 97, 98, 99)
    status, out, err = shithead(*words)
    assert (status, "— w.example" in out) == (1, False), err
    assert "signed only by retired keys; saved in" in err
    service.forged_app = None
    service.grow(3)
    status, out, err = shithead(*words)
    assert status == 0, err
    assert "\n3\n" in out


@pytest.mark.attack(
    "KEY_SWAP",
    "the end of a stolen server key no longer listed",
    check="the witness",
    needs="WITNESS",
)
def test_the_end_of_a_key_is_remembered_after_the_service_stops_listing_it(
    shithead: Shithead, service: ForgeableService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.grow(1)
    pinned, stolen = str(service.services.verifier), service.signer
    words = ("witness", "--log", url, *WORDS, "--log-key", pinned)
    assert shithead(*words)[0] == 0
    shithead("rotate-keys", "--key-file", service.keys, "--overlap", "0")
    status, _, err = shithead(*words)
    assert (status, "REFUSED" in err) == (1, False), "the new key has not signed yet"
    service.grow(2)
    assert shithead(*words)[0] == 0
    monkeypatch.setattr(Services, "retirements", lambda _self: [])
    service.forge(stolen, 1, 2, 98, 99)
    assert shithead(*words)[0] == 1


def test_during_the_overlap_the_old_key_still_counts(
    shithead: Shithead, service: ForgeableService, url: str
) -> None:
    service.grow(1)
    old, words = service.signer, ("witness", "--log", url, *WORDS)
    assert shithead(*words)[0] == 0
    shithead("rotate-keys", "--key-file", service.keys, "--overlap", "1")
    service.forge(old, 1, 2)  # like a process that has only the old key
    assert shithead(*words)[0] == 0


@pytest.mark.attack(
    "EQUIVOCATION",
    "a second tree for a witness without its state",
    check="the witness",
    needs="WITNESS",
)
def test_a_key_without_its_state_is_refused_without_new(
    shithead: Shithead, service: ForgeableService, url: str
) -> None:
    words = ("witness", "--log", url, *WORDS)
    service.grow(1)
    assert shithead(*words)[0] == 0
    Path("witness.state").unlink()
    service.log.__init__()  # type: ignore[misc] # the same log, with another past
    service.grow(2)
    status, out, err = shithead(*words)
    assert (status, out) == (1, "")
    assert "could cosign a second tree" in err
    assert not Path("witness.state").exists()
    assert shithead(*words, "--new")[0] == 0
    status, _, err = shithead(*words, "--new")
    assert (status, "already exists" in err) == (1, True)


def test_a_state_file_is_created_before_the_first_cosignature(
    shithead: Shithead, service: ForgeableService, url: str
) -> None:
    """A witness first started on an empty log restarts without --new."""
    words = ("witness", "--log", url, *WORDS)
    assert shithead(*words)[0] == 2, "there is no checkpoint yet"
    assert Path("witness.state").exists()
    service.grow(1)
    assert shithead(*words)[0] == 0


@pytest.mark.parametrize("answer", [ICY, DEEP, CUT])
@pytest.mark.parametrize("command", ["witness", "monitor"])
def test_a_malformed_answer_is_status_2(
    shithead: Shithead, service: ForgeableService, command: str, answer: bytes
) -> None:
    del service
    with malformed() as server:
        server.answer = answer
        status, out, err = shithead(command, "--log", server.url, "--once")
    assert (status, out) == (2, "")
    assert "cannot be read" in err


@contextmanager
def running(*words: str) -> Iterator[Path]:
    """Run a command line in a new process, and yield its log file."""
    log = Path("logged")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("w") as file:
        command = [sys.executable, "-m", "service.cli", *words]
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
    try:
        yield log
    finally:
        process.kill()
        process.wait()


def wait_for(pattern: str, log: Path) -> re.Match[str]:
    """Wait until the log matches a pattern, and return the match."""
    for _ in range(300):
        found = re.search(pattern, log.read_text())
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def health(url: str) -> dict[str, Any]:
    with urlopen(f"{url}/healthz", timeout=5) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found


def answer_malformed(server: Malformed, log: Path) -> None:
    """Answer the polls with every kind of malformed answer, several times."""
    for answer in (ICY, DEEP, CUT):
        before = server.request_count
        server.answer = answer
        while server.request_count < before + 3:
            time.sleep(0.05)
            assert "Traceback" not in log.read_text(), log.read_text()
    server.answer = None


@pytest.mark.attack(
    "EQUIVOCATION",
    "malformed answers that stop a witness",
    check="the witness, monitor",
    needs="WITNESS",
)
@pytest.mark.heavy
def test_a_witness_continues_polling_after_malformed_answers(
    service: ForgeableService, port: int
) -> None:
    service.grow(1)
    words = ("--name", "w.example/1", "--port", "0", "--every", "0.1")
    with malformed(port) as server, running("witness", "--log", server.url, *words) as log:
        address = wait_for(r"ready +(http\S+)", log)[1]
        wait_for("cosigned tests.example at 1 leaves", log)
        answer_malformed(server, log)
        service.grow(2)
        wait_for("cosigned tests.example at 2 leaves", log)
        counts = health(address)
        assert (counts["status"], counts["failed"] >= 6) == ("ok", True)
        shown = urlopen(f"{address}/{sha256(ORIGIN.encode()).hexdigest()}/checkpoint", timeout=5)
        key = parse_cosigner(wait_for(r"witness +(\S+)", log)[1])
        assert len(cosignatures(parse_note(shown.read()), [key])) == 1


@pytest.mark.heavy
def test_a_monitor_continues_polling_after_malformed_answers(
    service: ForgeableService, port: int
) -> None:
    service.grow(1)
    words = ("--every", "0.1", "--health-port", "0")
    with malformed(port) as server, running("monitor", "--log", server.url, *words) as log:
        wait_for("1 leaves, 1 games remembered", log)
        answer_malformed(server, log)
        service.grow(2)
        wait_for("2 leaves, 2 games remembered", log)
        address = wait_for(r"health +(http\S+)/healthz", log)[1]
        assert health(address)["failed"] >= 6
