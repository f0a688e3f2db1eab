"""Stories kept in memory: whatever a process has kept, it answers as one that folds anew."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import orjson
import pytest

from service.application.callers import Caller
from service.application.errors import Refusal
from service.bootstrap import Services
from tests.worlds.fake_world import Court, entry_of, legal, lines_of, open_game, person, post


@pytest.fixture
def court(database_url: str) -> Iterator[Court]:
    """Return a service over a new database."""
    made = Court(url=database_url)
    yield made
    made.close()


def all_readings(services: Services, callers: list[Caller], game: UUID) -> list[object]:
    """Return all that readings of the past say of a game to these callers."""
    version = entry_of(services, game).record.version
    found: list[object] = []
    for caller in callers:
        for at in range(max(1, version - 3), version + 1):
            found.append(services.games.view_at(caller, game, at, None))
            found.append(services.auditing.move(caller, game, at - 1))
        found.append(services.games.transcript(caller, game, None))
        found.append(services.games.frames(caller, game, None, max(1, version - 2), None))
        found.append(services.games.openings(caller, game))
        found += [services.auditing.card(caller, game, card) for card in ("2h", "Th", "8s", "3c")]
        if caller.player is not None:
            for at in {1, version // 2 + 1, version}:
                found.append(services.auditing.knowledge(caller, game, None, at))
    return found


@pytest.mark.parametrize("ruleset", ["shithead", "leeds", "smeghead", "covered-queen"])
def test_a_process_that_went_along_answers_like_a_new_one(court: Court, ruleset: str) -> None:
    """Each few moves, from the deal to the seal, by every seat and a stranger."""
    along = court.process()
    ada, bob = person(along, "Ada"), person(along, "Bob")
    seats = ("me", "open")
    game = open_game(along, ada, seats, ruleset=ruleset, window_seconds=0, guests=(bob,))
    callers = [Caller(player=ada.id), Caller(player=bob.id), Caller()]
    for round_ in range(60):
        if entry_of(along, game).record.sealed:
            break
        for seat, player in enumerate((ada, bob)):
            listed = legal(along, game, seat)
            if listed:
                move = next((m for m in listed if m["type"] == "ready"), listed[0])
                post(along, player, game, move)
                break
        if round_ % 9 == 5:
            new = court.process()
            assert all_readings(along, callers, game) == all_readings(new, callers, game)
            court.end(new)
    if not entry_of(along, game).record.sealed:
        post(along, ada, game, {"type": "forfeit"})
    new = court.process()
    assert all_readings(along, callers, game) == all_readings(new, callers, game)
    assert len(lines_of(along, game)) == entry_of(along, game).record.version


def test_what_is_kept_is_not_gone_through_again(court: Court) -> None:
    """The work that a caller is charged for is that of events not followed before."""
    services = court.process()
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game = open_game(services, ada, ("me", "open"), window_seconds=0, guests=(bob,))
    charged: list[int] = []

    def work(events: int) -> Slot:
        charged.append(events)
        return Slot()

    caller = Caller(player=ada.id, work=work)
    version = entry_of(services, game).record.version
    services.games.view_at(caller, game, version, None)
    assert charged == [version]
    for at in range(1, version + 1):
        services.games.view_at(caller, game, at, None)
    assert charged == [version]
    post(services, ada, game, {"type": "ready"})
    services.games.view_at(caller, game, version + 1, None)
    assert charged == [version, 1]


class Slot:
    """A slot that is always free."""

    def __enter__(self) -> None:
        """Take it."""

    def __exit__(self, *_fault: object) -> None:
        """Give it back."""


def test_a_caller_who_has_had_enough_is_refused_before_anything_is_folded(court: Court) -> None:
    services = court.process()
    ada, bob = person(services, "Ada"), person(services, "Bob")
    game = open_game(services, ada, ("me", "open"), window_seconds=0, guests=(bob,))

    def work(events: int) -> Slot:
        raise Refusal("rate-limited", f"{events} events are too much")

    caller = Caller(player=ada.id, work=work)
    for ask in (
        lambda: services.games.view_at(caller, game, 1, None),
        lambda: services.games.transcript(caller, game, None),
        lambda: services.auditing.card(caller, game, "Th"),
        lambda: services.auditing.knowledge(caller, game, 0, 1),
        lambda: services.auditing.move(caller, game, 1),
        lambda: services.verifying.audit(caller, game),
    ):
        with pytest.raises(Refusal, match="too much"):
            ask()
    assert orjson.loads(services.games.view(caller, game)[0])["version"]
