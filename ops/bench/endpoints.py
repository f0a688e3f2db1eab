#!/usr/bin/env python3
"""
Time of every endpoint with the largest allowed input: python -m ops.bench.endpoints > PAGE

The page is `ops/bench/results/endpoints.md`. The application runs in this process over a store
in memory, so the figures are processor time of the API without that of PostgreSQL. Each endpoint
is asked with bodies of a mebibyte (unknown fields, deep nesting, a long list, a long text) where
it reads one, with the longest hand there can be and with a hand of 300 cards where it reads a
game. The dearest answer is the row. An endpoint without a row ends the script with an error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock
from uuid import UUID, uuid4

import orjson
import structlog
from flask import Flask

from ops.bench.long_hand import long_hand
from service.api.app import create_app
from service.application.callers import Player
from service.bootstrap import Services, compose
from service.config import Settings
from tests.honest_games import FewTrials
from tests.memory.directory import MemoryDirectory
from tests.memory.events import MemoryStore
from tests.memory.public_log import MemoryLog
from tests.worlds.fake_world import KEYS, SetWorld, open_game, post

MEBIBYTE = 1 << 20
BODY = 256 << 10
"""The default limit of a body, in bytes (`SHITHEAD_MAX_BODY_BYTES`)."""
BOUND = 0.25

WIDE = {
    "deck": {"count": "fixed", "decks": 12, "partial": [], "jokers": 0},
    "players": {"min": 2, "max": 2},
    "deal": {"hand": 300, "down": 3, "up": 3},
    "turn": {"runs": True, "obligation": "must_play"},
    "refill": {"size": 3},
}
SLOTS: Mapping[str, str] = {
    "/v1/verify": "slot (4 a process, 2 an address), a process of its own, a time",
    "/v1/rulesets": "slot and queue of the trials",
    "/v1/games/<uuid:game_id>/stream": "slot to wait (half of the threads)",
    "/v1/games/<uuid:game_id>": "wait: slot to wait; at: slot for very long games",
    "/v1/games/<uuid:game_id>/replay": "slot for very long games",
    "/v1/games/<uuid:game_id>/transcript": "slot for very long games",
    "/v1/games/<uuid:game_id>/openings": "slot for very long games",
    "/v1/games/<uuid:game_id>/evidence": "slot for very long games",
    "/v1/games/<uuid:game_id>/audit": "slot for very long games",
    "/v1/games/<uuid:game_id>/audit/moves/<int:seq>": "slot for very long games",
    "/v1/games/<uuid:game_id>/audit/cards/<path:card>": "slot for very long games",
    "/v1/games/<uuid:game_id>/audit/knowledge": "slot for very long games",
}
"""What holds the number of calls at a time where processor time alone does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What calls are about."""

    app: Flask
    token: str
    table: str
    player: str
    long: str
    wide: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call and what it took."""

    said: str
    seconds: float
    status: int


def main() -> None:
    """Print the page."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    scene = _scene()
    print("# Every endpoint with the most that its schema allows\n")
    print(
        "Made by `python -m ops.bench.endpoints`: milliseconds of processor time of the API for the"
    )
    print("dearest of the calls tried, asked once and then again, and what bounds calls that may")
    print(f"take more than {BOUND * 1000:.0f}. Calls are also counted by address and by player.\n")
    print("| call | dearest input | answer | first | again | bounded by |")
    print("| --- | --- | --- | --- | --- | --- |")
    over = []
    for method, rule in _endpoints(scene.app):
        first = max(_calls(scene, method, rule), key=lambda asked: asked.seconds)
        again = next(_calls(scene, method, rule, only=first.said))
        slot = SLOTS.get(rule, "")
        if again.seconds > BOUND and not slot:
            over.append(f"{method} {rule}")
        print(
            f"| `{method} {rule}` | {first.said} | {first.status} | {first.seconds * 1000:.0f}"
            f" | {again.seconds * 1000:.0f} | {slot or 'its cost'} |",
            flush=True,
        )
    print("\n" + WAITS)
    if over:
        print("\nOver the bound, and held by the limits of calls a minute alone:\n")
        print("\n".join(f"- `{call}`" for call in over))
        sys.exit(1)


WAITS = """## Waits in a thread of the API

| wait | slots of a process (64 threads) | of one address | at most |
| --- | --- | --- | --- |
| long poll, live stream | 32 | 16 | 30 s; a stream until the seal |
| a request body that arrives | 56 | 40 | half a second |
| a slow request body | 16 | 8 | `SHITHEAD_BODY_SECONDS`, and a second for each 64 KiB |
| an upload that is verified | 4 | 2 | `SHITHEAD_VERIFY_SECONDS` |
| work on a very long game | 4 | 2 | its cost |
| a database connection | `queue_size` (`service/config.py`) | – | `SHITHEAD_STATEMENT_SECONDS` |"""


def _endpoints(app: Flask) -> Iterator[tuple[str, str]]:
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield method, rule.rule


def _scene() -> Scene:
    store, world = MemoryStore(), SetWorld(4)
    services = compose(
        log_store=MemoryLog(),
        store=store,
        directory=MemoryDirectory(store),
        keyring=KEYS,
        origin="bench.example",
        world=world,
        trials=FewTrials(),
    )
    settings = Settings(database_url="postgresql://unused", keys=KEYS.to_text(), rate_limits=False)
    app = create_app(services, settings)
    made = [services.players.register(name) for name in ("Ada", "Bob", "Cy")]
    ada, bob, cy = (Player(id=UUID(one["id"]), name=one["name"]) for one in made)
    wide = _wide_hand(services, ada, bob)
    long = long_hand(services, [ada, bob, cy])
    entry = services.entries.fresh(long)
    assert entry is not None
    return Scene(
        app=app,
        token=made[0]["token"],
        player=made[0]["id"],
        table=str(entry.table),
        long=str(long),
        wide=str(wide),
        version=entry.record.version,
    )


def _wide_hand(services: Services, ada: Player, bob: Player) -> UUID:
    """Return a running hand of 300 cards a seat, under a ruleset of a player's own."""
    with mock.patch.object(FewTrials, "refusal", return_value=None):
        made = services.rulemaking.make(ada, name="Wide", base="shithead", changes=WIDE)
    game = open_game(
        services, ada, ("me", "open"), ruleset=orjson.loads(made.body)["id"], guests=(bob,)
    )
    for player in (ada, bob):
        post(services, player, game, {"type": "ready"})
    return game


def _calls(scene: Scene, method: str, rule: str, only: str | None = None) -> Iterator[Asked]:
    """Yield what each way to ask for an endpoint takes."""
    for path_said, path in _paths(scene, rule):
        for body_said, body in _bodies(rule) if method in ("POST", "PATCH") else [("", None)]:
            said = ", ".join(filter(None, (path_said, body_said)))
            if only in (None, said):
                yield _timed(scene, method, path, body, said)


def _paths(scene: Scene, rule: str) -> Iterator[tuple[str, str]]:
    """Yield the addresses of an endpoint, with the dearest queries."""
    middle = scene.version - 1001
    parts = {
        "<uuid:table_id>": scene.table,
        "<uuid:player_id>": scene.player,
        "<uuid:dispute_id>": str(uuid4()),
        "<int:seq>": str(middle),
        "<path:card>": "Th",
        "<name:ruleset_id>": "leeds",
        "<string:level>": "0",
        "<path:rest>": "000",
    }
    for part, value in parts.items():
        rule = rule.replace(part, value)
    query = _query(rule, middle)
    if "<uuid:game_id>" in rule:
        yield "19,000 actions", rule.replace("<uuid:game_id>", scene.long) + query
        wide = rule.replace("<uuid:game_id>", scene.wide).replace(f"/{middle}", "/8")
        yield "300 cards", wide + _query(rule, 8)
        return
    for name in ("<name>", "<path:filename>", "<code>", "<string:code>"):
        rule = rule.replace(name, "x" * 2000)
    yield "", rule + query


def _query(rule: str, at: int) -> str:
    ending = rule.rpartition("/")[2]
    many = "&".join(f"x{number}={'y' * 100}" for number in range(40))
    return {
        "replay": f"?from={at}",
        "knowledge": f"?at={at}",
        "events": "",
        "<uuid:game_id>": f"?at={at}",
        "games": "?limit=200",
        "tables": "?limit=200",
        "differences": "?from=egilsson",
        "openings": "",
        "evidence": "?profile=seat",
        "stream": f"?after={at}",
        "bots": f"?{many}",
    }.get(ending, "")


def _bodies(rule: str) -> Iterator[tuple[str, tuple[bytes, str] | None]]:
    """Yield bodies of a mebibyte that are awkward to read, or to refuse."""
    kind = "application/json"
    if rule == "/v1/verify":
        line = b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}\n"
        yield "a mebibyte of lines", (line * (MEBIBYTE // len(line)), "application/x-ndjson")
        return
    size = BODY - 64
    fields = b",".join(b'"%d":0' % n for n in range(size // 10))
    yield "unknown fields", (b"{" + fields + b"}", kind)
    yield "deep nesting", (b"[" * (size // 2) + b"]" * (size // 2), kind)
    yield "a long text", (b'{"name":"' + b"\\u00e9" * (size // 6) + b'"}', kind)
    cards = b",".join([b'"Th"'] * (size // 5))
    yield "a long list of cards", (b'{"type":"play","cards":[' + cards + b"]}", kind)
    seats = b",".join([b'{"bot":"greedy"}'] * (size // 17))
    yield "a long list of seats", (b'{"ruleset":"leeds","seats":[' + seats + b"]}", kind)
    yield "a move that is refused", (b'{"type":"pass"}', kind)


def _timed(
    scene: Scene, method: str, path: str, body: tuple[bytes, str] | None, said: str
) -> Asked:
    headers = {"Authorization": f"Bearer {scene.token}"}
    if path == "/v1/players/me" and method == "DELETE":
        headers = {"Authorization": "Bearer " + "0" * 43}  # Ada is still needed
    if path.startswith("/v1/players/me/token"):
        headers = {"Authorization": "Bearer " + "0" * 43}
    more: dict[str, Any] = {}
    if body is not None:
        more = {"data": body[0], "content_type": body[1]}
    client = scene.app.test_client()
    began = time.process_time()
    answer = client.open(path, method=method, headers=headers, buffered=False, **more)
    if not path.endswith("/stream") and "/stream?" not in path:
        answer.get_data()
    taken = time.process_time() - began
    answer.close()
    return Asked(said=said, seconds=taken, status=answer.status_code)


if __name__ == "__main__":
    main()
