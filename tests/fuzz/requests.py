"""Random requests: each call with changed body, query, path and headers."""

from __future__ import annotations

import json
import random
from typing import Any

from service.shx.bundle import write_bundle
from tests.authorization.matrix import ANYWHERE, BODIES, REQUIRED_QUERIES, cells
from tests.fuzz.changes import changed_bytes, changed_json, odd_text
from tests.tamper import sample_lines
from tests.worlds.api_world import PROBLEM, Person, World

LARGEST = 2_000_000
"""Limit of an answer in bytes: no answer may grow with the size of its request."""

_MOVES: tuple[dict[str, Any], ...] = (
    {"type": "play", "cards": ["7c", "7h"]},
    {"type": "play_blind", "slot": 1},
    {"type": "pick_up", "with": ["Kd"]},
    {"type": "pick_up"},
    {"type": "try_stock"},
    {"type": "pass"},
    {"type": "swap", "up": ["Kd"], "hand": ["4c"]},
    {"type": "lay", "stacks": [["Kd", "Kh"], ["Ac"], ["Ts"]]},
    {"type": "ready"},
    {"type": "ready", "auth": {"intent": {"v": 1, "nonce": "00" * 16}, "sig": "AA=="}},
)
_TABLE: dict[str, Any] = {
    "ruleset": "shithead",
    "seats": ["me", "open", {"bot": "greedy"}],
    "options": {"jokers": 2},
    "clock": {"turn_seconds": 30, "swap_seconds": 60},
    "window_seconds": 3,
    "visibility": "private",
    "entropy": "value",
    "key": "A" * 43 + "=",
    "turn_limit": 100,
    "deal": True,
}
_VALID_BODIES: dict[str, tuple[Any, ...]] = {
    "POST /v1/games/{game_id}/moves": _MOVES,
    "POST /v1/tables": (_TABLE,),
    "POST /v1/rulesets": (
        {"name": "mine", "base": "leeds", "changes": {"deal": {"hand": 4}}},
        {"name": "mine", "base": "threes", "changes": {"ranks": {"7": {"asks": "at_most"}}}},
    ),
    "POST /v1/tables/{table_id}/seats": ({"seat": 1, "entropy": "value", "key": None},),
    "PATCH /v1/tables/{table_id}/seats/me": (
        {"entropy": "none", "key": "A" * 43 + "=", "sig": ""},
    ),
    "POST /v1/games/{game_id}/entropy": ({"commit": "00" * 32},),
    "POST /v1/disputes/{dispute_id}/receipts": ({"receipt": "origin/g/x\n1\nA=\n\n— o A=\n"},),
    "POST /v1/disputes/{dispute_id}/referees": ({"refuse": 0},),
    "POST /v1/disputes/{dispute_id}/votes": (
        {"vote": "cheated", "salt": "00" * 32},
        {"vote": "not_proven"},
    ),
    "POST /v1/games/{game_id}/disputes": (
        {"accused": None, "seq": 0, "charge": "altered_log", "statement": "x"},
    ),
}
_QUERIES = (
    *("limit=1", "cursor=x", "at=1", "as=0", "as=all", "from=1&to=2", "after=0&wait=0"),
    *("table={table_id}", "player=me", "status=playing", "mine=true", "profile=seat", "seat=0"),
)
_HEADERS = {
    "If-Match": '"v3"',
    "If-None-Match": '"v3"',
    "Idempotency-Key": "once",
    "Accept": "application/x-ndjson",
    "Shithead-Invite": "A" * 43,
    "Authorization": "Bearer x",
    "X-Request-ID": "x",
    "Last-Event-ID": "3",
    "Content-Encoding": "identity",
    "Origin": "https://elsewhere.example",
    "X-Forwarded-For": "1.2.3.4",
}
_ENDLESS = "GET /v1/games/{game_id}/stream"


class Requests:
    """An application with a game, to which random requests are sent."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._calls = sorted({cell.operation for cell in cells()} - {_ENDLESS})
        self._begin()

    def __call__(self, chance: random.Random) -> None:
        """Send one request; the answer is no internal error and fits its content type."""
        if chance.random() < 0.01:
            self._begin()
        operation = chance.choice(self._calls)
        method, _, template = operation.partition(" ")
        answer = self.world.client.open(
            self._path(operation, template, chance),
            method=method,
            headers=self._headers(chance),
            **self._body(operation, chance),
        )
        result = f"{method} {answer.request.full_path}: {answer.status_code} {answer.data[:300]!r}"
        busy = answer.status_code == 503 and operation == "POST /v1/rulesets"  # no worker is here
        assert answer.status_code < 500 or busy, result
        assert len(answer.data) < LARGEST, result[:300]
        assert answer.headers["X-Request-ID"], result
        if answer.status_code >= 400 and answer.request.method != "HEAD":
            assert answer.content_type == PROBLEM, result
            assert answer.json["status"] == answer.status_code, result
        elif answer.content_type == "application/json" and answer.data:
            json.loads(answer.data)

    def _begin(self) -> None:
        """Open a new table, because earlier requests may have closed it or erased its players."""
        self.person: Person = self.world.person()
        other = self.world.person()
        table = self.person.table("open", entropy="value")
        seated = other.post(f"/v1/tables/{table['id']}/seats", {"entropy": "value"})
        game = seated.json["game"]
        accused = {"accused": None, "seq": 0, "charge": "wrong_deal", "statement": "x"}
        dispute = self.person.post(f"/v1/games/{game}/disputes", accused)
        self._ids = {
            **ANYWHERE,
            "table_id": table["id"],
            "game_id": game,
            "dispute_id": dispute.json["id"],
            "player_id": self.person.id,
            "accused": self.person.id,
            "published": game,
        }

    def _path(self, operation: str, template: str, chance: random.Random) -> str:
        ids = dict(self._ids)
        if chance.random() < 0.2:
            name = chance.choice(list(ids))
            ids[name] = changed_bytes(ids[name].encode(), chance).decode("latin-1")
        query = chance.choice((REQUIRED_QUERIES.get(operation, ""), *_QUERIES, "")).format(**ids)
        if query and chance.random() < 0.5:
            query = changed_bytes(query.encode(), chance).decode("latin-1")
        path = template.format(**ids).replace("?", "%3F").replace("#", "%23")
        return f"{path}?{query}" if query else path

    def _headers(self, chance: random.Random) -> dict[str, str]:
        headers = dict(self.person.headers) if chance.random() < 0.9 else {}
        while chance.random() < 0.3:
            name = chance.choice(list(_HEADERS))
            value = _HEADERS[name]
            if chance.random() < 0.5:
                value = changed_bytes(value.encode(), chance).decode("latin-1")
            # No server passes on a header with these characters.
            headers[name] = value.replace("\r", "").replace("\n", "").replace("\0", "")
        return headers

    def _body(self, operation: str, chance: random.Random) -> dict[str, Any]:
        if operation == "POST /v1/verify":
            return _upload(chance)
        known = (*_VALID_BODIES.get(operation, ()), BODIES.get(operation, {}))
        value = chance.choice(known)
        if chance.random() < 0.8:
            value = changed_json(value, chance)
        raw = json.dumps(value).encode()
        if chance.random() < 0.15:
            raw = changed_bytes(raw, chance)
        kind = "application/json" if chance.random() < 0.97 else odd_text(chance)[:50]
        return {"data": raw, "content_type": kind.replace("\n", "").replace("\0", "")}


def _upload(chance: random.Random) -> dict[str, Any]:
    """Return a bundle, a log or parts to be verified, changed a little."""
    lines = sample_lines("shithead-aborted")
    raw = changed_bytes(chance.choice((write_bundle(lines), b"\n".join(lines))), chance)
    match chance.randrange(3):
        case 0:
            return {"data": raw, "content_type": "application/zip"}
        case 1:
            return {"data": raw, "content_type": "application/x-ndjson"}
        case _:
            part = b'--b\r\nContent-Disposition: form-data; name="%b"; filename="f"\r\n\r\n%b\r\n'
            names = chance.choices((b"file", b"receipt", b"key", b"seat_key", b"other"), k=3)
            parts = b"".join(part % (name, raw) for name in {b"file", *names})
            whole = parts + b"--b--\r\n"
            if chance.random() < 0.3:
                whole = changed_bytes(whole, chance)
            return {"data": whole, "content_type": "multipart/form-data; boundary=b"}
