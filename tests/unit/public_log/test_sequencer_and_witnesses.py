"""The sequencer and its witnesses: faulty, slow, absent, or with proof of a larger tree."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from service.application.signing import verifiers_of
from service.bootstrap import Services
from service.keys import Keyring
from service.public_log import witness_client
from service.public_log.sequencer import LogBroken
from service.public_log.signed_checkpoints import SignedFile
from service.public_log.witness import Witness, WitnessState, witness_server
from service.public_log.witness_client import RemoteWitness, parse_witnesses
from service.shx.canonical import RecordError
from service.shx.tlog.checkpoint import Cosigner
from tests.malformed import CUT, DEEP, ICY, SEEN_MORE, malformed
from tests.worlds.fake_world import unconnected
from tests.worlds.memory_log import MemoryLog
from workers.sequencer import LogSequencer

ORIGIN = "tests.example"
REFUSED = b"HTTP/1.1 422 Unprocessable Entity\r\nContent-Length: 0\r\n\r\n"


class Watched:
    """A log in memory with its sequencer, and the files that survive a restart."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = MemoryLog()
        self.keyring = Keyring.generate()
        self.memory: SignedFile | None = SignedFile(folder / "log.checkpoint")

    def services(self, witnesses: tuple[RemoteWitness, ...], quorum: int = 0) -> Services:
        return unconnected(
            keyring=self.keyring,
            origin=ORIGIN,
            log_store=self.log,
            witnesses=witnesses,
            witness_quorum=quorum,
            signed=self.memory,
        )

    def started(self, *witnesses: RemoteWitness, quorum: int = 0) -> LogSequencer:
        """Return a new process of the sequencer."""
        return LogSequencer(self.services(witnesses, quorum))

    def request(self, *games: int) -> None:
        for game in games:
            self.log.request(UUID(int=game), 1, bytes(32))

    def set_back(self, *games: int) -> None:
        """Restore an older copy of the database, and delete the stored newer checkpoint."""
        self.log.__init__()  # type: ignore[misc] # the same log, an older copy of it
        self.memory = SignedFile(self.folder / "another" / "log.checkpoint")
        (self.folder / "another").mkdir()
        self.request(*games)

    @property
    def signed(self) -> int:
        found = self.log.published()
        return 0 if found is None else found.size


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


class Honest:
    """A witness of this project, which can be stopped."""

    def __init__(self, folder: Path, keyring: Keyring, number: int) -> None:
        cosigner = Cosigner(name=f"w.example/{number}", key=Ed25519PrivateKey.generate())
        self.state = folder / f"witness-{number}.state"
        self._made = partial(
            Witness,
            cosigner=cosigner,
            logs={ORIGIN: [verifiers_of(keyring, ORIGIN)[0]]},
            now=time.time,
        )
        self._witness = self._made(state=WitnessState(self.state))
        self._server = witness_server(self._witness, "127.0.0.1", 0)
        port = self._server.server_port
        self._server.server_close()
        self.remote = RemoteWitness(url=f"http://127.0.0.1:{port}", verifier=cosigner.verifier)
        self._port = port

    def start(self) -> None:
        self._server = witness_server(self._witness, "127.0.0.1", self._port)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def set_back(self, state: bytes | None) -> None:
        """Start again with an older copy of its state, or with none."""
        self.stop()
        self.state.unlink()
        if state is not None:
            self.state.write_bytes(state)
        self._witness = self._made(state=WitnessState(self.state))
        self.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def honest(watched: Watched) -> Iterator[Callable[[], Honest]]:
    with ExitStack() as stack:
        made: list[Honest] = []

        def make() -> Honest:
            one = Honest(watched.folder, watched.keyring, len(made))
            made.append(one)
            one.start()
            stack.callback(one.stop)
            return one

        yield make


def faulty(url: str) -> RemoteWitness:
    key = Cosigner(name="faulty.example/1", key=Ed25519PrivateKey.generate())
    return RemoteWitness(url=url, verifier=key.verifier)


def test_a_checkpoint_that_cannot_be_stored_is_a_warning_until_it_can(watched: Watched) -> None:
    """As on a full disk: nothing is wrong with the log."""
    watched.memory = SignedFile(watched.folder / "later" / "log.checkpoint")
    watched.request(1)
    with capture_logs() as lines:
        process = watched.started()
        process.one_round()
    assert watched.signed == 0
    [line] = lines
    assert (line["log_level"], line["event"]) == ("warning", "the batch was not written")
    assert "the checkpoint to be signed cannot be saved" in line["error"]
    (watched.folder / "later").mkdir()
    process.one_round()
    assert watched.signed == 1


def test_another_tree_of_the_size_to_be_signed_breaks_the_log(watched: Watched) -> None:
    watched.request(1)
    other = RecordError("fork", "another tree of 1 leaves is stored")
    with capture_logs() as lines, patch.object(SignedFile, "save", side_effect=other):
        watched.started().one_round()
    assert [line["event"] for line in lines] == ["the public log is broken"]
    assert watched.signed == 0


@pytest.mark.attack(
    "EQUIVOCATION",
    "a witness that claims more leaves or refuses",
    check="the sequencer",
    needs="WITNESS",
)
@pytest.mark.parametrize("answer", [ICY, CUT, DEEP, SEEN_MORE, REFUSED, b""])
def test_a_faulty_witness_does_not_affect_the_others(
    watched: Watched, honest: Callable[[], Honest], answer: bytes
) -> None:
    """The log is signed at the start and later, and the other witness cosigns."""
    good = honest()
    with malformed() as server:
        server.answer = answer
        bad = faulty(server.url)
        for game in (1, 2, 3):
            watched.request(game)
            process = watched.started(bad, good.remote)
            assert process.one_round() == 1
            assert watched.signed == game
            assert process.ask_once(bad) > process.ask_once(good.remote)
            published = watched.log.published()
            assert published is not None and len(published.cosignatures) == 1
        assert server.request_count > 0


@pytest.mark.attack(
    "EQUIVOCATION",
    "a witness that answers a byte at a time",
    check="the sequencer",
    needs="WITNESS",
)
def test_a_witness_that_answers_byte_by_byte_delays_nothing(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness_client, "TIMEOUT", 1.0)
    watched.request(1)
    with ExitStack() as stack:
        slow = [stack.enter_context(malformed()) for _ in range(6)]
        for server in slow:
            server.answer = b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 15
            server.pause = 0.2
        bad = [faulty(server.url) for server in slow]
        assert watched.started().one_round() == 1
        watched.request(2)
        began = time.monotonic()
        process = watched.started(*bad)
        assert process.one_round() == 1
        assert time.monotonic() - began < 4, "all are asked at once, up to a deadline"
    assert watched.signed == 2


@pytest.mark.attack(
    "EQUIVOCATION",
    "a larger tree that its own key has signed",
    check="the sequencer",
    needs="WITNESS",
)
def test_a_larger_size_with_a_checkpoint_signed_here_stops_the_log(
    watched: Watched, honest: Callable[[], Honest]
) -> None:
    good = honest()
    watched.request(1, 2, 3)
    process = watched.started(good.remote)
    process.one_round()
    assert process.ask_once(good.remote) < 5
    watched.set_back(1, 2)
    watched.memory = None
    watched.started().one_round()  # without the guard against a rollback
    assert watched.signed == 2
    watched.request(4)
    process = watched.started(good.remote)
    assert process.one_round() == 0
    assert watched.signed == 2


@pytest.mark.attack(
    "EQUIVOCATION",
    "a log rolled back while its witness was down",
    check="the sequencer",
    needs="WITNESS",
)
def test_a_witness_that_was_down_at_the_start_stops_the_log_later(
    watched: Watched, honest: Callable[[], Honest]
) -> None:
    """The log was set back while its only witness was absent; the returning witness stops it."""
    good = honest()
    watched.request(1, 2, 3)
    process = watched.started(good.remote)
    process.one_round()
    process.ask_once(good.remote)
    good.stop()
    watched.set_back(1, 2)
    process = watched.started(good.remote)
    assert process.one_round() == 2
    assert watched.signed == 2, "no witness had seen the newer log yet"
    good.start()
    assert process.ask_once(good.remote) > 5
    watched.request(5)
    process.one_round()
    assert watched.signed == 2
    with pytest.raises(LogBroken, match="a witness has shown a checkpoint of 3 leaves"):
        watched.services((good.remote,)).sequencer.run_once()
    good.stop()
    process = watched.started(good.remote)
    process.one_round()
    assert watched.signed == 2, "even after a restart while the witness is down"
    good.start()


def test_the_log_is_signed_again_when_it_continues_the_tree_of_the_witness(
    watched: Watched, honest: Callable[[], Honest]
) -> None:
    good = honest()
    watched.request(1, 2, 3)
    process = watched.started(good.remote)
    process.one_round()
    process.ask_once(good.remote)
    newest = watched.log
    good.stop()
    watched.log = MemoryLog()
    watched.memory = SignedFile(watched.folder / "log.other")
    watched.request(1)
    process = watched.started()
    process.one_round()
    good.start()
    assert watched.started(good.remote).one_round() == 0
    watched.log = newest
    watched.request(4)
    assert watched.started(good.remote).one_round() == 1
    assert watched.signed == 4
    assert watched.memory.contradiction() is None


@pytest.mark.attack(
    "EQUIVOCATION", "too few witnesses to sign with", check="the sequencer", needs="WITNESS"
)
@pytest.mark.parametrize(("quorum", "up", "signed"), [(0, 0, 2), (2, 1, 1), (2, 2, 2), (3, 2, 1)])
def test_the_configured_number_of_witnesses_must_agree_before_a_signature(
    watched: Watched, honest: Callable[[], Honest], quorum: int, up: int, signed: int
) -> None:
    three = [honest() for _ in range(3)]
    remotes = [one.remote for one in three]
    watched.request(1)
    process = watched.started(*remotes)
    process.one_round()
    for away in three[up:]:
        away.stop()
    watched.request(2)
    process = watched.started(*remotes, quorum=quorum)
    process.one_round()
    assert watched.signed == signed
    for away in three[up:]:
        away.start()
    process.one_round()
    assert watched.signed == 2, "as soon as they answer again"


@pytest.mark.attack(
    "EQUIVOCATION",
    "a new database with the name of an old one",
    check="the sequencer",
    needs="WITNESS",
)
def test_a_lost_database_is_noticed_by_the_witness_of_the_old_one(
    watched: Watched, honest: Callable[[], Honest]
) -> None:
    """A new, empty database under the same name and keys: not even the first leaf is signed."""
    good = honest()
    watched.request(1, 2, 3)
    process = watched.started(good.remote)
    process.one_round()
    process.ask_once(good.remote)
    watched.set_back(7)
    process = watched.started(good.remote)
    assert process.one_round() == 0
    assert watched.signed == 0


@pytest.mark.attack(
    "TRUNCATION", "the record of the last signed checkpoint removed", check="log.checkpoint"
)
def test_a_lost_log_checkpoint_stops_a_log_that_has_been_signed(watched: Watched) -> None:
    watched.request(1)
    assert watched.started().one_round() == 1
    path = watched.folder / "log.checkpoint"
    kept = path.read_bytes()
    path.unlink()
    watched.request(2)
    assert watched.started().one_round() == 0
    assert (watched.signed, path.exists()) == (1, False)
    path.write_bytes(kept)
    process = watched.started()
    assert process.one_round() == 1
    path.unlink()
    watched.request(3)
    process.one_round()
    assert watched.signed == 2, "a running process notices the loss, too"


def test_the_setting_may_name_a_monitoring_prefix() -> None:
    key = str(faulty("").verifier)
    [one] = parse_witnesses(f"{key} https://w.example/submit/ https://w.example/")
    assert (one.url, one.monitoring) == ("https://w.example/submit", "https://w.example")


def events_of(process: LogSequencer, witness: RemoteWitness) -> list[tuple[str, str]]:
    """Ask a witness once; return the events with their reasons."""
    with capture_logs() as lines:
        process.ask_once(witness)
    return [(line["event"], line["reason"]) for line in lines]


@pytest.mark.parametrize("older", [1, 0])
def test_a_witness_that_was_set_back_is_named_although_it_cosigns_again(
    watched: Watched, honest: Callable[[], Honest], older: int
) -> None:
    """Also on an idle log: it could have cosigned another log between its copy and now."""
    good = honest()
    watched.request(1)
    process = watched.started(good.remote)
    process.one_round()
    assert events_of(process, good.remote) == []
    copy = good.state.read_bytes() if older else None
    watched.request(2, 3)
    process.one_round()
    assert events_of(process, good.remote) == []
    good.set_back(copy)
    assert events_of(process, good.remote) == [], "it is not asked for what it has cosigned"
    reason = f"it has seen {older} leaves, and cosigned 3 before"
    counted = partial(
        REGISTRY.get_sample_value,
        "shithead_witness_set_back_total",
        {"witness": good.remote.verifier.name},
    )
    before = counted() or 0
    with patch("workers.sequencer.LOOK_AGAIN", 0):
        assert events_of(process, good.remote) == [("a witness was set back", reason)]
        assert events_of(process, good.remote) == [], "it has cosigned all of it again"
    assert counted() == before + 1
    good.set_back(copy)
    watched.request(4)
    process.one_round()
    assert events_of(process, good.remote) == [("a witness was set back", reason)]
    assert watched.log.cosigned_size(str(good.remote.verifier)) == 4
