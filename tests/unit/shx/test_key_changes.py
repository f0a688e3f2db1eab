"""Key changes: a new key of a seat counts only if the old one signed it."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from service.shx.canonical import RecordError
from service.shx.keys import KeyChange, key_follows, read_key_changes
from service.shx.moves import sign_key_change
from tests.random_games import TABLE, private_key

HERE = UUID(TABLE)
NEUTRAL = bytes([1, *bytes(31)])


def public(name: str) -> bytes:
    return private_key(name).public_key().public_bytes_raw()


def change(old: str, new: str, *, seat: int = 1, table: UUID = HERE) -> KeyChange:
    sig = sign_key_change(private_key(old), table=table, seat=seat, key=public(new))
    return KeyChange(table=table, seat=seat, key=public(new), sig=sig)


def follows(old: str, new: str, *changes: KeyChange, seat: int = 1) -> bool:
    return key_follows(public(old), public(new), changes, table=HERE, seat=seat)


def test_a_key_follows_the_key_that_signed_it() -> None:
    assert follows("one", "two", change("one", "two"))
    assert not follows("one", "two")
    assert not follows("two", "one", change("one", "two")), "it does not lead back"


def test_key_changes_are_followed_in_any_order() -> None:
    chain = (change("two", "three"), change("three", "four"), change("one", "two"))
    assert follows("one", "four", *chain)
    assert not follows("one", "four", *chain[:2]), "the link is missing"


def test_a_key_change_signed_by_another_key_is_ignored() -> None:
    assert not follows("one", "two", change("thief", "two"))
    stolen = change("one", "two", seat=2)
    moved = KeyChange(table=HERE, seat=1, key=stolen.key, sig=stolen.sig)
    assert not follows("one", "two", moved), "signed for another seat"
    other = change("one", "two", table=UUID(int=7))
    moved = KeyChange(table=HERE, seat=1, key=other.key, sig=other.sig)
    assert not follows("one", "two", moved), "signed for another table"


def test_a_key_change_by_a_weak_key_is_ignored() -> None:
    """Under the neutral point, R = the neutral point and s = 0 sign every message."""
    forged = KeyChange(table=HERE, seat=1, key=public("two"), sig="AQ" + "A" * 84 + "==")
    assert not key_follows(NEUTRAL, public("two"), [forged], table=HERE, seat=1)


def test_key_changes_are_read_from_every_file_format() -> None:
    first, second = change("one", "two"), change("two", "three")
    both = [first.as_json(), second.as_json()]
    assert read_key_changes(json.dumps(both[0]).encode()) == (first,)
    assert read_key_changes(json.dumps(both).encode()) == (first, second)
    answer = json.dumps({"items": both, "next": None}, indent=1)
    assert read_key_changes(answer.encode()) == (first, second)


@pytest.mark.parametrize("text", ["", "7", "[{}]", '{"items":7}', '{"change":{},"sig":"AA"}'])
def test_a_malformed_key_change_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        read_key_changes(text.encode())


def test_too_many_key_changes_are_refused() -> None:
    with pytest.raises(RecordError, match="more than 1 "):
        read_key_changes(json.dumps([change("one", "two").as_json()] * 2).encode(), most=1)
