"""What players leave behind in the database has a quota, and every text a greatest length."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

from service.feature import quotas_of
from service.features import FEATURES
from tests.contract.conftest import address_of_service

OF_PLAYERS = {"player", "player_id", "host", "owner", "accuser", "author", "reader", "caller"}
"""The columns that name the player to whom a row belongs."""

OF_NOBODY_ELSE = {
    "ratings": "one a ruleset, made from hands",
    "blind_choices": "made from hands",
    "decision_names": "one a player of hands",
}
"""Tables with such a column whose rows follow from others."""

PLACES = {
    *("dispute_bundles", "disputes", "games", "tables", "streams", "archived", "trail"),
    *(
        "log_leaves",
        "log_hashes",
        "log_heads",
        "log_cosignatures",
        "log_time_stamps",
        "log_damage",
        "outbox",
        "write_probes",
    ),
    *("applied_migrations", "applied_files", "ratings", "shuffled_decks", "blind_choices"),
}
"""Tables in which no text was written by a player, or only the service's own evidence."""

SHORT = {
    *("token_hash", "recovery_hash", "key_id", "reason_key_id", "state", "fault", "type", "types"),
    *("scopes", "kind", "bot", "visibility", "entropy", "salt", "request_key", "body_hash"),
    *("rulesets", "ruleset_id", "standing"),
}
"""Columns that have one of a few values, a fixed length or a check of another kind."""


@pytest.fixture
def owner(database_url: str) -> Iterator[psycopg.Connection[tuple[str, ...]]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def test_every_row_of_a_player_has_a_quota(owner: psycopg.Connection[tuple[str, ...]]) -> None:
    """A new table that names a player needs a quota of its feature."""
    found = owner.execute(
        "SELECT DISTINCT c.table_name, c.column_name FROM information_schema.columns c"
        " JOIN information_schema.tables t USING (table_schema, table_name)"
        " WHERE c.table_schema = 'public' AND c.data_type = 'uuid' AND t.table_type = 'BASE TABLE'"
    ).fetchall()
    of_players = {table for table, column in found if column in OF_PLAYERS} - {"players"}
    bounded = {table for bound in quotas_of(FEATURES).values() for table in bound.rows}
    assert of_players - bounded == OF_NOBODY_ELSE.keys()
    assert bounded <= {table for table, _ in found}


def test_every_text_of_a_player_has_a_greatest_length(
    owner: psycopg.Connection[tuple[str, ...]],
) -> None:
    """The role of the service could else write a note of 100 MB."""
    found = owner.execute(
        "SELECT c.table_name, c.column_name FROM information_schema.columns c"
        " JOIN information_schema.tables t USING (table_schema, table_name)"
        " WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'"
        " AND c.data_type IN ('text', 'bytea')"
    ).fetchall()
    texts = {one for one in found if one[0] not in PLACES and one[1] not in SHORT}
    checks = owner.execute(
        "SELECT conrelid::regclass::text, pg_get_expr(conbin, conrelid) FROM pg_constraint"
        " WHERE contype = 'c'"
    ).fetchall()
    limits = {
        (table, column): (check, int(limit))
        for table, check in checks
        for column, limit in re.findall(r"octet_length\((\w+)\) <?= (\d+)", check)
    }
    assert texts <= limits.keys()
    for (table, column), (check, limit) in limits.items():
        assert not _refuses(owner, table, check, column, limit), (table, column)
        assert _refuses(owner, table, check, column, limit + 1), (table, column)


def _refuses(
    owner: psycopg.Connection[tuple[str, ...]], table: str, check: str, column: str, length: int
) -> bool:
    """Return whether a check refuses a row that has one value alone, of a length in bytes."""
    values = "jsonb_build_object(%s::text, repeat('x', %s))"
    query = f"SELECT NOT ({check}) FROM jsonb_populate_record(NULL::{table}, {values})"
    [(refused,)] = owner.execute(query.encode(), (column, length)).fetchall()
    return bool(refused)


def test_the_service_cannot_store_a_note_without_end(database_url: str) -> None:
    call = "SELECT keep_note(gen_random_uuid(), gen_random_uuid(), 1, %s, 'me', now(), '[]')"
    with psycopg.connect(address_of_service(database_url), autocommit=True) as service:
        service.execute(call, ("ü" * 1000,))
        with pytest.raises(psycopg.errors.CheckViolation):
            service.execute(call, ("x" * 100_000,))
