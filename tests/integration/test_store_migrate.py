"""Migrations: forward only, once, in one transaction; `ops.schema` shows the result."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ops.schema import schema_of
from service.backup.backup import BackupError, Corrections, continue_from
from service.cli.__main__ import run
from service.local.programs import Servers, StartError
from service.store.database import SQL, query
from service.store.migrate import LaterSchema, MigrationError, check, finish, migrate
from tests.contract.conftest import address_of_service
from tests.servers import database_name

CATALOG = """
SELECT 'relation', c.relname, c.relkind::text, array_to_string(c.reloptions, ' '), c.relacl::text
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'column', c.relname, a.attnum || ' ' || a.attname,
    format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || a.attidentity::text,
    pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), NULL
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL
SELECT 'index', tablename, indexname, indexdef, NULL FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT 'view', viewname, definition, NULL, NULL FROM pg_views WHERE schemaname = 'public'
UNION ALL
SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid), tgenabled::text
FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'function', proname, pg_get_functiondef(oid), proacl::text, NULL
FROM pg_proc WHERE pronamespace = 'public'::regnamespace
ORDER BY 1, 2, 3, 4
"""

WITHOUT_COMMENT = """
SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
AND relkind IN ('r', 'v') AND obj_description(oid, 'pg_class') IS NULL
"""


def catalog(url: str) -> list[tuple[Any, ...]]:
    """Return the catalogue of a database."""
    with psycopg.connect(url) as connection:
        return connection.execute(CATALOG).fetchall()


@pytest.fixture
def sql_folder(tmp_path: Path) -> Path:
    """Return a copy of the SQL files that a test may change."""
    return Path(shutil.copytree(SQL, tmp_path / "sql"))


def test_the_schema_is_shown_with_each_relation_and_its_comment(database_url: str) -> None:
    shown, (first, *_) = schema_of(database_url), sorted((SQL / "migrations").glob("*.sql"))
    made, listed = (
        set(re.findall(r"^CREATE (?:TABLE|VIEW) (\w+)", text, re.MULTILINE))
        for text in (first.read_text(), shown)
    )
    assert len(made) > 20
    assert made <= listed
    assert "the exact bytes that are hashed; jsonb would change them" in " ".join(shown.split())


def test_every_table_and_view_has_a_comment(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        bare = connection.execute(WITHOUT_COMMENT).fetchall()
    assert bare == []


def test_a_second_run_changes_nothing(database_url: str) -> None:
    before = catalog(database_url)
    with psycopg.connect(database_url) as connection:
        times = connection.execute("TABLE applied_files ORDER BY name").fetchall()
    migrate(database_url)
    assert catalog(database_url) == before
    with psycopg.connect(database_url) as connection:
        assert connection.execute("TABLE applied_files ORDER BY name").fetchall() == times


def test_the_command_names_what_it_applied(
    empty_database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["migrate", "--database-url", empty_database_url]
    assert run(words) == 0
    names = [path.stem for path in sorted((SQL / "migrations").glob("*.sql"))]
    *migrations, others, last = capsys.readouterr().out.splitlines()
    assert migrations == [f"applied migration {name}" for name in names]
    assert re.fullmatch(r"applied \d+ files of functions and privileges", others)
    assert last == "the schema is current"
    assert run(words) == 0
    assert capsys.readouterr().out == "nothing was to be applied\nthe schema is current\n"
    assert run([*words, "--finish"]) == 0
    assert "dropped the functions" in capsys.readouterr().out
    assert run([*words, "--check"]) == 0
    assert capsys.readouterr().out == "the schema is current\n"


def test_concurrent_starts_migrate_once(empty_database_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate, [empty_database_url] * 4))
    check(empty_database_url)


def test_a_changed_migration_is_refused(database_url: str, sql_folder: Path) -> None:
    changed = sql_folder / "migrations" / "0001_schema.sql"
    changed.write_text(changed.read_text() + "-- a word more\n")
    with pytest.raises(MigrationError, match="0001_schema was changed"):
        migrate(database_url, folder=sql_folder)


def test_a_database_of_a_later_release_is_refused(database_url: str, sql_folder: Path) -> None:
    (sql_folder / "migrations" / "0002_more.sql").write_text("CREATE TABLE more (n integer)")
    migrate(database_url, folder=sql_folder)
    with pytest.raises(LaterSchema, match="a later one"):
        migrate(database_url)


@pytest.fixture
def made_before(empty_database_url: str) -> str:
    """Return a database of a build before 0.1.0, whose first migrations had other names."""
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(query("bookkeeping"))
        connection.execute(
            "INSERT INTO applied_migrations VALUES ('0001_the_record', ''), ('0002_the_rest', '')"
        )
        connection.execute("CREATE TABLE streams (stream_id uuid PRIMARY KEY)")
    return empty_database_url


def test_a_database_made_before_this_release_is_refused_and_not_changed(
    made_before: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one sentence: by `migrate` and `up`, and by the end of `recover`."""
    before = catalog(made_before)
    for words in ([], ["--finish"], ["--check"]):
        assert run(["migrate", "--database-url", made_before, *words]) == 1
        assert "made before 0.1.0" in capsys.readouterr().err
    with ExitStack() as stack, pytest.raises(StartError, match=r"made before 0\.1\.0"):
        Servers(tmp_path, stack).database(made_before)
    with pytest.raises(BackupError, match=r"made before 0\.1\.0"):
        continue_from(made_before, None, Corrections(end_tokens=True))
    assert catalog(made_before) == before


def test_finish_drops_the_functions_that_a_release_no_longer_has(
    database_url: str, sql_folder: Path
) -> None:
    """Until then they stay as they are, also with their privileges, for the earlier processes."""
    service = address_of_service(database_url)
    (sql_folder / "functions" / "purge_answers.sql").unlink()
    privileges = sql_folder / "privileges.sql"
    privileges.write_text(privileges.read_text().replace("purge_answers, ", ""))
    (sql_folder / "migrations" / "0002_more.sql").write_text("SELECT 1")
    migrate(database_url, folder=sql_folder)
    finish(database_url)  # of the earlier release: the functions of the later one are not its own
    with psycopg.connect(service) as connection:
        assert connection.execute("SELECT purge_answers(now())").fetchone() == (0,)
    finish(database_url, folder=sql_folder)
    finish(database_url, folder=sql_folder)
    with psycopg.connect(service) as connection, pytest.raises(psycopg.errors.UndefinedFunction):
        connection.execute("SELECT purge_answers(now())")


def test_a_migration_that_comes_before_an_applied_one_is_refused(
    database_url: str, sql_folder: Path
) -> None:
    (sql_folder / "migrations" / "0003_first.sql").write_text("SELECT 1")
    migrate(database_url, folder=sql_folder)
    (sql_folder / "migrations" / "0002_too_late.sql").write_text("SELECT 1")
    with pytest.raises(MigrationError, match="comes before"):
        migrate(database_url, folder=sql_folder)


def test_a_migration_that_fails_leaves_everything_as_it_was(
    database_url: str, sql_folder: Path
) -> None:
    before = catalog(database_url)
    (sql_folder / "migrations" / "9998_good.sql").write_text("CREATE TABLE good (n integer)")
    (sql_folder / "migrations" / "9999_bad.sql").write_text("CREATE TABLE bad (n nonsense)")
    with pytest.raises(psycopg.Error):
        migrate(database_url, folder=sql_folder)
    assert catalog(database_url) == before
    migrate(database_url)


def test_a_new_migration_is_reported_as_missing_until_it_is_applied(
    database_url: str, sql_folder: Path
) -> None:
    (sql_folder / "migrations" / "9999_more.sql").write_text("CREATE TABLE more (n integer)")
    with pytest.raises(MigrationError, match="9999_more"):
        check(database_url, folder=sql_folder)
    migrate(database_url, folder=sql_folder)
    check(database_url, folder=sql_folder)


def test_a_changed_function_is_replaced(database_url: str, sql_folder: Path) -> None:
    file = sql_folder / "functions" / "purge_answers.sql"
    file.write_text(file.read_text().replace("RETURN deleted", "RETURN 7 + deleted"))
    migrate(database_url, folder=sql_folder)
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT purge_answers(now())").fetchone() == (7,)


def test_a_new_function_is_not_executable_by_public(database_url: str, sql_folder: Path) -> None:
    """Privileges are applied after every change, not only when their own file changed."""
    (sql_folder / "functions" / "purge_answers.sql").write_text(
        "DROP FUNCTION purge_answers(timestamptz);\n"
        + (sql_folder / "functions" / "purge_answers.sql").read_text()
    )
    before = catalog(database_url)
    migrate(database_url, folder=sql_folder)
    assert catalog(database_url) == before


def test_a_database_never_migrated_is_not_ready(empty_database_url: str) -> None:
    with pytest.raises(MigrationError, match="shithead migrate"):
        check(empty_database_url)


def test_the_role_of_the_service_can_check_readiness(database_url: str) -> None:
    check(address_of_service(database_url))


def test_a_user_without_the_right_to_create_tables_gets_a_clear_message(
    empty_database_url: str, database_url: str
) -> None:
    service, name = address_of_service(database_url), database_name(database_url)
    with pytest.raises(MigrationError, match="lacks a privilege"):
        migrate(service.replace(name, database_name(empty_database_url)))


def test_an_earlier_release_works_on_the_schema_of_a_later_one(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise an upgrade could not be reverted, because the schema only goes forward."""
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO applied_migrations VALUES ('9999_later.sql', '\\x00')")
    with ExitStack() as stack:
        assert Servers(tmp_path, stack).database(database_url)
    assert "not migrated: the database has migration 9999_later.sql" in capsys.readouterr().err
    check(database_url)


REFUSED = (
    r"\bDROP\s+(TABLE|COLUMN|VIEW|FUNCTION|TYPE|SCHEMA|CONSTRAINT)\b",
    r"\bRENAME\s+(TO|COLUMN|CONSTRAINT)\b",
    r"\bSET\s+NOT\s+NULL\b",
    r"\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b",
    r"\bADD\s+COLUMN\b(?![^,;]*\bDEFAULT\b)[^,;]*\bNOT\s+NULL\b",
    r"\bTRUNCATE\b|\bDELETE\s+FROM\b",
)
"""Patterns of statements that break the code of an earlier release."""


def breaking_statements(migration: str) -> list[str]:
    """Return the statements of a migration that break code for the previous schema."""
    text = re.sub(r"--[^\n]*", "", migration)
    return [match[0] for one in REFUSED for match in re.finditer(one, text, re.IGNORECASE)]


@pytest.mark.parametrize("path", sorted((SQL / "migrations").glob("*.sql")), ids=lambda p: p.stem)
def test_migrations_only_add(path: Path) -> None:
    assert breaking_statements(path.read_text()) == []


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("ALTER TABLE games ADD COLUMN touched timestamptz", True),
        ("ALTER TABLE games ADD COLUMN touched integer NOT NULL DEFAULT 0", True),
        ("ALTER TABLE games ADD COLUMN touched integer NOT NULL", False),
        ("ALTER TABLE games DROP COLUMN turn", False),
        ("ALTER TABLE games ALTER COLUMN turn TYPE bigint", False),
        ("ALTER TABLE games ALTER turn SET NOT NULL", False),
        ("ALTER TABLE games RENAME COLUMN turn TO seat", False),
        ("-- DROP TABLE games\nCREATE TABLE more (one integer NOT NULL)", True),
    ],
)
def test_incompatible_migrations_are_detected(statement: str, *, allowed: bool) -> None:
    assert (breaking_statements(statement) == []) is allowed


@pytest.mark.parametrize("path", sorted((SQL / "functions").glob("*.sql")), ids=lambda p: p.stem)
def test_a_function_names_the_columns_that_it_inserts(path: Path) -> None:
    """A row without them would lack the default of a column that a later migration adds."""
    assert re.findall(r"INSERT INTO \w+(?: AS \w+)?\s+(?:SELECT|VALUES)", path.read_text()) == []
