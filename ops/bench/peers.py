#!/usr/bin/env python3
"""
Moves and rebuilds of other libraries beside ours: python -m ops.bench.peers [--write].

The Python library `eventsourcing` runs on the same durable PostgreSQL, in a virtual environment
made for this run. The server of boardgame.io runs from a temporary folder of npm, once with its
store in memory and once in files. Their games are as small as they can be: a card goes from a hand
to a pile and the turn moves on; they check no rule, keep no record that can be verified and sign
nothing. In each round all contestants are measured in turn, each with eight clients, which wait
for an answer before the next move.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import fill
from uuid import UUID

import psycopg

from ops.bench.http_moves import CLIENTS, ComparedService
from ops.bench.long_hand import long_hand, opened
from ops.bench.pages import WIDTH, write
from ops.bench.services import durable_postgres, settings_of_eventsourcing, unlimited_service
from schemas.moves import move_json
from service.application.calls import Caller, RegisteredPlayer
from service.application.games.record import load
from service.bootstrap import Services, services_from
from service.domain.legal import acting_seats, legal_moves
from service.keys import Keyring
from service.runtime.config import Settings
from service.store.migrate import service_url
from tests import servers
from tests.running import free_port

PAGE = Path(__file__).parent / "results" / "peers.md"
EVENTS = 150
"""Events of the game that is rebuilt."""

REBUILDS = 200
PYTHON_PEER = ("eventsourcing[postgres]==9.5.6", "psycopg[binary]")
NODE_PEER = ("boardgame.io@0.50.2", "node-persist@2.1.0")

AGGREGATE = """
import json, os, statistics, sys, threading, time
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

seconds, clients, events, rebuilds = float(sys.argv[1]), *map(int, sys.argv[2:5])
DECK = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]


class Hand(Aggregate):
    @event("Dealt")
    def __init__(self, deck):
        self.stock, self.pile, self.turn = deck[6:], [], 0
        self.hands = [deck[:3], deck[3:6]]

    @event("Played")
    def play(self, seat, card):
        self.hands[seat].remove(card)
        self.pile.append(card)
        self.turn = 1 - seat

    @event("Drawn")
    def draw(self, seat):
        self.hands[seat].append(self.stock.pop(0))


class Hands(Application):
    def dealt(self):
        hand = Hand(deck=list(DECK))
        self.save(hand)
        return hand.id

    def move(self, hand_id):
        hand = self.repository.get(hand_id)
        hand.play(hand.turn, hand.hands[hand.turn][0])
        if hand.stock:
            hand.draw(1 - hand.turn)
        self.save(hand)
        return bool(hand.hands[0] or hand.hands[1])


app = Hands(env={"AGGREGATE_CACHE_MAXSIZE": "100"})
counts, end = [0] * clients, time.monotonic() + seconds


def play(number):
    hand = app.dealt()
    while time.monotonic() < end:
        counts[number] += 1
        if not app.move(hand):
            hand = app.dealt()


threads = [threading.Thread(target=play, args=(number,)) for number in range(clients)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
plain = Hands()  # without a cache
hand = Hand(deck=DECK * 4)
while hand.version < events:
    hand.play(hand.turn, hand.hands[hand.turn][0])
    hand.draw(1 - hand.turn)
plain.save(hand)
times = []
for _ in range(rebuilds):
    began = time.perf_counter()
    plain.repository.get(hand.id)
    times.append(time.perf_counter() - began)
print(json.dumps({"moves": sum(counts) / seconds, "rebuild": statistics.median(times)}))
"""

GAME = """
const deck = [...'23456789TJQKA'].flatMap((rank) => [...'cdhs'].map((suit) => rank + suit));
module.exports = {
  name: 'pile',
  setup: () => ({ stock: deck.slice(6), hands: [deck.slice(0, 3), deck.slice(3, 6)], pile: [] }),
  turn: { minMoves: 1, maxMoves: 1 },
  moves: {
    play: {
      client: false,
      move: ({ G, ctx }, card) => {
        const hand = G.hands[ctx.currentPlayer];
        hand.splice(hand.indexOf(card), 1);
        G.pile.push(card);
        if (!G.stock.length) G.stock = G.pile.splice(0, G.pile.length - 1);
        hand.push(G.stock.shift());
      },
    },
  },
};
"""

SERVER = """
const { Server, Origins, FlatFile } = require('boardgame.io/server');
const [, , port, folder] = process.argv;
const more = folder ? { db: new FlatFile({ dir: folder, logging: false }) } : {};
const server = Server({ games: [require('./game')], origins: [Origins.LOCALHOST], ...more });
server.run({ port: Number(port), callback: () => console.log('ready') });
"""

CLIENT = """
const { Client } = require('boardgame.io/client');
const { SocketIO } = require('boardgame.io/multiplayer');
const { CreateGameReducer, InitializeGame } = require('boardgame.io/internal');
const game = require('./game');
const [, , port, seconds, matches, moves, rebuilds] = process.argv.map(Number);
const server = `http://127.0.0.1:${port}`;
let made = 0;

function play(number) {
  for (const playerID of ['0', '1']) {
    const multiplayer = SocketIO({ server });
    const options = { game, numPlayers: 2, matchID: `match ${number}`, playerID };
    const client = Client({ ...options, multiplayer, debug: false });
    let seen = -1;
    client.subscribe((state) => {
      if (!state || state._stateID <= seen) return;
      seen = state._stateID;
      if (playerID === '0') made += 1; // each move is seen once by this seat
      if (state.ctx.currentPlayer === playerID) {
        setImmediate(() => client.moves.play(state.G.hands[playerID][0]));
      }
    });
    client.start();
  }
}

function rebuilt() {
  const reducer = CreateGameReducer({ game });
  const began = performance.now();
  let state = InitializeGame({ game, numPlayers: 2 });
  for (let number = 0; number < moves; number += 1) {
    const playerID = state.ctx.currentPlayer;
    const payload = { type: 'play', args: [state.G.hands[playerID][0]], playerID };
    state = reducer(state, { type: 'MAKE_MOVE', payload });
  }
  if (state.ctx.turn !== moves + 1) throw new Error('a move was refused');
  return performance.now() - began;
}

(async () => {
  for (let number = 0; number < matches; number += 1) play(number); // the first seat creates it
  await new Promise((done) => setTimeout(done, 500));
  const before = made;
  await new Promise((done) => setTimeout(done, seconds * 1000));
  const rate = (made - before) / seconds;
  const times = Array.from({ length: rebuilds }, rebuilt).sort((a, b) => a - b);
  console.log(JSON.stringify({ moves: rate, rebuild: times[rebuilds >> 1] / 1000 }));
  process.exit(0);
})();
"""

Measured = dict[str, float]
"""Moves a second, and seconds of a rebuild."""


def installed(folder: Path) -> None:
    """Install both peers below a folder, and write their programs there."""
    python = folder / "venv" / "bin" / "python"
    for command in (
        [sys.executable, "-m", "venv", str(folder / "venv")],
        [str(python), "-m", "pip", "install", "--quiet", *PYTHON_PEER],
        ["npm", "install", "--silent", "--no-audit", "--no-fund", *NODE_PEER],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    programs = {"aggregate.py": AGGREGATE, "game.js": GAME, "server.js": SERVER}
    for name, text in {**programs, "client.js": CLIENT}.items():
        (folder / name).write_text(text)


def eventsourcing(folder: Path, url: str, seconds: float) -> Measured:
    """Return the figures of the Python library, in one process."""
    numbers = (seconds, CLIENTS, EVENTS, REBUILDS)
    command = [str(folder / "venv" / "bin" / "python"), "aggregate.py", *map(str, numbers)]
    return _answer(command, folder, settings_of_eventsourcing(url))


def boardgame(folder: Path, store: str, seconds: float) -> Measured:
    """Return the figures of boardgame.io's server; `store` is a folder, or empty for memory."""
    port = free_port()
    command = ["node", "server.js", str(port), *([store] if store else [])]
    quiet = {**os.environ, "NODE_ENV": "production"}
    with subprocess.Popen(
        command, cwd=folder, env=quiet, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        try:
            assert server.stdout is not None
            while b"ready" not in server.stdout.readline():
                assert server.poll() is None, "the server of boardgame.io has ended"
            numbers = (port, seconds, CLIENTS, EVENTS // 2, REBUILDS)
            return _answer(["node", "client.js", *map(str, numbers)], folder, quiet)
        finally:
            server.terminate()


def _answer(command: list[str], folder: Path, environment: dict[str, str]) -> Measured:
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    figures: Measured = json.loads(done.stdout.splitlines()[-1])
    return figures


def in_process(services: Services, seconds: float) -> Measured:
    """Return our figures without HTTP: use cases called from threads of this process."""
    counts, end = [0] * CLIENTS, time.monotonic() + seconds
    people = [services.players.register(name) for name in ("Ada", "Bob", "Cy")]
    players = [RegisteredPlayer(id=UUID(one["id"]), name=one["name"]) for one in people]

    def play(number: int) -> None:
        game = opened(services, players[:2], "shithead").record.identity
        while time.monotonic() < end:
            entry = services.game_cache.fresh(game)
            assert entry is not None
            state = entry.record.game
            if state.over:
                game = opened(services, players[:2], "shithead").record.identity
                continue
            seat = acting_seats(state)[0]
            move = next(m for m in map(move_json, legal_moves(state, seat)) if m["type"] != "swap")
            services.moves.move(Caller(player=players[seat].id), game, move)
            counts[number] += 1

    threads = [threading.Thread(target=play, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"moves": sum(counts) / seconds, "rebuild": _rebuilt(services, players)}


def _rebuilt(services: Services, players: list[RegisteredPlayer]) -> float:
    """Return the median seconds to read and fold a game that is in no cache."""
    game = long_hand(services, players, actions=EVENTS * 2 // 3)
    entry, times = services.game_cache.fresh(game), []
    assert entry is not None
    for _ in range(REBUILDS):
        began = time.perf_counter()
        record = load(game, services.game_cache.lines(game), seed=entry.record.seed)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * EVENTS / record.version


def measured(folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, Measured]]:
    """Yield the name and the figures of each contestant, round by round."""
    installed(folder)
    with ExitStack() as stack:
        postgres = stack.enter_context(durable_postgres(folder))
        url = postgres.url
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE peer")
        redis_url = stack.enter_context(servers.valkey(folder / "valkey"))
        service = stack.enter_context(unlimited_service(url, redis_url, folder))
        roots = {"API": service.children["API"].pid}
        ours = ComparedService(name="ours", port=service.port, roots=roots)
        services = services_from(
            Settings(
                database_url=service_url(url),
                keys=Keyring.generate().to_text(),
                origin="bench.example",
                rate_limits=False,
            )
        )
        stack.callback(services.close)
        contestants: dict[str, Callable[[], Measured]] = {
            OURS: lambda: {"moves": ours.measure(options.seconds, CLIENTS).rate},
            "ours in one process, without HTTP": lambda: in_process(services, options.seconds),
            "`eventsourcing` 9.5.6 in one process, without HTTP": lambda: eventsourcing(
                folder, postgres.url_of("peer"), options.seconds
            ),
            "boardgame.io 0.50.2, store in memory": lambda: boardgame(folder, "", options.seconds),
            "boardgame.io 0.50.2, store in files": lambda: boardgame(
                folder, tempfile.mkdtemp(dir=folder), options.seconds
            ),
        }
        ours.measure(2.0, CLIENTS)  # warm
        for _ in range(options.rounds):
            for name, contestant in contestants.items():
                yield name, contestant()


OURS = "ours over HTTP, views between the moves"
DURABLE = {
    OURS: "each move",
    "ours in one process, without HTTP": "each move",
    "`eventsourcing` 9.5.6 in one process, without HTTP": "each move",
    "boardgame.io 0.50.2, store in memory": "no",
    "boardgame.io 0.50.2, store in files": "written, not flushed",
}


def table(found: list[tuple[str, Measured]]) -> Iterator[str]:
    """Yield the lines of the table: medians of the rounds, and ratios to ours over HTTP."""
    yield f"| | durable | moves/s | ratio | rebuild of {EVENTS} events |"
    yield "| --- | --- | --- | --- | --- |"
    rounds = {name: [figures for other, figures in found if other == name] for name, _ in found}
    for name, figures in rounds.items():
        ratios = [
            one["moves"] / two["moves"] for one, two in zip(figures, rounds[OURS], strict=True)
        ]
        rebuilds = [one["rebuild"] for one in figures if "rebuild" in one]
        rebuild = f"{statistics.median(rebuilds) * 1e3:.2f} ms" if rebuilds else "as below"
        rate = statistics.median(one["moves"] for one in figures)
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
        yield f"| {name} | {DURABLE[name]} | {rate:.0f} | {ratio} | {rebuild} |"


def main() -> None:
    """Print the table, or write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        lines = "\n".join(table(list(measured(Path(folder), options))))
    made = (
        f"Made by `python -m ops.bench.peers --rounds {options.rounds} --seconds "
        f"{options.seconds:g} --write`: {CLIENTS} clients that wait for each answer, all on two "
        f"cores with PostgreSQL, load {load:.1f} before the start. Medians of the rounds; a "
        "ratio is to ours over HTTP in the same round. The peers play games without rules, "
        "record or receipts; boardgame.io sends its moves through WebSockets."
    )
    if options.write:
        write(PAGE, f"# Peers on the same work\n\n{fill(made, WIDTH)}\n\n{lines}")
    else:
        print(lines)


if __name__ == "__main__":
    main()
