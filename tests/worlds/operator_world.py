"""An operator for tests: the command line `shithead admin` over a database, and games for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from service.keys import Keyring, load
from tests.contract.conftest import address_of_service
from tests.streams import passed_on
from tests.worlds.api_world import Person, World, make_world

LATER = datetime.now(UTC) + timedelta(days=1)

CommandOutput = tuple[int, str, str]
"""Exit status, standard output, standard error."""


@dataclass(frozen=True, kw_only=True)
class Operator:
    """An operator with the owner's database address and the key file."""

    database_url: str
    folder: Path
    run: Callable[..., CommandOutput]
    worlds: list[World] = field(default_factory=list)

    @property
    def keyring(self) -> Keyring:
        return load(self.folder / "keys.json")

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    def world(self, **settings: Any) -> World:
        """Return an application with the service's rights alone, as one more process."""
        chosen = {"keys": self.keyring.to_text(), "archive": self.archive, **settings}
        self.worlds.append(make_world(address_of_service(self.database_url), **chosen))
        return self.worlds[-1]

    def admin(self, *words: str | UUID | Path, name: str = "ops") -> CommandOutput:
        """Run `shithead admin`, and confirm every question."""
        connection = ("--database-url", self.database_url, "--key-file", self.folder / "keys.json")
        return self.run("admin", *connection, "--as", name, "--yes", *words)

    def done(self, *words: str | UUID | Path) -> str:
        """Run `shithead admin`, which must succeed, and return its output."""
        status, out, err = self.admin(*words)
        assert status == 0, (out, err)
        return out

    def trail(self) -> list[tuple[str, str | None, str]]:
        """Return the recorded actions, targets and outcomes, oldest first, without `trail`."""
        lines = [json.loads(line) for line in self.done("--json", "trail").splitlines()]
        return [
            (line["act"], line["target"], line["outcome"])
            for line in reversed(lines)
            if line["act"] != "trail"
        ]


def process_outbox(world: World, game: UUID) -> None:
    """Process the outbox rows of a finished game, as sequencer, sweeper and relay do."""
    services = world.services
    services.sequencer.run_once()
    services.statistics.count(game)
    passed_on(services.store, topic="game", limit=1000, older_than=LATER)


def two_seats(ada: Person, bob: Person, **more: Any) -> dict[str, Any]:
    """Return a dealt table of ada and bob, with its invite if it is private."""
    table = ada.table("open", **more)
    invite = {"invite": table["invite"]} if "invite" in table else {}
    seated = bob.post(f"/v1/tables/{table['id']}/seats", invite)
    assert seated.status_code == 201, seated.text
    return {**seated.json, **invite}


def some_moves(people: tuple[Person, Person], game: str, count: int) -> None:
    """Make a few moves, each the first listed move of the seat on turn."""
    for person in people:
        assert person.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    for _ in range(count):
        mover = next(p for p in people if p.get(game).json["moves"])
        move = mover.get(game).json["moves"][0]
        assert mover.post(f"{game}/moves", move).status_code == 201
