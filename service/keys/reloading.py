"""Keys of a running process, reloaded when their file is replaced."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

from service.keys.keyring import Keyring, KeyringError, load, load_or_create


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
        """Return the plaintext; raises KeyringError if key, bytes or `associated` differ."""
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
