"""The short lookup of a game returns what the lookup of everything returns."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from service.application.calls import digest
from service.store.database import Database
from service.store.directory import Directory
from service.store.lookups import Lookup, LookupResult, Lookups
from service.store.postgres_events import PostgresStore
from tests.changed import replace
from tests.streams import FIRST, append, commit, new_game, new_table, register, token_of, unlinked


class Recorded(Database):
    """A database that records the names of the queries sent to it."""

    def change(self, name: str, *values: object) -> list[tuple[object, ...]]:
        """Record and send a query."""
        self.names.append(name)
        return super().change(name, *values)

    names: list[str]


@pytest.fixture
def database(database_url: str) -> Iterator[Recorded]:
    """Return an empty database."""
    opened = Recorded(database_url)
    opened.names = []
    yield opened
    opened.close()


def both(database: Recorded, lookup: Lookup) -> tuple[LookupResult, LookupResult]:
    """Return the results of the short and of the whole lookup, without names."""
    lookups = Lookups(database, PostgresStore(database))
    database.names.clear()
    short = lookups.find(lookup)
    known = short.log is not None
    assert database.names == (["look_up_game"] if known else ["look_up_game", "look_up"])
    database.names.clear()
    whole = lookups.find(replace(lookup, names=(UUID(int=1),)))
    assert database.names == ["look_up"]
    return short, replace(whole, names={})


@pytest.mark.parametrize("known", [True, False, None], ids=["known", "unknown", "no"])
@pytest.mark.parametrize("after", [0, 1, 3, 7])
def test_both_lookups_of_a_game_are_equal(
    database: Recorded, known: bool | None, after: int
) -> None:
    directory, store = Directory(database), PostgresStore(database)
    player = register(directory)
    token = None if known is None else digest(token_of(player if known else uuid4()))
    game = new_game(store)
    store.commit(
        commit(append(game, b"a", b"b", expected=1, after=store, summary={"back": [0, 1]}))
    )
    short, whole = both(database, Lookup(token=token, game=game, after=after))
    assert short == whole
    assert (short.player is not None) == (known is True)
    assert short.back == {0, 1}
    assert short.log is not None
    assert unlinked(*short.log.events) == (FIRST, b"a", b"b")[after:]


@pytest.mark.parametrize("make", [new_table, lambda _store: uuid4()], ids=["table", "unknown"])
def test_both_lookups_of_another_stream_are_equal(database: Recorded, make: object) -> None:
    assert callable(make)
    short, whole = both(database, Lookup(game=make(PostgresStore(database))))
    assert short == whole
