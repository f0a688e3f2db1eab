#!/usr/bin/env python3
"""
Whether a bot's response time depends on its cards: python -m ops.bench.bot_timing [--bot NAME].

At each position the cards that only the bot can know are dealt anew several times; what
all seats see stays the same. The measured time begins when the job reads the game and ends when
its move is written, in one process, without database and network: what an observer sees has more
noise. The statistic is the sum, over positions, of the products of the
ranks of time and number of legal moves; the permutations are within positions.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from uuid import UUID

import orjson

from ops.bench.requests import plain_table
from ops.bench.services import durable_postgres
from service.application.calls import Caller, RegisteredPlayer
from service.application.games.cache import Names
from service.application.games.due_moves import Turns
from service.application.games.entry import GameEntry
from service.application.games.moves import Moves
from service.application.games.record import write
from service.application.games.schedule import (
    INTERVAL_SECONDS,
    BeginTurn,
    ConstantTime,
    Rest,
    at_once,
    no_padding,
)
from service.bootstrap import Services
from service.bots.registry import bots
from service.bots.simple import GREEDY
from service.domain.commands import Command
from service.domain.decide import decide
from service.domain.game import Game, Status
from service.domain.legal import legal_moves
from service.keys import Keyring
from service.rulesets.catalogue import Definition, definition
from service.rulesets.custom import custom_definition
from service.shx.canonical import format_time
from service.shx.moves import NONE_REFUSED
from service.store.database import Database
from service.store.directory import CustomRuleset
from tests.changed import replace
from tests.worlds.fake_world import services_over

RESULTS = Path(__file__).parent / "results"
RULESETS = ("shithead", "covered-queen", "guarducci")

LARGE_HANDS = {
    "players": {"min": 2, "max": 2},
    "deal": {"hand": 60},
    "deck": {"count": "fixed", "decks": 8},
    "ranks": {rank: {"plays": "with_companion"} for rank in "3468"},
}
"""Changes of Leeds rules with up to a thousand legal moves: five ranks need a companion."""
DEALS = 6
"""How often the hidden cards of a position are dealt."""

PERMUTATIONS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a bot took with one hand, and the number of its legal moves."""

    seconds: float
    moves: int


class Timed:
    """Replaces the commit of moves: decides, rests and writes, and records the time."""

    def __init__(self) -> None:
        self.at = 0.0

    def server_move(self, entry: GameEntry, command: Command, *, rest: Rest = at_once) -> GameEntry:
        """Do all that comes before the commit."""
        events = decide(command, entry.record.game)
        rest()
        write(entry.record, events, at=format_time(datetime.now(UTC)), refusals=NONE_REFUSED)
        self.at = time.perf_counter()
        return entry


def main() -> None:
    """Measure with and without the padding, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=100)
    parser.add_argument("--bot", choices=tuple(bots()), default=GREEDY.name)
    options = parser.parse_args()
    rows, interval = [], INTERVAL_SECONDS * 1e3 * bots()[options.bot].turn_intervals
    for ruleset in (*RULESETS, _large_hands().id):
        with TemporaryDirectory() as folder, durable_postgres(Path(folder)) as postgres:
            found = list(positions(postgres.url, ruleset, options.bot, options.positions))
            for name, begin in (("none", no_padding), (f"{interval:.0f} ms", ConstantTime().begin)):
                shown = ruleset if ruleset in RULESETS else "leeds, hands of 60 cards"
                rows.append(_row(shown, name, measured(found, begin)))
                print(rows[-1])
    named = "" if options.bot == GREEDY.name else f"-{options.bot}"
    (RESULTS / f"bot-timing{named}.md").write_text(_page(rows, options.bot, options.positions))


def positions(url: str, ruleset: str, bot: str, count: int) -> Iterator[tuple[Services, GameEntry]]:
    """Yield positions at which a bot is on turn and the stock is not empty."""
    rng = random.Random(f"positions {ruleset}")
    services = _services(url)
    while True:
        ada = RegisteredPlayer(id=UUID(services.players.register("Ada")["id"]), name="Ada")
        game = _dealt(services, ada, ruleset, bot)
        for _ in range(40):
            entry = services.game_cache.fresh(game)
            if entry is None or entry.record.sealed:
                break
            state = entry.record.game
            own_moves = legal_moves(state, 0)
            if state.status is Status.PLAYING and state.turn == 1 and len(state.stock) > DEALS:
                yield services, entry
                count -= 1
                if not count:
                    return
            if own_moves:
                services.moves.move(Caller(player=ada.id), game, _chosen(services, game, rng))
            else:
                services.turns.play_due_moves(game, entry.record.version)


def measured(found: list[tuple[Services, GameEntry]], begin: BeginTurn) -> list[list[Timing]]:
    """Return the timings of the bot at each position, one for each deal of its hidden cards."""
    rng = random.Random("deals")
    timings = []
    for services, entry in found:
        timed = Timed()
        turns = Turns(
            game_cache=services.game_cache,
            moves=cast("Moves", timed),
            names=Names(services.directory),
            directory=services.directory,
            world=services.world,
            idle=services.idle,
            bot_secret=bytes(32),
            begin_turn=begin,
        )
        hands = [_redealt(entry, rng) for _ in range(DEALS)]
        timings.append([_timed(turns, timed, hand) for hand in hands])
    return timings


def _timed(turns: Turns, timed: Timed, entry: GameEntry) -> Timing:
    begun = time.perf_counter()
    turns.once(entry)
    seconds = timed.at - begun
    return Timing(seconds=seconds, moves=len(legal_moves(entry.record.game, 1)))


def _redealt(entry: GameEntry, rng: random.Random) -> GameEntry:
    """Return the position with other cards in the bot's hand, out of those in the stock."""
    game: Game = entry.record.game
    place = {card: p for p, card in enumerate(game.deck)}
    bot = game.seats[1]
    hidden = [place[card] for card in bot.hand if card not in bot.known]
    places = [*hidden, *game.stock]
    deck = list(game.deck)
    dealt = rng.sample([game.deck[p] for p in places], len(places))
    for p, card in zip(places, dealt, strict=True):
        deck[p] = card
    hand = tuple(deck[place[card]] if place[card] in hidden else card for card in bot.hand)
    seats = tuple(
        replace(seat, hand=hand) if number == 1 else seat for number, seat in enumerate(game.seats)
    )
    state = replace(game, deck=tuple(deck), seats=seats)
    return replace(entry, record=replace(entry.record, game=state))


def p_value(timings: list[list[Timing]]) -> float:
    """Return the probability of so strong a dependence, in either direction, by chance alone."""
    rng = random.Random("permutations")
    strata = [
        (_ranks([a.seconds for a in position]), _ranks([float(a.moves) for a in position]))
        for position in timings
    ]
    observed = abs(sum(_product(times, moves) for times, moves in strata))
    as_strong = 1
    for _ in range(PERMUTATIONS):
        total = sum(_product(rng.sample(times, len(times)), moves) for times, moves in strata)
        as_strong += abs(total) >= observed
    return as_strong / (PERMUTATIONS + 1)


def _product(times: list[float], moves: list[float]) -> float:
    return sum(a * b for a, b in zip(times, moves, strict=True))


def _ranks(values: list[float]) -> list[float]:
    """Return the ranks minus their mean; equal values share the mean of their ranks."""
    order = sorted(values)
    ranks = [order.index(value) + (order.count(value) - 1) / 2 for value in values]
    mean = statistics.fmean(ranks)
    return [rank - mean for rank in ranks]


def _row(ruleset: str, padding: str, timings: list[list[Timing]]) -> str:
    most = [max(position, key=lambda a: a.moves).seconds for position in timings]
    fewest = [min(position, key=lambda a: a.moves).seconds for position in timings]
    ratio = statistics.median(a / b for a, b in zip(most, fewest, strict=True))
    median = statistics.median(a.seconds for position in timings for a in position)
    return (
        f"| {ruleset} | {padding} | {len(timings) * DEALS} | {median * 1e3:.2f} ms | {ratio:.3f} "
        f"| {p_value(timings):.4f} |"
    )


def _page(rows: list[str], bot: str, count: int) -> str:
    return f"""# Whether an answer of `{bot}` takes longer with other cards

Made by `python -m ops.bench.bot_timing --bot {bot} --positions {count}`. At each position
the cards that only the bot can know were dealt {DEALS} times. *most / fewest moves* is the median,
over positions, of the ratio of the answer with the most legal moves to that with the fewest; *p* is
that of a permutation test with {PERMUTATIONS} permutations within positions. A small p means that
the time reveals the number of moves. Each 20 cards in the largest hand make a turn 20 ms longer.

| ruleset | padding | answers | median | most / fewest moves | p |
| --- | --- | --- | --- | --- | --- |
{chr(10).join(rows)}
"""


def _services(url: str) -> Services:
    made = _large_hands()
    services = services_over(Database(url, size=1), keyring=Keyring.generate())
    owner = UUID(services.players.register("Ruth")["id"])
    services.directory.save_ruleset(
        CustomRuleset(
            id=made.id,
            name=made.name,
            owner=owner,
            document=orjson.dumps({"base": "leeds", "settings": made.tree}).decode(),
            created_at=datetime.now(UTC),
        ),
        most=1,
    )
    return services


@cache
def _large_hands() -> Definition:
    return custom_definition(definition("leeds"), "Large hands", LARGE_HANDS)


def _dealt(services: Services, ada: RegisteredPlayer, ruleset: str, bot: str) -> UUID:
    request = plain_table(ruleset, ("me", {"bot": bot}))
    return UUID(orjson.loads(services.tables.open(ada, request).body)["game"])


def _chosen(services: Services, game: UUID, rng: random.Random) -> dict[str, Any]:
    entry = services.game_cache.fresh(game)
    view = {} if entry is None else _view(services, entry)
    ready = [move for move in view["moves"] if move["type"] == "ready"]
    chosen: dict[str, Any] = (ready or [rng.choice(view["moves"])])[0]
    return chosen


def _view(services: Services, entry: GameEntry) -> dict[str, Any]:
    player = entry.players[0]
    body, _ = services.games.view(Caller(player=player), entry.record.identity)
    view: dict[str, Any] = orjson.loads(body)
    return view


if __name__ == "__main__":
    main()
