"""Writes the corpus of this release: `python -m tests.releases.make`, once for each release."""

from __future__ import annotations

import json
import lzma
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from service.application.calls import RegisteredPlayer
from service.application.signing import signers_at
from service.application.tables.record import TableRequest
from service.backup.backup import back_up
from service.bootstrap import Services
from service.domain.events import Clock, Entropy
from service.keys import Keyring
from service.public_log.sequencer import Sequencer
from service.rulesets.catalogue import catalogue
from service.runtime.version import VERSION
from service.store.database import Database
from service.store.directory import Directory
from service.store.migrate import migrate
from service.store.postgres_events import PostgresStore
from service.store.public_log import PostgresLog
from tests import servers
from tests.memory.public_log import MemoryLog
from tests.releases.recorded import Recorder
from tests.worlds.fake_world import SetWorld, entry_of, legal, lines_of, post, version_of

HERE = Path(__file__).resolve().parent
ORIGIN = "tests.example"
CLOCK = Clock(turn_seconds=3600, swap_seconds=3600)


def main() -> None:
    """Write the games, the running database with its keys, and the calls of this release."""
    folder = HERE / VERSION
    (folder / "finished").mkdir(parents=True)
    with ExitStack() as stack:
        server = stack.enter_context(
            servers.postgres(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        )
        keyring = Keyring.generate()
        (folder / "keys.json").write_text(keyring.to_text())
        recorder = Recorder(_new(server))
        _write_games(services_over(recorder, keyring), folder, rulesets=("shithead",))
        _compressed(folder / "calls.json.xz", recorder.session.encode())
        recorder.close()
        url = _new(server)
        database = Database(url, size=1)
        _write_games(services_over(database, keyring), folder, rulesets=tuple(catalogue()))
        grow_log(database, keyring)
        database.close()
        back_up(url, folder / "running.backup", now=datetime.now(UTC))


def services_over(database: Database, keyring: Keyring, world: SetWorld | None = None) -> Services:
    """Return the service over a database; its clock stands still."""
    return Services(
        log_store=MemoryLog(),
        store=PostgresStore(database),
        directory=Directory(database),
        keyring=keyring,
        origin=ORIGIN,
        world=world or SetWorld(),
        close=database.close,
    )


def grow_log(database: Database, keyring: Keyring) -> None:
    """Let the public log add all waiting leaves."""
    now = datetime.now(UTC)
    sequencer = Sequencer(
        store=PostgresLog(database),
        origin=ORIGIN,
        signers=lambda _now: signers_at(keyring, ORIGIN, now),
        now=lambda: now,
    )
    while sequencer.run_once():
        pass


def play(
    services: Services, game: UUID, players: dict[int, RegisteredPlayer], *, moves: int = 5000
) -> None:
    """Make `moves` moves of people and all moves of bots, or play to the end."""
    for number in range(moves):
        services.turns.play_due_moves(game, version_of(services, game))
        if entry_of(services, game).record.sealed:
            return
        for seat, player in players.items():
            found = legal(services, game, seat)
            if found:
                post(services, player, game, _chosen(found, number))
                break


def _chosen(moves: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """Return a swap sometimes, else ready, else a play if one is legal."""
    by_type: dict[str, dict[str, Any]] = {move["type"]: move for move in reversed(moves)}
    for kind in ("swap",) * (number < 2) + ("lay", "ready", "play", "play_blind", "try_stock"):
        if kind in by_type:
            return by_type[kind]
    return moves[0]


def _write_games(services: Services, folder: Path, *, rulesets: tuple[str, ...]) -> None:
    """For each ruleset play one game to its end and one halfway, and start some more."""
    names = iter(range(1000))

    def opened(ruleset: str, **more: Any) -> tuple[UUID, dict[int, RegisteredPlayer]]:
        registered = services.players.register(f"Player {next(names)}")
        player = RegisteredPlayer(id=UUID(registered["id"]), name=registered["name"])
        definition = catalogue()[ruleset]
        seats = definition.ruleset(definition.chosen({}), hand=1).seats_min
        return _table(services, player, ruleset, seats, **more), {0: player}

    for ruleset in rulesets:
        game, players = opened(ruleset)
        play(services, game, players)
        lines = b"".join(line + b"\n" for line in lines_of(services, game))
        _compressed(folder / "finished" / f"{ruleset}.jsonl.xz", lines)
        play(services, *opened(ruleset), moves=8)
        services.turns.play_due_moves(opened(ruleset)[0], 3)
    opened("shithead", entropy=Entropy.COMMIT)
    opened("shithead", entropy=Entropy.VALUE)
    play(services, *opened("leeds", clock=CLOCK), moves=6)
    play(services, *opened("threes", public=False), moves=6)


def _table(
    services: Services,
    player: RegisteredPlayer,
    ruleset: str,
    seats: int,
    *,
    clock: Clock | None = None,
    entropy: Entropy = Entropy.NONE,
    public: bool = True,
) -> UUID:
    request = TableRequest(
        ruleset=ruleset,
        seats=("me", *({"bot": "greedy"},) * (seats - 1)),
        options={},
        clock=clock,
        window_seconds=0,
        public=public,
        entropy=entropy,
        key=None,
        turn_limit=None,
        deal=True,
    )
    return UUID(json.loads(services.tables.open(player, request).body)["game"])


def _new(server: servers.DatabaseServer) -> str:
    url = server.create()
    migrate(url)
    return url


def _compressed(path: Path, data: bytes) -> None:
    path.write_bytes(lzma.compress(data))


if __name__ == "__main__":
    main()
