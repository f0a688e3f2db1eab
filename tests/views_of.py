"""All requests about a running game that a viewer can make, with their responses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any
from unittest.mock import patch

from service.api import following
from service.domain.commands import Seat
from tests.indistinguishable_decks import RecordedAnswer, Service, Viewer
from tests.worlds.fake_world import entry_of

COMMENTS = 2
"""Number of comments that a reader of the live stream waits for after all events."""


def all_responses(service: Service, viewer: Viewer) -> Iterator[RecordedAnswer]:
    """Yield every response that a viewer can get about a running game."""
    game = f"/v1/games/{service.game}"
    version = _published(service)
    yield from _of_the_game(service, viewer, game, version)
    yield from _of_lists(service, viewer)
    yield from _of_the_public_log(service, viewer)
    yield live(service, viewer, version)
    if viewer is not None:
        yield service.ask("GET", "/v1/games?player=me", viewer)
        yield service.ask("GET", "/v1/players/me", viewer)
        yield service.ask("GET", "/v1/statistics/blind-choices?player=me", viewer)
        yield from _refusals(service, viewer, game, version)


def _published(service: Service) -> int:
    """Add the current head of the game to the public log, once; return the version of the game."""
    record = entry_of(service.services, service.game).record
    leaf = service.log.leaf_of(service.game, size=service.log.head().size)
    if leaf is None or leaf.version < record.version:
        service.log.request(service.game, record.version, record.head)
        service.services.sequencer.run_once()
    return record.version


def _of_the_game(
    service: Service, viewer: Viewer, game: str, version: int
) -> Iterator[RecordedAnswer]:
    own = "public" if viewer is None else str(viewer)
    for path in (
        *("", "?as=public", f"?at={version}", f"?at={max(1, version - 1)}&as={own}"),
        *("?as=all", f"?as={service.people - 1 if viewer == 0 else 0}"),
        *("?after=0&wait=1", f"?after={version - 1}&wait=1"),
        *("/events", "/events?after=2&limit=3", f"/events?after={version}"),
        *("/openings", "/receipt", "/audit", "/evidence?profile=public", "/evidence?profile=seat"),
        *("/replay", "/replay?as=public", "/replay?as=all"),
        f"/replay?as={own}&from=2&to={version}",
        *("/transcript", "/transcript?as=public", "/transcript?as=all"),
        *("/picture.svg", f"/picture.svg?at={version}&as={own}", "/picture.svg?as=all"),
        *("/picture.png", f"/picture.png?at={version}&as={own}", "/picture.png?as=all"),
        *(f"/audit/moves/{seq}" for seq in range(max(0, version - 6), version + 1)),
        *(f"/audit/cards/{card}" for card in ("Th", "2c", "7d", "Qs", "X1", "zz")),
        *("/audit/knowledge", "/audit/knowledge?seat=0", "/audit/knowledge?seat=1&at=5"),
        *("/audit/readings", "/disputes", f"?at={version + 1}", "/nothing"),
    ):
        yield service.ask("GET", game + path, viewer)
    yield service.ask("GET", f"{game}/events", viewer, {"Accept": "application/x-ndjson"})
    seen = dict(service.ask("GET", game, viewer).headers)
    yield service.ask("GET", game, viewer, {"If-None-Match": seen["ETag"]})
    yield service.ask("GET", game, viewer, {"Accept-Encoding": "gzip"})
    for path in ("", "/events", "/openings", "/replay", "/evidence?profile=public"):
        yield service.ask("HEAD", game + path, viewer)
    yield service.ask("OPTIONS", f"{game}/moves", viewer)


def _of_lists(service: Service, viewer: Viewer) -> Iterator[RecordedAnswer]:
    table = entry_of(service.services, service.game).table
    for path in (
        *("/v1/games?limit=5", "/v1/games?status=playing", "/v1/games?status=swapping"),
        *(f"/v1/games?table={table}", f"/v1/games?ruleset={service.ruleset}"),
        *("/v1/tables?limit=5", "/v1/tables?status=playing", f"/v1/tables/{table}"),
        *("/v1/statistics/shuffles", "/v1/keys", "/readyz"),
    ):
        yield service.ask("GET", path, viewer)
    for player in entry_of(service.services, service.game).players:
        yield service.ask("GET", f"/v1/players/{player}", viewer)


def _of_the_public_log(service: Service, viewer: Viewer) -> Iterator[RecordedAnswer]:
    """Yield the leaves of the log and the proof of the game."""
    checkpoint = service.ask("GET", "/v1/log/checkpoint", viewer)
    yield checkpoint
    size = int(checkpoint.body.split(b"\n")[1])
    for level in ("0", "entries"):
        yield service.ask("GET", f"/v1/log/tile/{level}/000.p/{size}", viewer)
    yield service.ask("GET", f"/v1/log/proof?game={service.game}", viewer)


def live(service: Service, viewer: Viewer, version: int) -> RecordedAnswer:
    """Return the live stream as read: all events, then comments while there are no events."""
    headers = {"X-Request-ID": "same"}
    if viewer is not None:
        headers["Authorization"] = f"Bearer {service.tokens[viewer]}"
    with patch.object(following, "COMMENT_SECONDS", 0.0):
        path = f"/v1/games/{service.game}/stream"
        answer = service.client.get(path, headers=headers, buffered=False)
        pieces = list(islice(answer.iter_encoded(), 1 + version + COMMENTS))
        answer.close()
    # With the length of each chunk: events that are ready together are sent in one chunk.
    body = b"".join(b"%d %b" % (len(piece), piece) for piece in pieces)
    return RecordedAnswer(
        to=f"GET {path}",
        status=answer.status_code,
        headers=tuple(answer.headers.items()),
        body=body,
    )


def _refusals(service: Service, viewer: Seat, game: str, version: int) -> Iterator[RecordedAnswer]:
    """Yield the refusals of illegal moves, and of requests that are refused in a running game."""
    path = f"{game}/moves"
    illegal = list(attempts(service, viewer, version))
    for move in illegal:
        yield service.ask("POST", path, viewer, json=move)
    yield service.ask("POST", path, viewer, {"If-Match": '"v1"'}, json=illegal[0])
    yield service.ask("POST", f"{game}/entropy", viewer, json={"value": "00" * 32})
    yield service.ask("POST", f"{game}/back", viewer, json={})
    yield service.ask("POST", f"{game}/back", viewer, {"Idempotency-Key": "b"}, json={})
    if service.made and service.made[-1].seat == viewer:
        yield service.again(viewer)


def attempts(service: Service, viewer: Seat, version: int) -> Iterator[dict[str, Any]]:
    """Yield moves that are illegal for a seat, whatever cards the others hold."""
    state = service.entry_game()
    own = {*state.seats[viewer].hand, *state.seats[viewer].up_cards}
    elsewhere = sorted(card for card in state.deck if card not in own)
    for card in elsewhere[version % 3 :: 3]:
        yield {"type": "play", "cards": [card]}
    other, another = elsewhere[0], elsewhere[-1]
    mine = min(own, default=other)
    yield {"type": "play", "cards": [other, another]}
    yield {"type": "play", "cards": [mine, other]}
    yield {"type": "pick_up", "with": [other]}
    yield {"type": "swap", "up": [other], "hand": [mine]}
    yield {"type": "swap", "up": [mine], "hand": [another]}
    yield {"type": "lay", "stacks": [[other], [], []]}
    yield {"type": "play", "cards": ["X9"]}
    yield {"type": "play_blind", "slot": 63}
