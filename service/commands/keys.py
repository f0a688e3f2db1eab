"""The keys of a service as its commands find them: in SHITHEAD_KEYS, or in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.config import variable

if TYPE_CHECKING:
    from service.keyring import Keyring


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysAtHand:
    """The keys that a service would take, and where they are, or would have to be."""

    where: str
    keyring: Keyring | None  # None: there is no such file

    def lacking(self, needed: Iterable[str]) -> list[str]:
        """Return which keys are needed that are not there."""
        return sorted(set(needed) - set(self.keyring.keys if self.keyring else ()))


def key_file_of(key_file: Path | None, data: Path) -> Path:
    """Return where the key file of a service lies."""
    return key_file if key_file is not None else data / "keys.json"


def keys_at_hand(key_file: Path | None, data: Path) -> KeysAtHand:
    """
    Return the keys as the service finds them: SHITHEAD_KEYS first, then its file.

    A file that was named on the command line is the one that is meant.
    """
    from service.keyring import Keyring, KeyringError

    name, text = variable("keys"), os.environ.get(variable("keys"), "").strip()
    named = key_file is not None and str(key_file) != os.environ.get(variable("key_file"))
    if text and not named:
        try:
            return KeysAtHand(where=name, keyring=Keyring.from_text(text))
        except KeyringError as error:
            raise click.ClickException(f"{name}: {error}") from None
    path = key_file_of(key_file, data)
    return KeysAtHand(where=str(path), keyring=read_keys(path) if path.exists() else None)


def read_keys(path: Path) -> Keyring:
    """Return the keys of a file."""
    from service.keyring import KeyringError, load

    try:
        return load(path)
    except KeyringError as error:
        raise click.ClickException(str(error)) from None


def opening(at_hand: KeysAtHand, needed: Iterable[str]) -> Keyring:
    """Return keys that open the running games; an error where they are not there, or not all."""
    if at_hand.keyring is None:
        raise click.ClickException(f"{at_hand.where} is not there")
    if lost := at_hand.lacking(needed):
        raise click.ClickException(closed(at_hand, lost))
    return at_hand.keyring


def closed(at_hand: KeysAtHand, lost: Iterable[str]) -> str:
    """Return in words that keys are missing, and what for."""
    return f"{at_hand.where} has no key {', '.join(lost)}, which running games need"


def write_keys(keyring: Keyring, path: Path) -> None:
    """Write keys to a new file that its owner alone may read."""
    from service.keyring import save_new

    try:
        save_new(keyring, path)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None
