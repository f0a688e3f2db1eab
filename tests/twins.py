"""Two services whose decks agree on all that one viewer may know, and everything each answers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch
from uuid import UUID

import orjson
from flask.testing import FlaskClient

from schemas.moves import move_of
from service.api.app import create_app
from service.application import game_record
from service.bootstrap import Services, compose
from service.config import Settings
from service.domain.cards import Card
from service.domain.commands import Seat
from service.domain.deal import deal
from service.domain.decide import decide
from service.domain.errors import CommandRefused
from service.domain.events import Event, PlayStarted
from service.domain.evolve import evolve
from service.domain.game import Game, new_game
from service.event_store.memory import MemoryStore
from service.event_store.memory_directory import MemoryDirectory
from service.record.shuffle import Shuffle, derive
from service.record.stored_zip import read_zip
from tests.set_world import KEYS, SetWorld, entry_of, legal, lines_of

Deck = tuple[Card, ...]
Viewer = Seat | None

DIGITS = re.compile(rb"[0-9a-f]{64}|[A-Za-z0-9+/]{43,}={0,2}")
"""Hashes, salts and commitments in hexadecimal; heads and signatures in base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One move of the public script."""

    seat: Seat
    move: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer, as it went over the wire."""

    to: str  # what was asked
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(kw_only=True)
class Service:
    """A service in memory whose clock, ids and deck are set; only people sit at its table."""

    ruleset: str
    people: int
    options: Mapping[str, Any] = field(default_factory=dict)
    world: SetWorld = field(default_factory=lambda: SetWorld(seed=9))
    services: Services = field(init=False)
    tokens: list[str] = field(init=False)
    game: UUID = field(init=False)
    client: FlaskClient = field(init=False)

    def __post_init__(self) -> None:
        store = MemoryStore(clock=self.world.now)
        self.services = compose(
            store=store,
            directory=MemoryDirectory(store),
            keyring=KEYS,
            origin="tests.example",
            world=self.world,
        )
        settings = Settings(database_url="", keys="", rate_limits=False)
        self.client = create_app(self.services, settings).test_client()
        self.tokens = [self._registered(n) for n in range(self.people)]
        self.game = self._dealt()

    def entry_game(self) -> Game:
        """Return the game as the server knows it."""
        return entry_of(self.services, self.game).record.game

    def make(self, step: Step) -> Said:
        """Let a seat make a move; a second goes by."""
        self.world.wait(1)
        return self.ask("POST", f"/v1/games/{self.game}/moves", step.seat, json=step.move)

    def ask(
        self, method: str, path: str, viewer: Viewer, headers: Any = None, json: Any = None
    ) -> Said:
        """Return what a seat, or the public, is answered."""
        sent = {"X-Request-ID": "same", **(headers or {})}
        if viewer is not None:
            sent["Authorization"] = f"Bearer {self.tokens[viewer]}"
        answer = self.client.open(path, method=method, headers=sent, json=json)
        told = " ".join((method, path, str(json or ""), str(headers or "")))
        return Said(
            to=told,
            status=answer.status_code,
            headers=tuple(answer.headers.items()),
            body=answer.get_data(),
        )

    def _registered(self, number: int) -> str:
        answer = self.client.post("/v1/players", json={"name": f"Player {number}"})
        assert answer.status_code == 201, answer.text
        token: str = answer.get_json()["token"]
        return token

    def _dealt(self) -> UUID:
        seats = ["me", *["open"] * (self.people - 1)]
        body = {"ruleset": self.ruleset, "seats": seats, "options": dict(self.options)}
        clock = {"turn_seconds": 3600, "swap_seconds": 3600}
        table = self.ask("POST", "/v1/tables", 0, json={**body, "clock": clock})
        assert table.status == 201, table.body
        shown = json_of(table)
        for seat in range(1, self.people):
            sat = self.ask("POST", f"/v1/tables/{shown['id']}/seats", seat, json={"seat": seat})
            assert sat.status == 201, sat.body
        return UUID(json_of(self.ask("GET", f"/v1/tables/{shown['id']}", None))["game"])


@contextmanager
def dealt(ruleset: str, people: int, deck: Deck | None = None) -> Iterator[Service]:
    """Give a service that deals this deck, or without one the deck of its seed."""

    def chosen(**given: Any) -> Shuffle:
        shuffle = derive(**given)
        return shuffle if deck is None else replace(shuffle, deck=tuple(deck))

    with patch.object(game_record, "derive", chosen):
        yield Service(ruleset=ruleset, people=people)


def json_of(said: Said) -> Any:
    """Return an answer's body as JSON."""
    return orjson.loads(said.body)


def script(service: Service, rng: random.Random, *, steps: int) -> Iterator[Step]:
    """Play at random for all seats, and give each step before it is made."""
    for _ in range(steps):
        game = service.entry_game()
        if game.over:
            return
        choices = [(s, legal(service.services, service.game, s)) for s in range(service.people)]
        seat, moves = rng.choice([(s, moves) for s, moves in choices if moves])
        ready = [move for move in moves if move["type"] == "ready"]
        move = rng.choice(ready if ready and rng.random() < 0.4 else moves)
        yield Step(seat=seat, move=move)


def sight(service: Service, viewer: Viewer) -> Iterator[Said]:
    """Give every answer that a viewer can get about a running game."""
    game = f"/v1/games/{service.game}"
    version = entry_of(service.services, service.game).record.version
    own = "public" if viewer is None else str(viewer)
    for path in (
        *("", "?as=public", f"?at={version}", f"?at={max(1, version - 1)}&as={own}"),
        *("?as=all", f"?as={service.people - 1 if viewer == 0 else 0}"),
        *("/events", "/events?after=2&limit=3", f"/events?after={version}"),
        *("/openings", "/receipt", "/audit", "/evidence?profile=public", "/evidence?profile=seat"),
        *("/replay", "/replay?as=public", "/replay?as=all"),
        f"/replay?as={own}&from=2&to={version}",
        *("/transcript", "/transcript?as=public", "/transcript?as=all"),
        *(f"/audit/moves/{seq}" for seq in range(max(0, version - 6), version + 1)),
        *(f"/audit/cards/{card}" for card in ("Th", "2c", "7d", "Qs", "X1", "zz")),
        *("/audit/knowledge", "/audit/knowledge?seat=0", "/audit/knowledge?seat=1&at=5"),
        "/audit/readings",
        *(f"?at={version + 1}", "/nothing"),
    ):
        yield service.ask("GET", game + path, viewer)
    yield service.ask("GET", f"{game}/events", viewer, {"Accept": "application/x-ndjson"})
    yield service.ask("GET", game, viewer, {"If-None-Match": f'"v{version}"'})
    yield service.ask("HEAD", game, viewer)
    yield service.ask("GET", "/v1/games?limit=5", viewer)
    yield service.ask("GET", "/v1/tables?limit=5", viewer)
    table = entry_of(service.services, service.game).table
    yield service.ask("GET", f"/v1/tables/{table}", viewer)
    if viewer is not None:
        yield service.ask("GET", "/v1/games?player=me", viewer)
        yield service.ask("GET", "/v1/players/me", viewer)
        yield from _refusals(service, viewer, game, version)


def _refusals(service: Service, viewer: Seat, game: str, version: int) -> Iterator[Said]:
    """Give what a seat is told when it tries what it may not: cards that lie elsewhere."""
    state = service.entry_game()
    own = {*state.seats[viewer].hand, *state.seats[viewer].up_cards}
    elsewhere = sorted(card for card in state.deck if card not in own)
    tries: list[dict[str, Any]] = [
        {"type": "play", "cards": [card]} for card in elsewhere[version % 3 :: 3]
    ]
    other, another = elsewhere[0], elsewhere[-1]
    mine = min(own, default=other)
    tries += [
        {"type": "play", "cards": [other, another]},
        {"type": "play", "cards": [mine, other]},
        {"type": "pick_up", "with": [other]},
        {"type": "swap", "up": [other], "hand": [mine]},
        {"type": "swap", "up": [mine], "hand": [another]},
        {"type": "lay", "stacks": [[other], [], []]},
        {"type": "play", "cards": ["X9"]},
        {"type": "play_blind", "slot": 63},
    ]
    path = f"{game}/moves"
    for move in tries:
        yield service.ask("POST", path, viewer, json=move)
    yield service.ask("POST", path, viewer, {"If-Match": '"v1"'}, json=tries[0])
    yield service.ask("POST", f"{game}/entropy", viewer, json={"value": "00" * 32})
    yield service.ask("POST", f"{game}/back", viewer, json={})


def twin_of(
    service: Service, steps: Sequence[Step], viewer: Viewer, rng: random.Random
) -> Deck | None:
    """
    Return another deck that a viewer of these steps cannot tell from the true one.

    Only cards that the viewer does not know change places, and only so that every
    step is still possible and the same seat opens: that is what the table sees. Of
    the decks tried it is the one that differs most.
    """
    game = service.entry_game()
    unknown = sorted(_unknown(game, viewer) - _opened(lines_of(service.services, service.game)))
    opened = _replayed(game, game.deck, steps)
    found: Deck | None = None
    most = 0
    for _ in range(60):
        count = rng.randint(2, len(unknown))
        places = sorted(rng.sample(unknown, count))
        cards = rng.sample([game.deck[p] for p in places], len(places))
        deck = list(game.deck)
        for p, card in zip(places, cards, strict=True):
            deck[p] = card
        changed = sum(a != b for a, b in zip(deck, game.deck, strict=True))
        if changed > most and _replayed(game, tuple(deck), steps) == opened:
            found, most = tuple(deck), changed
    return found


def _unknown(game: Game, viewer: Viewer) -> set[int]:
    place = {card: p for p, card in enumerate(game.deck)}
    unknown = set(game.stock)
    for seat, state in enumerate(game.seats):
        unknown |= {p for p in state.down if p is not None}
        if seat != viewer:
            unknown |= {place[card] for card in state.hand if card not in state.known}
    return unknown


def _opened(lines: Sequence[bytes]) -> set[int]:
    """Return the positions that the public log has opened: starters put back are in the stock."""
    return {int(p) for line in lines for p in re.findall(rb'"p":([0-9]+)', line)}


def _replayed(game: Game, deck: Deck, steps: Sequence[Step]) -> Seat | str | None:
    """Return who opens when the steps are made with a deck; "impossible" where they cannot be."""
    assert game.dealer is not None
    opener: Seat | str | None = "nobody"
    try:
        state = replace(new_game(game.setup), deck=deck)
        state, opener = _after(state, deal(state, game.dealer), opener)
        for step in steps:
            events = decide(move_of(step.move, step.seat), state)
            state, opener = _after(state, events, opener)
    except CommandRefused:
        return "impossible"
    return opener


def _after(
    game: Game, events: Sequence[Event], opener: Seat | str | None
) -> tuple[Game, Seat | str | None]:
    for event in events:
        game = evolve(game, event)
        if isinstance(event, PlayStarted):
            opener = event.turn
    return game, opener


def masked(said: Said) -> tuple[str, int, tuple[tuple[str, str], ...], list[tuple[str, bytes]]]:
    """Return an answer in which nothing but the digits of hashes and signatures is blotted out."""
    parts = [("", said.body)]
    if dict(said.headers).get("Content-Type") == "application/zip":
        parts = [(name, content) for name, content in read_zip(said.body).items()]
        parts.append(("size", str(len(said.body)).encode()))
    blotted = [(name, DIGITS.sub(lambda m: b"#" * len(m[0]), part)) for name, part in parts]
    return said.to, said.status, said.headers, blotted
