"""Logs at every level contain no token, recovery code, invite, card or seed."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from service.runtime.config import LogLevel
from tests.client import Client, chosen, register
from tests.running import running

pytestmark = pytest.mark.heavy

CARD = re.compile(r"(?<![0-9A-Za-z-])(?:[2-9TJQKA][cdhs])(?![0-9A-Za-z-])")
ENTROPY = "ab" * 32


def test_a_session_leaves_no_secret_in_any_log(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "log_level": LogLevel.DEBUG,
        "rate_limits": True,
        "api_processes": 1,
    }
    with running(database_url, redis_url, tmp_path, **settings) as service:
        secrets = _session(service.port)
    written = service.written()
    assert "/v1/games/<uuid:game_id>/moves" in written  # the logs are those of this session
    assert [name for name, secret in secrets.items() if secret in written] == []
    assert CARD.findall(written) == []
    assert "Traceback" not in written
    assert "not compared" not in written  # the service's role may look at the clocks


def _session(port: int) -> dict[str, str]:
    """Use every feature with secrets, and return the secrets."""
    player = Client(port=port).call("POST", "/v1/players", {"name": "Ada Lovelace"}).json
    ada, bob = Client(port=port, token=player["token"]), register(port, "Bob")
    secrets = {
        "first token": player["token"],
        "recovery": player["recovery"],
        "name": "Ada Lovelace",
    }
    ada.token = ada.call("POST", "/v1/players/me/tokens", {"name": "new", "replaces": True}).json[
        "token"
    ]
    secrets["second token"] = str(ada.token)
    again = Client(port=port).call("POST", "/v1/players/recover", {"recovery": player["recovery"]})
    ada.token = again.json["token"]
    secrets |= {"third token": str(ada.token), "other token": str(bob.token)}
    table, game = _game(ada, bob)
    secrets |= {"invite": table["invite"], "entropy": ENTROPY}
    secrets |= _refused(ada, game)
    _played(ada, bob, game)
    sealed = ada.call("GET", f"{game}/events", headers={"Accept": "application/x-ndjson"})
    seed = re.search(rb'"seed":"([0-9a-f]{64})"', sealed.body)
    assert seed is not None
    secrets["seed"] = seed[1].decode()
    for opening in ada.get(f"{game}/openings")["items"]:
        secrets[f"salt of {opening['p']}"] = opening["salt"]
    return secrets


def _game(ada: Client, bob: Client) -> tuple[Any, str]:
    wanted = {
        "ruleset": "shithead",
        "seats": ["me", "open", {"bot": "greedy"}],
        "visibility": "private",
        "entropy": "value",
        "window_seconds": 0,
    }
    table = ada.post("/v1/tables", wanted)
    sat = bob.post(f"/v1/tables/{table['id']}/seats", {"invite": table["invite"]})
    game = f"/v1/games/{sat['game']}"
    ada.post(f"{game}/entropy", {"value": ENTROPY})
    return table, game


def _refused(ada: Client, game: str) -> dict[str, str]:
    """Send many refused requests with secrets in them, and return further secrets."""
    bad = "badtoken" * 6
    Client(port=ada.port, token=bad).call("GET", game)
    ada.call("GET", f"{game}?as={bad}")
    ada.call("POST", f"{game}/moves", {"type": "play", "cards": ["Th", bad]})
    ada.call("POST", f"{game}/moves", {"type": "play", "cards": ["2c", "2d"]})
    ada.call("POST", f"{game}/moves", {bad: "Kd"})
    ada.call("GET", f"/v1/games/{bad}")
    Client(port=ada.port).call("POST", "/v1/players/recover", {"recovery": bad})
    return {"made-up secret": bad}


def _played(ada: Client, bob: Client, game: str) -> None:
    """Play some moves, then give up, so that the seed is published."""
    chance = random.Random(5)
    for _ in range(6):
        for player in (ada, bob):
            view = player.get(game)
            if view["moves"]:
                player.call("POST", f"{game}/moves", chosen(view["moves"], chance))
    ada.post(f"{game}/moves", {"type": "forfeit"})
