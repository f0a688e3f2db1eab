"""The files of a player: token, key, pinned server keys, a folder per game."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.runtime.atomic_files import write_whole
from service.runtime.plain_errors import why
from service.shx.canonical import RecordError
from service.shx.tlog.notes import NoteVerifier, parse_verifier


class BadFile(Exception):
    """A file is invalid or cannot be read, or other users may read a secret in it."""


class PlayerFolder:
    """The folder of one player at one service; only its owner can read it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def at(cls, home: Path, url: str) -> PlayerFolder:
        """Return the folder for a service: a separate one for each, because their keys differ."""
        return cls(home / (urlsplit(url).netloc or "service").replace(":", "_"))

    def game(self, game: UUID) -> Path:
        """Return the folder of a game that the player plays; it is created if missing."""
        return self._create("games", game)

    def watched(self, game: UUID) -> Path:
        """Return the folder of a game that is watched, a separate one: each log has one writer."""
        return self._create("watched", game)

    def _create(self, kind: str, game: UUID) -> Path:
        """Create a game's folder with one for receipts, readable by the owner alone; return it."""
        folder = self.folder / kind / str(game)
        for part in (self.folder.parent, self.folder, folder.parent, folder, folder / "receipts"):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)  # parents get another mode
        return folder

    def share(self, table: UUID) -> tuple[str | None, str] | None:
        """
        Return the key and entropy last stored for the player's seat at a table, None without.

        Raises BadFile for invalid content.
        """
        path = self._share_path(table)
        if not path.exists():
            return None
        try:
            value = json.loads(path.read_text("utf-8"))
            return value["key"], value["entropy"]
        except (OSError, ValueError, TypeError, KeyError):
            raise BadFile(f"{path}: not the key and entropy of a seat") from None

    def keep_share(self, table: UUID, key: str | None, entropy: str) -> None:
        """Store the key and entropy of the player's seat at a table."""
        value = {"key": key, "entropy": entropy}
        write_private(self._share_path(table), json.dumps(value).encode() + b"\n")

    def _share_path(self, table: UUID) -> Path:
        return self.folder / "tables" / f"{table}.json"

    def pinned(self) -> list[NoteVerifier]:
        """
        Return the pinned keys of the server: those first seen, and their successors.

        Raises BadFile for invalid content.
        """
        path = self.folder / "server.keys"
        try:
            lines = path.read_text("utf-8").split() if path.exists() else []
            return [parse_verifier(line) for line in lines]
        except (RecordError, OSError, UnicodeDecodeError) as error:
            raise BadFile(f"{path}: not the keys of a server: {why(error)}") from None

    def pin(self, keys: list[NoteVerifier]) -> None:
        """Replace the pinned keys of the server."""
        write_private(self.folder / "server.keys", "".join(f"{key}\n" for key in keys).encode())


def read_token(path: Path) -> str | None:
    """
    Return the token in a file, None without the file.

    Raises BadFile if the file cannot be read, or can be read by other users.
    """
    if not path.exists():
        return None
    return _secret(path).strip()


def read_seat_key(path: Path) -> Ed25519PrivateKey:
    """
    Return a player's key from its file; a missing file is created with a new key.

    Raises BadFile if the file is invalid, cannot be read, or can be read by other users.
    """
    if not path.exists():
        keep_seat_key(path, Ed25519PrivateKey.generate())
    try:
        value = json.loads(_secret(path))
        return Ed25519PrivateKey.from_private_bytes(b64decode(value["ed25519"], validate=True))
    except (ValueError, TypeError, KeyError):
        raise BadFile(f"{path}: not the key of a player") from None


def keep_seat_key(path: Path, key: Ed25519PrivateKey) -> None:
    """Write a key to its file."""
    private = b64encode(key.private_bytes_raw()).decode("ascii")
    write_private(path, json.dumps({"v": 1, "ed25519": private}).encode() + b"\n")


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read; its folder is created if it is missing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, content)


def _secret(path: Path) -> str:
    try:
        if path.stat().st_mode & 0o077:
            raise BadFile(f"{path}: other users can read it; set its mode to 0600")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"{path}: {type(error).__name__}") from None
