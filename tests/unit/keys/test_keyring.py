"""The keyring: sealed values, the key file, and no key in any output."""

from __future__ import annotations

import json
import multiprocessing
import os
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service import keys
from service.keys import Keyring, KeyringError
from service.shx.keys import ListedKey, followed
from service.shx.tlog.notes import NoteSigner, NoteVerifier

GAME = b"g" * 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "server.json"


def test_a_sealed_value_is_opened_only_in_its_own_context() -> None:
    keys = Keyring.generate()
    key_id, sealed = keys.seal(b"secret", GAME)
    assert b"secret" not in sealed
    assert keys.open(key_id, sealed, GAME) == b"secret"
    broken = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for wrong in (
        (key_id, sealed, b"other"),
        (key_id, broken, GAME),
        (key_id, b"", GAME),
        (key_id, sealed[:20], GAME),
        ("k0", sealed, GAME),
    ):
        with pytest.raises(KeyringError):
            keys.open(*wrong)
    with pytest.raises(KeyringError):
        Keyring.generate().open(key_id, sealed, GAME)


def test_the_same_value_is_never_sealed_to_the_same_bytes() -> None:
    keys = Keyring.generate()
    assert keys.seal(b"secret", GAME) != keys.seal(b"secret", GAME)


def test_after_a_rotation_the_new_key_seals_and_the_old_one_opens() -> None:
    old = Keyring.generate()
    before = old.seal(b"secret", GAME)
    new = old.rotated()
    assert new.seal(b"", GAME)[0] != before[0]
    assert new.open(*before, GAME) == b"secret"
    assert new.bot_secret == old.bot_secret
    forgotten = new.without(old.current)
    with pytest.raises(KeyringError):
        forgotten.open(*before, GAME)
    with pytest.raises(KeyringError):
        new.without(new.current)


def secrets_of(keys: Keyring) -> list[bytes]:
    return [*keys.keys.values(), keys.signing_key.private_bytes_raw(), keys.bot_secret]


def test_no_key_is_shown() -> None:
    keys = Keyring.generate()
    assert repr(keys) == str(keys) == f"Keyring(current='{keys.current}')"
    for secret in secrets_of(keys):
        assert b64encode(secret).decode() not in repr(keys)


def test_the_first_start_creates_a_private_key_file(path: Path) -> None:
    made = keys.load_or_create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in path.parent.iterdir()] == ["server.json"]
    assert secrets_of(keys.load_or_create(path)) == secrets_of(made)


def test_the_key_file_is_private_with_any_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        keys.load_or_create(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_others_may_read_is_refused(path: Path) -> None:
    keys.load_or_create(path)
    path.chmod(0o640)
    with pytest.raises(KeyringError, match="readable by others"):
        keys.load_or_create(path)


def test_reading_a_missing_file_does_not_create_it(path: Path) -> None:
    with pytest.raises(KeyringError):
        keys.load(path)
    assert not path.exists()


def _start(path: Path, gate: Any, results: Any) -> None:
    gate.wait()
    results.put(keys.load_or_create(path).to_text())


@pytest.mark.heavy
def test_processes_that_start_at_once_end_up_with_the_same_keys(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for attempt in range(5):
        file, gate, results = path.with_name(str(attempt)), context.Barrier(4), context.Queue()
        processes = [context.Process(target=_start, args=(file, gate, results)) for _ in range(4)]
        for process in processes:
            process.start()
        seen = {results.get(timeout=30) for _ in processes}
        for process in processes:
            process.join()
        assert seen == {file.read_text()}


def test_a_rotation_is_saved_in_the_file(path: Path) -> None:
    first = keys.load_or_create(path)
    sealed = first.seal(b"secret", GAME)
    second = keys.rotate(path)
    loaded = keys.load(path)
    assert loaded.current == second.current != first.current
    assert loaded.open(*sealed, GAME) == b"secret"
    assert path.stat().st_mode & 0o777 == 0o600


def test_keys_are_read_back_from_their_text() -> None:
    keys = Keyring.generate()
    assert secrets_of(Keyring.from_text(keys.to_text())) == secrets_of(keys)


@pytest.mark.parametrize(
    "change",
    [{"v": 2}, {"current": "k9"}, {"bots": "AAAA"}, {"signing": None}, {"keys": []}, {"more": 1}],
)
def test_an_invalid_key_file_is_refused_without_showing_it(change: dict[str, Any]) -> None:
    text = Keyring.generate().to_text()
    with pytest.raises(KeyringError) as caught:
        Keyring.from_text(json.dumps({**json.loads(text), **change}))
    assert str(caught.value) == "not a key file of version 1"
    for garbage in ("", "{", "[]", "null"):
        with pytest.raises(KeyringError):
            Keyring.from_text(garbage)


NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
MONTH = timedelta(days=30)


def test_a_new_signing_key_is_signed_by_the_old_one() -> None:
    old = Keyring.generate()
    new = old.with_new_signing_key(NOW, overlap=MONTH)
    before, after = (NoteSigner(name="a.example", key=k.signing_key).verifier for k in (old, new))
    listed = ListedKey(
        verifier=after, since=new.signing_since, until=None, endorsement=new.endorsement
    )
    assert followed([before], [listed]) == [before, after]
    for wrong in (
        replace(listed, since="2026-11-22T00:00:00.000000Z"),
        replace(listed, verifier=NoteVerifier(name="b.example", public=after.public)),
        replace(listed, endorsement=bytes(64)),
        replace(listed, endorsement=None),
    ):
        assert followed([before], [wrong]) == [before]
    assert secrets_of(old)[0] in secrets_of(new), "running games still open"


def test_the_old_signing_key_signs_until_its_overlap_is_over_and_is_then_forgotten() -> None:
    first = Keyring.generate()
    second = first.with_new_signing_key(NOW, overlap=MONTH)
    assert second.signing_at(NOW) == [second.signing_key, first.signing_key]
    assert second.signing_at(NOW + MONTH) == [second.signing_key]
    third = second.with_new_signing_key(NOW + 2 * MONTH, overlap=MONTH)
    assert third.signing_at(NOW + 2 * MONTH) == [third.signing_key, second.signing_key]
    assert [old.key is None for old in third.retired] == [False, True]
    assert third.retired[1].public == first.signing_key.public_key().public_bytes_raw()
    assert b64encode(first.signing_key.private_bytes_raw()).decode() not in third.to_text()


def test_retired_keys_are_kept_in_the_file_and_shown_nowhere(path: Path) -> None:
    first = keys.load_or_create(path)
    made = keys.rotate(path, lambda keys: keys.with_new_signing_key(NOW, overlap=MONTH))
    loaded = keys.load(path)
    assert loaded.to_text() == made.to_text()
    assert secrets_of(loaded) == secrets_of(made)
    private = first.signing_key.private_bytes_raw()
    assert loaded.retired[0].key is not None
    assert loaded.retired[0].key.private_bytes_raw() == private
    assert b64encode(private).decode() not in repr(loaded) + repr(loaded.retired)


def test_a_key_file_without_retired_keys_is_written_as_it_was_read() -> None:
    text = Keyring.generate().to_text()
    assert "retired" not in text
    assert Keyring.from_text(text).to_text() == text
