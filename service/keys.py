"""The keyring and its file: keys for stored secrets, for signatures and for bots."""

from __future__ import annotations

import json
import os
import secrets
import stat
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from service.runtime.atomic_files import folder_lock, write_whole
from service.shx.canonical import format_time, parse_time
from service.shx.keys import endorse

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_FIELDS: Final = frozenset({"v", "current", "keys", "signing", "since", "bots"})
_ROTATED: Final = frozenset({"signed", "retired"})  # once the signing key was changed


MAX_SIGNING: Final = 64
"""Maximum number of keys that sign a checkpoint: the rest of its 100 lines is for witnesses."""


class KeyringError(Exception):
    """Keys cannot be read, changed or used to decrypt; the message never contains a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredKey:
    """A signing key with a successor; until the time `until` it still signs checkpoints."""

    key: Ed25519PrivateKey | None = field(repr=False)  # None: deleted after `until`
    public: bytes
    since: str
    until: str
    endorsement: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """
    All keys of a server. Values are encrypted with `current` and decrypted with any key.

    The cipher is AES-256-GCM with random nonces, which is safe for some 4 · 10⁹ values of one
    key: rotate long before.
    """

    current: str
    keys: Mapping[str, bytes] = field(repr=False)
    signing_key: Ed25519PrivateKey = field(repr=False)
    signing_since: str = field(repr=False)  # creation of the signing key, a time as in events
    bot_secret: bytes = field(repr=False)  # 32 bytes
    endorsement: bytes | None = field(default=None, repr=False)  # by the previous signing key
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
        """Return this keyring; for KeyFile, the current one of the file."""
        return self

    @classmethod
    def from_text(cls, text: str) -> Keyring:
        """Return the keys in the text of a key file; raises KeyringError."""
        try:
            value = json.loads(text)
            return cls(
                current=_current_id(value),
                keys=MappingProxyType({str(k): _key(v) for k, v in value["keys"].items()}),
                signing_key=Ed25519PrivateKey.from_private_bytes(_key(value["signing"])),
                signing_since=format_time(parse_time(value["since"])),
                bot_secret=_key(value["bots"]),
                endorsement=_bytes(value.get("signed")),
                retired=tuple(map(_retired, value.get("retired", ()))),
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            # The cause could contain the text, hence a key: it is dropped.
            raise KeyringError("not a key file of version 1") from None

    def to_text(self) -> str:
        """Return the text of a key file, which has all private keys."""
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

        `associated` binds the ciphertext to its context (a game's id for its seed): with
        another value it cannot be decrypted.
        """
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self.keys[self.current]).encrypt(nonce, plaintext, associated)
        return self.current, nonce + sealed

    def open(self, key_id: str, ciphertext: bytes, associated: bytes) -> bytes:
        """
        Return the plaintext of a result of `seal`.

        Raises KeyringError for an unknown key, a changed ciphertext or another `associated`.
        """
        key = self.keys.get(key_id)
        if key is None:
            raise KeyringError(f"no key {key_id}")
        nonce, sealed = ciphertext[:_NONCE_BYTES], ciphertext[_NONCE_BYTES:]
        try:
            return AESGCM(key).decrypt(nonce, sealed, associated)
        except (InvalidTag, ValueError):
            raise KeyringError(f"key {key_id} does not decrypt this") from None

    def rotated(self) -> Keyring:
        """Return these keys with a new encryption key, which is the current one."""
        name, key = _new_key()
        return replace(self, current=name, keys=MappingProxyType({**self.keys, name: key}))

    def with_new_signing_key(self, now: datetime, *, overlap: timedelta) -> Keyring:
        """
        Return these keys with a new signing key, endorsed by the present one.

        During the overlap both sign checkpoints, so that readers have time to learn the new
        key. The private halves of keys whose overlap has ended are deleted. Raises
        KeyringError if more than MAX_SIGNING keys would sign a checkpoint.
        """
        signing = len(self.signing_at(now)) + (1 if overlap > timedelta() else 0)
        if signing > MAX_SIGNING:
            raise KeyringError(
                f"{signing} keys would sign each checkpoint, the limit is {MAX_SIGNING}: wait for "
                "the end of an overlap, or retire the present key at once (--overlap 0)"
            )
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

    @property
    def publics(self) -> tuple[bytes, ...]:
        """Return the public halves of all signing keys, the present one first."""
        present = self.signing_key.public_key().public_bytes_raw()
        return (present, *(old.public for old in self.retired))

    def signing_at(self, now: datetime) -> list[Ed25519PrivateKey]:
        """Return the keys that sign checkpoints at a time, the present one first."""
        still = (old.key for old in self.retired if parse_time(old.until) > now)
        return [self.signing_key, *(key for key in still if key is not None)]

    def without(self, key_id: str) -> Keyring:
        """Return these keys without an old encryption key; raises KeyringError for any other id."""
        if key_id == self.current or key_id not in self.keys:
            raise KeyringError(f"{key_id} is not an old key")
        kept = {name: key for name, key in self.keys.items() if name != key_id}
        return replace(self, keys=MappingProxyType(kept))


def load_or_create(path: Path) -> Keyring:
    """
    Return the keys of a file, which is created if it does not exist.

    If several processes start at once, one creates the file and the others read it.
    Raises KeyringError as `load` does, OSError if the file cannot be created.
    """
    if not path.exists():
        with suppress(FileExistsError):
            save_new(Keyring.generate(), path)
    return load(path)


def save_new(keyring: Keyring, path: Path) -> None:
    """Write keys to a new file, and create its folder; raises OSError, for example if it exists."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, keyring.to_text().encode(), new=True)


def load(path: Path) -> Keyring:
    """
    Return the keys of a file.

    Raises KeyringError if the file is invalid or cannot be read, if a user other than this one
    and root owns it, or if other users can access it.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise KeyringError(f"{path}: not a file")
        if found.st_uid not in (os.geteuid(), 0):
            raise KeyringError(f"belongs to another user (id {found.st_uid}): run as that user")
        if found.st_mode & 0o077:
            raise KeyringError(f"{path}: readable by others; set its mode to 0600")
        return Keyring.from_text(path.read_text("utf-8"))
    except KeyringError as error:
        raise KeyringError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise KeyringError(f"{path}: {type(error).__name__}") from None


def rotate(path: Path, change: Callable[[Keyring], Keyring] = Keyring.rotated) -> Keyring:
    """
    Replace the keyring of a file by the result of `change`, and return it.

    Running processes read the file again. Raises KeyringError as `load` and `change` do.
    """
    with folder_lock(path.parent):
        keyring = change(load(path))
        write_whole(path, keyring.to_text().encode())
    return keyring


def _new_key() -> tuple[str, bytes]:
    return f"k{secrets.token_hex(4)}", secrets.token_bytes(_KEY_BYTES)


def _current_id(value: dict[str, Any]) -> str:
    """Return the current key's id from a key file; raises ValueError for wrong fields."""
    fields = value.keys() - _ROTATED if value.keys() >= _ROTATED else value.keys()
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


class Keys(Protocol):
    """A fixed keyring, or one that is reloaded from its file."""

    @property
    def present(self) -> Keyring:
        """Return the current keys; do not store them, or a rotation is missed."""

    def seal(self, plaintext: bytes, associated: bytes) -> tuple[str, bytes]:
        """Return the id of the current key and the ciphertext."""

    def open(self, key_id: str, ciphertext: bytes, associated: bytes) -> bytes:
        """Return the plaintext."""


class KeyFile:
    """
    The keys of a file, reloaded after the file was replaced.

    A stat of the file precedes each use. A rotation replaces it atomically before anything
    is sealed with the new key, so that every process finds every key. A file that cannot be
    read, or that does not continue these keys, is ignored: the process keeps its keys, and
    `check` raises.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._keyring = load_or_create(path)
        self._mark: object = ()  # of the file that was last read
        self._fault: KeyringError | None = None

    @property
    def present(self) -> Keyring:
        """Return the keys of the file, or the last valid ones."""
        mark = _mark(self._path)
        if mark != self._mark:
            with self._lock:
                self._read(mark)
        return self._keyring

    def seal(self, plaintext: bytes, associated: bytes) -> tuple[str, bytes]:
        """Return the id of the current key and the ciphertext."""
        return self.present.seal(plaintext, associated)

    def open(self, key_id: str, ciphertext: bytes, associated: bytes) -> bytes:
        """Return the plaintext; raises KeyringError as `Keyring.open` does."""
        return self.present.open(key_id, ciphertext, associated)

    def check(self) -> None:
        """Raise KeyringError unless the keys in use are those of the file."""
        keyring = self.present
        if self._fault is not None:
            raise self._fault
        if load(self._path).to_text() != keyring.to_text():
            raise KeyringError(f"{self._path}: not the keys in use")

    def _read(self, mark: object) -> None:
        # The mark is taken first: a file replaced in between is read again at the next use.
        try:
            found = load(self._path)
            if not _continues(self._keyring, found):
                raise KeyringError(f"{self._path}: its keys do not continue those in use")
            self._keyring, self._fault = found, None
        except KeyringError as fault:
            self._fault = fault
        self._mark = mark


def _continues(old: Keyring, new: Keyring) -> bool:
    """
    Return whether new keys decrypt what the old ones seal, and include their signing key.

    A wrong file would make the secrets of running games unreadable, and clients that pinned
    the server's key would report a forgery.
    """
    signed = old.signing_key.public_key().public_bytes_raw()
    known = {
        new.signing_key.public_key().public_bytes_raw(),
        *(key.public for key in new.retired),
    }
    sealed = new.keys.get(old.current) == old.keys[old.current]
    return sealed and signed in known and new.bot_secret == old.bot_secret


def _mark(path: Path) -> object:
    """Return the identity of the file at a path; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
