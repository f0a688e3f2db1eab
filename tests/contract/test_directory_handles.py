"""Contract tests of handles: unique, changed rarely, kept from others, erased."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID, uuid4

import psycopg
import pytest

from service.store.directory import Directory
from service.store.events import QuotaFull, StoreError
from service.store.handles import ListedPlayer
from tests.streams import THEN, register, token_of

MONTH, LONGER = timedelta(days=30), timedelta(days=91)


def choose(
    directory: Directory, player: UUID, handle: str, *, at: datetime = THEN, hashed: str = ""
) -> bool | None:
    """Choose a handle, whose look-alikes have the same text to be hashed."""
    digest = sha256((hashed or handle).encode()).digest()
    return directory.choose_handle(token_of(player), handle, digest, at=at, last=at - MONTH)


def handle_of(directory: Directory, player: UUID) -> str | None:
    found = directory.player(player)
    assert found is not None
    return found.handle


def test_a_handle_and_its_look_alikes_belong_to_one_player(directory: Directory) -> None:
    ann, bob = register(directory), register(directory)
    assert choose(directory, ann, "ann") is True
    assert choose(directory, ann, "ann") is True, "repeated"
    assert choose(directory, bob, "ann") is False
    assert choose(directory, bob, "a-nn", hashed="ann") is False
    assert (handle_of(directory, ann), handle_of(directory, bob)) == ("ann", None)
    assert directory.player_by_handle("ann") == ann
    assert directory.player_by_handle("a-nn") is None
    assert directory.choose_handle("none", "x-y", bytes(32), at=THEN, last=THEN) is None


def test_a_handle_is_unique_also_after_the_key_of_the_hashes_was_lost(
    directory: Directory,
) -> None:
    ann, bob = register(directory), register(directory)
    choose(directory, ann, "ann")
    assert choose(directory, bob, "ann", hashed="with another key") is False


def test_a_handle_is_changed_once_in_a_month(directory: Directory) -> None:
    ann = register(directory)
    choose(directory, ann, "ann")
    with pytest.raises(QuotaFull):
        choose(directory, ann, "anna", at=THEN + timedelta(days=29))
    assert handle_of(directory, ann) == "ann"
    assert choose(directory, ann, "anna", at=THEN + MONTH) is True
    assert handle_of(directory, ann) == "anna"
    assert directory.handle_chosen_at(ann) == THEN + MONTH


def test_a_look_alike_of_the_own_handle_is_a_change(directory: Directory) -> None:
    ann = register(directory)
    choose(directory, ann, "ann")
    with pytest.raises(QuotaFull):
        choose(directory, ann, "a-nn", hashed="ann", at=THEN + timedelta(days=1))
    assert choose(directory, ann, "a-nn", hashed="ann", at=THEN + MONTH) is True
    assert handle_of(directory, ann) == "a-nn"


def test_a_handle_that_was_given_up_returns_to_its_player_alone_for_90_days(
    directory: Directory,
) -> None:
    ann, bob = register(directory), register(directory)
    choose(directory, ann, "ann")
    changed = THEN + MONTH
    choose(directory, ann, "anna", at=changed)
    assert choose(directory, bob, "ann", at=changed + timedelta(days=89)) is False
    assert choose(directory, ann, "ann", at=changed + MONTH) is True
    assert choose(directory, ann, "anna", at=changed + 2 * MONTH) is True
    assert choose(directory, bob, "ann", at=changed + 2 * MONTH + LONGER) is True
    assert handle_of(directory, bob) == "ann"
    assert choose(directory, ann, "ann", at=changed + 4 * MONTH + LONGER) is False


def test_an_erased_handle_is_kept_from_others_by_its_hash_alone(
    directory: Directory, database_url: str
) -> None:
    ann, bob = register(directory), register(directory)
    choose(directory, ann, "ann")
    choose(directory, ann, "anna", at=THEN + MONTH)
    erased = THEN + 2 * MONTH
    assert directory.erase(token_of(ann), erased)
    with psycopg.connect(database_url) as owner:
        rows = owner.execute("SELECT player_id, handle, free_at FROM handles ORDER BY 3").fetchall()
    assert [row[:2] for row in rows] == [(None, None)] * 2
    free = [row[2].astimezone(UTC) for row in rows]
    assert free == [THEN + MONTH + timedelta(days=90), erased + timedelta(days=90)]
    assert choose(directory, bob, "anna", at=erased + timedelta(days=89)) is False
    assert choose(directory, bob, "anna", at=erased + LONGER) is True


def test_hashes_that_keep_nothing_any_more_are_deleted(
    directory: Directory, database_url: str
) -> None:
    ann, bob = register(directory), register(directory)
    choose(directory, ann, "ann")
    choose(directory, bob, "bob")
    directory.erase(token_of(ann), THEN)
    assert directory.purge_handles(free_before=THEN + timedelta(days=89)) == 0
    assert directory.purge_handles(free_before=THEN + LONGER) == 1
    assert handle_of(directory, bob) == "bob"
    with pytest.raises(StoreError):
        directory.purge_handles(free_before=datetime.now(UTC) + timedelta(days=9))


def test_of_players_who_choose_the_same_at_once_one_gets_it(directory: Directory) -> None:
    people = [register(directory) for _ in range(6)]
    with ThreadPoolExecutor(len(people)) as pool:
        done = list(pool.map(lambda one: choose(directory, one, "ann"), people))
    assert sorted(map(bool, done)) == [False] * 5 + [True]


def test_a_search_finds_the_first_handles_with_a_beginning(directory: Directory) -> None:
    people = {}
    for handle in ("ann", "ann-b", "anna", "bob"):
        people[handle] = register(directory, handle.title())
        choose(directory, people[handle], handle)
    found = directory.handles_with("ann", limit=9)
    assert [one.handle for one in found] == ["ann", "ann-b", "anna"]
    assert found[0] == ListedPlayer(id=people["ann"], name="Ann", handle="ann")
    assert [one.handle for one in directory.handles_with("ann", limit=2)] == ["ann", "ann-b"]
    assert list(directory.handles_with("zz", limit=9)) == []
    directory.erase(token_of(people["ann"]), THEN)
    assert [one.handle for one in directory.handles_with("an", limit=9)] == ["ann-b", "anna"]


def test_a_search_among_many_handles_reads_a_few_rows_of_an_index(
    directory: Directory, database_url: str
) -> None:
    ann = register(directory)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO handles (hash, player_id, handle, chosen_at)"
            " SELECT sha256(n::text::bytea), %s, 'p' || n, now()"
            " FROM generate_series(10000, 40000) n",
            (ann,),
        )
        owner.execute("ANALYZE handles, players")
        plan = "\n".join(
            row[0]
            for row in owner.execute(
                "EXPLAIN ANALYZE SELECT h.player_id, p.name, h.handle FROM handles h"
                " JOIN players p ON p.player_id = h.player_id"
                " WHERE h.handle ~>=~ 'p2' AND h.handle ~<~ ('p2' || '~') AND h.handle IS NOT NULL"
                " ORDER BY h.handle USING ~<~ LIMIT 10"
            ).fetchall()
        )
    assert "handles_by_prefix" in plan, plan
    assert "Seq Scan on handles" not in plan, plan
    assert "Sort" not in plan, plan


def test_several_players_are_read_at_once(directory: Directory) -> None:
    ann, bob, gone = (register(directory, name) for name in ("Ann", "Bob", "Gone"))
    choose(directory, ann, "ann")
    choose(directory, gone, "gone")
    directory.erase(token_of(gone), THEN)
    found = {one.id: one for one in directory.known_players([ann, bob, gone, uuid4()])}
    assert found == {
        ann: ListedPlayer(id=ann, name="Ann", handle="ann"),
        bob: ListedPlayer(id=bob, name="Bob", handle=None),
        gone: ListedPlayer(id=gone, name=None, handle=None),
    }
    assert list(directory.known_players([])) == []
