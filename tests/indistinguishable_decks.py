"""Services with different decks that a viewer must not be able to tell apart, for leak tests."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch
from uuid import UUID

import orjson
from flask.testing import FlaskClient

from schemas.moves import move_json, move_of
from service.api.app import create_app
from service.application.games import record
from service.application.games.entry import GameEntry
from service.application.games.moves import Moves
from service.bootstrap import Services
from service.domain.cards import HIDDEN, Card
from service.domain.commands import CommandRefused, Move, Seat
from service.domain.deal import deal
from service.domain.decide import decide
from service.domain.events import Event
from service.domain.evolve import evolve
from service.domain.game import Game, new_game
from service.features import FEATURES
from service.runtime.config import Settings
from service.shx.archives import read_zip
from service.shx.shuffle import Shuffle, derive
from service.store.database import Database
from tests.changed import replace
from tests.databases import Databases
from tests.worlds.fake_world import SetWorld, Wakes, entry_of, legal, lines_of, services_over
from tests.worlds.memory_log import MemoryLog

Deck = tuple[Card, ...]
Viewer = Seat | None

WINDOW = 3
"""Seconds that bots wait in a first-come opening."""

_OF_BODY = re.compile(r'(?<=[".])[0-9a-f]{32}(?=")')
"""The hash in an ETag: of the body, which is compared itself."""

DIGITS = re.compile(rb"[0-9a-f]{64}|[A-Za-z0-9+/]{43,}={0,2}")
"""Hashes, salts and commitments in hexadecimal; heads and signatures in base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One move of the public script."""

    seat: Seat
    move: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """One HTTP response, with a description of its request."""

    to: str  # method, path, body and headers of the request
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(kw_only=True)
class Service:
    """A service with a fixed clock, ids and deck, and one table whose first seats are people."""

    ruleset: str
    people: int
    bots: tuple[str, ...] = ()
    url: str  # of a database
    options: Mapping[str, Any] = field(default_factory=dict)
    world: SetWorld = field(default_factory=lambda: SetWorld(seed=9))
    notifier: Wakes = field(default_factory=Wakes)
    log: MemoryLog = field(default_factory=MemoryLog)
    made: list[Step] = field(default_factory=list)
    services: Services = field(init=False)
    tokens: list[str] = field(init=False)
    game: UUID = field(init=False)
    client: FlaskClient = field(init=False)

    def __post_init__(self) -> None:
        self.services = self._composed()
        settings = Settings(database_url="", keys="", rate_limits=False)
        self.client = create_app(FEATURES, self.services, settings).test_client()
        self.tokens = [self._registered(n) for n in range(self.people)]
        self.game = self._dealt()

    def entry_game(self) -> Game:
        """Return the game as the server knows it."""
        return entry_of(self.services, self.game).record.game

    def make(self, step: Step) -> RecordedAnswer:
        """Advance the clock by a second, and post the move with an idempotency key."""
        self.world.wait(1)
        self.made.append(step)
        return self.again(step.seat)

    def again(self, seat: Seat) -> RecordedAnswer:
        """Post the last move with its idempotency key, as any seat."""
        move, key = self.made[-1].move, {"Idempotency-Key": f"step-{len(self.made)}"}
        return self.ask("POST", f"/v1/games/{self.game}/moves", seat, key, json=move)

    def let_bots(self) -> list[Step]:
        """Advance the clock past the bots' waiting times, and return the moves of the bots."""
        moved: list[Step] = []
        server_move = Moves.server_move

        def seen(moves: Moves, entry: GameEntry, command: Move, **more: Any) -> GameEntry:
            after = server_move(moves, entry, command, **more)
            moved.append(Step(seat=command.seat, move=move_json(command)))
            return after

        with patch.object(Moves, "server_move", seen):
            for _ in range(3):
                version = entry_of(self.services, self.game).record.version
                self.services.turns.play_due_moves(self.game, version)
                self.world.wait(WINDOW)
        return moved

    def ask(
        self, method: str, path: str, viewer: Viewer, headers: Any = None, json: Any = None
    ) -> RecordedAnswer:
        """Return the response to a request of a seat, or of a caller without a token."""
        sent = {"X-Request-ID": "same", **(headers or {})}
        if viewer is not None:
            sent["Authorization"] = f"Bearer {self.tokens[viewer]}"
        answer = self.client.open(path, method=method, headers=sent, json=json)
        if answer.headers.get("Content-Encoding") == "gzip":
            # The compressed length depends on the hashes, which differ between the decks.
            answer.set_data(gzip.decompress(answer.get_data()))
        request = " ".join((method, path, str(json or ""), str(headers or "")))
        return RecordedAnswer(
            to=request,
            status=answer.status_code,
            headers=tuple(answer.headers.items()),
            body=answer.get_data(),
        )

    def _composed(self) -> Services:
        return services_over(
            Database(self.url, size=2),
            world=self.world,
            notifier=self.notifier,
            log_store=self.log,
        )

    def _registered(self, number: int) -> str:
        answer = self.client.post("/v1/players", json={"name": f"Player {number}"})
        assert answer.status_code == 201, answer.text
        token: str = answer.get_json()["token"]
        return token

    def _dealt(self) -> UUID:
        seats = ["me", *["open"] * (self.people - 1), *({"bot": bot} for bot in self.bots)]
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
def dealt(
    databases: Databases, ruleset: str, people: int, deck: Deck | None = None, **more: Any
) -> Iterator[Service]:
    """Yield a service on a new database that deals `deck`; if that is None, that of its seed."""
    with databases.lent() as url, dealt_at(url, ruleset, people, deck, **more) as service:
        yield service


@contextmanager
def dealt_at(
    url: str, ruleset: str, people: int, deck: Deck | None = None, **more: Any
) -> Iterator[Service]:
    """Yield a service like `dealt`, on the database at `url`."""

    def chosen(**given: Any) -> Shuffle:
        shuffle = derive(**given)
        return shuffle if deck is None else replace(shuffle, deck=tuple(deck))

    with patch.object(record, "derive", chosen):
        service = Service(ruleset=ruleset, people=people, url=url, **more)
        yield service
        service.services.close()


def json_of(response: RecordedAnswer) -> Any:
    """Return an answer's body as JSON."""
    return orjson.loads(response.body)


def script(service: Service, rng: random.Random, *, steps: int) -> Iterator[Step]:
    """Yield random legal steps for all seats; the caller makes each one before the next."""
    for _ in range(steps):
        game = service.entry_game()
        if game.over:
            return
        choices = [(s, legal(service.services, service.game, s)) for s in range(service.people)]
        seat, moves = rng.choice([(s, moves) for s, moves in choices if moves])
        ready = [move for move in moves if move["type"] == "ready"]
        move = rng.choice(ready if ready and rng.random() < 0.4 else moves)
        yield Step(seat=seat, move=move)


def twin_of(
    service: Service, steps: Sequence[Step], viewer: Viewer, rng: random.Random
) -> Deck | None:
    """Return the most different of the decks that a viewer cannot tell from the true one."""
    deck = service.entry_game().deck
    twins = twins_of(service, steps, viewer, rng)
    return max(twins, key=lambda twin: changed(twin, deck), default=None)


def changed(twin: Deck, deck: Deck) -> int:
    """Return the number of positions with a different card."""
    return sum(a != b for a, b in zip(twin, deck, strict=True))


def twins_of(
    service: Service, steps: Sequence[Step], viewer: Viewer, rng: random.Random
) -> Iterator[Deck]:
    """
    Yield other decks that a viewer of these steps cannot tell from the true one.

    Only positions whose cards are unknown to the viewer change, those of cards that another seat
    has played among them: they tell when it drew them. All steps remain legal and lead to the same
    events, which are public. The moves that bots would choose with other cards are not considered.
    """
    game = service.entry_game()
    unknown = sorted(_unknown(service, viewer))
    events = _replayed(game, game.deck, steps)
    found = game.deck
    for number in range(120):
        count = rng.randint(2, len(unknown)) if number % 2 else 2
        places = sorted(rng.sample(unknown, count))
        cards = rng.sample([found[p] for p in places], len(places))
        changed_deck = list(found)
        for p, card in zip(places, cards, strict=True):
            changed_deck[p] = card
        deck = tuple(changed_deck)
        if deck not in (found, game.deck) and _replayed(game, deck, steps) == events:
            found = deck  # further changes are added to it
            yield deck


def _unknown(service: Service, viewer: Viewer) -> set[int]:
    """Return the positions opened neither in the public log nor to the viewer, by dealing to it."""
    entry = entry_of(service.services, service.game)
    deck = entry.record.game.deck
    opened = _opened(lines_of(service.services, service.game))
    if viewer is not None:
        games = service.services.games.histories.full(entry).games
        opened |= {deck.index(card) for card in _first_seen_by(games, viewer)}
    return set(range(len(deck))) - opened


def _first_seen_by(games: Sequence[Game], viewer: Seat) -> set[Card]:
    """Return the cards that a seat held before all saw them: those dealt to it or drawn by it."""
    seen: set[Card] = set()
    first: set[Card] = set()
    for game in games:
        seen |= {*game.pile, *game.burned}
        for state in game.seats:
            seen |= {*state.up_cards, *state.known}
        first |= {card for card in game.seats[viewer].hand if card not in seen and card != HIDDEN}
    return first


def _opened(lines: Sequence[bytes]) -> set[int]:
    """Return the deck positions opened in the public log, with those of returned starters."""
    return {int(p) for line in lines for p in re.findall(rb'"p":([0-9]+)', line)}


def _replayed(game: Game, deck: Deck, steps: Sequence[Step]) -> list[Event] | None:
    """Return the events of the deal and the steps with this deck; None if a step is not legal."""
    assert game.dealer is not None
    state = replace(new_game(game.setup), deck=deck)
    made = list(deal(state, game.dealer))
    state = _after(state, made)
    try:
        for step in steps:
            events = decide(move_of(step.move, step.seat), state)
            state = _after(state, events)
            made += events
    except CommandRefused:
        return None
    return made


def _after(game: Game, events: Sequence[Event]) -> Game:
    for event in events:
        game = evolve(game, event)
    return game


def masked(
    response: RecordedAnswer,
) -> tuple[str, int, tuple[tuple[str, str], ...], list[tuple[str, bytes]]]:
    """Return a response with the digits of hashes, salts and signatures replaced by `#`."""
    parts = [("", response.body)]
    if response.body and dict(response.headers).get("Content-Type") == "application/zip":
        parts = [(name, content) for name, content in read_zip(response.body).items()]
        parts.append(("size", str(len(response.body)).encode()))
    elif "/tile/0/" in response.to:
        parts = [("", b"#" * len(response.body))]
    hidden = [(name, DIGITS.sub(lambda m: b"#" * len(m[0]), part)) for name, part in parts]
    headers = tuple((name, _OF_BODY.sub("#", value)) for name, value in response.headers)
    return _OF_BODY.sub("#", response.to), response.status, headers, hidden
