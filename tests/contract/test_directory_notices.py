"""Contract tests of every directory for what concerns a player."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from service.store.events import PlayerErased, QuotaFull, QuotaKind, StreamKind
from service.store.notices import Concerned
from tests.contract.conftest import Stores
from tests.streams import (
    THEN,
    append,
    bot,
    commit,
    new_game,
    new_table,
    person,
    register,
    table_summary,
    token_of,
)


def new_dispute(
    stores: Stores, game: UUID, *, accuser: UUID, accused: UUID | None, referee: UUID
) -> UUID:
    """Store a dispute with one event and one referee."""
    summary = {
        "game_id": game,
        "state": "open",
        "accuser": accuser,
        "accused": accused,
        "charge": "other",
        "move": 0,
        "opened_at": THEN,
        "referees": [{"referee": 0, "player_id": referee, "recused": False}],
    }
    dispute = uuid4()
    first = append(dispute, b"a", kind=StreamKind.DISPUTE, summary=summary)
    stores.store.commit(commit(first))
    return dispute


def test_the_open_tables_of_a_player_are_those_it_hosts_or_sits_at(stores: Stores) -> None:
    directory, store = stores.directory, stores.store
    ann, bob = register(directory, "Ann"), register(directory, "Bob")
    hosted = new_table(store, host=ann)
    sat = new_table(store, host=bob, seats=[person(0, ann), bot(1)])
    other = new_table(store, host=bob)
    assert {one.id for one in directory.own_tables(ann)} == {hosted, sat}
    closing = table_summary(host=ann, status="closed")
    closed = append(hosted, b"b", expected=1, after=store, kind=StreamKind.TABLE, summary=closing)
    store.commit(commit(closed))
    assert {one.id for one in directory.own_tables(ann)} == {sat}
    found = {one.id: one for one in directory.own_tables(ann, also=[hosted, other])}
    assert {identity: one.own for identity, one in found.items()} == {
        hosted: True,
        sat: True,
        other: False,
    }
    assert (found[hosted].status, found[hosted].version) == ("closed", 2)


def test_positions_are_those_of_the_games_that_a_player_plays_or_hosts(stores: Stores) -> None:
    """A reader names the games itself, so others must be left out."""
    directory, store = stores.directory, stores.store
    ann, bob = register(directory, "Ann"), register(directory, "Bob")
    table = new_table(store, host=ann)
    hosted = new_game(store, table_id=table, seats=[person(0, bob), bot(1)])
    played = new_game(store, seats=[person(0, ann), bot(1)])
    other = new_game(store, seats=[person(0, bob), bot(1)])
    found = directory.game_positions(ann, [hosted, played, other, uuid4()])
    assert found.keys() == {hosted, played}
    assert (found[hosted].table, found[hosted].version, found[hosted].over) == (table, 1, False)


def test_disputes_concern_their_sides_and_referees(stores: Stores) -> None:
    directory, store = stores.directory, stores.store
    names = ("Ann", "Bob", "Cleo", "Dan")
    ann, bob, cleo, dan = (register(directory, name) for name in names)
    game = new_game(store, seats=[person(0, ann), person(1, bob)])
    private = new_game(store, seats=[person(0, ann), person(1, bob)], public=False)
    dispute = new_dispute(stores, game, accuser=ann, accused=bob, referee=cleo)
    hidden = new_dispute(stores, private, accuser=ann, accused=None, referee=cleo)
    for player, own in ((ann, {dispute, hidden}), (bob, {dispute}), (cleo, {dispute, hidden})):
        assert set(directory.own_disputes(player)) == own
    assert set(directory.own_disputes(dan)) == set()
    assert set(directory.disputes_to_judge(dan)) == {dispute}, "public games only"
    for player in (ann, bob, cleo):
        assert dispute not in directory.disputes_to_judge(player)


def test_a_change_concerns_players_hosts_sides_and_referees(stores: Stores) -> None:
    directory, store = stores.directory, stores.store
    ann, bob, cleo = (register(directory, name) for name in ("Ann", "Bob", "Cleo"))
    table = new_table(store, host=ann, seats=[person(0, bob), bot(1)])
    game = new_game(store, table_id=table, seats=[person(0, bob), bot(1)])
    dispute = new_dispute(stores, game, accuser=bob, accused=None, referee=cleo)
    found = directory.concerned([table, game, dispute, ann, uuid4()])
    assert found == {
        table: Concerned(kind="table", players=frozenset({ann, bob})),
        game: Concerned(kind="game", players=frozenset({ann, bob})),
        dispute: Concerned(kind="dispute", players=frozenset({bob, cleo})),
    }


def test_one_host_pushes_no_invitation_of_another_out_of_the_list(stores: Stores) -> None:
    """The newest of each host come first, then the next of each; pages go on after them."""
    directory, store = stores.directory, stores.store
    ann, eve, bob = (register(directory, name) for name in ("Ann", "Eve", "Bob"))
    tables = [new_table(store, host=host) for host in (ann, ann, eve, eve, eve)]
    for hour, table in enumerate(tables):
        directory.keep_invitation(table, bob, at=THEN + timedelta(hours=hour), most=9)
    fair = [tables[number] for number in (4, 1, 3, 0, 2)]
    assert [one.table for one in directory.invitations(bob)] == fair
    assert [one.table for one in directory.invitations(bob, after=2, limit=2)] == fair[2:4]


def test_invitations_are_listed_for_their_player_and_end_with_the_seat(stores: Stores) -> None:
    directory, store = stores.directory, stores.store
    ann, bob, eve = (register(directory, name) for name in ("Ann", "Bob", "Eve"))
    first, second = new_table(store, host=ann), new_table(store, host=ann)
    directory.keep_invitation(first, bob, at=THEN, most=2)
    directory.keep_invitation(first, bob, at=THEN + timedelta(hours=1), most=2)
    directory.keep_invitation(second, bob, at=THEN + timedelta(hours=2), most=2)
    with pytest.raises(QuotaFull) as full:
        directory.keep_invitation(second, eve, at=THEN, most=2)
    assert full.value.kind is QuotaKind.INVITATIONS
    assert [(one.table, one.at) for one in directory.invitations(bob)] == [
        (second, THEN + timedelta(hours=2)),
        (first, THEN),
    ]
    assert [one.host for one in directory.invitations(bob, table=first)] == [ann]
    assert not directory.invitations(eve)
    assert directory.concerned([first])[first].players == {ann, bob}
    seated = table_summary(host=ann, seats=[person(0, bob), bot(1)])
    store.commit(
        commit(append(first, b"b", expected=1, after=store, kind=StreamKind.TABLE, summary=seated))
    )
    assert [one.table for one in directory.invitations(bob)] == [second]
    closed = table_summary(host=ann, status="closed")
    store.commit(
        commit(append(second, b"b", expected=1, after=store, kind=StreamKind.TABLE, summary=closed))
    )
    assert not directory.invitations(bob)
    assert not directory.invitations_to(second)


def test_an_invitation_is_declined_withdrawn_and_hidden_by_a_block(stores: Stores) -> None:
    directory, store = stores.directory, stores.store
    ann, bob, eve = (register(directory, name) for name in ("Ann", "Bob", "Eve"))
    table = new_table(store, host=ann, seats=[person(0, eve), bot(1)])
    directory.keep_invitation(table, bob, at=THEN, most=9)
    for one, two in ((ann, bob), (bob, ann), (eve, bob), (bob, eve)):
        directory.block(one, two, at=THEN, most=9)
        assert not directory.invitations(bob)
        directory.unblock(one, two)
    directory.block(ann, eve, at=THEN, most=9)
    assert directory.invitations(bob)
    assert directory.end_invitation(table, bob, declined_at=THEN)
    assert not directory.end_invitation(table, bob, declined_at=THEN)
    assert not directory.invitations(bob)
    assert [one.declined_at for one in directory.invitations_to(table)] == [THEN]
    assert not directory.end_invitation(table, bob)  # else the same table could ask again
    directory.keep_invitation(table, bob, at=THEN, most=9)
    assert [one.declined_at for one in directory.invitations_to(table)] == [THEN]
    other = new_table(store, host=ann)
    directory.keep_invitation(other, bob, at=THEN, most=9)
    assert directory.end_invitation(other, bob)
    assert not directory.end_invitation(other, bob)
    assert directory.erase(token_of(bob), THEN)
    assert not directory.invitations_to(table)
    with pytest.raises(PlayerErased):
        directory.keep_invitation(table, bob, at=THEN, most=9)


def test_the_invitations_of_an_erased_host_end_and_no_other(stores: Stores) -> None:
    """The tables stay, for those who sit there."""
    directory, store = stores.directory, stores.store
    ann, bob, eve = (register(directory, name) for name in ("Ann", "Bob", "Eve"))
    hers, other = new_table(store, host=ann, seats=[person(0, eve)]), new_table(store, host=eve)
    for table in (hers, other):
        directory.keep_invitation(table, bob, at=THEN, most=9)
    assert directory.erase(token_of(ann), THEN)
    assert [one.table for one in directory.invitations(bob)] == [other]
    assert not directory.invitations_to(hers)
    with pytest.raises(PlayerErased):
        directory.keep_invitation(hers, bob, at=THEN, most=9)
    row = directory.table(hers)
    assert row is not None and row.status != "closed"


def test_neither_a_closed_table_nor_a_seat_gets_an_invitation(stores: Stores) -> None:
    directory, store = stores.directory, stores.store
    ann, bob, eve = (register(directory, name) for name in ("Ann", "Bob", "Eve"))
    closed = new_table(store, host=ann, status="closed")
    directory.keep_invitation(closed, bob, at=THEN, most=1)
    taken = new_table(store, host=ann, seats=[person(0, bob), bot(1)])
    directory.keep_invitation(taken, bob, at=THEN, most=1)
    assert not directory.invitations_to(closed)
    assert not directory.invitations_to(taken)
    directory.keep_invitation(taken, eve, at=THEN, most=1)  # the quota was not used up
    assert directory.invitations(eve)


def test_tables_that_wait_to_deal_are_found_once_their_time_has_come(stores: Stores) -> None:
    directory, store = stores.directory, stores.store
    ann = register(directory, "Ann")
    table, other = new_table(store, host=ann), new_table(store, host=ann)
    for one, since in ((table, THEN.isoformat()), (other, None)):
        summary = {**table_summary(host=ann), "ready_since": since}
        store.commit(
            commit(
                append(one, b"b", expected=1, after=store, kind=StreamKind.TABLE, summary=summary)
            )
        )
    assert not directory.ready_tables(since=THEN - timedelta(seconds=1), limit=9)
    found = directory.ready_tables(since=THEN, limit=9)
    assert [(one.id, one.version, one.since) for one in found] == [(table, 2, THEN)]
