"""Declarations of restores: their text, their signature, and their place in the log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from service.public_log.monitor import declared
from service.shx.canonical import RecordError
from service.shx.restores import new_restore, open_restore, parse_restore, restore_in
from service.shx.tlog.notes import NoteSigner, sign_note
from tests.random_games import private_key

SINCE, AT = datetime(2026, 11, 26, 1, tzinfo=UTC), datetime(2026, 11, 26, 2, tzinfo=UTC)
SERVER = NoteSigner(name="example.org", key=private_key("server"))
OTHER = NoteSigner(name="other.example", key=private_key("other"))
RESTORE = new_restore("example.org", leaf=7, since=SINCE, at=AT)


def test_a_declaration_is_the_text_of_a_note_and_of_a_leaf() -> None:
    text = "example.org/restored\n7\n2026-11-26T01:00:00.000000Z\n2026-11-26T02:00:00.000000Z\n"
    assert RESTORE.body == text
    assert parse_restore(text) == RESTORE
    assert restore_in(text.encode(), 7) == RESTORE
    note = sign_note(text, [SERVER])
    assert open_restore(note, (SERVER.verifier,)) == RESTORE


@pytest.mark.parametrize(
    "text",
    [
        RESTORE.body[:-1],
        RESTORE.body + "\n",
        RESTORE.body.replace("\n7\n", "\n07\n"),
        RESTORE.body.replace("/restored", "/g"),
        RESTORE.body.replace("T01", "T03"),  # since after at
        RESTORE.body.replace("T01:00:00.000000Z", "T01:00:00Z"),
    ],
)
def test_another_text_is_no_declaration(text: str) -> None:
    with pytest.raises(RecordError):
        parse_restore(text)


def test_a_declaration_counts_only_at_its_own_leaf_and_under_a_key_of_its_origin() -> None:
    with pytest.raises(RecordError, match="of leaf 7"):
        restore_in(RESTORE.body.encode(), 8)
    with pytest.raises(RecordError, match="not the origin"):
        open_restore(sign_note(RESTORE.body, [OTHER]), (OTHER.verifier,))
    with pytest.raises(RecordError):
        open_restore(sign_note(RESTORE.body, [OTHER]), (SERVER.verifier,))


def test_a_monitor_reports_a_declaration_and_refuses_one_out_of_place() -> None:
    entry = RESTORE.body.encode()
    found = declared(entry, 7, "example.org")
    assert found.startswith("restored: leaf 7 declares that the service was restored at 2026-11-26")
    assert declared(entry, 8, "example.org").startswith("leaf: leaf 8 is not")
    assert declared(entry, 7, "other.example") == "leaf: leaf 7 belongs to another log, example.org"
    assert declared(b"?", 7, "example.org").startswith("leaf: leaf 7 is not")
