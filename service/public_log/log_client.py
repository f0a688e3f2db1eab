"""Client of a public log for witnesses and monitors: unverified reads, and repeated polls."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import quote

import orjson

from service.runtime.addresses import is_web_address
from service.runtime.http_client import CallFailed, call
from service.shx.canonical import RecordError
from service.shx.keys import KeyList, followed, read_key_list
from service.shx.tlog.notes import NoteVerifier
from service.shx.tlog.tiles import WIDTH, Tile, entry_tiles, hashes_of, read_entries

TIMEOUT: Final = 30.0
"""Timeout in seconds for one whole answer."""

MAX_ANSWER: Final = 64 << 20  # bytes
NEWEST_GAMES: Final = 50


class Unreachable(Exception):
    """The service does not answer, or its response is invalid."""


class NotPublished(Unreachable):
    """The resource does not exist, or is not public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGame:
    """A game in the public list of the service."""

    id: str
    created_at: str


class LogClient:
    """A service's public log and public games, by the address of the service."""

    def __init__(self, url: str, *, timeout: float = TIMEOUT) -> None:
        if not is_web_address(url):
            raise RecordError("bad_address", f"{url} is no address like https://cards.example")
        self._prefix = f"{url.rstrip('/').removesuffix('/v1/log').removesuffix('/v1')}/v1"
        self._timeout = timeout

    def checkpoint(self) -> bytes:
        """Return the newest checkpoint, unverified; raises Unreachable."""
        return self._get("/log/checkpoint")

    def hashes(self, tile: Tile) -> bytes:
        """
        Return a tile, from the full one if the partial one no longer exists.

        Raises NotPublished if neither exists, and Unreachable.
        """
        try:
            return self._get(f"/log/{tile.path}")
        except NotPublished:
            full = Tile(level=tile.level, index=tile.index)
            if full == tile:
                raise
            return self._get(f"/log/{full.path}")[: tile.width * 32]

    def entries(self, tile: Tile) -> Sequence[bytes]:
        """Return the entries of a bundle; raises Unreachable, RecordError if it is malformed."""
        return read_entries(self._get(f"/log/{tile.path}"), tile)

    def leaves(self, first: int, end: int) -> list[bytes]:
        """Return the entries from `first` to `end` (exclusive); raises as `entries`."""
        if first >= end:
            return []
        found: list[bytes] = []
        for tile in entry_tiles(first, end):
            found += self.entries(tile)
        return found[first % WIDTH :]

    def leaf_hashes(self, first: int, end: int) -> list[bytes]:
        """
        Return the hashes of leaves by the tiles; an empty list if these cannot be read.

        If they lead to the checkpoint, one history was signed, and an entry was damaged later.
        """
        found: list[bytes] = []
        try:
            for bundle in entry_tiles(first, end):
                tile = Tile(level=0, index=bundle.index, width=bundle.width)
                found += hashes_of(self.hashes(tile), tile)
        except (NotPublished, RecordError):
            return []
        return found[first % WIDTH :] if first < end else []

    def key_list(self) -> KeyList:
        """
        Return the keys that the service lists, and the signed retirements of old keys.

        Raises Unreachable if the service does not answer, or its answer is invalid.
        """
        try:
            return read_key_list(self._json("/keys"))
        except RecordError as error:
            raise Unreachable(f"the list of keys cannot be read: {error.detail}") from None

    def keys(self, trusted: Iterable[NoteVerifier]) -> list[NoteVerifier]:
        """
        Return the trusted keys and those listed keys that a chain of endorsements leads to.

        Without a trusted key all listed keys are accepted: this is for the first contact
        with a log only. Raises Unreachable.
        """
        known = list(trusted)
        listed = self.key_list().keys
        return followed(known, listed) if known else [key.verifier for key in listed]

    def newest_games(self) -> list[ListedGame]:
        """
        Return the newest public games, at most NEWEST_GAMES.

        Raises Unreachable if the service does not answer, or its answer is invalid.
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
        """
        Return the lines of a public game from seq `after` on, at most 1,000.

        Raises NotPublished for a private or unknown game, and Unreachable.
        """
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
            url = self._prefix + path
            reply = call(url, seconds=self._timeout, most=MAX_ANSWER, headers=headers)
        except CallFailed as error:
            raise Unreachable(f"{path}: {error}") from None
        if reply.status == 404:
            raise NotPublished(f"{path} answers 404")
        if reply.status != 200:
            raise Unreachable(f"{path} answers {reply.status}")
        return reply.body


MIN_HEALTHY_SECONDS: Final = 300.0
"""
The health check fails if no poll succeeded for this time.

If five intervals between polls are longer, it fails after those.
"""

HEALTH_PATH: Final = "/healthz"
REQUEST_SECONDS: Final = 10  # for a request to arrive


class Poller:
    """Runs polls one after another, and counts and logs their failures."""

    def __init__(
        self,
        *,
        every: float,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = max(MIN_HEALTHY_SECONDS, 5 * every)
        self._report = report
        self._clock = clock
        self._lock = threading.Lock()
        self._last = clock()  # the last success; at first the start
        self._looks = self._failed = self._in_a_row = 0
        self._reason: str | None = None

    def run(self, poll: Callable[[], object]) -> bool:
        """Poll once, log and count an exception; return whether the poll succeeded."""
        reason = None
        try:
            poll()
        except Exception as error:  # noqa: BLE001 - a malformed response must not end the process
            reason = f"{error}" or type(error).__name__
        with self._lock:
            self._looks += 1
            self._reason = reason
            if reason is None:
                self._last, self._in_a_row = self._clock(), 0
            else:
                self._failed, self._in_a_row = self._failed + 1, self._in_a_row + 1
        if reason is not None:
            self._report(f"the log cannot be read: {reason} ({self._in_a_row} in a row)")
        return reason is None

    def health(self) -> tuple[bool, dict[str, Any]]:
        """Return whether a recent poll succeeded, and the counts."""
        with self._lock:
            age = self._clock() - self._last
            return age <= self._limit, {
                "status": "ok" if age <= self._limit else "no recent poll succeeded",
                "looks": self._looks,
                "failed": self._failed,
                "failed_in_a_row": self._in_a_row,
                "seconds_since_success": round(age),
                "reason": self._reason,
            }


def health_answer(poller: Poller) -> tuple[int, bytes]:
    """Return the status and the body of a health response."""
    well, facts = poller.health()
    return 200 if well else 503, json.dumps(facts).encode() + b"\n"


def health_server(poller: Poller, host: str, port: int) -> ThreadingHTTPServer:
    """Return a server for `GET /healthz`; it responds once `serve_forever` runs."""

    class Handler(BaseHTTPRequestHandler):
        """Responds for this poller."""

        timeout = REQUEST_SECONDS

        def do_GET(self) -> None:
            """Answer /healthz."""
            status, body = (
                health_answer(poller) if self.path == HEALTH_PATH else (404, b"see /healthz\n")
            )
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Do not log health probes."""

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    return server
