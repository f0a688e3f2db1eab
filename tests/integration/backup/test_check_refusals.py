"""The deep check opens the stored refused attempts and compares them with the seals."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from service.application.errors import Refusal
from service.backup.check import Progress, whole_check
from service.keys import Keyring
from service.store.database import Database
from tests.integration.backup.conftest import StoredGames
from tests.worlds.fake_log import SIGNER
from tests.worlds.fake_world import KEYS, entry_of, open_game, person, post

FORFEIT = {"type": "forfeit"}


@pytest.fixture
def game(stored_games: StoredGames) -> UUID:
    """Return a finished game with three refused attempts of seat 1."""
    services, people = (
        stored_games.services,
        [person(stored_games.services, name) for name in ("Ada", "Bob")],
    )
    game = open_game(services, people[0], ("me", "open"), guests=(people[1],))
    hands = [seat.hand for seat in entry_of(services, game).record.game.seats]
    for card in hands[0]:
        with pytest.raises(Refusal):
            post(services, people[1], game, {"type": "swap", "up": [card], "hand": [hands[1][0]]})
    post(services, people[0], game, FORFEIT)
    assert len(services.directory.refusals(game)) == 3
    return game


def reasons(
    database: Database,
    keyring: Keyring | None = KEYS,
    *,
    deep: bool = True,
    after: datetime | None = None,
) -> list[str]:
    """Return the reasons of the faults that a check finds in refused attempts."""
    *_, last = whole_check(
        database, None, [SIGNER.verifier], Progress(deep=deep), keyring, refusals_after=after
    )
    return [fault.reason for fault in last.faults if fault.check == "refusals"]


@pytest.mark.parametrize("keyring", [KEYS, None])
def test_unchanged_attempts_and_fully_deleted_attempts_are_valid(
    stored_games: StoredGames, database: Database, game: UUID, keyring: Keyring | None
) -> None:
    assert reasons(database, keyring) == []
    with psycopg.connect(stored_games.url) as owner:
        owner.execute("DELETE FROM refusals WHERE game_id = %s", (game,))
    assert reasons(database, keyring) == []


@pytest.mark.parametrize("keyring", [KEYS, None])
def test_attempts_that_are_all_gone_before_their_retention_ends_are_missed(
    stored_games: StoredGames, database: Database, game: UUID, keyring: Keyring | None
) -> None:
    with psycopg.connect(stored_games.url) as owner:
        owner.execute("DELETE FROM refusals WHERE game_id = %s", (game,))
        [ended] = owner.execute(
            "SELECT ended_at FROM games WHERE game_id = %s", (game,)
        ).fetchone() or (None,)
    assert ended is not None
    second = timedelta(seconds=1)
    assert reasons(database, keyring, after=ended - second) == [
        "0 refused attempts are stored, and the seal names 3"
    ]
    assert reasons(database, keyring, after=ended + second) == []


@pytest.mark.parametrize("keyring", [KEYS, None])
def test_a_missing_attempt_is_found(
    stored_games: StoredGames, database: Database, game: UUID, keyring: Keyring | None
) -> None:
    with psycopg.connect(stored_games.url) as owner:
        owner.execute("DELETE FROM refusals WHERE game_id = %s AND arrival = 2", (game,))
    [reason] = reasons(database, keyring)
    assert reason.startswith("2 refused attempts are stored")
    assert reasons(database, keyring, deep=False) == []


def test_an_attempt_moved_to_another_seat_is_found(
    stored_games: StoredGames, database: Database, game: UUID
) -> None:
    with psycopg.connect(stored_games.url) as owner:
        owner.execute("UPDATE refusals SET seat = 0 WHERE game_id = %s AND arrival = 1", (game,))
    [reason] = reasons(database)
    assert reason.startswith("a refused attempt is not as it was recorded")
