"""HTTP client of a public log, for witnesses and monitors; responses are unverified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

import orjson

from service.public_log.http_client import CallFailed, call
from service.shx.canonical import RecordError
from service.shx.keys import KeyList, followed, read_key_list
from service.shx.tlog.notes import NoteVerifier
from service.shx.tlog.tiles import Tile, read_entries

PATIENCE: Final = 30.0
"""Seconds for one whole answer."""

MOST: Final = 64 << 20  # bytes of one answer
NEWEST_GAMES: Final = 50


class Unreachable(Exception):
    """The service does not answer, or its response is invalid."""


class NotThere(Unreachable):
    """The resource does not exist, or is not public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGame:
    """A game in the public list of the service."""

    id: str
    created_at: str


class LogClient:
    """A service's public log and public games, by the address of the service."""

    def __init__(self, url: str, *, patience: float = PATIENCE) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise RecordError("bad_address", f"{url} is no address like https://cards.example")
        self._prefix = f"{url.rstrip('/').removesuffix('/v1/log').removesuffix('/v1')}/v1"
        self._patience = patience

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

    def key_list(self) -> KeyList:
        """
        Return the keys that the service lists, and the retirements that go with them.

        Raises Unreachable if the service does not answer, or with something else.
        """
        try:
            return read_key_list(self._json("/keys"))
        except RecordError as error:
            raise Unreachable(f"the list of keys cannot be read: {error.detail}") from None

    def keys(self, trusted: Iterable[NoteVerifier]) -> list[NoteVerifier]:
        """
        Return the trusted keys with those that they signed.

        Without a trusted key all listed keys are accepted: this is for the first contact
        with a log only.
        """
        known = list(trusted)
        listed = self.key_list().keys
        return followed(known, listed) if known else [key.verifier for key in listed]

    def newest_games(self) -> list[ListedGame]:
        """
        Return the games of public tables that were dealt last.

        Raises Unreachable if the service does not answer, or with something else.
        """
        found = self._json(f"/games?limit={NEWEST_GAMES}")
        try:
            return [
                ListedGame(id=str(item["id"]), created_at=str(item["created_at"]))
                for item in found["items"]
            ]
        except (TypeError, KeyError):
            raise Unreachable("the list of games cannot be read") from None

    def events(self, game: str, after: int) -> tuple[bytes, ...]:
        """Return the lines of a public game from a seq on; NotThere where it is private."""
        text = self._get(f"/games/{quote(game)}/events?after={after}&limit=1000", ndjson=True)
        return tuple(text.removesuffix(b"\n").split(b"\n")) if text else ()

    def _json(self, path: str) -> Any:
        try:
            return orjson.loads(self._get(path))
        except orjson.JSONDecodeError:
            raise Unreachable(f"{path} is not JSON") from None

    def _get(self, path: str, *, ndjson: bool = False) -> bytes:
        headers = {"Accept": "application/x-ndjson" if ndjson else "*/*"}
        try:
            reply = call(self._prefix + path, seconds=self._patience, most=MOST, headers=headers)
        except CallFailed as error:
            raise Unreachable(f"{path}: {error}") from None
        if reply.status == 404:
            raise NotThere(f"{path} answers 404")
        if reply.status != 200:
            raise Unreachable(f"{path} answers {reply.status}")
        return reply.body
