"""The keys of a service, from SHITHEAD_KEYS or a key file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.config import variable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from service.keys.keyring import Keyring


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysAtHand:
    """The keys that the service would use, and their source."""

    where: str  # SHITHEAD_KEYS, or a path
    keyring: Keyring | None  # None: the file does not exist

    def lacking(self, needed: Iterable[str]) -> list[str]:
        """Return the ids of needed keys that are missing."""
        return sorted(set(needed) - set(self.keyring.keys if self.keyring else ()))


def key_file_of(key_file: Path | None, data: Path) -> Path:
    """Return the path of a service's key file."""
    return key_file if key_file is not None else data / "keys.json"


def keys_at_hand(key_file: Path | None, data: Path) -> KeysAtHand:
    """
    Return the keys as the service reads them: from SHITHEAD_KEYS, else from its file.

    A file named on the command line takes precedence over both. Raises ClickException if
    the keys cannot be read.
    """
    from service.keys.keyring import Keyring, KeyringError

    name, text = variable("keys"), os.environ.get(variable("keys"), "").strip()
    named = key_file is not None and str(key_file) != os.environ.get(variable("key_file"))
    if text and not named:
        try:
            return KeysAtHand(where=name, keyring=Keyring.from_text(text))
        except KeyringError as error:
            raise click.ClickException(f"{name}: {error}") from None
    path = key_file_of(key_file, data)
    return KeysAtHand(where=str(path), keyring=read_keys(path) if path.exists() else None)


def signer_at_hand(key_file: Path | None, data: Path) -> Ed25519PrivateKey | None:
    """Return the key that signs backups; None if the keys cannot be read."""
    try:
        keyring = keys_at_hand(key_file, data).keyring
    except (click.ClickException, OSError):
        return None
    return None if keyring is None else keyring.signing_key


def read_keys(path: Path) -> Keyring:
    """Return the keys in a file; raises ClickException if it cannot be read."""
    from service.keys.keyring import KeyringError, load

    try:
        return load(path)
    except KeyringError as error:
        raise click.ClickException(str(error)) from None


def opening(at_hand: KeysAtHand, needed: Iterable[str]) -> Keyring:
    """Return the keyring; raises ClickException if it, or a needed key, is missing."""
    if at_hand.keyring is None:
        raise click.ClickException(f"the keys are missing: {at_hand.where} does not exist")
    if lost := at_hand.lacking(needed):
        raise click.ClickException(closed(at_hand, lost))
    return at_hand.keyring


def closed(at_hand: KeysAtHand, lost: Iterable[str]) -> str:
    """Return the message about missing keys."""
    return f"{at_hand.where} has no key {', '.join(lost)}, which running games need"


def write_keys(keyring: Keyring, path: Path) -> None:
    """Write keys to a new file that only its owner can read; raises ClickException."""
    from service.keys.keyring import save_new

    try:
        save_new(keyring, path)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None
