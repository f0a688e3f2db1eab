"""Games, backups and database calls of every earlier release, run with the present code."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from service.application.calls import Caller, RegisteredPlayer
from service.application.signing import verifiers_of
from service.backup.backup import restore
from service.backup.check import Fault, Progress, whole_check
from service.bootstrap import Services
from service.domain.game import EntropyState, Status
from service.keys import Keyring
from service.shx.bundle import Bundle
from service.shx.shuffle import client_commit
from service.store.database import SQL, Database
from service.store.games import GameFilter
from service.verify.finding import Result
from service.verify.verify import verify_bundle
from tests.contract.conftest import address_of_service
from tests.releases.make import HERE, ORIGIN, grow_log, play, services_over
from tests.releases.recorded import Session, comparable, plain, value_of
from tests.worlds.fake_world import SetWorld, entry_of

RELEASES = sorted(path.parent for path in HERE.glob("*/running.backup"))
FINISHED = sorted(HERE.glob("*/finished/*.jsonl.xz"))
SHARE = bytes(range(32))


def lines_of_file(path: Path) -> tuple[bytes, ...]:
    """Return the lines of a finished game."""
    return tuple(lzma.decompress(path.read_bytes()).splitlines())


def keys_of(release: Path) -> Keyring:
    """Return the keys of a release's service."""
    return Keyring.from_text((release / "keys.json").read_text())


def faults(database: Database, keyring: Keyring, *, deep: bool) -> tuple[Fault, ...]:
    """Return the faults found by a complete check."""
    keys = verifiers_of(keyring, ORIGIN)
    *_, last = whole_check(database, None, keys, Progress(deep=deep))
    return last.faults


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def release(request: pytest.FixtureRequest) -> Path:
    """Return the folder of a release."""
    folder: Path = request.param
    return folder


@pytest.fixture
def database(release: Path, empty_database_url: str) -> Iterator[Database]:
    """Return the database of a release's service, migrated to the present schema."""
    restore(empty_database_url, release / "running.backup")
    made = Database(empty_database_url, size=2)
    yield made
    made.close()


def test_the_corpus_has_an_earlier_release() -> None:
    assert RELEASES and FINISHED


@pytest.mark.parametrize("path", FINISHED, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_finished_game_of_a_release_verifies(path: Path) -> None:
    """Later releases accept every game of earlier ones."""
    report = verify_bundle(Bundle(lines=lines_of_file(path)))
    assert [f for f in report.findings if f.result is Result.FAIL] == []
    assert (report.level, report.sealed) == ("L1", True)


@pytest.mark.heavy
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.long)])
def test_running_games_of_a_release_are_played_to_their_end(
    release: Path, database: Database, every: int
) -> None:
    """The backup is restored, migrated, checked, played to the end and checked again."""
    keyring, world = keys_of(release), SetWorld(seed=77)
    deep = every == 1
    assert faults(database, keyring, deep=deep) == ()
    services = services_over(database, keyring, world)
    running = [
        game.id
        for status in (Status.SHUFFLING, Status.SWAPPING, Status.PLAYING)
        for game in services.directory.list_games(
            GameFilter(status=status), viewer=None, everything=True, limit=200
        ).items
    ]
    assert len(running) > 3
    for game in running[::every]:
        _to_the_end(services, game)
        report = verify_bundle(Bundle(lines=services.game_cache.lines(game)))
        assert [f for f in report.findings if f.result is Result.FAIL] == []
    grow_log(database, keyring)
    assert faults(database, keyring, deep=deep) == ()


def _to_the_end(services: Services, game: UUID) -> None:
    entry = entry_of(services, game)
    players = {
        seat: RegisteredPlayer(id=player, name="")
        for seat, player in enumerate(entry.players)
        if player
    }
    for seat, player in players.items():
        _share(services, game, seat, player)
    play(services, game, players)
    assert entry_of(services, game).record.game.status is Status.ENDED


def _share(services: Services, game: UUID, seat: int, player: RegisteredPlayer) -> None:
    """Contribute the entropy of a seat, if it is still missing."""
    caller = Caller(player=player.id)
    state = entry_of(services, game).record.game.seats[seat].entropy
    if state is not EntropyState.WAITING:
        return
    commits = entry_of(services, game).record.game.setup.seats[seat].entropy.value == "commit"
    if commits:
        commit = client_commit(game, seat, SHARE).hex()
        services.entropy.give(caller, game, commit=commit, value=None)
    services.entropy.give(caller, game, commit=None, value=SHARE.hex())


def test_database_calls_of_an_earlier_release_have_the_same_results(
    release: Path, database_url: str
) -> None:
    """
    An upgrade migrates the schema first, so statements of the old release run on the new schema.

    A recorded session, repeated in the service's role, gives the same answers, apart from times
    that the server generates.
    """
    session = Session.decode(lzma.decompress((release / "calls.json.xz").read_bytes()))
    assert len(session.calls) > 100
    database = Database(address_of_service(database_url), size=1)
    with database._connection() as connection:
        for name, values, answer in session.calls:
            found = connection.execute(
                session.statements[name].encode(), value_of(values), binary=True
            ).fetchall()
            assert comparable(plain(found)) == comparable(answer), name
    database.close()


REFUSED = (
    r"\bDROP\s+(TABLE|COLUMN|VIEW|FUNCTION|TYPE|SCHEMA|CONSTRAINT)\b",
    r"\bRENAME\b",
    r"\bSET\s+NOT\s+NULL\b",
    r"\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b",
    r"\bADD\s+COLUMN\b(?![^,;]*\bDEFAULT\b)[^,;]*\bNOT\s+NULL\b",
    r"\bTRUNCATE\b|\bDELETE\s+FROM\b",
)
"""Patterns of statements that break the code of an earlier release."""


def breaking_statements(migration: str) -> list[str]:
    """Return the statements of a migration that break code for the previous schema."""
    text = re.sub(r"--[^\n]*", "", migration)
    return [match[0] for one in REFUSED for match in re.finditer(one, text, re.IGNORECASE)]


@pytest.mark.parametrize("path", sorted((SQL / "migrations").glob("*.sql")), ids=lambda p: p.stem)
def test_migrations_only_add(path: Path) -> None:
    assert breaking_statements(path.read_text()) == []


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("ALTER TABLE games ADD COLUMN touched timestamptz", True),
        ("ALTER TABLE games ADD COLUMN touched integer NOT NULL DEFAULT 0", True),
        ("ALTER TABLE games ADD COLUMN touched integer NOT NULL", False),
        ("ALTER TABLE games DROP COLUMN turn", False),
        ("ALTER TABLE games ALTER COLUMN turn TYPE bigint", False),
        ("ALTER TABLE games ALTER turn SET NOT NULL", False),
        ("ALTER TABLE games RENAME COLUMN turn TO seat", False),
        ("-- DROP TABLE games\nCREATE TABLE more (one integer NOT NULL)", True),
    ],
)
def test_incompatible_migrations_are_detected(statement: str, *, allowed: bool) -> None:
    assert (breaking_statements(statement) == []) is allowed
