"""Concurrent sequencers over one log: one tree, and no false alarms."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from service.public_log.log import Head, PublicLog, SignedHead
from service.public_log.signed_checkpoints import SignedFile
from service.public_log.witness import Witness, WitnessState
from service.store.database import Database
from service.store.public_log import PostgresLog
from tests.integration.public_log.test_sequencer import add_games, games_in
from tests.worlds.fake_log import ORIGIN, SIGNER, WITNESS, Reader, answering, sequencer_of


def test_concurrent_sequencers_build_one_tree(
    database: Database, store: PostgresLog, reader: Reader, database_url: str, tmp_path: Path
) -> None:
    """Four sequencers share one `log.checkpoint`; games are added, and a reader follows the log."""
    done, games, faults = threading.Event(), list[UUID](), list[BaseException]()
    signed = SignedFile(tmp_path / "log.checkpoint")

    def run() -> None:
        own = Database(database_url, size=2)
        try:
            while not done.is_set():
                sequencer_of(PostgresLog(own), signed=signed).run_once()
        except BaseException as fault:  # noqa: BLE001 - the test below reports it
            faults.append(fault)
        finally:
            own.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(12):
        games += add_games(database, 25)
        reader.read()
    done.set()
    for thread in threads:
        thread.join()
    assert faults == []
    sequencer_of(store, signed=signed).run_once()
    last = signed.last()
    assert last is not None and last.size == store.head().size
    reader.read()
    assert sorted(games_in(reader)) == sorted(games)
    assert len(reader.seen) > 3
    assert PublicLog(store).checkpoint() is not None


class Overtaken(PostgresLog):
    """A log that another sequencer extends once, right after one of its reads."""

    def __init__(self, database: Database, read: str, other: Callable[[], object]) -> None:
        super().__init__(database)
        self._read = read
        self._other = other

    def _after(self, read: str) -> None:
        if read == self._read:
            self._read = ""
            self._other()

    def head(self) -> Head:
        found = super().head()
        self._after("head")
        return found

    def published(self) -> SignedHead | None:
        found = super().published()
        self._after("published")
        return found

    def cosigned_size(self, witness: str) -> int:
        found = super().cosigned_size(witness)
        self._after("cosigned_size")
        return found


@pytest.mark.parametrize("read", ["published", "head"])
def test_an_overtaken_sequencer_does_not_report_a_rollback(
    database: Database, store: PostgresLog, reader: Reader, tmp_path: Path, read: str
) -> None:
    """Two sequencers share `log.checkpoint`; one stored a newer tree than the other has read."""
    signed = SignedFile(tmp_path / "log.checkpoint")
    add_games(database, 2)
    sequencer_of(store, signed=signed).append()

    def other() -> None:
        add_games(database, 2)
        sequencer_of(store, signed=signed).run_once()

    sequencer_of(Overtaken(database, read, other), signed=signed).publish()
    reader.read()
    last = signed.last()
    assert last is not None and last.size == len(reader.entries) == 4


def test_an_overtaken_sequencer_does_not_report_a_witness_conflict(
    database: Database, store: PostgresLog, tmp_path: Path
) -> None:
    """The witness has a larger tree because the other sequencer has just submitted it."""
    state = WitnessState(tmp_path / "witness.state")
    logs = {ORIGIN: [SIGNER.verifier]}
    with answering(Witness(cosigner=WITNESS, logs=logs, state=state, now=time.time)) as here:

        def other() -> None:
            add_games(database, 2)
            ahead = sequencer_of(store, witnesses=[here])
            ahead.run_once()
            assert ahead.ask_witnesses() == []

        add_games(database, 1)
        sequencer_of(store).run_once()
        behind = Overtaken(database, "cosigned_size", other)
        assert sequencer_of(behind, witnesses=[here]).ask_witnesses() == []
        assert state.seen(ORIGIN).size == 3
        behind = Overtaken(database, "published", other)
        sequencer_of(behind, witnesses=[here]).confirm()
        assert state.seen(ORIGIN).size == 5
