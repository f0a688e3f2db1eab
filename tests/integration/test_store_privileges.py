"""Privileges of the database roles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from service.store.database import Database
from service.store.directory import Directory
from service.store.events import StoreError
from service.store.migrate import SERVICE, service_url
from service.store.postgres_events import PostgresStore
from tests.contract.conftest import address_of_service
from tests.streams import append, bot, commit, new_game, person, register

Connection = psycopg.Connection[tuple[Any, ...]]
NOT_ALLOWED = "42501"
LOG_TABLES = (
    *("log_leaves", "log_hashes", "log_heads", "log_cosignatures"),
    "log_time_stamps",
)
TABLES = (
    *("streams", "events", "archived", "secrets", "answers", "outbox", "players", "handles"),
    "tokens",
    "games",
    *(
        "game_seats",
        "player_results",
        "tables",
        "table_seats",
        "refusals",
        "readings",
        "rulesets_custom",
    ),
    *("disputes", "dispute_referees", "dispute_texts", "dispute_bundles", "dispute_findings"),
    *(
        "notes",
        "blocks",
        "invitations",
        "challenges",
        "moments",
        "seeks",
        "shuffled_decks",
        "blind_choices",
        "trail",
    ),
    *("ratings", "ratings_reached", "decisions", "decision_names", "decisions_reached"),
    *("webhooks", "webhook_deliveries"),
    *LOG_TABLES,
    "log_damage",
    *("availability", "write_probes", "applied_migrations", "applied_files"),
)


@pytest.fixture
def service(database_url: str) -> Iterator[Connection]:
    """Return a connection of the service."""
    with psycopg.connect(address_of_service(database_url), autocommit=True) as connection:
        yield connection


@pytest.fixture
def owner(database_url: str) -> Iterator[Connection]:
    """Return a connection of the owner."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def refused(connection: Connection, statement: str) -> bool:
    """Return whether a statement was refused for want of a privilege."""
    try:
        connection.execute(statement.encode())
    except psycopg.Error as error:
        return error.sqlstate == NOT_ALLOWED
    return False


def test_the_role_of_the_service_is_neither_owner_nor_superuser(service: Connection) -> None:
    row = service.execute(
        "SELECT current_user, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls"
        " FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    assert row == (SERVICE, False, False, False, False, False)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {} DEFAULT VALUES",
        "UPDATE {} SET {column} = {column}",
        "DELETE FROM {}",
        "TRUNCATE {}",
        "DROP TABLE {}",
        "ALTER TABLE {} DISABLE TRIGGER ALL",
    ],
)
def test_the_role_of_the_service_cannot_write_tables_directly(
    service: Connection, statement: str
) -> None:
    for table in TABLES:
        row = service.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum = 1",
            (table,),
        ).fetchone()
        assert row is not None
        assert refused(service, statement.format(table, column=row[0])), table


def test_other_statements_are_refused_to_the_role_of_the_service(service: Connection) -> None:
    statements = [
        "SET session_replication_role = replica",
        "SELECT archive_stream(gen_random_uuid(), sha256(''))",
        "SELECT note_act(now(), 'nobody', 'erase', NULL, 'done')",
        "SELECT rename_player(gen_random_uuid(), 'Ann')",
        "SELECT erase_player(gen_random_uuid(), now())",
        "SELECT end_tokens(gen_random_uuid())",
        "SELECT add_token(gen_random_uuid(), '', gen_random_uuid(), '', NULL, now(), NULL)",
        "SELECT player_of_issuer('')",
        "SELECT is_full_token('')",
        "SELECT append_stream('{}')",
        "SELECT open_stream(gen_random_uuid(), 'game', 1, sha256(''))",
        "SELECT keep_answer('{}')",
        "SELECT summarise_game(gen_random_uuid(), 1, '{}')",
        "SELECT summarise_table(gen_random_uuid(), 1, '{}')",
        "CREATE TABLE more (n integer)",
        "CREATE FUNCTION events() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "SELECT pg_read_file('/etc/hostname')",
        "SET ROLE shithead_auditor",
    ]
    for statement in statements:
        assert refused(service, statement), statement


def test_a_connection_of_the_service_does_not_take_over_an_account(
    service: Connection, database_url: str
) -> None:
    """It reads the hashes of tokens and codes, and no function accepts a hash in their place."""
    database = Database(database_url)
    player = register(Directory(database))
    database.close()
    row = service.execute(
        "SELECT encode(k.token_hash, 'hex'), encode(p.recovery_hash, 'hex')"
        " FROM players p JOIN tokens k ON k.player_id = p.player_id WHERE p.player_id = %s",
        (player,),
    ).fetchone()
    assert row is not None
    signatures = service.execute(
        "SELECT p.oid::regproc::text, p.proargtypes::regtype[]::text[] FROM pg_proc p"
        " WHERE p.pronamespace = 'public'::regnamespace AND p.pronargs <= 3"
        " AND has_function_privilege(p.oid, 'EXECUTE')"
    ).fetchall()
    names = {name for name, _ in signatures}
    assert {"end_token", "recover_account", "renew_recovery", "rename_by_token"} <= names
    for call in ("recover_account(%s", "renew_recovery(%s, NULL", "renew_recovery('', %s"):
        for known in (*row, *(f"\\x{one}" for one in row)):
            assert service.execute(
                f"SELECT {call}, sha256('stolen'))".encode(), (known,)
            ).fetchone() == (None,)
    assert service.execute(
        "SELECT count(*) FROM tokens WHERE token_hash = sha256('stolen')"
    ).fetchone() == (0,)


WITH_A_STOLEN_CONNECTION = {
    "needs the token or code of the player": (
        *("issue_token", "end_token", "recover_account", "renew_recovery"),
        *("rename_by_token", "erase_by_token", "set_webhook", "end_webhook"),
    ),
    "adds events, which are seen in the streams": (
        *("append_events", "try_append_events", "append_game_move"),
    ),
    "adds rows of its own, and changes nobody's": (
        *("create_player", "save_ruleset", "save_ruleset_within", "record_attempt"),
        *("record_reading", "keep_facts", "note_token_use", "keep_cosignature"),
        "keep_time_stamp",
    ),
    "replaces what is computed from the public log": ("keep_ratings",),
    "adds to what is computed from it": ("number_decision_names", "keep_decisions"),
    "says that the stored log is damaged, or hides it until it is read again": ("keep_log_damage",),
    "only reads, or leaves no trace": (
        *("look_up_request", "may_see_game", "result_is", "probe_write", "query_times"),
        "find_decisions",
    ),
    "delays or hurries what is due": ("come_back", "put_off", "put_off_dispute", "note_able"),
    "writes the public log, which witnesses compare": ("append_log", "sign_log_head"),
    "deletes what is retained for a time": (
        *("drop_outbox", "purge_answers", "purge_refusals", "purge_players", "purge_seeks"),
        *("purge_handles", "purge_challenges"),
    ),
    "writes or deletes a player's note": ("keep_note", "delete_note"),
    "keeps, changes or deletes a player's moments": (
        *("keep_moment", "change_moments", "delete_moment"),
    ),
    "gives a player, with the player's token, a handle": ("choose_handle",),
    "starts or ends a player's block of another": ("keep_block", "delete_block"),
    "invites players to any table, or ends invitations": ("keep_invitation", "end_invitation"),
    "delays, hurries or invents what a receiver is sent, but not where to": (
        *("wake_webhooks", "claim_webhooks", "begin_webhook", "note_webhook_state"),
        *("note_webhook_look", "note_webhook_sent"),
    ),
    "posts, renews or ends a player's seek": (
        *("add_seek", "renew_seek", "renew_seeks", "withdraw_seek"),
    ),
}
"""What a thief of the service's connection could do with each function (threat-model.md)."""


def test_every_function_of_the_service_is_listed_with_what_a_thief_could_do(
    service: Connection,
) -> None:
    found = service.execute(
        "SELECT p.proname::text FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace"
        " AND has_function_privilege(p.oid, 'EXECUTE')"
    ).fetchall()
    listed = sorted(name for names in WITH_A_STOLEN_CONNECTION.values() for name in names)
    assert sorted(name for (name,) in found) == listed


def test_the_players_of_a_game_never_change(database_url: str) -> None:
    """A seat shows its hidden cards to its player: another row would show them to another one."""
    database = Database(address_of_service(database_url))
    directory, store = Directory(database), PostgresStore(database)
    ann, eve = register(directory), register(directory)
    game = new_game(store, seats=[person(0, ann), bot(1)])
    stolen = {"status": "playing", "seats": [person(0, eve), bot(1)]}
    with pytest.raises(StoreError):
        store.commit(commit(append(game, b"a", expected=1, after=store, summary=stolen)))
    row = directory.game(game)
    assert row is not None
    assert row.seats[0].player == ann
    database.close()


def test_the_role_of_the_service_cannot_read_the_operator_log(service: Connection) -> None:
    assert refused(service, "SELECT * FROM trail")


def test_the_role_of_the_service_issues_and_ends_no_token_with_a_hash(service: Connection) -> None:
    """It can read the hash of every token; the functions take the token itself."""
    player = uuid4()
    service.execute("SELECT create_player(%s, 'Ann', sha256('secret'), 'r', now())", (player,))
    read = "SELECT encode(token_hash, %s), token_id FROM tokens WHERE player_id = %s"
    for form in ("hex", "base64", "escape"):
        found = service.execute(read, (form, player)).fetchone()
        assert found is not None
        hashed, identity = found
        values = "gen_random_uuid(), 'x', 'x', '{read}', now(), NULL, true, 9"
        issue = f"SELECT issue_token(%s, {values})"
        with pytest.raises(psycopg.Error, match="lacks a scope"):
            service.execute(issue, (hashed,))
        with pytest.raises(psycopg.Error, match="lacks a scope"):
            service.execute("SELECT end_token(%s, %s)", (hashed, identity))
    assert service.execute("SELECT end_token('secret', %s)", (identity,)).fetchone() == (True,)


def test_a_temporary_table_cannot_shadow_a_table_for_the_functions(service: Connection) -> None:
    """A temporary table is first on the search path of a session, but not of the functions."""
    service.execute("CREATE TEMPORARY TABLE players (LIKE public.players)")
    player = uuid4()
    service.execute("SELECT create_player(%s, 'Ann', 't', 'r', now())", (player,))
    for table, count in (("pg_temp.players", 0), ("public.players", 1)):
        assert service.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (count,)


@pytest.mark.parametrize(
    ("role", "readable"),
    [
        (
            "shithead_reader",
            {
                *("event_log", "streams", "archived", "games", "game_seats", "rulesets_custom"),
                *LOG_TABLES,
            },
        ),
        (
            "shithead_auditor",
            {
                *("event_log", "streams", "events", "archived", "games", "game_seats"),
                *("readings", "rulesets_custom", "trail", *LOG_TABLES),
            },
        ),
    ],
)
def test_readers_and_auditors_read_only_their_part_and_write_nothing(
    owner: Connection, role: str, readable: set[str]
) -> None:
    """Neither reads a secret, a token, a name, a stored answer or a refused move."""
    owner.execute(f"SET ROLE {role}".encode())
    for table in (*TABLES, "event_log", "game_rows", "table_rows"):
        assert refused(owner, f"SELECT * FROM {table}") is (table not in readable), table
    for table in TABLES:
        assert refused(owner, f"DELETE FROM {table}"), table
    assert refused(owner, "SELECT append_events('{}')")
    assert refused(owner, "SELECT drop_outbox('game', '{}', '{}')")


def test_public_has_no_privileges(owner: Connection) -> None:
    found = owner.execute(
        "SELECT p.proname::text FROM pg_proc p, aclexplode(coalesce(p.proacl,"
        " acldefault('f', p.proowner))) a"
        " WHERE p.pronamespace = 'public'::regnamespace AND a.grantee = 0"
        " UNION ALL SELECT c.relname::text FROM pg_class c, aclexplode(c.relacl) a"
        " WHERE c.relnamespace = 'public'::regnamespace AND a.grantee = 0"
    ).fetchall()
    assert not found


def test_security_definer_functions_have_a_fixed_search_path(owner: Connection) -> None:
    found = owner.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef"
        " AND NOT coalesce(proconfig, '{}') && ARRAY['search_path=public, pg_temp']"
    ).fetchall()
    assert not found


@pytest.mark.parametrize(
    ("owner_url", "expected"),
    [
        ("postgresql://me:x@db:5432/games?sslmode=require", "db:5432/games?sslmode=require"),
        ("postgresql://me@/games?host=%2Ftmp%2Fs", "/games?host=%2Ftmp%2Fs"),
        ("postgres://db/games", "db/games"),
    ],
)
def test_the_database_address_of_the_service_differs_only_in_user_and_password(
    owner_url: str, expected: str
) -> None:
    scheme = owner_url.partition("://")[0]
    assert service_url(owner_url) == f"{scheme}://{SERVICE}@{expected}"
    assert service_url(owner_url, password="a/b@c") == f"{scheme}://{SERVICE}:a%2Fb%40c@{expected}"


def test_a_database_address_in_keyword_form_works() -> None:
    assert set(service_url("host=db user=me password=x dbname=games").split()) >= {
        *("host=db", f"user={SERVICE}", "dbname=games")
    }
    assert "password=x" not in service_url("host=db user=me password=x dbname=games")
