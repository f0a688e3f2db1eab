"""Tests that a dump of the database, Redis and the logs reveals no secret of a running game."""

from __future__ import annotations

import random
import re
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
import redis
from psycopg import sql

from service.application.games.entry import GameEntry
from service.bootstrap import Services, services_from
from service.domain.cards import Card
from tests.client import Client, play_on
from tests.running import Running, running
from tests.worlds.fake_world import entry_of

pytestmark = pytest.mark.heavy

PEOPLE = ("Ada Lovelace", "Bob Noyce")


@dataclass(frozen=True, kw_only=True)
class Dumped:
    """The content of a machine's storage during a game, as an intruder could copy it."""

    database: str
    redis: str
    logs: str

    def everything(self) -> dict[str, str]:
        """Return the three contents by name."""
        return {"database": self.database, "redis": self.redis, "logs": self.logs}


@dataclass(frozen=True, kw_only=True)
class DumpedGame:
    """A running private game and its secrets."""

    dumped: Dumped
    entry: GameEntry
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def game(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DumpedGame]:
    """Return a running game with stored answers, refused moves and entropy."""
    server = request.getfixturevalue("database_server")
    url = server.create(template=request.getfixturevalue("migrated_template"))
    folder = tmp_path_factory.mktemp("logs")
    redis_url = request.getfixturevalue("redis_server")
    with running(url, redis_url, folder, api_processes=1) as service:
        service.kill("relay")  # it would empty the outbox
        people, tokens, found = _played(service)
        services = services_from(service.settings)
        entry = _settled(services, found)
        dumped = Dumped(
            database=dump(url),
            redis=dump_redis(redis_url),
            logs=service.written(),
        )
        services.close()
        assert people
    yield DumpedGame(dumped=dumped, entry=entry, tokens=tokens)
    server.drop(url)


def _played(service: Running) -> tuple[list[Client], dict[str, str], UUID]:
    """Play and refuse some moves at a private table; return players, tokens and the game's id."""
    accounts = {name: _registered(service, name) for name in PEOPLE}
    people = [Client(port=service.port, token=account["token"]) for account in accounts.values()]
    table = people[0].post(
        "/v1/tables",
        {
            "ruleset": "leeds",
            "seats": ["me", "open", {"bot": "lowest"}],
            "visibility": "private",
            "window_seconds": 0,
        },
    )
    sat = people[1].post(
        f"/v1/tables/{table['id']}/seats", {"seat": None, "invite": table["invite"]}
    )
    play_on(people, sat["game"], random.Random(3), moves=9)
    _refused(people, sat["game"])
    tokens = {"invite": table["invite"]}
    for name, account in accounts.items():
        tokens |= {f"token of {name}": account["token"], f"code of {name}": account["recovery"]}
    return people, tokens, UUID(sat["game"])


def _registered(service: Running, name: str) -> dict[str, Any]:
    answer = Client(port=service.port).call("POST", "/v1/players", {"name": name})
    assert answer.status == 201
    account: dict[str, Any] = answer.json
    return account


def _refused(people: list[Client], game: str) -> None:
    """Post moves that are refused: cards of two ranks, some of them in other hands."""
    for _ in range(100):  # repeated while it is the bot's turn
        if _tried(people, game):
            return
        time.sleep(0.1)
    raise AssertionError("no move was refused")


def _tried(people: list[Client], game: str) -> int:
    refused = 0
    for player in people:
        view = player.get(f"/v1/games/{game}")
        for card in ("2c", "9h", "Kd", "4s"):
            path = f"/v1/games/{game}/moves"
            answer = player.call("POST", path, {"type": "play", "cards": [card, "3h"]})
            refused += answer.status == 422
        assert view["status"] in ("swapping", "playing")
    return refused


def _settled(services: Services, game: UUID) -> GameEntry:
    """Return the game once the bot has made its moves."""
    version = -1
    entry = entry_of(services, game)
    while entry.record.version != version:
        version = entry.record.version
        time.sleep(0.5)
        entry = entry_of(services, game)
    assert not entry.record.sealed, "the game must be running"
    assert services.store.secret(game) is not None
    assert services.directory.refusals(game)
    return entry


def dump(url: str) -> str:
    """Return every column of every table of a database, binary ones as text and as hex."""
    rows: list[str] = []
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        assert {name for _, name in tables} >= {"events", "answers", "secrets", "refusals"}
        for schema, name in tables:
            query = sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, name))
            for row in connection.execute(query):
                rows += [f"{name}: {_text(value)}" for value in row]
    return "\n".join(rows)


def _text(value: Any) -> str:
    if isinstance(value, bytes | memoryview):
        raw = bytes(value)
        return f"{raw.decode('latin-1')} {raw.hex()} {b64encode(raw).decode()}"
    return str(value)


def dump_redis(url: str) -> str:
    """Return every key and value in Redis."""
    found: list[str] = []
    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter():
            value = client.dump(key)
            if value is None:  # it expired since the scan
                continue
            found += [key.decode("latin-1"), value.decode("latin-1")]
            if client.type(key) == b"hash":
                found += [str(client.hgetall(key))]
    return "\n".join(found)


def spellings(secret: bytes) -> set[str]:
    """Return the encodings in which a secret could occur in a dump."""
    encoded = {b64encode(secret).decode(), urlsafe_b64encode(secret).decode()}
    plain = {secret.decode("latin-1"), secret.hex(), secret.hex().upper()}
    return plain | {text.rstrip("=") for text in encoded}


def hidden_positions(entry: GameEntry) -> dict[int, Card]:
    """Return the cards that are not public, by their position in the deck."""
    game, shuffle = entry.record.game, entry.record.shuffle
    assert shuffle is not None
    place = {code: p for p, code in enumerate(shuffle.deck)}
    hidden = set(game.stock)
    for seat in game.seats:
        hidden |= {p for p in seat.down if p is not None}
        hidden |= {place[card] for card in seat.hand if card not in seat.known}
    return {p: Card(shuffle.deck[p]) for p in sorted(hidden)}


def test_the_dump_is_of_a_game_with_hidden_cards_and_stored_answers(game: DumpedGame) -> None:
    """Without hidden cards and stored answers the other tests could not fail."""
    assert len(hidden_positions(game.entry)) > 20
    for table in ("answers", "secrets", "refusals", "outbox", "games"):
        assert f"\n{table}: " in game.dumped.database, table
    assert "request" in game.dumped.logs
    assert str(game.entry.record.identity) in game.dumped.database


@pytest.mark.attack("DUMP", "the seed searched for in a dump", check="encryption at rest")
def test_the_dump_has_neither_the_server_seed_nor_the_keys_derived_from_it(
    game: DumpedGame,
) -> None:
    record = game.entry.record
    assert record.seed is not None
    assert record.shuffle is not None
    for secret in (record.seed, record.shuffle.salt_key, record.shuffle.deal_key):
        for name, text in game.dumped.everything().items():
            assert not [s for s in spellings(secret) if s in text], name


def test_the_dump_has_no_salt_of_a_hidden_card(game: DumpedGame) -> None:
    shuffle = game.entry.record.shuffle
    assert shuffle is not None
    for p in hidden_positions(game.entry):
        for name, text in game.dumped.everything().items():
            assert not [s for s in spellings(shuffle.salt(p)) if s in text], (name, p)


def test_the_dump_has_no_tokens_recovery_codes_or_invites(game: DumpedGame) -> None:
    for kind, secret in game.tokens.items():
        for name, text in game.dumped.everything().items():
            assert not [s for s in spellings(secret.encode()) if s in text], (name, kind)


@pytest.mark.attack("DUMP", "hidden cards searched for in a dump", check="encryption at rest")
def test_the_dump_names_no_hidden_card(game: DumpedGame) -> None:
    """Only public events name cards."""
    public = set(_seen(game))
    for card in hidden_positions(game.entry).values():
        assert card not in public, "a card named by a public event is not hidden"
        quoted = re.compile(rf"""["']{re.escape(card)}["']""")
        for name, text in game.dumped.everything().items():
            assert not quoted.search(text), (name, card)


def _seen(game: DumpedGame) -> Iterator[str]:
    """Return the cards that the log of the game has named."""
    state = game.entry.record.game
    for seat in state.seats:
        yield from seat.up_cards
        yield from seat.known
    yield from (*state.pile, *state.burned)


def test_the_dump_has_neither_a_deck_nor_the_opening_of_a_hidden_card(game: DumpedGame) -> None:
    shuffle = game.entry.record.shuffle
    assert shuffle is not None
    for name, text in game.dumped.everything().items():
        for p in hidden_positions(game.entry):
            assert not re.search(rf'"p": ?{p}[,}}]', text), (name, p)
        for p in range(len(shuffle.deck) - 3):
            for between in (",", " ", ", "):
                assert between.join(shuffle.deck[p : p + 4]) not in text, (name, p)


def test_names_of_people_occur_in_the_players_table_only(game: DumpedGame) -> None:
    """A person can be erased: no event, log or unencrypted answer contains a name."""
    for person in PEOPLE:
        tables = {
            line.split(":")[0] for line in game.dumped.database.splitlines() if person in line
        }
        assert tables == {"players"}
        assert person not in game.dumped.redis
        assert person not in game.dumped.logs
