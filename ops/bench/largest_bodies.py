"""The largest and most expensive bodies of every operation, and what one of each costs."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from uuid import uuid4

SIZES = (256 << 10, 64 << 10, 32 << 10)
"""Sizes that a body is tried with, the largest first, because larger ones may be refused unread."""

UPLOAD_BYTES = 32 << 20
REPEATED = 2
"""Requests for one figure: the processor time of a process is counted in steps of 10 ms."""

FILLED = "@"
GAME, TABLE, DISPUTE = "/v1/games/{game_id}", "/v1/tables/{table_id}", "/v1/disputes/{dispute_id}"
_INTENT = '{"intent": {"v": 1, "game": "x", "seat": 0, "seen": {"seq": 0, "head": "0"}, "move": '
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "POST /v1/players": ("@", '{"name": @}'),
    "PATCH /v1/players/me": ("@", '{"name": @}'),
    "POST /v1/players/me/tokens": (
        '{"name": @}',
        '{"name": "A", "scopes": @}',
        '{"name": "A", "ends_at": @}',
    ),
    "PUT /v1/players/me/webhook": ('{"url": @}', '{"url": "https://a.example/", "types": @}'),
    "POST /v1/players/me/recovery": ("@", '{"recovery": @}'),
    "POST /v1/players/recover": ("@", '{"recovery": @}'),
    "POST /v1/rulesets": (
        '{"name": @, "base": "leeds", "changes": {}}',
        '{"name": "A", "base": @, "changes": {}}',
        '{"name": "A", "base": "leeds", "changes": @}',
        '{"name": "A", "base": "leeds", "changes": {"ranks": @}}',
        '{"name": "A", "base": "leeds", "changes": {"order": {"low_to_high": @}}}',
        '{"name": "A", "base": "leeds", "changes": {"opening": {"ranks": @}}}',
        '{"name": "A", "base": "leeds", "changes": {"ranks": {"7": {"not_on": @}}}}',
        '{"name": "A", "base": "leeds", "changes": {"second_hand": @}}',
    ),
    "POST /v1/tables": (
        '{"ruleset": "leeds", "seats": @}',
        '{"ruleset": "leeds", "seats": [{"bot": @}, "me"]}',
        '{"ruleset": "leeds", "seats": ["me", "open"], "options": @}',
        '{"ruleset": "leeds", "seats": ["me", "open"], "clock": @}',
    ),
    f"POST {TABLE}/seats": ('{"invite": @}', '{"key": @}'),
    f"PATCH {TABLE}/seats/me": ('{"sig": @}', '{"key": @}'),
    f"POST {TABLE}/games": ('{"x": @}',),
    f"POST {GAME}/moves": (
        "@",
        '{"type": "play", "cards": @}',
        '{"type": "lay", "stacks": @}',
        '{"type": "lay", "stacks": [@]}',
        '{"type": "swap", "up": @, "hand": @}',
        '{"type": "ready", "auth": ' + _INTENT + '{"type": "play", "cards": @}}}}',
        '{"type": "ready", "auth": ' + _INTENT + '{"type": "lay", "stacks": [@]}}}}',
        '{"type": "ready", "auth": {"intent": @}}',
    ),
    f"POST {GAME}/entropy": ('{"value": @}', '{"commit": @}'),
    f"POST {GAME}/back": ('{"x": @}',),
    f"POST {GAME}/disputes": ('{"accused": 0, "seq": 9, "charge": "x", "statement": @}',),
    f"POST {DISPUTE}/statements": ('{"text": @}',),
    f"POST {DISPUTE}/receipts": ('{"receipt": @}',),
    f"POST {DISPUTE}/referees": ('{"refuse": @}',),
    f"POST {DISPUTE}/votes": ('{"vote": @}', '{"commit": @}'),
    f"POST {DISPUTE}/appeal": ('{"x": @}',),
    f"POST {DISPUTE}/withdrawal": ('{"x": @}',),
}
"""The bodies of every JSON operation as templates; each value at @ is one of `_fillings`."""

Spent = Callable[[Callable[[], None]], float]
"""Returns the processor seconds of the service during a call."""


def largest_bodies(port: int, token: str, spent: Spent) -> dict[str, dict[str, float | None]]:
    """
    Return the processor seconds of the most expensive body of each operation, and its size.

    Games, tables and disputes are invented. Raises ValueError if the document of the service has
    an operation with a body that is not in TEMPLATES.
    """
    documented = set(_with_bodies(port))
    if documented != {*TEMPLATES, "POST /v1/verify"}:
        raise ValueError(f"not in TEMPLATES: {documented ^ {*TEMPLATES, 'POST /v1/verify'}}")
    found: dict[str, dict[str, float | None]] = {}
    for operation, templates in TEMPLATES.items():
        worst: dict[str, float | None] = {"processor": 0.0, "bytes": 0}
        for size in SIZES:
            for body in (body for template in templates for body in _bodies(template, size)):
                taken = _of_one(port, operation, body, {"Authorization": f"Bearer {token}"}, spent)
                if taken > (worst["processor"] or 0.0):
                    worst = {"processor": taken, "bytes": len(body)}
        found[operation] = worst
    for name, body in _uploads().items():
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        taken = _of_one(port, "POST /v1/verify", body, kind, spent)
        found[f"POST /v1/verify, {name}"] = {"processor": taken, "bytes": len(body)}
    return found


def _of_one(
    port: int, operation: str, body: bytes, headers: Mapping[str, str], spent: Spent
) -> float:
    """Return the processor seconds of one request, the mean of REPEATED ones."""
    method, _, path = operation.partition(" ")
    for name in ("{game_id}", "{table_id}", "{dispute_id}"):
        path = path.replace(name, str(uuid4()))

    def send() -> None:
        for _ in range(REPEATED):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                kind = {"Content-Type": "application/json", **headers}
                connection.request(method, path, body=body, headers=kind)
                connection.getresponse().read()
            except ConnectionError:
                pass  # refused before the whole body was read
            finally:
                connection.close()

    return spent(send) / REPEATED


def _bodies(template: str, size: int) -> Iterator[bytes]:
    count = template.count(FILLED)
    for filling in _fillings((size - len(template)) // count - 8):
        yield template.replace(FILLED, filling).encode()


def _fillings(size: int) -> Iterator[str]:
    """Yield values of about `size` bytes of JSON."""
    names = ", ".join(f'"{number:03}":0' for number in range(500))
    for item in ("0", "{}", '""', '"7c"', f"{{{names}}}"):
        yield _list(item, size // (len(item) + 1))
    yield _list('"7c"', 1000)  # the largest list of cards that is valid
    yield json.dumps("x" * size)
    yield json.dumps({"n" * (size // 510 - 8) + str(number): 0 for number in range(500)})
    yield json.dumps("\U0001f600" * (size // 12))  # as escapes


def _list(item: str, count: int) -> str:
    return f"[{','.join([item] * count)}]"


def _uploads() -> dict[str, bytes]:
    """Return multipart bodies by what they consist of."""
    head = b'--b\r\nContent-Disposition: form-data; name="receipt"\r\n\r\n'
    most = UPLOAD_BYTES - 200
    return {
        "empty parts": head * 1001,
        "headers of a part": head[:-2] + b"X: 1\r\n" * (most // 6),
        "line breaks": head + b"\r\n" * (most // 2),
        "almost boundaries": head + b"\r\n--" * (most // 4),
        "a preamble": b"\r\n-" * (most // 3),
        "zeros": head + bytes(most),
    }


def _with_bodies(port: int) -> Iterator[str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/v1/openapi.json")
    for path, methods in json.loads(connection.getresponse().read())["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                yield f"{method.upper()} {path}"
