"""A running process reloads its key file if it continues the old one, and else rejects it."""

from __future__ import annotations

import os
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.keys import KeyFile, Keyring, KeyringError, load, rotate

GAME = b"g" * 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def replaced(path: Path, text: str) -> None:
    """Replace a file atomically, as a rotation does."""
    draft = path.with_name("draft")
    draft.write_text(text)
    draft.chmod(0o600)
    draft.replace(path)


def test_a_rotation_takes_effect_at_the_next_use(path: Path) -> None:
    here, there = KeyFile(path), KeyFile(path)
    before = here.seal(b"secret", GAME)
    rotate(path)
    after = here.seal(b"secret", GAME)
    assert after[0] != before[0]
    assert there.open(*after, GAME) == b"secret", "another process finds the new key as well"
    assert there.open(*before, GAME) == b"secret", "the old key still opens its values"
    there.check()


def test_a_new_signing_key_signs_at_once(path: Path) -> None:
    keys = KeyFile(path)
    old = keys.present.signing_key
    now = datetime.now(UTC)
    rotate(path, lambda keyring: keyring.with_new_signing_key(now, overlap=timedelta(days=1)))
    new = keys.present.signing_key
    assert new.private_bytes_raw() != old.private_bytes_raw()
    assert [k.private_bytes_raw() for k in keys.present.signing_at(now)] == [
        new.private_bytes_raw(),
        old.private_bytes_raw(),
    ]


@pytest.mark.parametrize("fault", ["another server's", "no keys", "gone", "open to others"])
def test_a_key_file_that_does_not_continue_the_old_one_is_rejected(path: Path, fault: str) -> None:
    """A mistake in the file must not end running games; it is logged."""
    keys = KeyFile(path)
    good, sealed = path.read_text(), keys.seal(b"secret", GAME)
    match fault:
        case "another server's":
            replaced(path, Keyring.generate().to_text())
        case "no keys":
            replaced(path, "{}")
        case "gone":
            path.unlink()
        case _:
            path.chmod(0o644)
    assert keys.open(*sealed, GAME) == b"secret"
    for _ in range(2):
        with pytest.raises(KeyringError):
            keys.check()
    replaced(path, good)
    keys.check()
    rotate(path)
    assert keys.present.current == load(path).current != sealed[0]


def test_keys_with_a_known_id_and_another_value_are_rejected(path: Path) -> None:
    keys = KeyFile(path)
    sealed = keys.seal(b"secret", GAME)
    text = path.read_text()
    key = keys.present.keys[sealed[0]]
    other = b64encode(os.urandom(32)).decode()
    replaced(path, text.replace(b64encode(key).decode(), other))
    assert keys.open(*sealed, GAME) == b"secret"
    with pytest.raises(KeyringError, match="do not continue"):
        keys.check()


def test_an_unused_old_key_may_be_removed(path: Path) -> None:
    keys = KeyFile(path)
    old = keys.present.current
    rotate(path)
    assert keys.present.current != old
    rotate(path, lambda keyring: keyring.without(old))
    assert list(keys.present.keys) == [keys.present.current]
    keys.check()


def test_an_unchanged_key_file_is_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = KeyFile(path)
    keys.check()
    monkeypatch.setattr("service.keys.load", lambda _path: pytest.fail("read again"))
    keys.open(*keys.seal(b"secret", GAME), GAME)
