"""Contract tests of every directory for players."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from service.application.calls import digest
from service.store.directory import CustomRuleset, Directory, Holdings, Results
from service.store.events import (
    AnswerConflict,
    HandRunning,
    PlayerErased,
    Quota,
    QuotaFull,
    QuotaKind,
    StoreError,
    StreamKind,
)
from tests.contract.conftest import Stores
from tests.streams import (
    THEN,
    answer,
    append,
    bot,
    code_of,
    commit,
    new_game,
    new_table,
    person,
    register,
    table_summary,
    token_of,
)


def test_a_player_is_found_by_id_and_by_token(directory: Directory) -> None:
    ann = register(directory)
    found = directory.player(ann)
    assert found is not None
    assert (found.id, found.name, found.created_at, found.erased_at) == (ann, "Ann", THEN, None)
    assert directory.player_by_token(digest(token_of(ann))) == found
    assert directory.player_by_token(b"unknown") is None
    assert directory.player(uuid4()) is None


def test_unused_players_are_erased_by_age(stores: Stores) -> None:
    """All other players have a seat, a table, a ruleset or a part in a dispute."""
    directory, store, later = stores.directory, stores.store, THEN + timedelta(days=1)
    names = ("unused", "plays", "sits", "hosts", "makes rules", "accuses", "judges", "left")
    people = {name: register(directory, name) for name in names}
    new_game(store, seats=[person(0, people["plays"]), bot(1)])
    new_table(store, host=people["hosts"], seats=[person(0, people["sits"]), bot(1)])
    directory.save_ruleset(
        CustomRuleset(
            id="custom-1",
            name="Mine",
            owner=people["makes rules"],
            document="{}",
            created_at=THEN,
        )
    )
    judges = [
        {"referee": 0, "player_id": people["judges"], "recused": False},
        {"referee": 1, "player_id": people["left"], "recused": True},
    ]
    summary = {
        "game_id": uuid4(),
        "state": "open",
        "accuser": people["accuses"],
        "charge": "other",
        "move": 0,
        "opened_at": THEN,
        "referees": judges,
    }
    dispute = append(uuid4(), b"a", kind=StreamKind.DISPUTE, summary=summary)
    store.commit(commit(dispute))

    assert directory.purge_players(registered_before=THEN, at=later) == 0
    assert directory.purge_players(registered_before=later, at=later) == 1
    assert directory.purge_players(registered_before=later, at=later) == 0
    found = {name: directory.player(player) for name, player in people.items()}
    assert {name for name, row in found.items() if row and row.erased_at == later} == {"unused"}
    assert directory.player_by_token(digest(token_of(people["unused"]))) is None


def test_an_erased_player_cannot_host_sit_or_store_a_ruleset(stores: Stores) -> None:
    """A request that began before the erasure fails with PlayerErased."""
    directory, store = stores.directory, stores.store
    ann, bob = register(directory, "Ann"), register(directory, "Bob")
    own = new_table(store, host=ann, seats=[person(0, ann), bot(1)])
    shared = new_table(store, host=bob, seats=[person(0, bob), bot(1)])
    assert directory.erase(token_of(ann), THEN)
    with pytest.raises(PlayerErased):
        new_table(store, host=ann)
    with pytest.raises(PlayerErased):
        new_table(store, host=bob, seats=[person(0, bob), person(1, ann)])
    sits = {"seats": [person(0, bob), person(1, ann)]}
    with pytest.raises(PlayerErased):
        store.commit(
            commit(
                append(shared, b"b", expected=1, after=store, kind=StreamKind.TABLE, summary=sits)
            )
        )
    mine = CustomRuleset(id="custom-2", name="Mine", owner=ann, document="{}", created_at=THEN)
    with pytest.raises(PlayerErased):
        directory.save_ruleset(mine)
    stays = table_summary(host=ann, seats=[person(0, ann), bot(1)])
    store.commit(
        commit(append(own, b"b", expected=1, after=store, kind=StreamKind.TABLE, summary=stays))
    )
    row = directory.table(own)
    assert row is not None and row.version == 2, "tables from before the erasure go on"


def test_two_players_cannot_have_the_same_token(directory: Directory) -> None:
    ann = register(directory)
    with pytest.raises(StoreError):
        directory.create_player(
            player=uuid4(),
            name="Bob",
            token_hash=digest(token_of(ann)),
            recovery_hash=b"r",
            at=THEN,
        )


def test_a_recovery_code_can_be_used_more_than_once(directory: Directory) -> None:
    ann = register(directory)
    for token in (b"second", b"third"):
        assert directory.recover(code_of(ann), token) == ann
        assert directory.player_by_token(token) == directory.player(ann)
    assert directory.player_by_token(b"second") is None
    assert directory.recover("wrong", b"fourth") is None


def test_a_name_and_a_recovery_code_are_replaced(directory: Directory) -> None:
    ann = register(directory)
    assert directory.rename(token_of(ann), "Anna")
    assert directory.names([ann]) == {ann: "Anna"}
    assert directory.renew_recovery(token_of(ann), None, digest("new code"))
    assert directory.recover(code_of(ann), b"token") is None
    assert directory.recover("new code", b"token") == ann
    assert not directory.rename(token_of(ann), "Bob"), "the recovery replaced it"
    assert directory.renew_recovery(token_of(ann), None, b"other code") is None


def test_only_the_id_of_an_erased_player_remains(stores: Stores) -> None:
    directory, ann = stores.directory, register(stores.directory)
    stored = answer(ann)
    stores.store.commit(commit(append(uuid4(), b"a"), answer=stored))
    game = new_game(stores.store, seats=[person(0, ann), bot(1)], status="ended")
    assert directory.erase(token_of(ann), THEN)
    found = directory.player(ann)
    assert found is not None
    assert (found.name, found.erased_at) == (None, THEN)
    assert directory.player_by_token(digest(token_of(ann))) is None
    assert directory.recover(code_of(ann), b"new") is None
    assert not directory.rename(token_of(ann), "Anna")
    assert directory.renew_recovery(token_of(ann), None, b"new") is None
    assert not directory.names([ann])
    assert stores.store.answer(ann, stored.request_key) is None
    row = directory.game(game)
    assert row is not None
    assert (row.seats[0].player, row.seats[0].name) == (ann, None)
    assert not directory.erase(token_of(ann), THEN)
    assert not directory.erase(token_of(uuid4()), THEN)


@pytest.mark.parametrize("status", ["shuffling", "swapping", "playing"])
def test_no_player_is_erased_during_a_hand(stores: Stores, status: str) -> None:
    directory, ann = stores.directory, register(stores.directory)
    stored = answer(ann)
    stores.store.commit(commit(append(uuid4(), b"a"), answer=stored))
    new_game(stores.store, seats=[person(0, ann), bot(1)], status=status)
    with pytest.raises(HandRunning):
        directory.erase(token_of(ann), THEN)
    assert directory.names([ann]) == {ann: "Ann"}
    assert stores.store.answer(ann, stored.request_key) == stored


def test_no_hand_is_dealt_to_an_erased_player(stores: Stores) -> None:
    ann = register(stores.directory)
    assert stores.directory.erase(token_of(ann), THEN)
    with pytest.raises(PlayerErased):
        new_game(stores.store, seats=[person(0, ann), bot(1)])


def quota(player: UUID, kind: QuotaKind, **more: Any) -> Quota:
    return Quota(player=player, kind=kind, most=1, **more)


def opened(by: UUID, **more: Any) -> dict[str, Any]:
    return {
        "game_id": uuid4(), "state": "open", "accuser": by, "charge": "other", "move": 0,
        "opened_at": THEN,
        **more,
    }  # fmt: skip


def test_a_quota_counts_the_items_of_one_kind_of_a_player(stores: Stores) -> None:
    store, ann, bob = stores.store, register(stores.directory), register(stores.directory)

    def refused(player: UUID, kind: QuotaKind, **more: Any) -> bool:
        try:
            store.commit(commit(append(uuid4(), b"a"), quotas=(quota(player, kind, **more),)))
        except QuotaFull as full:
            assert full.kind is kind
            return True
        return False

    an_hour_before = THEN - timedelta(hours=1)
    kinds: dict[QuotaKind, dict[str, Any]] = {
        QuotaKind.TABLES: {}, QuotaKind.GAMES: {}, QuotaKind.DISPUTES: {},
        QuotaKind.NEW_DISPUTES: {"since": an_hour_before},
    }  # fmt: skip
    assert not any(refused(ann, kind, **more) for kind, more in kinds.items())
    new_table(store, host=ann, status="closed")
    new_game(store, seats=[person(0, ann), bot(1)], status="ended")
    dispute, old = StreamKind.DISPUTE, THEN - timedelta(days=1)
    settled = opened(ann, state="final", opened_at=old)
    store.commit(commit(append(uuid4(), b"a", kind=dispute, summary=settled)))
    assert not any(refused(ann, kind, **more) for kind, more in kinds.items())
    new_table(store, host=ann)
    new_game(store, seats=[person(0, ann), bot(1)])
    store.commit(commit(append(uuid4(), b"a", kind=dispute, summary=opened(ann))))
    assert all(refused(ann, kind, **more) for kind, more in kinds.items())
    assert not any(refused(bob, kind, **more) for kind, more in kinds.items())


def test_a_repeated_request_is_answered_even_if_the_quota_is_used_up(stores: Stores) -> None:
    ann = register(stores.directory)
    stored = answer(ann)
    new_table(stores.store, host=ann)
    stores.store.commit(commit(append(uuid4(), b"a"), answer=stored))
    full = (quota(ann, QuotaKind.TABLES),)
    with pytest.raises(AnswerConflict):
        stores.store.commit(commit(append(uuid4(), b"b"), answer=stored, quotas=full))


def test_a_player_stores_no_more_rulesets_than_the_quota(directory: Directory) -> None:
    ann = register(directory)

    def ruleset(number: int) -> CustomRuleset:
        return CustomRuleset(
            id=f"custom-{number}", name="Mine", owner=ann, document="{}", created_at=THEN
        )

    assert directory.save_ruleset(ruleset(1), most=1)
    assert not directory.save_ruleset(ruleset(1), most=1), "it is stored already"
    with pytest.raises(QuotaFull):
        directory.save_ruleset(ruleset(2), most=1)
    assert directory.save_ruleset(ruleset(2), most=2)


def test_rulesets_stored_at_the_same_moment_do_not_exceed_the_quota(directory: Directory) -> None:
    ann, start = register(directory), threading.Barrier(8)

    def stored(number: int) -> bool:
        ruleset = CustomRuleset(
            id=f"custom-{number}", name="Mine", owner=ann, document="{}", created_at=THEN
        )
        start.wait()
        try:
            return directory.save_ruleset(ruleset, most=3)
        except QuotaFull:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(stored, range(8))) == 3
    assert directory.holdings(ann).rulesets == 3


def test_the_names_of_several_players_are_read_in_one_call(directory: Directory) -> None:
    ann, bob = register(directory, "Ann"), register(directory, "Bob")
    assert directory.names([ann, bob, uuid4()]) == {ann: "Ann", bob: "Bob"}
    assert directory.names([]) == {}


def test_a_player_has_numbers_of_finished_lost_and_running_hands(stores: Stores) -> None:
    ann = uuid4()
    for status, shithead in (("ended", 0), ("ended", 1), ("aborted", None), ("swapping", None)):
        new_game(stores.store, seats=[person(0, ann), bot(1)], status=status, shithead=shithead)
    new_game(stores.store, status="ended", shithead=0)
    open_table = new_table(stores.store, host=ann)
    seated = new_table(stores.store, seats=[person(0, ann)], created_at=THEN + timedelta(hours=1))
    new_table(stores.store, host=ann, status="closed")
    assert stores.directory.results(ann) == Results(games=2, shithead=1)
    assert stores.directory.holdings(ann) == Holdings(running=1, hosting=1, rulesets=0)
    assert list(stores.directory.tables_of(ann)) == [seated, open_table]
    assert stores.directory.results(uuid4()) == Results(games=0, shithead=0)
    assert stores.directory.holdings(uuid4()) == Holdings(running=0, hosting=0, rulesets=0)


def test_erased_players_are_listed_by_time(stores: Stores) -> None:
    directory = stores.directory
    people = [register(directory) for _ in range(3)]
    times = [THEN + timedelta(hours=hour) for hour in (2, 1)]
    for player, at in zip(people, times, strict=False):
        assert directory.erase(token_of(player), at)
    everybody = [(people[1], times[1]), (people[0], times[0])]
    for since, expected in (
        (None, everybody),
        (times[1], everybody),
        (times[0], everybody[1:]),
        (times[0] + timedelta(seconds=1), []),
    ):
        found = directory.erased_players(since=since)
        assert [(one.player, one.at) for one in found] == expected


def test_a_block_is_stored_once_and_ends(directory: Directory) -> None:
    ann, bob, eve = (register(directory, name) for name in ("Ann", "Bob", "Eve"))
    later = THEN + timedelta(hours=1)
    assert directory.block(ann, bob, at=THEN, most=2) == THEN
    assert directory.block(ann, bob, at=later, most=2) == THEN
    assert directory.block(ann, eve, at=later, most=2) == later
    assert list(directory.blocks(ann).items()) == [(eve, later), (bob, THEN)]
    assert directory.blocks(bob) == {}
    assert directory.blocks_among([bob, ann]) == {(ann, bob)}
    assert directory.blocks_among([bob, eve]) == directory.blocks_among([]) == frozenset()
    assert directory.unblock(ann, bob)
    assert not directory.unblock(ann, bob)
    assert directory.blocks_among([ann, bob, eve]) == {(ann, eve)}
    assert list(directory.blocks_between([eve, bob, ann])) == [(2, [0])]


def test_blocks_are_limited_and_end_with_an_erasure(directory: Directory) -> None:
    ann, bob, eve = (register(directory, name) for name in ("Ann", "Bob", "Eve"))
    directory.block(ann, bob, at=THEN, most=1)
    directory.block(eve, ann, at=THEN, most=1)
    with pytest.raises(QuotaFull) as full:
        directory.block(ann, eve, at=THEN, most=1)
    assert full.value.kind is QuotaKind.BLOCKS
    assert directory.erase(token_of(ann), THEN)
    assert directory.blocks_among([ann, bob, eve]) == frozenset()
    with pytest.raises(PlayerErased):
        directory.block(bob, ann, at=THEN, most=1)
