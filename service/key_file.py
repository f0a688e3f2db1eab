"""The keys that a running process works with: those of its file, as the file is now."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

from service.keyring import Keyring, KeyringError, load, load_or_create


class Keys(Protocol):
    """What seals and opens; a keyring that stays as it is, or one that follows its file."""

    @property
    def present(self) -> Keyring:
        """Return the keys as they are now; whoever keeps them misses a rotation."""

    def seal(self, plaintext: bytes, associated: bytes) -> tuple[str, bytes]:
        """Return the id of the key that seals now, and the ciphertext."""

    def open(self, key_id: str, ciphertext: bytes, associated: bytes) -> bytes:
        """Return what was sealed."""


class KeyFile:
    """
    The keys of a file, read again once the file has been replaced.

    The file is looked at (not read) before each use. A rotation replaces it whole
    before anything is sealed with the new key, so on one file no process meets a value
    whose key it cannot find. A file that cannot be read, or that does not lead on from
    these keys, is not taken: the process goes on with the keys it has, and `check` says so.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._keyring = load_or_create(path)
        self._mark: object = ()  # of the file that was last looked into; at first of none
        self._fault: KeyringError | None = None

    @property
    def present(self) -> Keyring:
        """Return the keys that the file has now, or those it had before it went bad."""
        mark = _mark(self._path)
        if mark != self._mark:
            with self._lock:
                self._read(mark)
        return self._keyring

    def seal(self, plaintext: bytes, associated: bytes) -> tuple[str, bytes]:
        """Return the id of the current key and the ciphertext."""
        return self.present.seal(plaintext, associated)

    def open(self, key_id: str, ciphertext: bytes, associated: bytes) -> bytes:
        """Return what was sealed; KeyringError where key, bytes or `associated` are not those."""
        return self.present.open(key_id, ciphertext, associated)

    def check(self) -> None:
        """Raise KeyringError unless the keys in use are those of the file."""
        keyring = self.present
        if self._fault is not None:
            raise self._fault
        if load(self._path).to_text() != keyring.to_text():
            raise KeyringError(f"{self._path}: not the keys in use")

    def _read(self, mark: object) -> None:
        # The mark is older than what is read: replaced in between, the file is read once more.
        try:
            found = load(self._path)
            if not _leads_on(self._keyring, found):
                raise KeyringError(f"{self._path}: keys that do not follow those in use")
            self._keyring, self._fault = found, None
        except KeyringError as fault:
            self._fault = fault
        self._mark = mark


def _leads_on(old: Keyring, new: Keyring) -> bool:
    """
    Return whether new keys open what the old ones seal, and vouch for what they signed.

    A file put there by mistake would make the secrets of running games unreadable, and
    whoever pinned the server's key would be right to cry out.
    """
    signed = old.signing_key.public_key().public_bytes_raw()
    known = {
        new.signing_key.public_key().public_bytes_raw(),
        *(key.public for key in new.retired),
    }
    sealed = new.keys.get(old.current) == old.keys[old.current]
    return sealed and signed in known and new.bot_secret == old.bot_secret


def _mark(path: Path) -> object:
    """Return what tells one file of a name from the next, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
