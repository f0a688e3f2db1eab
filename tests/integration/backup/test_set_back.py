"""A database set back to an older state: the public log notices before it signs anything."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from service.backup.backup import BackupError, Corrections, continue_from, restore
from service.cli.__main__ import run as shithead
from service.public_log.sequencer import LogBroken, NotSaved, Unconfirmed
from service.public_log.signed_checkpoints import SignedFile, signed_checkpoints
from service.public_log.witness import Witness, WitnessState
from service.store.database import Database
from service.store.public_log import PostgresLog
from tests.integration.backup.conftest import StoredGames, backed_up
from tests.worlds.fake_log import ORIGIN, SIGNER, WITNESS, answering, sequencer_of
from tests.worlds.fake_world import Deployment, SetWorld, open_game, person

SEEDS = count(100)


@pytest.fixture
def memory(tmp_path: Path) -> SignedFile:
    """Return the storage of signed checkpoints beside the keys."""
    found = signed_checkpoints(tmp_path / "keys.json")
    assert isinstance(found, SignedFile)
    return found


@pytest.fixture
def older(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path
) -> Iterator[PostgresLog]:
    """Return the log of a database restored from a backup older than the published log."""
    path, _ = backed_up(stored_games, tmp_path)
    stored_games.play_another()
    restore(empty_database_url, path)
    database = Database(empty_database_url, size=2)
    yield PostgresLog(database)
    database.close()


def another_game(url: str) -> None:
    """Deal a game whose leaf waits for the log."""
    deployment = Deployment(url=url, world=SetWorld(seed=next(SEEDS)))
    services = deployment.process()
    open_game(services, person(services), ({"bot": "lowest"}, {"bot": "greedy"}))
    deployment.close()


def test_a_checkpoint_is_stored_before_it_is_published(
    stored_games: StoredGames, memory: SignedFile
) -> None:
    sequencer = sequencer_of(stored_games.log, signed=memory)
    assert memory.last() is None
    another_game(stored_games.url)
    sequencer.run_once()
    last, head = memory.last(), stored_games.log.head()
    assert last is not None
    assert (last.origin, last.size, last.root) == (ORIGIN, head.size, head.root)
    another_game(stored_games.url)
    sequencer.run_once()
    grown = memory.last()
    assert grown is not None and grown.size > last.size


def test_a_stored_checkpoint_is_never_replaced_by_an_older_one(
    stored_games: StoredGames, memory: SignedFile
) -> None:
    """A restore with an old checkpoint must not replace a newer stored one."""
    old = stored_games.checkpoint()
    stored_games.play_another()
    memory.save(stored_games.checkpoint())
    newest = memory.last()
    memory.save(old)
    assert memory.last() == newest


def test_a_log_with_fewer_leaves_than_signed_signs_nothing(
    stored_games: StoredGames, older: PostgresLog, memory: SignedFile, empty_database_url: str
) -> None:
    memory.save(stored_games.checkpoint())
    another_game(empty_database_url)
    sequencer, before = sequencer_of(older, signed=memory), older.published()
    with pytest.raises(LogBroken, match="the database is older, as after a restore"):
        sequencer.run_once()
    assert older.published() == before


def test_a_database_that_was_set_back_is_reported_before_its_next_leaf(
    stored_games: StoredGames, older: PostgresLog, memory: SignedFile
) -> None:
    """All its leaves are signed already, so nothing waits for a signature."""
    sequencer = sequencer_of(older, signed=memory)
    sequencer.run_once()
    sequencer.run_once()
    memory.save(stored_games.checkpoint())
    with pytest.raises(LogBroken, match="the database is older, as after a restore"):
        sequencer_of(older, signed=memory).publish()


def test_a_log_with_other_leaves_than_signed_signs_nothing(
    stored_games: StoredGames, older: PostgresLog, memory: SignedFile, empty_database_url: str
) -> None:
    """A set-back log that grew beyond the signed size is still a different log."""
    memory.save(stored_games.checkpoint())
    for _ in range(4):
        another_game(empty_database_url)
    sequencer, before = sequencer_of(older, signed=memory), older.published()
    assert sequencer.append()
    last = memory.last()
    assert last is not None and last.size <= older.head().size
    with pytest.raises(LogBroken, match="leaves that were signed last"):
        sequencer.publish()
    assert older.published() == before


def test_an_unreadable_checkpoint_file_stops_the_log(
    stored_games: StoredGames, tmp_path: Path
) -> None:
    path = tmp_path / "log.checkpoint"
    path.write_text("nothing\n")
    another_game(stored_games.url)
    with pytest.raises(LogBroken, match="cannot be read"):
        sequencer_of(stored_games.log, signed=SignedFile(path)).run_once()


def test_a_checkpoint_that_cannot_be_stored_is_not_signed(
    stored_games: StoredGames, tmp_path: Path
) -> None:
    """For example on a full disk: signing waits and states the reason; the log is not broken."""
    another_game(stored_games.url)
    before = stored_games.log.published()
    with pytest.raises(NotSaved, match="cannot be saved"):
        sequencer_of(
            stored_games.log, signed=SignedFile(tmp_path / "none" / "log.checkpoint")
        ).run_once()
    assert stored_games.log.published() == before


def test_a_recovered_log_continues_from_the_newest_checkpoint(stored_games: StoredGames) -> None:
    """A copy of log.checkpoint is always a little older than the recovered database."""
    early = stored_games.checkpoint()
    stored_games.play_another()
    newest = stored_games.checkpoint()
    for known in (None, early, newest):
        assert continue_from(stored_games.url, known, Corrections()) == newest
    with psycopg.connect(stored_games.url) as connection:
        tokens = connection.execute("SELECT count(*) FROM tokens").fetchone()
    assert tokens != (0,), "what was not asked for ends no token"


def test_a_recovered_log_that_does_not_continue_a_checkpoint_is_refused(
    stored_games: StoredGames, older: PostgresLog, empty_database_url: str
) -> None:
    with pytest.raises(BackupError, match="would sign a second tree"):
        continue_from(empty_database_url, stored_games.checkpoint(), Corrections())
    for _ in range(4):
        another_game(empty_database_url)
    assert sequencer_of(older).append()
    with pytest.raises(BackupError, match="does not belong to the public log"):
        continue_from(empty_database_url, stored_games.checkpoint(), Corrections())


def test_a_restore_gives_the_sequencer_the_newest_checkpoint(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path, memory: SignedFile
) -> None:
    early, keys = tmp_path / "early.checkpoint", tmp_path / "keys.json"
    early.write_bytes(stored_games.checkpoint())
    stored_games.play_another()
    path, _ = backed_up(stored_games, tmp_path)
    words = ["restore", path, "--database-url", empty_database_url, "--key-file", keys]
    assert shithead([*map(str, words), "--checkpoint", str(early)]) == 0
    last = memory.last()
    assert last is not None and last.size == stored_games.log.head().size


def test_after_a_restore_no_machine_signs_a_size_twice(
    stored_games: StoredGames, empty_database_url: str, tmp_path: Path
) -> None:
    """One of two machines was away when the log went beyond the point of the restore."""
    files = [tmp_path / "first.checkpoint", tmp_path / "second.checkpoint"]
    first, second = (sequencer_of(stored_games.log, signed=SignedFile(file)) for file in files)
    for one in (first, second):
        one.run_once()
    another_game(stored_games.url)
    first.run_once()
    path, _ = backed_up(stored_games, tmp_path)
    another_game(stored_games.url)
    first.run_once()
    restore(empty_database_url, path)
    database = Database(empty_database_url, size=2)
    log = PostgresLog(database)
    before = log.published()
    for _ in range(3):
        another_game(empty_database_url)
        started = [sequencer_of(log, signed=SignedFile(file)) for file in files]
        started[0].confirm()
        with pytest.raises(LogBroken, match=r"was signed here|that were signed last"):
            started[0].run_once()
        with pytest.raises(Unconfirmed):
            started[1].confirm()
    assert log.published() == before
    database.close()


def test_on_a_new_machine_a_witness_reports_the_set_back_log(
    stored_games: StoredGames, older: PostgresLog, tmp_path: Path
) -> None:
    """Only the backup is left; a witness of the newer log reports the difference."""
    witness = Witness(
        cosigner=WITNESS,
        logs={ORIGIN: [SIGNER.verifier]},
        state=WitnessState(tmp_path / "witness.state"),
        now=time.time,
    )
    with answering(witness) as here:
        assert sequencer_of(stored_games.log, witnesses=[here]).ask_witnesses() == []
        sequencer_of(stored_games.log, witnesses=[here]).confirm()
        with pytest.raises(LogBroken, match="it has seen"):
            sequencer_of(older, witnesses=[here]).confirm()
    sequencer_of(older, witnesses=[here]).confirm()  # the witness is away: signing goes on


def test_a_machine_that_a_witness_agrees_with_signs_without_a_file(
    stored_games: StoredGames, tmp_path: Path
) -> None:
    witness = Witness(
        cosigner=WITNESS,
        logs={ORIGIN: [SIGNER.verifier]},
        state=WitnessState(tmp_path / "witness.state"),
        now=time.time,
    )
    new = SignedFile(tmp_path / "new.checkpoint")
    with pytest.raises(Unconfirmed, match="is missing"):
        sequencer_of(stored_games.log, signed=new).confirm()
    with answering(witness) as here:
        sequencer_of(stored_games.log, signed=new, witnesses=[here]).confirm()
