"""Reading a public log over HTTP, as its witnesses and monitors do; nothing is believed."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote, urlsplit

from service.record.canonical import RecordError
from service.record.notes import NoteVerifier
from service.record.server_keys import followed, read_keys
from service.record.tiles import Tile, read_entries

PATIENCE: Final = 15.0  # seconds
MOST: Final = 64 << 20  # bytes of one answer


class Unreachable(Exception):
    """The service does not answer, or with something else than it should."""


class NotThere(Unreachable):
    """There is nothing at that address, or nothing for everybody."""


class LogClient:
    """A service's public log and public games, by the address of the service."""

    def __init__(self, url: str) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise RecordError("bad_address", f"{url} is no address like https://cards.example")
        self._prefix = f"{url.rstrip('/').removesuffix('/v1/log').removesuffix('/v1')}/v1"

    def checkpoint(self) -> bytes:
        """Return the newest checkpoint, unchecked."""
        return self._get("/log/checkpoint")

    def hashes(self, tile: Tile) -> bytes:
        """Return a tile, or the beginning of the full one where the partial one is gone."""
        try:
            return self._get(f"/log/{tile.path}")
        except NotThere:
            full = Tile(level=tile.level, index=tile.index)
            if full == tile:
                raise
            return self._get(f"/log/{full.path}")[: tile.width * 32]

    def entries(self, tile: Tile) -> Sequence[bytes]:
        """Return the entries of a bundle."""
        return read_entries(self._get(f"/log/{tile.path}"), tile)

    def keys(self, trusted: Iterable[NoteVerifier]) -> list[NoteVerifier]:
        """
        Return the trusted keys with those that they signed.

        Without a trusted key all that are listed are believed: so it is for whoever
        meets a log for the first time, and must not be for anybody else.
        """
        known = list(trusted)
        try:
            listed = read_keys(json.loads(self._get("/keys"))["items"])
        except (ValueError, TypeError, KeyError):
            raise Unreachable("the list of keys cannot be read") from None
        return followed(known, listed) if known else [key.verifier for key in listed]

    def events(self, game: str, after: int) -> tuple[bytes, ...]:
        """Return the lines of a public game from a seq on; NotThere where it is private."""
        text = self._get(f"/games/{quote(game)}/events?after={after}&limit=1000", ndjson=True)
        return tuple(text.removesuffix(b"\n").split(b"\n")) if text else ()

    def _get(self, path: str, *, ndjson: bool = False) -> bytes:
        headers = {"Accept": "application/x-ndjson" if ndjson else "*/*"}
        request = urllib.request.Request(self._prefix + path, headers=headers)  # noqa: S310 - http(s) only, see above
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - as above
                content: Any = answer.read(MOST)
                return bytes(content)
        except urllib.error.HTTPError as error:
            kind = NotThere if error.code == 404 else Unreachable
            raise kind(f"{path} answers {error.code}") from None
        except (OSError, ValueError) as error:
            raise Unreachable(f"{path}: {type(error).__name__}") from None
