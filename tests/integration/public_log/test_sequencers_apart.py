"""Sequencers on several machines: each has a file of its own, and no size is signed twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.public_log.sequencer import LogBroken, Sequencer, Unconfirmed
from service.public_log.signed_checkpoints import SignedFile
from service.shx.canonical import RecordError
from service.shx.tlog.checkpoint import Checkpoint, sign_checkpoint
from service.shx.tlog.notes import NoteSigner
from service.store.database import Database
from service.store.public_log import PostgresLog
from tests.integration.public_log.test_sequencer import add_games
from tests.worlds.fake_log import ORIGIN, SIGNER, sequencer_of


class Machine:
    """A machine with a sequencer and its own file."""

    def __init__(self, folder: Path, store: PostgresLog) -> None:
        folder.mkdir()
        self.file = SignedFile(folder / "log.checkpoint")
        self._store = store

    def start(self, *, signer: NoteSigner = SIGNER) -> Sequencer:
        """Return a new process of the sequencer."""
        return sequencer_of(self._store, signed=self.file, signer=signer)

    @property
    def size(self) -> int:
        last = self.file.last()
        return 0 if last is None else last.size


@pytest.fixture
def first(store: PostgresLog, tmp_path: Path) -> Machine:
    return Machine(tmp_path / "first", store)


@pytest.fixture
def second(store: PostgresLog, tmp_path: Path) -> Machine:
    return Machine(tmp_path / "second", store)


def test_a_sequencer_stores_the_heads_that_another_signed(
    database: Database, first: Machine, second: Machine
) -> None:
    """Also one that never wins a round."""
    winner, loser = first.start(), second.start()
    for one in (winner, loser):
        one.confirm()
    for size in (2, 4, 6):
        add_games(database, 2)
        winner.run_once()
        loser.run_once()
        assert (first.size, second.size) == (size, size)
    add_games(database, 1)
    loser.run_once()
    winner.run_once()
    assert (first.size, second.size) == (7, 7)


@pytest.mark.parametrize("kept", [0, 2])
def test_a_sequencer_that_missed_heads_waits_until_another_signs_the_next_one(
    database: Database, store: PostgresLog, first: Machine, second: Machine, kept: int
) -> None:
    """It was added later, or was away for some rounds: the database may have been set back."""
    add_games(database, 2)
    winner = first.start()
    winner.run_once()
    if kept:
        second.start().run_once()
    add_games(database, 1)
    winner.run_once()
    late = second.start()
    for _ in range(2):
        with pytest.raises(Unconfirmed, match="is missing" if not kept else "has 2 signed"):
            late.confirm()
    assert second.size == kept
    add_games(database, 1)
    winner.run_once()
    late.confirm()
    add_games(database, 1)
    late.run_once()
    published = store.published()
    assert published is not None and published.size == second.size == 5


def test_a_head_that_no_key_of_the_log_signed_is_not_stored(
    database: Database, first: Machine, second: Machine
) -> None:
    other = NoteSigner(name=ORIGIN, key=Ed25519PrivateKey.generate())
    add_games(database, 2)
    first.start(signer=other).run_once()
    add_games(database, 1)
    with pytest.raises(LogBroken, match="no key of this log signed its head of 2 leaves"):
        second.start().run_once()
    assert second.size == 0


def test_another_tree_of_the_stored_size_is_not_stored(first: Machine) -> None:
    trees = [Checkpoint(origin=ORIGIN, size=3, root=bytes([one]) * 32) for one in (1, 2)]
    first.file.save(sign_checkpoint(trees[0], [SIGNER]))
    with pytest.raises(RecordError, match="another tree of 3 leaves"):
        first.file.save(sign_checkpoint(trees[1], [SIGNER]))
    assert first.file.last() == trees[0]
