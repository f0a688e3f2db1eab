"""A client written from the published contract; it imports nothing from the service."""

from __future__ import annotations

import http.client
import json
import random
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


@dataclass(kw_only=True)
class Client:
    """A client, with or without a token."""

    port: int
    host: str = "127.0.0.1"
    token: str | None = None
    slowest: float = 0.0  # seconds of the slowest answer so far
    _connection: http.client.HTTPConnection | None = field(default=None, repr=False)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """
        Send a request and return the answer.

        If the server closes the connection, the request is sent once more, except a POST without
        an Idempotency-Key.
        """
        own = {"Content-Type": "application/json"} if body is not None else {}
        if self.token is not None:
            own["Authorization"] = f"Bearer {self.token}"
        sent = None if body is None else json.dumps(body)
        began = time.monotonic()
        for last in (False, True):
            connection = self._connected()
            try:
                connection.request(method, path, body=sent, headers={**own, **(headers or {})})
                response = connection.getresponse()
                content = response.read()
            except (http.client.RemoteDisconnected, ConnectionError, BrokenPipeError):
                self.close()
                if last or (method == "POST" and "Idempotency-Key" not in (headers or {})):
                    raise
                continue
            self.slowest = max(self.slowest, time.monotonic() - began)
            return Answer(status=response.status, headers=dict(response.headers), body=content)
        raise AssertionError("not reached")

    def get(self, path: str, **headers: str) -> Any:
        """Return the JSON of a call that must succeed."""
        answer = self.call("GET", path, headers=headers)
        assert answer.status == 200, (path, answer.status, answer.body)
        return answer.json

    def post(self, path: str, body: Any) -> Any:
        """Return the JSON of a POST that must succeed; safe to repeat."""
        answer = self.call("POST", path, body, {"Idempotency-Key": str(uuid.uuid4())})
        assert answer.status in (200, 201), (path, body, answer.status, answer.body)
        return answer.json

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        return self._connection


def register(port: int, name: str, host: str = "127.0.0.1") -> Client:
    """Return a new player's client."""
    return registered(port, name, host)[0]


def registered(port: int, name: str, host: str = "127.0.0.1") -> tuple[Client, dict[str, Any]]:
    """Return a new player's client, and what a browser stores of the player."""
    client = Client(port=port, host=host)
    answer = client.call("POST", "/v1/players", {"name": name})
    assert answer.status == 201, (answer.status, answer.body)
    client.token = answer.json["token"]
    return client, answer.json


def open_table(
    players: list[Client], *, ruleset: str, bots: tuple[str, ...] = (), **more: Any
) -> str:
    """Open a table for these players and bots, sit down, and return the id of the first hand."""
    seats = ["me", *["open"] * (len(players) - 1), *({"bot": bot} for bot in bots)]
    table = players[0].post("/v1/tables", {"ruleset": ruleset, "seats": seats, **more})
    for player in players[1:]:
        table = player.post(f"/v1/tables/{table['id']}/seats", {"seat": None})
    game: str = table["game"]
    return game


def chosen(moves: list[dict[str, Any]], rng: random.Random) -> dict[str, Any]:
    """
    Return one of the listed moves: few swaps, and usually the lowest card.

    So the exchange ends, and a hand takes about 100 moves; with random moves it takes up to 1,000.
    """
    ready = [move for move in moves if move["type"] == "ready"]
    if ready and rng.random() < 0.6:
        return ready[0]
    plays = [move for move in moves if move["type"] in ("play", "play_blind", "lay")]
    if plays and rng.random() < 0.9:
        return min(plays, key=_rank)
    return rng.choice(plays if plays and rng.random() < 0.9 else moves)


def _rank(move: dict[str, Any]) -> int:
    """Return the sort key of the first card of a move: special cards last, a blind card first."""
    cards = move.get("cards") or [""]
    return "3456789JQKAT2".find(cards[0][:1]) % 14


def play_on(
    players: list[Client], game: str, rng: random.Random, *, moves: int = 100_000
) -> dict[str, Any]:
    """
    Play for all players from their lists of moves, and return the public view.

    Ends with the hand, or after `moves` moves. If a bot or another seat was faster, a move is
    refused as stale, and its player reads the view again.
    """
    path, made, quiet, version = f"/v1/games/{game}", 0, time.monotonic(), 0
    while made < moves:
        acted = 0
        for player in players:
            view = player.get(path)
            if view["moves"]:
                acted += _try(player, path, chosen(view["moves"], rng), view["version"])
        made += acted
        if view["status"] in ("ended", "aborted"):
            break
        if acted or view["version"] != version:
            quiet, version = time.monotonic(), view["version"]
        else:
            players[0].get(f"{path}?after={version}&wait=2")
        assert time.monotonic() - quiet < 60, f"nothing happens in {game}: {view}"
    seen: dict[str, Any] = players[0].get(f"{path}?as=public")
    return seen


def _try(player: Client, path: str, move: dict[str, Any], version: int) -> bool:
    headers = {"Idempotency-Key": str(uuid.uuid4()), "If-Match": f'"v{version}"'}
    answer = player.call("POST", f"{path}/moves", move, headers)
    if answer.status == 201:
        return True
    assert answer.status in (409, 412), (move, answer.status, answer.body)
    return False
