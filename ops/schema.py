"""
Print the schema that the migrations make, as SQL to read: python -m ops.schema > schema.sql.

It shows each table with its columns, comments, constraints, indexes and triggers, and each view. A
comment comes from `COMMENT ON` in a migration. The embedded PostgreSQL runs in a temporary folder.
"""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import psycopg

from service.local.servers import EmbeddedPostgres
from service.store.migrate import migrate

HEADER = """\
-- The tables and views of this release, from a migrated database. A change of the schema, or of a
-- comment, is made in sql/migrations. Functions are in sql/functions, one a file.
-- What each role may do is in sql/privileges.sql.
"""

RELATIONS = """
SELECT c.oid, c.relname, c.relkind = 'v', obj_description(c.oid, 'pg_class'),
    array_to_string(c.reloptions, ', '), pg_get_viewdef(c.oid, true)
FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
ORDER BY c.oid
"""

COLUMNS = """
SELECT a.attname, replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone',
    'timestamptz')
    || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
    || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''),
    col_description(a.attrelid, a.attnum)
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""

CONSTRAINTS = """
SELECT format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid, true)) FROM pg_constraint
WHERE conrelid = $1 AND contype IN ('p', 'u', 'c') ORDER BY position(contype IN 'puc'), conname
"""

BESIDES = """
SELECT replace(pg_get_indexdef(indexrelid), ' public.', ' ') FROM pg_index i
WHERE indrelid = $1 AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
UNION ALL
SELECT replace(pg_get_triggerdef(oid), ' public.', ' ') FROM pg_trigger
WHERE tgrelid = $1 AND NOT tgisinternal
ORDER BY 1
"""

LONG = {
    "'::text": "'",
    "'::name": "'",
    "'\n'": "E'\\n'",
    " USING btree ": " ",
    " FOR EACH ": "\n    FOR EACH ",
    " EXECUTE FUNCTION ": "\n    EXECUTE FUNCTION ",
}
"""Words of PostgreSQL's own listing, and what replaces them."""

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


def main() -> None:
    """Print the schema."""
    with migrated_database() as url:
        print(schema_of(url), end="")


@contextmanager
def migrated_database() -> Iterator[str]:
    """Yield the address of a new database with the schema; its server runs until the end."""
    with tempfile.TemporaryDirectory(prefix="schema-") as folder:
        postgres = EmbeddedPostgres(Path(folder) / "postgres")
        try:
            url = postgres.start()
            migrate(url)
            yield url
        finally:
            postgres.stop()


def schema_of(url: str) -> str:
    """Return the tables and views of a database as SQL, in the order of creation."""
    with psycopg.connect(url, cursor_factory=psycopg.RawCursor) as connection:
        relations = connection.execute(RELATIONS).fetchall()
        return "\n".join([HEADER, *(_short(_relation(connection, *row)) for row in relations)])


def _short(text: str) -> str:
    """Return the SQL of the catalogue as people write it; the meaning stays."""
    for long, short in LONG.items():
        text = text.replace(long, short)
    return text


def _relation(
    connection: Connection,
    oid: int,
    name: str,
    is_view: bool,
    comment: str | None,
    options: str | None,
    view: str | None,
) -> str:
    """Return a table or view as SQL."""
    lines = textwrap.wrap(comment or "", 97)
    above = "".join(f"-- {line}\n" for line in lines)
    if is_view:
        return f"{above}CREATE VIEW {name} AS\n{view}\n"
    columns = connection.execute(COLUMNS, (oid,)).fetchall()
    constraints = [text for (text,) in connection.execute(CONSTRAINTS, (oid,))]
    inner = "\n".join(_inside(columns, constraints))
    after = f" WITH ({options})" if options else ""
    besides = "".join(f"{text};\n" for (text,) in connection.execute(BESIDES, (oid,)))
    return f"{above}CREATE TABLE {name} (\n{inner}\n){after};\n{besides}"


def _inside(columns: Sequence[Sequence[str | None]], constraints: Sequence[str]) -> Iterator[str]:
    """Yield the lines between the parentheses of a table."""
    width = max(len(f"{name}") for name, _, _ in columns)
    for number, (name, type_, comment) in enumerate(columns, start=1):
        comma = "," if constraints or number < len(columns) else ""
        line = f"    {name:<{width}}  {type_}{comma}"
        yield f"{line:<{width + 24}}  -- {comment}" if comment else line
    for number, text in enumerate(constraints, start=1):
        yield f"    {text}," if number < len(constraints) else f"    {text}"


if __name__ == "__main__":
    main()
