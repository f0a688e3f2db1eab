"""A hand as a client follows it: every view is checked before a move is signed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from service.client.hand import Hand
from service.client.local_log import Contradicted, Share
from service.client.player import Player
from service.client.player_files import PlayerFolder
from service.shx.chain import head
from tests.tamper import sample_lines

LINES = sample_lines("shithead-keyed")
GAME = UUID(json.loads(LINES[0])["game"])


class Server:
    """Serves a game up to `version`, which a dishonest operator can set back."""

    def __init__(self) -> None:
        self.version = 0

    def get(self, path: str) -> Any:
        """Return an empty list of keys, or the view."""
        if path == "/keys":
            return {"items": []}
        return {"as": 0, "version": self.version, "head": head(LINES[self.version - 1]).hex()}

    def lines(self, path: str) -> tuple[bytes, ...]:
        """Return the events after those that the client has."""
        return LINES[int(path.partition("after=")[2]) : self.version]


def test_a_server_that_rolls_back_is_reported(tmp_path: Path) -> None:
    """The head is true, but a move signed on it would begin a second history."""
    server: Any = Server()
    hand = Hand(Player(api=server, files=PlayerFolder(tmp_path)), GAME)
    for server.version in (20, 20, 30):
        assert hand.fetch_view()["version"] == server.version
    server.version = 25
    with pytest.raises(Contradicted, match="has shown 30"):
        hand.fetch_view()
    again = Hand(Player(api=server, files=PlayerFolder(tmp_path)), GAME)
    with pytest.raises(Contradicted, match="has shown 30"):
        again.fetch_view()


def test_a_program_that_sent_entropy_also_makes_the_moves_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entropy of the last seat deals the hand."""
    server: Any = Server()
    hand = Hand(Player(api=server, files=PlayerFolder(tmp_path)), GAME)
    done: list[Any] = []

    def view() -> dict[str, Any]:
        setup = None if done else [{"state": "waiting"}]
        moves = [{"type": "ready"}] if len(done) == 1 else []
        return {"status": "shuffling", "setup": setup, "moves": moves}

    share = Share(seat=0, key=None, entropy="value", value=b"secret")
    monkeypatch.setattr(hand, "fetch_view", view)
    monkeypatch.setattr(hand, "_share", lambda: share)
    monkeypatch.setattr(hand, "_send_entropy", done.append)
    monkeypatch.setattr(hand, "move", lambda _, move: done.append(move))
    hand.act(lambda view: view["moves"][0])
    assert done == [{"value": b"secret".hex()}, {"type": "ready"}]
