"""The keys outside the database: secrets at rest, the server's signature, the bots' chance."""

from __future__ import annotations

import json
import os
import secrets
import stat
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from service.record.server_keys import endorse
from service.record.times import format_time, parse_time
from service.whole_files import folder_lock, write_whole

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_FIELDS: Final = frozenset({"v", "current", "keys", "signing", "since", "bots"})
_LATER: Final = frozenset({"signed", "retired"})  # only where the signing key was changed


class KeyringError(Exception):
    """The keys cannot be read, or do not open what they should; never says what a key is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredKey:
    """A signing key that another has followed; until `until` it still signs checkpoints."""

    key: Ed25519PrivateKey | None = field(repr=False)  # None: forgotten, its time being over
    public: bytes
    since: str
    until: str
    endorsement: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """
    Every key of a server. `current` seals; the others still open.

    Values are sealed with AES-256-GCM under random nonces, which is sound for
    some four thousand million values a key: rotate long before.
    """

    current: str
    keys: Mapping[str, bytes] = field(repr=False)
    signing_key: Ed25519PrivateKey = field(repr=False)
    signing_since: str = field(repr=False)  # when the signing key was made, as events write times
    bot_secret: bytes = field(repr=False)  # 32 bytes
    endorsement: bytes | None = field(default=None, repr=False)  # of the signing key, by the last
    retired: tuple[RetiredKey, ...] = field(default=(), repr=False)  # signing keys, newest first

    @classmethod
    def generate(cls) -> Keyring:
        """Return new keys from the operating system's randomness."""
        name, key = _new_key()
        return cls(
            current=name,
            keys=MappingProxyType({name: key}),
            signing_key=Ed25519PrivateKey.generate(),
            signing_since=format_time(datetime.now(UTC)),
            bot_secret=secrets.token_bytes(_KEY_BYTES),
        )

    @property
    def present(self) -> Keyring:
        """Return these keys: they stay as they are, unlike those that follow a file."""
        return self

    @classmethod
    def from_text(cls, text: str) -> Keyring:
        """Return the keys that a key file, or a value of the environment, holds."""
        try:
            value = json.loads(text)
            return cls(
                current=_member(value),
                keys=MappingProxyType({str(k): _key(v) for k, v in value["keys"].items()}),
                signing_key=Ed25519PrivateKey.from_private_bytes(_key(value["signing"])),
                signing_since=format_time(parse_time(value["since"])),
                bot_secret=_key(value["bots"]),
                endorsement=_bytes(value.get("signed")),
                retired=tuple(map(_retired, value.get("retired", ()))),
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            # The cause could show the text, hence a key: it goes no further.
            raise KeyringError("not a key file of version 1") from None

    def to_text(self) -> str:
        """Return the keys as a key file holds them; the one way in which they leave."""
        value: dict[str, Any] = {
            "v": 1,
            "current": self.current,
            "keys": {name: _text(key) for name, key in self.keys.items()},
            "signing": _text(self.signing_key.private_bytes_raw()),
            "since": self.signing_since,
            "bots": _text(self.bot_secret),
        }
        if self.retired:
            value["signed"] = self.endorsement and _text(self.endorsement)
            value["retired"] = [_retired_text(key) for key in self.retired]
        return json.dumps(value, indent=1) + "\n"

    def seal(self, plaintext: bytes, associated: bytes) -> tuple[str, bytes]:
        """
        Return the id of the current key and the ciphertext.

        `associated` says what the value is and whose (a game's id for its seed):
        moved elsewhere, the ciphertext does not open.
        """
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self.keys[self.current]).encrypt(nonce, plaintext, associated)
        return self.current, nonce + sealed

    def open(self, key_id: str, ciphertext: bytes, associated: bytes) -> bytes:
        """Return what was sealed; KeyringError where key, bytes or `associated` are not those."""
        key = self.keys.get(key_id)
        if key is None:
            raise KeyringError(f"no key {key_id}")
        nonce, sealed = ciphertext[:_NONCE_BYTES], ciphertext[_NONCE_BYTES:]
        try:
            return AESGCM(key).decrypt(nonce, sealed, associated)
        except (InvalidTag, ValueError):
            raise KeyringError(f"key {key_id} does not open this") from None

    def rotated(self) -> Keyring:
        """Return these keys with a new one that seals from now on."""
        name, key = _new_key()
        return replace(self, current=name, keys=MappingProxyType({**self.keys, name: key}))

    def with_new_signing_key(self, now: datetime, *, overlap: timedelta) -> Keyring:
        """
        Return these keys with a new one that signs, itself signed by the present one.

        For the overlap both sign checkpoints, so that readers have time to learn of the
        new one. Keys whose overlap is over are forgotten but for what is public of them.
        """
        new, since = Ed25519PrivateKey.generate(), format_time(now)
        present = RetiredKey(
            key=self.signing_key,
            public=self.signing_key.public_key().public_bytes_raw(),
            since=self.signing_since,
            until=format_time(now + overlap),
            endorsement=self.endorsement,
        )
        older = (
            old if parse_time(old.until) > now else replace(old, key=None) for old in self.retired
        )
        return replace(
            self,
            signing_key=new,
            signing_since=since,
            endorsement=endorse(self.signing_key, new.public_key().public_bytes_raw(), since),
            retired=(present, *older),
        )

    def signing_at(self, now: datetime) -> list[Ed25519PrivateKey]:
        """Return the keys that sign checkpoints at a time, the present one first."""
        still = (old.key for old in self.retired if parse_time(old.until) > now)
        return [self.signing_key, *(key for key in still if key is not None)]

    def without(self, key_id: str) -> Keyring:
        """Return these keys without an old one, once nothing is left that it sealed."""
        if key_id == self.current or key_id not in self.keys:
            raise KeyringError(f"{key_id} is not an old key")
        kept = {name: key for name, key in self.keys.items() if name != key_id}
        return replace(self, keys=MappingProxyType(kept))


def load_or_create(path: Path) -> Keyring:
    """
    Return the keys of a file, made first where there is none.

    Of processes that start at once one gives the file its name; the others read what
    that one wrote.
    """
    if not path.exists():
        with suppress(FileExistsError):
            save_new(Keyring.generate(), path)
    return load(path)


def save_new(keyring: Keyring, path: Path) -> None:
    """Write keys to a file that is not there yet, and its folder; else FileExistsError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, keyring.to_text().encode(), new=True)


def load(path: Path) -> Keyring:
    """Return the keys of a file; refuse one that others than its owner may read."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise KeyringError(f"{path}: not a file")
        if found.st_uid not in (os.geteuid(), 0):
            raise KeyringError(f"belongs to another user (id {found.st_uid}): be that user")
        if found.st_mode & 0o077:
            raise KeyringError(f"{path}: readable by others; it wants mode 0600")
        return Keyring.from_text(path.read_text("utf-8"))
    except KeyringError as error:
        raise KeyringError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise KeyringError(f"{path}: {type(error).__name__}") from None


def rotate(path: Path, change: Callable[[Keyring], Keyring] = Keyring.rotated) -> Keyring:
    """Put a new current key into the file and return the keys; running processes load again."""
    with folder_lock(path.parent):
        keyring = change(load(path))
        write_whole(path, keyring.to_text().encode())
    return keyring


def _new_key() -> tuple[str, bytes]:
    return f"k{secrets.token_hex(4)}", secrets.token_bytes(_KEY_BYTES)


def _member(value: dict[str, Any]) -> str:
    """Return the current key's id out of a key file whose fields are the right ones."""
    fields = value.keys() - _LATER if value.keys() >= _LATER else value.keys()
    if fields != _FIELDS or value["v"] != 1 or value["current"] not in value["keys"]:
        raise ValueError
    return str(value["current"])


def _key(text: str) -> bytes:
    key = b64decode(text, validate=True)
    if len(key) != _KEY_BYTES:
        raise ValueError
    return key


def _text(key: bytes) -> str:
    return b64encode(key).decode("ascii")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text, validate=True)


def _retired(value: dict[str, Any]) -> RetiredKey:
    private = None if value["key"] is None else _key(value["key"])
    return RetiredKey(
        key=None if private is None else Ed25519PrivateKey.from_private_bytes(private),
        public=_key(value["public"]),
        since=format_time(parse_time(value["since"])),
        until=format_time(parse_time(value["until"])),
        endorsement=_bytes(value["signed"]),
    )


def _retired_text(key: RetiredKey) -> dict[str, str | None]:
    return {
        "key": None if key.key is None else _text(key.key.private_bytes_raw()),
        "public": _text(key.public),
        "since": key.since,
        "until": key.until,
        "signed": None if key.endorsement is None else _text(key.endorsement),
    }
