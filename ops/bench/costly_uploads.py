"""
The cost of the most expensive uploads to `/v1/verify`, before and after the limits.

    python -m ops.bench.costly_uploads > ops/bench/results/costly-uploads.md

The upload is a sealed log of a ruleset of one's own (38 decks, hands of 900 cards, runs,
`must_play`), in which the seats pass again and again although they could play. *Before* is the
checks with all alternatives listed for each refused pass. Takes half a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from unittest import mock

import orjson

from service.application.games.uploads import Upload, answer, request_of
from service.bootstrap import compose
from service.domain.commands import Command, Play
from service.domain.game import Game
from service.domain.legal import legal_moves
from service.fork_server import Killable, OutOfTime
from tests.honest_games import FewTrials
from tests.memory.directory import MemoryDirectory
from tests.memory.events import MemoryStore
from tests.memory.public_log import MemoryLog
from tests.tamper import Forgery
from tests.worlds.fake_world import KEYS, SetWorld, lines_of, open_game, person, post

CHANGES = {
    "deck": {"count": "fixed", "decks": 38, "partial": [], "jokers": 0},
    "players": {"min": 2, "max": 2},
    "deal": {"hand": 900, "down": 3, "up": 3},
    "turn": {"runs": True, "obligation": "must_play"},
    "refill": {"size": 3},
}
PASSES = (0, 5, 10)
MANY = 6000
BUDGET = 1


def costly_log(passes: int) -> bytes:
    """Return a log of 152 kB and 245 bytes for each pass of a seat that could play."""
    store, world = MemoryStore(), SetWorld(4)
    services = compose(
        log_store=MemoryLog(),
        store=store,
        directory=MemoryDirectory(store),
        keyring=KEYS,
        origin="bench.example",
        world=world,
        trials=FewTrials(),
    )
    ada, bob = person(services, "Ada"), person(services, "Bob")
    with mock.patch.object(FewTrials, "refusal", return_value=None):
        made = services.rulemaking.make(ada, name="Wide", base="shithead", changes=CHANGES)
    game = open_game(
        services, ada, ("me", "open"), ruleset=orjson.loads(made.body)["id"], guests=(bob,)
    )
    for player in (ada, bob):
        world.wait(1)
        post(services, player, game, {"type": "ready"})
    world.wait(1)
    post(services, ada, game, {"type": "forfeit"})
    log = Forgery(lines_of(services, game))
    end = log.find("game_ended")
    turn = log.data(log.find("play_started"))["turn"]
    for number in range(passes):
        seat = (turn + number) % 2
        passed = {"seat": seat, "reason": "no_play", "turn": 1 - seat}
        log.insert(end + number, "turn_passed", passed, by=seat)
        log.events[end + number]["at"] = f"2026-03-01T12:01:00.{number:06}Z"
    for event in log.events[end + passes :]:
        event["at"] = "2026-03-01T12:02:00.000000Z"
    return b"\n".join(log.lines()) + b"\n"


def seconds_of(act: Callable[[], object]) -> float:
    """Return how much CPU time something takes."""
    began = time.process_time()
    act()
    return time.process_time() - began


def verified(raw: bytes) -> Callable[[], object]:
    """Return what verifies a log in this process."""
    return lambda: answer(request_of(Upload(data=raw)))


def every_alternative(game: Game, command: Command) -> str:
    """Return what was said for each refused pass: the first of all moves, each time anew."""
    plays = [move for move in legal_moves(game, command.seat) if isinstance(move, Play)]
    return f"; seat {command.seat} could have played {plays[0].cards[0]}"


def as_before(raw: bytes) -> Callable[[], object]:
    """Return what verifies a log as it was verified before there was a limit."""

    def act() -> None:
        with mock.patch("service.verify.legality._Judge._instead", _instead_each_time):
            verified(raw)()

    return act


def _instead_each_time(_judge: object, game: Game, command: Command) -> str:
    return every_alternative(game, command)


def stopped_after(raw: bytes) -> tuple[float, float]:
    """Return after how many seconds a server gives a log up, for the first time and then."""
    processes, took = Killable("service.application.games.uploads:answer"), []
    for _ in range(2):
        began = time.monotonic()
        try:
            processes.run(request_of(Upload(data=raw)), seconds=BUDGET)
        except OutOfTime:
            took.append(time.monotonic() - began)
    processes.close()
    return took[0], took[1]


def main() -> None:
    """Measure, and print the page."""
    print("# What an upload to be verified costs\n")
    print("Made by `python -m ops.bench.costly_uploads` on two cores shared with other work.\n")
    print("| passes | bytes | CPU before | CPU now |\n| --- | --- | --- | --- |")
    for passes in PASSES:
        raw = costly_log(passes)
        before, now = seconds_of(as_before(raw)), seconds_of(verified(raw))
        print(f"| {passes} | {len(raw)} | {before:.2f} s | {now:.2f} s |", flush=True)
    raw = costly_log(MANY)
    cold, warm = stopped_after(raw)
    print(f"\nA log of {len(raw)} bytes with {MANY} such passes, which takes longer than that, is")
    print(
        f"given up after the {BUDGET} s that the server was allowed: answered after {warm:.2f} s,"
    )
    print(f"the first time after {cold:.2f} s, with the start of the processes that verify.")


if __name__ == "__main__":
    main()
