"""The check of the store: no fault in a valid store, and every change is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from click.testing import CliRunner

from service.backup.check import (
    MAX_FAULTS,
    Fault,
    Progress,
    StateError,
    load_progress,
    save_progress,
    whole_check,
)
from service.backup.check_attached import disputes_of_table
from service.cli.__main__ import shithead
from service.domain.events import Entropy
from service.domain.game import Status
from service.keys import Keys
from service.shx.bundle import write_bundle
from service.shx.canonical import sha256
from service.shx.tlog.notes import NoteVerifier
from service.store.archive import Bundles
from service.store.database import Database
from service.store.postgres_events import PostgresStore
from tests.integration.backup.conftest import StoredGames
from tests.tamper import Forgery
from tests.worlds.api_world import make_world
from tests.worlds.fake_log import SIGNER
from tests.worlds.fake_world import entry_of, lines_of, open_game, person, play_out, post
from tests.worlds.operator_world import some_moves, two_seats

OTHER_PLAYER = "'11111111-1111-4111-8111-111111111111'"
OTHER = NoteVerifier(name=SIGNER.verifier.name, public=bytes(range(32)))


@pytest.fixture
def sealed(stored_games: StoredGames) -> UUID:
    """Return a finished game."""
    return stored_games.finished


def checked(
    database: Database,
    *,
    deep: bool = False,
    archive: Path | None = None,
    key: NoteVerifier = SIGNER.verifier,
    keyring: Keys | None = None,
) -> Progress:
    """Return the result of a completed check."""
    *_, last = whole_check(database, archive, [key], Progress(deep=deep), keyring)
    return last


def found(progress: Progress) -> set[tuple[str, str]]:
    """Return the place and the check of each fault."""
    return {(fault.where, fault.check) for fault in progress.faults}


def as_superuser(url: str, *statements: str) -> None:
    """Change rows with disabled triggers, as the owner of the machine can."""
    with psycopg.connect(url) as connection:
        tables = ("events", "streams", "log_leaves", "log_hashes", "log_heads", "archived")
        for table in tables:
            connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("deep", [False, True])
def test_an_unchanged_store_passes(
    stored_games: StoredGames, database: Database, *, deep: bool
) -> None:
    done = checked(database, deep=deep)
    assert done.faults == ()
    assert done.streams == 4, "two games and their tables"
    assert done.edge.size == stored_games.log.head().size > 0


def _an_event(game: UUID) -> str:
    return (
        "UPDATE events SET line = convert_to(replace(convert_from(line, 'UTF8'), "
        f"'2026-', '2027-'), 'UTF8') WHERE stream_id = '{game}' AND seq = 1"
    )


def _the_last_event(game: UUID) -> str:
    return (
        f"DELETE FROM events e WHERE stream_id = '{game}' AND seq = "
        f"(SELECT max(seq) FROM events WHERE stream_id = '{game}')"
    )


def _an_event_of_the_table(game: UUID) -> str:
    return (
        "DELETE FROM events WHERE seq = 0 AND stream_id = "
        f"(SELECT table_id FROM games WHERE game_id = '{game}')"
    )


def _the_row(game: UUID) -> str:
    return f"UPDATE games SET version = version + 1 WHERE game_id = '{game}'"


def _the_head(game: UUID) -> str:
    return f"UPDATE streams SET head = sha256('x') WHERE stream_id = '{game}'"


@pytest.mark.parametrize(
    ("change", "checks"),
    [
        (_an_event, {"chain"}),
        (_an_event_of_the_table, {"bundle"}),
        (_the_row, {"row"}),
        (_the_head, {"head"}),
    ],
)
def test_a_changed_stream_is_named(
    stored_games: StoredGames,
    database: Database,
    change: Callable[[UUID], str],
    checks: set[str],
) -> None:
    as_superuser(stored_games.url, change(stored_games.running))
    of_streams = {one for one in found(checked(database)) if not one[0].startswith("leaf")}
    assert {check for _, check in of_streams} == checks
    table = checks == {"bundle"}
    assert {where.split()[0] for where, _ in of_streams} == {"table" if table else "game"}


def _without_stream(stream: UUID) -> tuple[str, str]:
    return (
        f"DELETE FROM events WHERE stream_id = '{stream}'",
        f"DELETE FROM streams WHERE stream_id = '{stream}'",
    )


@pytest.mark.parametrize("kind", ["game", "table"])
@pytest.mark.parametrize("deep", [False, True])
def test_a_deleted_stream_that_a_row_names_is_found(
    stored_games: StoredGames, database: Database, *, kind: str, deep: bool
) -> None:
    [(table,)] = table_of(stored_games)
    stream = stored_games.running if kind == "game" else table
    as_superuser(stored_games.url, *_without_stream(stream))
    assert (f"{kind} {stream}", "stream") in found(checked(database, deep=deep))


def test_a_table_deleted_with_its_row_is_found_by_its_hands(
    stored_games: StoredGames, database: Database
) -> None:
    [(table,)] = table_of(stored_games)
    row = f"DELETE FROM tables WHERE table_id = '{table}'"
    as_superuser(stored_games.url, *_without_stream(table), row)
    assert found(checked(database)) == {(f"table {table}", "stream")}


def test_a_game_deleted_with_its_row_is_found_by_its_table(
    stored_games: StoredGames, database: Database
) -> None:
    game = stored_games.running
    row = f"DELETE FROM games WHERE game_id = '{game}'"
    as_superuser(stored_games.url, *_without_stream(game), row)
    faults = checked(database, deep=True).faults
    assert (f"game {game}", "row") in {(fault.where, fault.check) for fault in faults}


@pytest.mark.parametrize("kind", ["access", "table", "dispute"])
def test_a_game_with_the_kind_of_another_stream_is_named(
    stored_games: StoredGames, database: Database, sealed: UUID, kind: str
) -> None:
    """Otherwise its moves and its row would not be checked, because the kind selects the checks."""
    change = f"UPDATE streams SET kind = '{kind}' WHERE stream_id = '{sealed}'"
    as_superuser(stored_games.url, change)
    [fault] = checked(database).faults
    assert (fault.where, fault.check) == (f"{kind} {sealed}", "row")
    assert fault.reason == f"its kind is {kind}; by its first event it is game"


@pytest.mark.attack("OLD_STATE", "a result changed only in its summary row", check="check --deep")
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE games SET status = 'aborted' WHERE game_id = '{game}'", "status"),
        ("UPDATE games SET shithead = 1 - shithead WHERE game_id = '{game}'", "shithead"),
        ("UPDATE games SET places = '[0, 0]' WHERE game_id = '{game}'", "places"),
        ("UPDATE games SET reason = 'stalemate' WHERE game_id = '{game}'", "reason"),
        ("UPDATE games SET ended_at = ended_at - interval '1s' WHERE game_id = '{game}'", "ended"),
        ("UPDATE games SET created_at = now() WHERE game_id = '{game}'", "created_at"),
        ("UPDATE games SET ruleset_id = 'leeds' WHERE game_id = '{game}'", "ruleset_id"),
        ("UPDATE games SET version = version - 1 WHERE game_id = '{game}'", "version"),
        ("UPDATE games SET hand = 7 WHERE game_id = '{game}'", "hand"),
        ("UPDATE games SET public = NOT public WHERE game_id = '{game}'", "public"),
        ("UPDATE games SET dealer = 1 - dealer WHERE game_id = '{game}'", "dealer"),
        ("UPDATE games SET table_id = gen_random_uuid() WHERE game_id = '{game}'", "table_id"),
        ("UPDATE game_seats SET bot = 'random' WHERE game_id = '{game}' AND seat = 1", "seats"),
        ("DELETE FROM game_seats WHERE game_id = '{game}' AND seat = 1", "seats"),
        ("UPDATE game_seats SET player_id = {other} WHERE game_id = '{running}'", "players"),
        ("UPDATE table_seats SET player_id = {other} WHERE table_id = '{table}'", "seats"),
        ("UPDATE tables SET host = {other} WHERE table_id = '{table}'", "host"),
        ("UPDATE tables SET status = 'closed' WHERE table_id = '{table}'", "status"),
        ("UPDATE tables SET public = NOT public WHERE table_id = '{table}'", "public"),
        ("UPDATE tables SET game_id = gen_random_uuid() WHERE table_id = '{table}'", "game_id"),
    ],
)
def test_a_summary_that_contradicts_its_events_is_named(
    stored_games: StoredGames, database: Database, sealed: UUID, change: str, named: str
) -> None:
    """A summary row was changed; the log is intact."""
    [(table,)] = table_of(stored_games)
    values = {
        "game": sealed,
        "running": stored_games.running,
        "table": table,
        "other": OTHER_PLAYER,
    }
    as_superuser(stored_games.url, change.format(**values))
    faults = checked(database, deep=True).faults
    assert faults, change
    expected = {"row", "stream"} if named == "table_id" else {"row"}  # no table has the new id
    assert {fault.check for fault in faults} == expected
    assert any(named in fault.reason for fault in faults), faults


def table_of(stored_games: StoredGames) -> list[tuple[UUID]]:
    """Return the table of the running game."""
    with psycopg.connect(stored_games.url) as connection:
        return connection.execute(
            "SELECT table_id FROM games WHERE game_id = %s", (stored_games.running,)
        ).fetchall()


def test_summaries_of_many_kinds_of_games_pass(
    stored_games: StoredGames, database: Database
) -> None:
    """Running, forfeited and aborted games, tables between hands, seats taken later by a guest."""
    ada, bob = person(stored_games.services, "Ada"), person(stored_games.services, "Bob")
    for number, ruleset in enumerate(("leeds", "reverse", "threes", "covered-queen", "guarducci")):
        game = open_game(
            stored_games.services,
            ada,
            ("me", "open", {"bot": "lowest"}),
            guests=(bob,),
            ruleset=ruleset,
        )
        if number % 2:
            post(stored_games.services, bob, game, {"type": "forfeit"})
    setup = open_game(
        stored_games.services, ada, ("me", "open"), guests=(bob,), entropy=Entropy.COMMIT
    )
    post(stored_games.services, bob, setup, {"type": "forfeit"})
    assert entry_of(stored_games.services, setup).record.game.status is Status.ABORTED
    assert checked(database, deep=True).faults == ()


def test_the_summary_of_a_dispute_is_compared_as_well(database_url: str) -> None:
    world = make_world(database_url)
    ada, bob = world.person("Ada"), world.person("Bob")
    table = two_seats(ada, bob)
    game = UUID(table["game"])
    some_moves((ada, bob), f"/v1/games/{game}", 6)
    events = [json.loads(line) for line in world.services.game_cache.lines(game)]
    seq = next(event["seq"] for event in events if event["by"] == 1)
    answer = ada.post(
        f"/v1/games/{game}/disputes",
        {"accused": 1, "seq": seq, "charge": "other", "statement": "It was not so."},
    )
    assert answer.status_code == 201, answer.text
    world.services.close()
    database = Database(database_url, size=2)
    assert found(checked(database, deep=True)) == set()
    for change in ("accuser = gen_random_uuid()", "accused = NULL", "charge = 'collusion'"):
        with psycopg.connect(database_url) as connection:
            connection.execute(f"UPDATE disputes SET {change}".encode())
    reasons = "".join(fault.reason for fault in checked(database, deep=True).faults)
    assert all(name in reasons for name in ("accuser", "accused", "charge")), reasons
    dispute = UUID(answer.json["id"])
    as_superuser(database_url, *_without_stream(dispute))
    assert (f"dispute {dispute}", "stream") in found(checked(database))
    database.close()


@pytest.fixture
def dispute(database_url: str) -> tuple[UUID, Keys]:
    """Return the id of a dispute with a statement and findings, and the keys of its service."""
    world = make_world(database_url)
    ada, bob = world.person("Ada"), world.person("Bob")
    table = two_seats(ada, bob)
    game = UUID(table["game"])
    some_moves((ada, bob), f"/v1/games/{game}", 6)
    events = [json.loads(line) for line in world.services.game_cache.lines(game)]
    seq = next(event["seq"] for event in events if event["by"] == 1)
    accusation = {"accused": 1, "seq": seq, "charge": "other", "statement": "It was not so."}
    answer = ada.post(f"/v1/games/{game}/disputes", accusation)
    assert answer.status_code == 201, answer.text
    world.services.dispute_jobs.process(UUID(answer.json["id"]))
    world.services.close()
    return UUID(answer.json["id"]), world.services.keyring


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("UPDATE dispute_texts SET words = 'It was so.'", "statement of seq 1 is not the one"),
        ("UPDATE dispute_texts SET words = NULL", "statement of seq 1 lacks its text"),
        ("DELETE FROM dispute_texts", "the statement of seq 1 is missing"),
        ("UPDATE dispute_texts SET seq = 9", "a statement is stored for seq 9"),
        ("UPDATE dispute_bundles SET bundle = 'PK'", "evidence is not that of its first event"),
        ("DELETE FROM dispute_bundles", "its frozen evidence is missing"),
        ("DELETE FROM dispute_findings", "its findings are missing"),
        ("UPDATE dispute_findings SET found_at = 3", "its findings are of version 3"),
        (
            "UPDATE dispute_findings SET sealed = set_byte(sealed, 40, get_byte(sealed, 40) # 1)",
            "its findings are not as they were made",
        ),
        ("UPDATE dispute_texts SET words = NULL, salt = NULL", None),
    ],
)
def test_data_of_a_dispute_that_its_stream_does_not_commit_to_is_named(
    database_url: str, dispute: tuple[UUID, Keys], change: str, reason: str | None
) -> None:
    """A statement erased with its author keeps its row, and is no fault."""
    identity, keys = dispute
    with closing(Database(database_url, size=2)) as database:
        assert checked(database, deep=True, keyring=keys).faults == ()
        with psycopg.connect(database_url) as owner:
            for table in ("dispute_texts", "dispute_bundles", "dispute_findings"):
                owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL".encode())
            owner.execute(change.encode())
        faults = checked(database, deep=True, keyring=keys).faults
    if reason is None:
        assert faults == ()
        return
    assert {fault.where for fault in faults} == {f"dispute {identity}"}
    assert any(reason in fault.reason for fault in faults), faults


_ROWS_OF_A_DISPUTE = ("texts", "bundles", "findings", "votes", "referees")


def test_a_dispute_deleted_with_its_stream_and_rows_is_found_by_its_table(
    database_url: str, dispute: tuple[UUID, Keys]
) -> None:
    """The operator, who is accused in some disputes, can delete all rows of one."""
    identity, keys = dispute
    rows = [f"DELETE FROM dispute_{name}" for name in _ROWS_OF_A_DISPUTE]
    as_superuser(database_url, *_without_stream(identity), *rows, "DELETE FROM disputes")
    with closing(Database(database_url, size=2)) as database:
        faults = checked(database, deep=True, keyring=keys).faults
    assert {(fault.where, fault.check) for fault in faults} == {(f"dispute {identity}", "stream")}
    assert faults[0].reason.endswith("names it; it is missing")


def test_a_dispute_that_replaced_the_one_at_its_table_is_found(
    database_url: str, dispute: tuple[UUID, Keys]
) -> None:
    identity, _ = dispute
    with closing(Database(database_url, size=2)) as database:
        store = PostgresStore(database, Bundles(None))
        streams = database.fetch("check_streams", UUID(int=0), 50)
        [table] = [stream for stream, kind, _, _ in streams if kind == "table"]
        found = store.read(table)
        assert found is not None
        assert list(disputes_of_table(store, found.events)) == []
        named = json.loads(found.events[-1])["data"]
        assert named["dispute"] == str(identity)
        other = found.events[-1].replace(named["head"].encode(), b"0" * 64)
        [(where, reason)] = disputes_of_table(store, [other])
    assert where == identity
    assert reason.endswith("names one with another first event")


def test_a_changed_registration_of_a_referee_is_found(database_url: str) -> None:
    """A referee needs an account of some age, which was judged when the referee was seated."""
    world = make_world(database_url, referee_hands=0, referee_account_seconds=0)
    ada, bob, judge = (world.person(name) for name in ("Ada", "Bob", "Judge"))
    game = UUID(two_seats(ada, bob)["game"])
    accusation = {"accused": None, "seq": 0, "charge": "altered_log", "statement": "It was."}
    opened = ada.post(f"/v1/games/{game}/disputes", accusation).json["id"]
    assert judge.post(f"/v1/disputes/{opened}/referees", {}).status_code == 201
    world.services.close()
    with closing(Database(database_url, size=2)) as database:
        assert checked(database, deep=True).faults == ()
        with psycopg.connect(database_url) as owner:
            owner.execute(
                "UPDATE players SET created_at = created_at - interval '1 year'"
                f" WHERE player_id = '{judge.id}'".encode()
            )
        [fault] = checked(database, deep=True).faults
    assert fault.where == f"dispute {opened}"
    assert fault.reason.startswith("referee 0 registered at ")


def test_changed_blind_choices_are_found(stored_games: StoredGames, database: Database) -> None:
    services = stored_games.services
    while waiting := services.statistics.uncounted(limit=9):
        for game in waiting:
            services.statistics.count(game)
    assert checked(database, deep=True).faults == ()
    game = stored_games.finished
    invented = f"('{game}', 7, {OTHER_PLAYER}, 3, 1, true, now())"
    as_superuser(stored_games.url, f"INSERT INTO blind_choices VALUES {invented}")
    [fault] = checked(database, deep=True).faults
    assert (fault.where, fault.check) == (f"game {game}", "row")
    assert "blind choices are not" in fault.reason


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE player_results SET games = games + 1",
        "UPDATE player_results SET public_shithead = public_shithead - 1",
        "UPDATE player_results SET running = 0 WHERE running > 0",
        "DELETE FROM player_results",
    ],
)
def test_counted_hands_that_are_not_those_of_the_games_are_found(
    stored_games: StoredGames, database: Database, change: str
) -> None:
    """A referee is admitted by this number, and a quota and an erasure read it."""
    assert checked(database, deep=True).faults == ()
    as_superuser(stored_games.url, change)
    faults = checked(database, deep=True).faults
    assert {(fault.where.split()[0], fault.check) for fault in faults} == {("player", "row")}


def test_a_truncated_game_is_found_by_its_stream_and_by_the_public_log(
    stored_games: StoredGames, database: Database, sealed: UUID
) -> None:
    as_superuser(stored_games.url, _the_last_event(sealed))
    last = stored_games.log.head().size - 1
    assert found(checked(database)) == {(f"game {sealed}", "bundle"), (f"leaf {last}", "leaf")}


def test_a_replaced_game_is_found_by_the_public_log(
    stored_games: StoredGames, database: Database, sealed: UUID
) -> None:
    """The owner of the database can make all rows of a game consistent."""
    as_superuser(
        stored_games.url,
        f"UPDATE streams SET head = sha256('\\x00'::bytea || 'x'::bytea), version = 1 "
        f"WHERE stream_id = '{sealed}'",
        f"UPDATE games SET version = 1 WHERE game_id = '{sealed}'",
        f"DELETE FROM events WHERE stream_id = '{sealed}'",
        f"INSERT INTO events VALUES ('{sealed}', 0, 'x')",
    )
    of_the_log = {one for one in found(checked(database)) if one[1] == "leaf"}
    assert len(of_the_log) >= 2, "each of its leaves, and that its end is in no leaf"


def test_broken_rules_are_found_by_the_deep_check(
    stored_games: StoredGames, database: Database
) -> None:
    """A recomputed chain over other events is a valid chain."""
    game = stored_games.running
    lines = list(lines_of(stored_games.services, game))
    forged = Forgery(lines)
    forged.events[-1].update(type="game_created", data=forged.data(0), by=None)
    changed = forged.lines()[-1].decode().replace("'", "''")
    as_superuser(
        stored_games.url,
        f"UPDATE events SET line = convert_to('{changed}', 'UTF8') "
        f"WHERE stream_id = '{game}' AND seq = {len(lines) - 1}",
        f"UPDATE streams SET head = sha256('\\x00'::bytea || convert_to('{changed}', 'UTF8')) "
        f"WHERE stream_id = '{game}'",
    )
    assert checked(database).faults == ()
    assert {(f"game {game}", "order")} <= found(checked(database, deep=True))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "UPDATE log_leaves SET data = data || 'x' WHERE leaf_index = 1",
            {("leaf 1", "leaf"), ("leaf 1", "tile")},
        ),
        (
            "UPDATE log_hashes SET hash = sha256('x') WHERE level = 0 AND position = 1",
            {("leaf 1", "tile")},
        ),
        (
            "DELETE FROM log_hashes WHERE level = 0 AND position = 0",
            {("leaf 0", "tile")},
        ),
    ],
)
def test_a_changed_public_log_is_named(
    stored_games: StoredGames, database: Database, statement: str, expected: set[tuple[str, str]]
) -> None:
    """One changed entry is one leaf, and not each later head and signature."""
    as_superuser(stored_games.url, statement)
    assert found(checked(database)) == expected


def test_a_head_that_contradicts_its_leaves_is_named(
    stored_games: StoredGames, database: Database
) -> None:
    size = stored_games.log.head().size
    as_superuser(
        stored_games.url,
        f"UPDATE log_heads SET root = sha256('x'), note = NULL WHERE size = {size}",
    )
    assert found(checked(database)) == {(f"head of {size} leaves", "root")}


def test_a_deleted_newest_head_is_found(stored_games: StoredGames, database: Database) -> None:
    size = stored_games.log.head().size
    as_superuser(stored_games.url, f"DELETE FROM log_heads WHERE size = {size}")
    assert found(checked(database)) == {(f"head of {size} leaves", "root")}


def test_deleted_leaves_are_found(stored_games: StoredGames, database: Database) -> None:
    size = stored_games.log.head().size
    as_superuser(stored_games.url, f"DELETE FROM log_leaves WHERE leaf_index = {size - 1}")
    assert (f"head of {size} leaves", "root") in found(checked(database))


def test_a_checkpoint_by_another_key_is_named(
    stored_games: StoredGames, database: Database
) -> None:
    assert {check for _, check in found(checked(database, key=OTHER))} == {"signature"}


def test_a_seal_missing_from_the_public_log_is_named(
    stored_games: StoredGames, database: Database
) -> None:
    game = open_game(
        stored_games.services, person(stored_games.services), ({"bot": "lowest"}, {"bot": "greedy"})
    )
    play_out(stored_games.services, game)
    assert checked(database).faults == (), "its leaf is in the outbox"
    as_superuser(stored_games.url, "DELETE FROM outbox WHERE topic = 'log'")
    assert found(checked(database)) == {(f"game {game}", "leaf")}


def test_an_archived_game_is_checked_in_its_bundle(
    stored_games: StoredGames, database: Database, sealed: UUID, tmp_path: Path
) -> None:
    data = write_bundle(lines_of(stored_games.services, sealed))
    path = Path(Bundles(tmp_path).keep(sealed, data))
    with psycopg.connect(stored_games.url) as connection:
        connection.execute("DELETE FROM outbox WHERE stream_id = %s", (sealed,))
        connection.execute("SELECT archive_stream(%s, %s)", (sealed, sha256(data)))
    assert checked(database, archive=tmp_path, deep=True).faults == ()
    path.write_bytes(data[:-1] + b"x")
    expected = {(f"game {sealed}", "bundle")}
    assert found(checked(database, archive=tmp_path)) >= expected
    path.unlink()
    assert found(checked(database, archive=tmp_path)) >= expected


def test_a_stopped_check_is_resumed_where_it_stopped(
    stored_games: StoredGames, database: Database, tmp_path: Path
) -> None:
    """Each stream is read once, and no fault is listed twice, wherever the check is stopped."""
    [(table,)] = table_of(stored_games)
    as_superuser(stored_games.url, _the_row(stored_games.running), *_without_stream(table))
    whole, state = checked(database), tmp_path / "state"
    for steps in range(1, 7):
        path = tmp_path / f"state-{steps}"
        running = whole_check(database, None, [SIGNER.verifier], Progress(deep=False))
        for _, at in zip(range(steps), running, strict=False):
            save_progress(path, at)
        begun = load_progress(path, deep=False)
        *_, last = whole_check(database, None, [SIGNER.verifier], begun)
        assert last == whole
    assert load_progress(state, deep=False) == Progress(deep=False)


def test_a_thousand_faults_are_listed_and_the_others_counted(tmp_path: Path) -> None:
    """A missing archive folder gives at least one fault for each archived game."""
    fault = Fault(where="leaf 1", check="leaf", reason="no leaf has this number")
    progress = (
        Progress(deep=False)
        .with_faults(*[fault] * (MAX_FAULTS - 1))
        .with_faults(fault, fault, fault)
    )
    assert (len(progress.faults), progress.unlisted) == (MAX_FAULTS, 2)
    save_progress(tmp_path / "state", progress)
    assert load_progress(tmp_path / "state", deep=False) == progress


def test_a_state_of_another_check_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save_progress(path, Progress(deep=True))
    with pytest.raises(StateError, match="with --deep"):
        load_progress(path, deep=False)
    path.write_text("{}")
    with pytest.raises(StateError, match="not the state of a check"):
        load_progress(path, deep=True)


def test_the_command_ends_with_1_if_a_fault_is_found(
    stored_games: StoredGames, tmp_path: Path
) -> None:
    words = ["check", "--database-url", stored_games.url, "--data", str(tmp_path)]
    state = tmp_path / "state"

    def run(*more: str) -> tuple[int, str]:
        result = CliRunner().invoke(shithead, [*words, *more], standalone_mode=False)
        assert result.exception is None, result.exception
        return result.return_value, result.stdout

    assert run("--state", str(state)) == (0, "4 streams, 3 leaves: no faults\n")
    assert not state.exists(), "a finished check deletes its state"
    as_superuser(stored_games.url, _the_row(stored_games.running))
    metrics = tmp_path / "metrics.prom"
    status, printed = run("--json", "--deep", "--metrics", str(metrics))
    assert "\nshithead_check_faults 1\n" in metrics.read_text()
    assert not (tmp_path / "check.prom").exists(), "another database than that of --data"
    report = json.loads(printed)
    assert (status, report["streams"], report["signatures"]) == (1, 4, False)
    assert [fault["check"] for fault in report["faults"]] == ["row"]
