"""A service of several processes with a clock and a random seed set by the test."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Literal
from uuid import UUID

import orjson

from schemas.moves import listed_moves
from service.application.availability import AlwaysAvailable, Availability
from service.application.calls import Answered, Caller, Idempotency, RegisteredPlayer
from service.application.games.entry import GameEntry
from service.application.ports import GameVersion, JobKind, Notifier
from service.application.quotas import Slice
from service.application.tables.record import TableRequest
from service.bootstrap import Ports, Services, Terms
from service.domain.dispute import Periods
from service.domain.events import Clock, Entropy
from service.domain.legal import legal_moves
from service.features.tables import DEAL_NEXT
from service.keys import Keyring
from service.shx.bundle import Bundle
from service.shx.canonical import format_time
from service.store.database import Database
from service.store.directory import Directory
from service.store.lookups import Lookups
from service.store.postgres_events import PostgresStore
from service.verify.verify import verify_bundle
from tests.changed import replace
from tests.worlds.memory_log import MemoryLog

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEYS = replace(Keyring.generate(), signing_since=format_time(BEGIN - timedelta(days=1)))
"""The keyring of all processes; one for the whole test session."""


class SetWorld:
    """A clock that only the test moves, and random bytes from a seed."""

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed
        self._drawn = 0
        self.time = BEGIN

    def now(self) -> datetime:
        """Return the time that was set."""
        return self.time

    def random(self, count: int) -> bytes:
        """Return the next bytes."""
        self._drawn += 1
        return hashlib.shake_256(b"%d %d" % (self._seed, self._drawn)).digest(count)

    def identity(self) -> UUID:
        """Return the next UUID."""
        return UUID(bytes=self.random(16), version=4)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.time += timedelta(seconds=seconds)


@dataclass(kw_only=True)
class Wakes:
    """A notifier that records what it is asked to send."""

    woken: list[tuple[UUID, int]] = field(default_factory=list)
    announced: list[tuple[UUID, int]] = field(default_factory=list)
    changed: list[UUID] = field(default_factory=list)  # players

    def moved(self, game: UUID, version: int, *, wake: bool, table: UUID | None = None) -> None:
        """Record a version, and whether it needs a worker."""
        self.announced.append((game, version))
        if wake:
            self.wake(game, version)

    def table_moved(self, table: UUID, version: int) -> None:
        """Ignore changes of tables."""

    def player_changed(self, player: UUID) -> None:
        """Record a player whose streams look again."""
        self.changed.append(player)

    def dispute_moved(self, dispute: UUID) -> None:
        """Ignore changes of disputes."""

    def wake(self, game: UUID, version: int, *, searches: bool = False) -> bool:
        """Record a wake-up."""
        self.woken.append((game, version))
        return True

    def wake_again(self) -> None:
        """Do nothing: no wake-up is lost."""

    def enqueue(self, job: JobKind, *arguments: str | int, key: str) -> None:
        """Record a table that has to deal; ignore other jobs."""
        match arguments:
            case (str(table), int(version)) if job is DEAL_NEXT:
                self.woken.append((UUID(table), version))

    def queued(self) -> int | None:
        """Return that the number of jobs is unknown."""
        return None

    def traces(self, versions: Sequence[GameVersion]) -> Mapping[GameVersion, str]:
        """Return no traces: these tests are not traced."""
        return {}


def services_over(database: Database, **parts: Any) -> Services:
    """Return the services of a process over a database, with other `parts` than usual."""
    store = parts.pop("store", None) or PostgresStore(database)
    usual: dict[str, Any] = {
        "log_store": MemoryLog(),
        "store": store,
        "lookups": Lookups(database, store),
        "directory": Directory(database),
        "keyring": KEYS,
        "origin": "tests.example",
        "close": database.close,
    }
    known, terms = usual | parts, {one.name for one in fields(Terms)}
    return Services(
        Ports(**{name: value for name, value in known.items() if name not in terms}),
        Terms(**{name: value for name, value in known.items() if name in terms}),
    )


def unconnected(**parts: Any) -> Services:
    """Return services for tests that read and write no rows."""
    return services_over(Database("postgresql://"), **parts)


@dataclass(kw_only=True)
class Deployment:
    """A service over a database: its processes share nothing but the database and the keys."""

    url: str
    idle_after: timedelta | None = None
    periods: Periods = Periods(referee_hands=0, referee_account_seconds=0)  # noqa: RUF009 - frozen
    world: SetWorld = field(default_factory=SetWorld)
    availability: Callable[[Directory], Availability] = lambda _directory: AlwaysAvailable()
    notifier: Wakes = field(default_factory=Wakes)
    _open: dict[int, Database] = field(default_factory=dict)

    def process(self, *, notifier: Notifier | None = None) -> Services:
        """Return the services of one more process."""
        database = Database(self.url, size=2)
        services = services_over(
            database,
            availability=self.availability(Directory(database)),
            world=self.world,
            notifier=notifier or self.notifier,
            idle_after=self.idle_after,
            periods=self.periods,
        )
        self._open[id(services)] = database
        return services

    def end(self, services: Services) -> None:
        """End one process."""
        self._open.pop(id(services)).close()

    def close(self) -> None:
        """End all processes."""
        for database in self._open.values():
            database.close()


def person(services: Services, name: str = "Ada") -> RegisteredPlayer:
    """Return a registered player."""
    return RegisteredPlayer(id=UUID(services.players.register(name)["id"]), name=name)


def open_game(
    services: Services,
    host: RegisteredPlayer,
    seats: tuple[Any, ...],
    *,
    ruleset: str = "shithead",
    options: Mapping[str, Any] = MappingProxyType({}),
    clock: Clock | None = None,
    window_seconds: int = 3,
    entropy: Entropy = Entropy.NONE,
    turn_limit: int | None = None,
    key: str | None = None,
    deal: bool | Literal["always"] = True,
    guests: tuple[RegisteredPlayer, ...] = (),
) -> UUID:
    """Open a public table, seat the guests at its open seats, and return the game it deals."""
    request = TableRequest(
        ruleset=ruleset,
        seats=seats,
        options=dict(options),
        clock=clock,
        window_seconds=window_seconds,
        public=True,
        entropy=entropy,
        key=key,
        turn_limit=turn_limit,
        deal=deal,
    )
    shown = orjson.loads(services.tables.open(host, request).body)
    for guest in guests:
        sat = services.tables.sit(
            guest, UUID(shown["id"]), seat=None, entropy=entropy, key=None, invite=None
        )
        shown = orjson.loads(sat.body)
    return UUID(shown["game"])


def entry_of(services: Services, game: UUID) -> GameEntry:
    """Return a game as it is now."""
    entry = services.game_cache.fresh(game)
    assert entry is not None
    return entry


def version_of(services: Services, game: UUID) -> int:
    """Return the version of a game."""
    return entry_of(services, game).record.version


def legal(services: Services, game: UUID, seat: int) -> list[dict[str, Any]]:
    """Return the legal moves of a seat in the form in which players send them."""
    return listed_moves(legal_moves(entry_of(services, game).record.game, seat))


def post(
    services: Services,
    player: RegisteredPlayer,
    game: UUID,
    move: dict[str, Any],
    *,
    expected: int | None = None,
    request: Idempotency | None = None,
) -> Answered:
    """Make a move for a player."""
    return services.moves.move(
        Caller(player=player.id),
        game,
        move,
        expected=lambda: None if expected is None else (expected,),
        request=request,
    )


class Stopped(BaseException):
    """A stopped worker; a BaseException, so that the service does not catch it."""


def stopping_after(commits: int) -> Callable[[], None]:
    """Return a `step` that stops its worker after `commits` commits."""
    left = iter(range(commits))

    def stop() -> None:
        if next(left, None) is None:
            raise Stopped

    return stop


def sliced(
    begin: Callable[[Services], Callable[[Slice], int]], services: Services, *, rows: int = 200
) -> Callable[[], int]:
    """Return a function that does a slice of a sweep, and returns the number of rows."""
    work = begin(services)
    return lambda: work(Slice(rows=rows, seconds=60))


def one_move(services: Services, game: UUID) -> None:
    """Let a worker make one due move, if there is one."""
    with contextlib.suppress(Stopped):
        services.turns.play_due_moves(game, version_of(services, game), step=stopping_after(1))


def play_out(services: Services, game: UUID, *, after: Callable[[], None] = lambda: None) -> None:
    """Let a worker take turns until the hand is sealed; call `after` after each attempt."""
    for _ in range(3000):
        entry = entry_of(services, game)
        if entry.record.sealed:
            return
        services.turns.play_due_moves(game, entry.record.version)
        after()
    raise AssertionError("the hand does not end")


def lines_of(services: Services, game: UUID) -> tuple[bytes, ...]:
    """Return the log of a game."""
    return services.game_cache.lines(game)


def types_of(services: Services, game: UUID) -> list[str]:
    """Return the types of the events of a game."""
    return [orjson.loads(line)["type"] for line in lines_of(services, game)]


def assert_sound(services: Services, game: UUID) -> None:
    """Assert that the log of a game passes every check of a log alone."""
    report = verify_bundle(Bundle(lines=lines_of(services, game)))
    failed = [finding for finding in report.findings if finding.result.value == "fail"]
    assert not failed, failed
