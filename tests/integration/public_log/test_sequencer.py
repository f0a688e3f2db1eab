"""The sequencer on PostgreSQL: every leaf once, in order, and never two trees."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from service.public_log.log import Batch, Leaf, LogMoved, PublicLog, StampedHead
from service.public_log.sequencer import LogBroken
from service.shx.receipts import check_receipt, parse_receipt_body
from service.shx.tlog.checkpoint import Checkpoint, sign_checkpoint
from service.shx.tlog.tiles import EMPTY, grow
from service.shx.tlog.tree import check_proof, leaf_hash, root
from service.store.database import Database
from service.store.events import Commit, OutboxRow, StoreError
from service.store.postgres_events import PostgresStore
from service.store.public_log import PostgresLog
from tests.streams import append
from tests.worlds.api_world import Person
from tests.worlds.fake_log import SIGNER, Clock, Reader, Stopped, sequencer_of, stopping_at

STEPS = ("read", "built", "appended", "checked", "signed")


def add_games(database: Database, count: int) -> list[UUID]:
    """Write games of one event each with their outbox rows, as a deal does."""
    games = [uuid4() for _ in range(count)]
    for game in games:
        commit = append(game, b'{"type":"game_created"}')
        row = OutboxRow(stream=game, version=1, topic="log")
        PostgresStore(database).commit(Commit(appends=(commit,), outbox=(row,)))
    return games


def games_in(reader: Reader) -> list[UUID]:
    """Return the games that the log names, in order."""
    return [parse_receipt_body(entry.decode()).game for entry in reader.entries]


def test_a_game_gets_a_leaf_at_the_deal_and_at_the_seal(
    ada: Person, store: PostgresLog, reader: Reader
) -> None:
    """The leaf is the body of the receipt that is public at that moment."""
    sequencer = sequencer_of(store)
    game = ada.game()
    receipt = ada.get(f"{game}/receipt").data
    assert sequencer.run_once() == 1
    reader.read()
    dealt = parse_receipt_body(reader.entries[0].decode())
    own = check_receipt(receipt, [ada.world.services.verifier])
    assert (dealt.game, dealt.seq, dealt.head) == (own.game, own.seq, own.head)
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    assert sequencer.run_once() == 1
    reader.read()
    sealed = parse_receipt_body(reader.entries[1].decode())
    last = check_receipt(ada.get(f"{game}/receipt").data, [ada.world.services.verifier])
    assert (sealed.game, sealed.seq, sealed.head) == (last.game, last.seq, last.head)
    assert sequencer.run_once() == 0


def test_a_running_game_gets_at_most_one_leaf_every_sixty_seconds(
    ada: Person, store: PostgresLog, reader: Reader, clock: Clock
) -> None:
    sequencer = sequencer_of(store, now=clock)
    game = ada.game("open", {"bot": "lowest"})  # a table that waits has no game yet
    assert game.endswith("None")
    game = ada.game()
    assert sequencer.run_once() == 1
    clock.pass_(61)
    assert sequencer.run_once() == 0, "nothing has happened in it"
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    clock.pass_(-2)
    assert sequencer.run_once() == 0, "too early"
    clock.pass_(2)
    assert sequencer.run_once() == 1
    assert sequencer.run_once() == 0
    reader.read()
    seqs = [parse_receipt_body(entry.decode()).seq for entry in reader.entries]
    assert seqs[0] < seqs[1] == ada.get(game).json["version"] - 1


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("before", [0, 3])
def test_after_a_stop_at_any_step_the_next_round_continues_the_same_tree(
    database: Database, store: PostgresLog, reader: Reader, step: str, before: int
) -> None:
    games = add_games(database, before)
    sequencer_of(store).run_once()
    reader.read()
    games += add_games(database, 4)
    with pytest.raises(Stopped):
        sequencer_of(store, step=stopping_at(step)).run_once()
    reader.read()
    games += add_games(database, 2)
    sequencer_of(store).run_once()
    reader.read()
    assert games_in(reader) == games, "each game once, in order"
    assert waiting_rows(store) == 0


def test_a_request_waits_until_its_version_can_be_read(
    database: Database, store: PostgresLog, reader: Reader
) -> None:
    """On shards the outbox row of a commit may be visible before the events of the game are."""
    game, events = uuid4(), PostgresStore(database)
    created = append(game, b'{"type":"game_created"}')
    early = OutboxRow(stream=game, version=2, topic="log")
    events.commit(Commit(appends=(created,), outbox=(early,)))
    assert sequencer_of(store).run_once() == 0
    second = append(game, b'{"type":"deck_committed"}', expected=1, after=events)
    events.commit(Commit(appends=(second,)))
    assert sequencer_of(store).run_once() == 1
    reader.read()
    assert games_in(reader) == [game]
    assert waiting_rows(store) == 0


def waiting_rows(store: PostgresLog) -> int:
    return len(store.waiting(limit=1000, last_leaf_before=Clock()()))


def test_a_batch_built_on_an_outdated_tree_is_not_added(
    database: Database, store: PostgresLog, reader: Reader
) -> None:
    """If two sequencers read the same tree, the second one must read again."""
    add_games(database, 2)

    def other(name: str) -> None:
        if name == "built":
            assert sequencer_of(store).append() == 2

    assert sequencer_of(store, step=other).append() == 0
    sequencer_of(store).publish()
    reader.read()
    assert len(reader.entries) == 2


def batch(size: int, data: bytes = b"data\n") -> Batch:
    leaf = Leaf(index=size, game=uuid4(), version=1, data=data)
    edge, _ = grow(EMPTY, [leaf_hash(data)])
    return Batch(size=size, leaves=(leaf,), hashes=(), root=edge.root, outbox_rows=(), at=Clock()())


@pytest.mark.parametrize("size", [1, 7])
def test_the_first_batch_must_begin_at_leaf_zero(store: PostgresLog, size: int) -> None:
    with pytest.raises(LogMoved):
        store.append(batch(size))
    assert store.head().size == 0


def test_a_leaf_is_added_once(store: PostgresLog) -> None:
    one = batch(0)
    store.append(one)
    with pytest.raises(StoreError):
        store.append(
            Batch(size=1, leaves=one.leaves, hashes=(), root=bytes(32), outbox_rows=(), at=one.at)
        )
    assert store.head().size == 1


def test_a_note_of_another_tree_is_not_stored(store: PostgresLog) -> None:
    store.append(batch(0))
    for size, top in ((1, bytes(32)), (2, store.head().root)):
        wrong = Checkpoint(origin=SIGNER.name, size=size, root=top)
        with pytest.raises(StoreError):
            store.sign(1, sign_checkpoint(wrong, [SIGNER]))
    assert store.published() is None


def test_only_a_signed_tree_is_cosigned(store: PostgresLog) -> None:
    store.append(batch(0))
    signed = Checkpoint(origin=SIGNER.name, size=1, root=store.head().root)
    for size, cosigned in ((1, 0), (2, 0)):
        store.keep_cosignature(size, "w", "line\n")
        assert store.cosigned_size("w") == cosigned
    store.sign(1, sign_checkpoint(signed, [SIGNER]))
    for size, cosigned in ((2, 0), (1, 1)):
        store.keep_cosignature(size, "w", "line\n")
        assert store.cosigned_size("w") == cosigned


def test_a_tree_with_changed_tiles_is_not_signed(
    database: Database, store: PostgresLog, database_url: str
) -> None:
    """Rows changed with triggers switched off are not signed by the sequencer."""
    add_games(database, 3)
    sequencer_of(store).run_once()
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("ALTER TABLE log_hashes DISABLE TRIGGER log_hashes_never_change")
        owner.execute("UPDATE log_hashes SET hash = sha256('other') WHERE position = 1")
    add_games(database, 1)
    with pytest.raises(LogBroken):
        sequencer_of(store).run_once()
    published = store.published()
    assert published is not None and published.size == 3


def test_a_rewritten_history_is_not_signed(
    database: Database, store: PostgresLog, database_url: str
) -> None:
    """Leaves, hashes and head are consistent, but contradict the earlier note."""
    add_games(database, 2)
    sequencer_of(store).run_once()
    forged = [leaf_hash(b"forged 1"), leaf_hash(b"forged 2"), leaf_hash(b"forged 3")]
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("ALTER TABLE log_hashes DISABLE TRIGGER USER")
        for position, one in enumerate(forged[:2]):
            owner.execute("UPDATE log_hashes SET hash = %s WHERE position = %s", (one, position))
        owner.execute("INSERT INTO log_hashes VALUES (0, 2, %s)", (forged[2],))
        owner.execute("INSERT INTO log_heads VALUES (3, %s, now())", (root(forged),))
    with pytest.raises(LogBroken, match="does not continue its published head"):
        sequencer_of(store).publish()


CHANGES = (
    "UPDATE log_leaves SET data = 'x'",
    "DELETE FROM log_leaves",
    "TRUNCATE log_leaves",
    "UPDATE log_hashes SET hash = sha256('x')",
    "DELETE FROM log_hashes",
    "UPDATE log_heads SET root = sha256('x')",
    "UPDATE log_heads SET size = size + 1",
    "UPDATE log_heads SET note = NULL",
    "DELETE FROM log_heads",
    "TRUNCATE log_heads",
    "DELETE FROM log_cosignatures",
    "UPDATE log_cosignatures SET line = ''",
    "DELETE FROM log_time_stamps",
    "UPDATE log_time_stamps SET answer = ''",
)


@pytest.mark.parametrize("role", ["origin", "replica"])
def test_the_owner_cannot_delete_or_change_leaves(
    database: Database, store: PostgresLog, database_url: str, role: str
) -> None:
    add_games(database, 2)
    sequencer_of(store).run_once()
    store.keep_cosignature(2, "w", "line\n")
    now = datetime.now(UTC)
    store.keep_stamp(StampedHead(size=2, authority="a", at=now, added_at=now, answer=b"x"))
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(f"SET session_replication_role = {role}".encode())
        for change in CHANGES:
            with pytest.raises(psycopg.Error) as refused:
                owner.execute(change.encode())
            assert refused.value.sqlstate == "SH403", change


def test_the_role_of_the_service_cannot_write_the_log(
    database: Database, store: PostgresLog
) -> None:
    for change in (*CHANGES, "INSERT INTO log_heads VALUES (9, sha256(''), now())"):
        with database._connection() as connection, pytest.raises(psycopg.Error) as refused:
            connection.execute(change.encode())
        assert refused.value.sqlstate == "42501", change


def test_an_outbox_row_for_an_existing_leaf_is_removed(
    database: Database, store: PostgresLog, reader: Reader
) -> None:
    [game] = add_games(database, 1)
    sequencer_of(store).run_once()
    with database._connection() as connection:
        row: dict[str, Any] = {"stream": str(game), "version": 1, "topic": "log"}
        argument = Jsonb(
            {"answer": None, "appends": [], "secret": None, "forget": None, "outbox": [row]}
        )
        connection.execute("SELECT append_events($1)", (argument,))
    assert waiting_rows(store) == 1
    assert sequencer_of(store).run_once() == 0
    assert waiting_rows(store) == 0
    reader.read()
    assert games_in(reader) == [game]


def test_every_leaf_has_a_proof_that_never_changes(database: Database, store: PostgresLog) -> None:
    """Proofs across the border of a tile; repeated proofs are equal."""
    games = add_games(database, 260)
    log, sequencer = PublicLog(store), sequencer_of(store)
    assert log.proof(games[0]) is None
    sequencer.run_once()
    proofs = {game: log.proof(game) for game in games}
    for game, proof in proofs.items():
        leaf = store.leaf_of(game, size=1000)
        assert leaf is not None and proof is not None
        assert check_proof(proof, leaf.data, [SIGNER.verifier]).size == 260
    add_games(database, 5)
    sequencer.run_once()
    assert {game: log.proof(game) for game in games} == proofs
    assert log.proof(games[7], version=2) is None
    assert log.proof(uuid4()) is None
