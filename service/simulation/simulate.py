"""Simulated tables: bots play hands with real logs, without server or database."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from schemas.moves import move_of
from schemas.views import ViewFacts
from service.application.games.record import GameRecord, write
from service.application.tables.dealing import new_hand
from service.application.tables.record import TableRequest, opened_by
from service.bots.bot import bot_view
from service.bots.registry import bots
from service.domain.commands import Command, Move, Seat
from service.domain.decide import decide
from service.domain.events import EndReason, Entropy, Event
from service.domain.evolve import evolve
from service.domain.game import Game, GameResult
from service.domain.legal import acting_seats
from service.domain.table import (
    HandDealt,
    Table,
    TableOpened,
    evolve_table,
    fold_table,
    hand_finished,
)
from service.rulesets.catalogue import Definition, definition
from service.shx.canonical import format_time
from service.shx.moves import NONE_REFUSED

NOBODY = UUID(int=0)
"""The host of a simulated table."""

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)

Verifier = Callable[[bytes], str | None]
"""Returns the fault of a log, None if it has none."""

Keeper = Callable[["SimulatedGame"], None]
"""Called with every finished game, for example to store it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A simulation: `games` hands of one ruleset, `per_table` of them at each table."""

    ruleset: str
    seats: int
    bots: Sequence[str]  # from seat 0 on, repeated; rotated by one from table to table
    games: int
    per_table: int = 4
    options: Mapping[str, Any] = field(default_factory=dict)
    turn_limit: int | None = None  # None: the default of a table
    seed: int = 0
    rules: Definition | None = None  # None: `ruleset` is in the catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedGame:
    """One finished hand: the bots by seat, its result, and its log as a server stores it."""

    identity: UUID
    table: UUID
    bots: tuple[str, ...]
    result: GameResult
    lines: tuple[bytes, ...] = field(repr=False)

    @property
    def log(self) -> bytes:
        """Return the log as a file with one line for each event."""
        return b"".join(line + b"\n" for line in self.lines)


@dataclass(slots=True, kw_only=True)
class SimulationReport:
    """
    Results of a simulation.

    `sat`, `shitheads` and `first_out` are by bot. A bot at two seats counts twice in `sat`.
    """

    games: int = 0
    sat: Counter[str] = field(default_factory=Counter)
    shitheads: Counter[str] = field(default_factory=Counter)
    first_out: Counter[str] = field(default_factory=Counter)
    endings: Counter[EndReason] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)  # games by their number of events
    failed: list[tuple[UUID, str]] = field(default_factory=list)

    @property
    def stalemates(self) -> int:
        """Return how many hands ended at the turn limit, without a shithead."""
        return self.endings[EndReason.STALEMATE]

    def add(self, game: SimulatedGame, fault: str | None) -> None:
        """Count one game."""
        result = game.result
        self.games += 1
        self.sat.update(game.bots)
        if result.shithead is not None:
            self.shitheads[game.bots[result.shithead]] += 1
        if result.places and result.places[0] != result.shithead:
            self.first_out[game.bots[result.places[0]]] += 1
        if result.reason is not None:
            self.endings[result.reason] += 1
        self.lengths[len(game.lines)] += 1
        if fault is not None:
            self.failed.append((game.identity, fault))


def simulate(
    plan: Plan, *, verify: Verifier | None = None, keep: Keeper | None = None
) -> SimulationReport:
    """
    Play `plan` and return the counts.

    The same plan gives the same logs, byte for byte.

    Raises KeyError for an unknown ruleset, and Refusal for a bot, an option or a number of
    seats that a server would refuse as well.
    """
    report = SimulationReport()
    for game in simulated_games(plan):
        report.add(game, None if verify is None else verify(game.log))
        if keep is not None:
            keep(game)
    return report


def simulated_games(plan: Plan) -> Iterator[SimulatedGame]:
    """Yield the finished hands of a plan, table by table; raises as `simulate`."""
    world = SimulatedWorld(plan.seed)
    for start in range(0, plan.games, plan.per_table):
        number = start // plan.per_table
        names = tuple(plan.bots[(seat + number) % len(plan.bots)] for seat in range(plan.seats))
        table, table_id = fold_table([_opened(plan, names)]), world.identity()
        for _ in range(min(plan.per_table, plan.games - start)):
            table, game = _hand(table, table_id, names, world)
            yield game


class SimulatedWorld:
    """
    Reproducible time and chance: two seeded generators, and a clock that steps when read.

    Bots get random numbers from a generator of their own, so they learn nothing about the cards.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)  # noqa: S311 -- simulated games keep no secret
        self.bot_rng = random.Random(f"{seed}/bots")  # noqa: S311 -- as above
        self._now = BEGINNING

    def now(self) -> datetime:
        """Return the time, one second later at each call."""
        self._now += SECOND
        return self._now

    def random(self, count: int) -> bytes:
        """Return `count` random bytes."""
        return self._rng.randbytes(count)

    def identity(self) -> UUID:
        """Return the next UUID."""
        return UUID(bytes=self._rng.randbytes(16), version=4)

    def choice(self, seats: Sequence[Seat]) -> Seat:
        """Return one of several seats that may act at once."""
        return self._rng.choice(seats)


def _opened(plan: Plan, names: Sequence[str]) -> TableOpened:
    request = TableRequest(
        ruleset=plan.ruleset,
        seats=tuple({"bot": name} for name in names),
        options=plan.options,
        clock=None,
        window_seconds=0,
        public=True,
        entropy=Entropy.NONE,
        key=None,
        turn_limit=plan.turn_limit,
        deal=True,
    )
    return opened_by(NOBODY, request, plan.rules or definition(plan.ruleset))


def _hand(
    table: Table, table_id: UUID, names: tuple[str, ...], world: SimulatedWorld
) -> tuple[Table, SimulatedGame]:
    """Play the next hand of a table to its end."""
    record, begun = new_hand(table_id, table, world)
    lines, hand, identity = list(begun), table.next_hand, str(record.identity)
    while not record.game.over:
        events = decide(_next_move(record, identity, names, world), record.game)
        at = format_time(world.now())
        record, more = write(record, events, at=at, refusals=NONE_REFUSED)
        lines += more
    result = record.game.result
    if result is None:
        raise ValueError("the hand is over without a result")
    table = evolve_table(table, HandDealt(game=identity, hand=hand))
    table = evolve_table(table, hand_finished(identity, record.game))
    game = SimulatedGame(
        identity=record.identity, table=table_id, bots=names, result=result, lines=tuple(lines)
    )
    return table, game


def _next_move(
    record: GameRecord, identity: str, names: Sequence[str], world: SimulatedWorld
) -> Move:
    """Return the next bot's move; of several bots that may act, chance selects one."""
    game = record.game
    seat = world.choice(acting_seats(game))
    created = record.created
    facts = ViewFacts(
        id=identity,
        head=record.head.hex(),
        ruleset_hash=created["ruleset_hash"],
        settings=created["ruleset"]["settings"],
    )
    view = bot_view(game, seat, facts)
    return move_of(bots()[names[seat]].choose(view, view["moves"], world.bot_rng), seat)


Choose = Callable[[Game], Command]
"""Returns the next command of a game in which at least one seat may act."""


def play_out(game: Game, choose: Choose) -> Iterator[tuple[tuple[Event, ...], Game]]:
    """
    Yield the events of each command and the game after it, until the hand is over.

    Raises CommandRefused if `choose` returns a command that the rules refuse.
    """
    while not game.over:
        events = decide(choose(game), game)
        for event in events:
            game = evolve(game, event)
        yield events, game
