"""The public log for tests: sequencers that stop at a chosen step, and a strict reader."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.public_log.log import LogStore, PublicLog
from service.public_log.sequencer import ArchivedWal, Sequencer, Step
from service.public_log.signed_checkpoints import SignedCheckpoints
from service.public_log.witness import Witness, witness_server
from service.public_log.witness_client import RemoteWitness
from service.shx.tlog.checkpoint import Checkpoint, Cosigner, open_checkpoint
from service.shx.tlog.notes import NoteSigner
from service.shx.tlog.tiles import EMPTY, TiledTree, entry_tiles, grow, read_entries
from service.shx.tlog.tree import leaf_hash

ORIGIN = "tests.example"
SIGNER = NoteSigner(name=ORIGIN, key=Ed25519PrivateKey.from_private_bytes(b"s" * 32))
WITNESS = Cosigner(name="w.example/1", key=Ed25519PrivateKey.from_private_bytes(b"w" * 32))


@dataclass(kw_only=True)
class Clock:
    """A clock that a test moves."""

    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.time

    def pass_(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class Stopped(BaseException):
    """The process ends here, as by kill -9: no handler catches it."""


def stopping_at(wanted: str) -> Step:
    """Return a step that ends the process at the step `wanted`."""

    def step(name: str) -> None:
        if name == wanted:
            raise Stopped

    return step


def sequencer_of(
    store: LogStore,
    *,
    now: Callable[[], datetime] | None = None,
    step: Step = lambda _name: None,
    signer: NoteSigner = SIGNER,
    signed: SignedCheckpoints | None = None,
    witnesses: Sequence[RemoteWitness] = (),
    wal: ArchivedWal | None = None,
) -> Sequencer:
    """Return a sequencer over a store."""
    return Sequencer(
        store=store,
        origin=ORIGIN,
        signers=lambda _now: [signer],
        now=now or Clock(),
        step=step,
        checkpoints=signed,
        witnesses=witnesses,
        wal=wal,
    )


@contextmanager
def answering(witness: Witness) -> Iterator[RemoteWitness]:
    """Serve a witness over HTTP, and yield the log's client for it."""
    with witness_server(witness, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield RemoteWitness(url=f"http://127.0.0.1:{server.server_port}", verifier=WITNESS.verifier)
        server.shutdown()


class Reader:
    """
    An outside reader of the log that stores every checkpoint.

    Each one must be signed, match the entries, and extend every earlier one; the
    reader fails if the log ever shows two trees.
    """

    def __init__(self, log: PublicLog, signer: NoteSigner = SIGNER) -> None:
        self._log = log
        self._verifier = signer.verifier
        self.seen: list[Checkpoint] = []
        self.entries: list[bytes] = []

    def read(self) -> Checkpoint | None:
        """Read and check all new entries."""
        note = self._log.checkpoint()
        if note is None:
            assert not self.seen, "the checkpoint is gone"
            return None
        checkpoint, _, _ = open_checkpoint(note, [self._verifier])
        entries: list[bytes] = []
        for tile in entry_tiles(0, checkpoint.size):
            found = self._log.tile(tile)
            assert found is not None, tile
            entries += read_entries(found, tile)
        assert entries[: len(self.entries)] == self.entries, "history was changed"
        edge, _ = grow(EMPTY, [leaf_hash(entry) for entry in entries])
        assert edge.root == checkpoint.root
        tree = TiledTree(checkpoint.size, lambda tile: self._log.tile(tile) or b"")
        assert tree.root() == checkpoint.root
        for earlier in self.seen:
            assert tree.root(earlier.size) == earlier.root, "two trees"
        self.seen.append(checkpoint)
        self.entries = entries
        return checkpoint
