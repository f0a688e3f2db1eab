"""Contract tests of every store for seals that count the refused attempts."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from service.store.events import Commit, EventStore, SealedSecret, StoreError, StreamConflict
from tests.contract.conftest import Stores
from tests.streams import SEAL, THEN, append, commit, game_summary, lines_of, refused

OVER = {"status": "ended", "ended_at": THEN}


def new_game(store: EventStore) -> UUID:
    """Store a game with its seed."""
    game = uuid4()
    created = append(game, b'{"seq":0,"v":1}', summary=game_summary())
    secret = SealedSecret(game=game, key_id="1", ciphertext=b"seed")
    store.commit(commit(created, secret=secret))
    return game


def seal(store: EventStore, game: UUID, counted: int | None) -> Commit:
    """Return the commit of a seal that counts `counted` refused attempts."""
    sealed = append(game, SEAL, expected=1, after=store, summary=OVER)
    return commit(sealed, forget_secret=game, refused=counted)


def test_a_seal_that_counts_too_few_attempts_is_a_stream_conflict(stores: Stores) -> None:
    """The caller then decides the seal again with the recorded attempts."""
    store, game = stores.store, new_game(stores.store)
    for count in range(3):
        assert stores.directory.record_refusal(game, refused(count))
        with pytest.raises(StreamConflict) as conflict:
            store.commit(seal(store, game, count))
        assert (conflict.value.stream, conflict.value.version) == (game, 1)
        assert lines_of(store, game)[1:] == ()
        assert store.secret(game) is not None
    store.commit(seal(store, game, 3))
    assert lines_of(store, game)[1:] == (SEAL,)
    assert store.secret(game) is None
    assert not stores.directory.record_refusal(game, refused())


def test_a_seal_without_a_count_is_refused(stores: Stores) -> None:
    """Such a log is invalid and could not be repaired."""
    game = new_game(stores.store)
    with pytest.raises(StoreError) as error:
        stores.store.commit(seal(stores.store, game, None))
    assert not isinstance(error.value, StreamConflict)
    assert lines_of(stores.store, game)[1:] == ()


def test_a_commit_that_is_not_a_seal_cannot_count_attempts(stores: Stores) -> None:
    game = new_game(stores.store)
    with pytest.raises(ValueError, match="only the commit that seals a game"):
        stores.store.commit(
            commit(append(game, b"more", expected=1, after=stores.store), refused=0)
        )


def test_an_attempt_during_the_seal_is_either_counted_or_not_recorded(
    stores: Stores,
) -> None:
    """The seal counts every attempt that was answered as recorded."""
    store, directory = stores.store, stores.directory
    for _ in range(8):
        game, start = new_game(store), threading.Barrier(5)

        def attempts(seat: int, game: UUID = game, start: threading.Barrier = start) -> int:
            start.wait()
            return sum(directory.record_refusal(game, refused(seat)) for _ in range(12))

        def sealed(game: UUID = game, start: threading.Barrier = start) -> int:
            start.wait()
            while True:
                counted = len(directory.refusals(game))
                try:
                    store.commit(seal(store, game, counted))
                except StreamConflict:
                    continue
                return counted

        with ThreadPoolExecutor(5) as pool:
            recorded = [pool.submit(attempts, seat) for seat in range(4)]
            counted = pool.submit(sealed).result()
        assert sum(one.result() for one in recorded) == counted
        assert len(directory.refusals(game)) == counted


def test_concurrent_attempts_of_a_seat_do_not_exceed_the_limit(stores: Stores) -> None:
    game, start = new_game(stores.store), threading.Barrier(4)

    def attempts(_: int) -> None:
        start.wait()
        for _ in range(60):
            assert stores.directory.record_refusal(game, refused(0))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(attempts, range(4)))
    kept = [one.id for one in stores.directory.refusals(game)]
    assert (len(kept), len(set(kept))) == (200, 200)
