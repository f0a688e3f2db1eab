"""The callers of the permission matrix, at a table of their own, over HTTP."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from service.shx.receipts import vote_commitment
from tests.authorization.matrix import (
    ANYWHERE,
    BODIES,
    NEVER_ISSUED,
    REQUIRED_QUERIES,
    THIS_GAME,
    Cell,
)

PLAYERS = ("outsider", "guest", "seat", "other seat", "host", "referee")
_REFEREES = ("referee", "second referee", "third referee")
_SALT = b"s" * 32
_ERASURE = "DELETE /v1/players/me"

_WITHOUT_EFFECT = {
    *("POST /v1/players", "POST /v1/tables", "POST /v1/verify"),
    *("PATCH /v1/players/me", "POST /v1/players/me/recovery"),
    "POST /v1/players/me/tokens",
    *("POST /v1/disputes/{dispute_id}/statements", "POST /v1/games/{game_id}/back"),
    *("POST /v1/games/{game_id}/what-if", "POST /v1/players/me/moments"),
}
"""Calls that do not change the answers to other calls: the scene can be used again after them."""

_UNDONE = {
    "PUT /v1/players/me/blocks/{player_id}": "/v1/players/me/blocks/{player_id}",
    "PUT /v1/players/me/webhook": "/v1/players/me/webhook",
    "PUT /v1/games/{game_id}/notes/{seq}": "/v1/games/{game_id}/notes/{seq}",
}
"""Calls that one `DELETE` of this path undoes, so that no other scene has to be set up."""


@dataclass(kw_only=True)
class Scene:
    """A table with every kind of caller."""

    connection: http.client.HTTPConnection
    table: str  # public or private
    hand: str
    tokens: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    invite: str = NEVER_ISSUED

    def set_up(self) -> Scene:
        """Seat three people at a table of the host, open a dispute, and play as `hand` requires."""
        for name in (*PLAYERS, "third seat", *_REFEREES[1:]):
            self._register(name)
        wanted = {"ruleset": "shithead", "seats": ["open"] * 3, "visibility": self.table}
        opened = self.done("POST", "/v1/tables", wanted, by="host")
        table, self.invite = opened["id"], opened.get("invite", NEVER_ISSUED)
        for name in ("seat", "other seat", "third seat"):
            answer = self.done("POST", f"/v1/tables/{table}/seats", {}, by=name)
        self.ids |= {"table_id": table, "game_id": answer["game"], "player_id": self.ids["seat"]}
        self.ids["accused"] = self.ids["other seat"]
        self._accuse()
        if self.hand not in ("running", "new"):
            self.done("POST", self._game("/moves"), {"type": "forfeit"}, by="other seat")
        if self.hand == "open":
            self.done("DELETE", f"/v1/tables/{table}/seats/me", None, by="third seat")
        if self.hand == "ruled":
            self._rule()
        return self

    def status(self, cell: Cell, **known: str) -> int:
        """Return the status that the caller of a cell gets."""
        method, _, path = cell.operation.partition(" ")
        query = cell.query or REQUIRED_QUERIES.get(cell.operation, "")
        filled = f"{path}?{query}" if query else path
        headers = {}
        if cell.caller in ("invited", "guest"):
            headers["Shithead-Invite"] = self.invite
        if cell.caller == "dead token":
            headers["Authorization"] = f"Bearer {NEVER_ISSUED}"
        elif cell.caller in self.tokens:
            headers["Authorization"] = f"Bearer {self.tokens[cell.caller]}"
        body = BODIES.get(cell.operation)
        if isinstance(body, dict) and THIS_GAME in body.values():
            body = {**body, "game": self.ids["game_id"]}
        site = f"{self.connection.host}:{self.connection.port}"
        path = filled.format(**(ANYWHERE | {"site": site} | known | self.ids))
        return self._ask(method, path, body, headers)[0]

    def restored(self, cell: Cell) -> Scene:
        """Return a scene in the state before the successful call of a cell."""
        if cell.operation[:4] == "GET " or cell.operation in _WITHOUT_EFFECT:
            return self
        if cell.operation == _ERASURE and cell.caller in ("outsider", "guest"):
            self._register(cell.caller)  # this player sits at no table
            return self
        if path := _UNDONE.get(cell.operation):
            self.done("DELETE", path.format(**(ANYWHERE | self.ids)), None, by=cell.caller)
            return self
        return Scene(connection=self.connection, table=self.table, hand=self.hand).set_up()

    def done(self, method: str, path: str, body: Any, *, by: str | None) -> Any:
        """Return the answer to a call that must succeed; the invite is sent along."""
        headers = {"Shithead-Invite": self.invite}
        if by is not None:
            headers["Authorization"] = f"Bearer {self.tokens[by]}"
        status, answer = self._ask(method, path, body, headers, whole=True)
        assert status in (200, 201, 204), (method, path, by, status, answer)
        return json.loads(answer) if answer else None

    def _register(self, name: str) -> None:
        answer = self.done("POST", "/v1/players", {"name": name}, by=None)
        self.tokens[name], self.ids[name] = answer["token"], answer["id"]

    def _accuse(self) -> None:
        game = self.done("GET", self._game(""), None, by="other seat")
        swap = next(move for move in game["moves"] if move["type"] == "swap")
        self.done("POST", self._game("/moves"), swap, by="other seat")
        accusation = {"accused": 1, "partner": 2, "charge": "collusion", "statement": "Not so."}
        answer = self.done("POST", self._game("/disputes"), accusation, by="seat")
        self.ids["dispute_id"] = answer["id"]
        for name in _REFEREES if self.hand != "new" else ():
            self.done("POST", f"/v1/disputes/{answer['id']}/referees", {}, by=name)

    def _rule(self) -> None:
        votes, identity = f"/v1/disputes/{self.ids['dispute_id']}/votes", self.ids["dispute_id"]
        for number, name in enumerate(_REFEREES):
            commit = vote_commitment(UUID(identity), number, "not_proven", _SALT).hex()
            self.done("POST", votes, {"commit": commit}, by=name)
        for name in _REFEREES:
            opened = {"vote": "not_proven", "salt": _SALT.hex()}
            self.done("POST", votes, opened, by=name)

    def _game(self, rest: str) -> str:
        return f"/v1/games/{self.ids['game_id']}{rest}"

    def _ask(
        self,
        method: str,
        path: str,
        body: Any,
        headers: dict[str, str],
        *,
        whole: bool = False,
    ) -> tuple[int, bytes]:
        """Return the status and, if `whole`, the body; the body of a stream is not read."""
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        kind = "application/x-ndjson" if isinstance(body, bytes) else "application/json"
        headers = headers if sent is None else {"Content-Type": kind, **headers}
        connection = self.connection
        stream = path.partition("?")[0].endswith("/stream")
        connection.request(method, path, body=sent, headers=headers)
        answer = connection.getresponse()
        content = b"" if stream else answer.read()
        if stream or (answer.status >= 400 and sent is not None):
            # The server closes a connection of which it did not read the request body.
            connection.close()  # the next call connects again
        return answer.status, content if whole else b""
