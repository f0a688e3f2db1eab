"""A spectator compares a server's answers with earlier ones, also after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from service.client import Contradicted, Player, Spectator
from service.client.api import Refused
from service.client.player_files import PlayerFolder
from service.shx.chain import head
from tests.tamper import Forgery, sample_lines

LINES = sample_lines("shithead-keyed")
GAME = UUID(json.loads(LINES[0])["game"])


class Server:
    """Serves a game up to a version, from a log that its operator can replace."""

    def __init__(self) -> None:
        self.log, self.version = LINES, len(LINES)

    def get(self, path: str) -> Any:
        """Return an empty list of keys, or the view."""
        if path == "/keys":
            return {"items": []}
        return {"version": self.version, "head": head(self.log[self.version - 1]).hex()}

    def lines(self, path: str) -> tuple[bytes, ...]:
        """Return the events from a seq on."""
        return tuple(self.log[int(path.partition("after=")[2]) : self.version])

    def stream(self, _path: str, *, after: int) -> Iterator[bytes]:
        """Yield the same events one by one; refuse a version that this log never had."""
        if after > self.version:
            kind, detail = "/problems/unknown-version", "this game never had that version"
            raise Refused({"type": kind, "detail": detail, "version": self.version})
        yield from self.log[after : self.version]


@pytest.fixture
def server() -> Any:
    return Server()


def spectator(server: Any, folder: Path) -> Spectator:
    return Spectator(Player(api=server, files=PlayerFolder(folder)), GAME)


def test_events_are_yielded_from_the_first_also_after_a_restart(
    server: Any, tmp_path: Path
) -> None:
    server.version = 20
    assert [e["seq"] for e in spectator(server, tmp_path).events()] == list(range(20))
    server.version = len(LINES)
    assert [e["seq"] for e in spectator(server, tmp_path).events()] == list(range(len(LINES)))


def test_a_server_with_fewer_events_than_before_contradicts_itself(
    server: Any, tmp_path: Path
) -> None:
    server.version = 20
    assert len(list(spectator(server, tmp_path).events())) == 20
    server.version = 12
    with pytest.raises(Contradicted, match="version 12, and has shown 20"):
        list(spectator(server, tmp_path).events())


def test_a_view_between_two_events_does_not_disturb_the_stream(server: Any, tmp_path: Path) -> None:
    """The view fetches events that the stream sends again; they are compared, not added."""
    watched = spectator(server, tmp_path)
    seqs = []
    for event in watched.events():
        seqs.append(event["seq"])
        assert watched.view()["version"] == len(LINES)
    assert seqs == list(range(len(LINES)))


def test_a_streamed_event_must_equal_the_one_fetched_with_a_view(
    server: Any, tmp_path: Path
) -> None:
    forgery = Forgery(LINES)
    forgery.events[10]["at"] = forgery.events[10]["at"][:20] + "000000Z"
    server.stream = lambda _path, *, after: iter(forgery.lines()[after:])
    watched = spectator(server, tmp_path)
    events = watched.events()
    next(events)
    watched.view()
    with pytest.raises(Contradicted, match="another event at seq 10"):
        list(events)


def test_an_event_that_does_not_continue_the_log_is_not_yielded(
    server: Any, tmp_path: Path
) -> None:
    """The server changed a seen event and recomputed the chain."""
    server.version = 20
    assert len(list(spectator(server, tmp_path).events())) == 20
    forgery = Forgery(LINES)
    forgery.events[10]["at"] = forgery.events[10]["at"][:20] + "000000Z"
    server.log, server.version = forgery.lines(), 30
    with pytest.raises(Contradicted, match="seq 20"):
        list(spectator(server, tmp_path).events())
    with pytest.raises(Contradicted):
        spectator(server, tmp_path).view()


def test_a_view_must_agree_with_the_log_and_be_no_older(server: Any, tmp_path: Path) -> None:
    server.version = 30
    watched = spectator(server, tmp_path)
    assert watched.view()["version"] == 30
    server.version = 20
    with pytest.raises(Contradicted, match="has shown 30"):
        watched.view()
