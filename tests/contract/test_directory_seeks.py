"""Promises of the directory about seeks, and of a commit that ends some of them at a table."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from schemas.seeks import SeekStatus, Standing
from service.domain.events import Clock, Entropy
from service.store.directory import Directory
from service.store.events import (
    Admission,
    PlayerErased,
    Quota,
    QuotaFull,
    QuotaKind,
    SeeksClaim,
    StreamConflict,
)
from service.store.seeks import Seek, SeekConditions
from tests.changed import replace
from tests.contract.conftest import Stores
from tests.streams import FIRST, THEN, append, commit, register, token_of

LATER = THEN + timedelta(minutes=10)
BASIC = SeekConditions(rulesets=("leeds",), seats=2, clock=None, entropy=Entropy.NONE)


def seek_of(player: UUID, *, after: int = 0, conditions: SeekConditions = BASIC) -> Seek:
    """Return a seek that was posted some seconds later than THEN."""
    at = THEN + timedelta(seconds=after)
    return Seek(
        id=uuid4(),
        player=player,
        conditions=conditions,
        key=None,
        fill_after=30,
        created_at=at,
        expires_at=at + timedelta(minutes=10),
    )


def posted(
    directory: Directory, name: str, *, after: int = 0, conditions: SeekConditions = BASIC
) -> Seek:
    seek = seek_of(register(directory, name), after=after, conditions=conditions)
    directory.add_seek(seek)
    return seek


def quota(seek: Seek, kind: QuotaKind = QuotaKind.SEEKS, *, since: datetime = THEN) -> Quota:
    return Quota(player=seek.player, kind=kind, most=1, since=since)


def claim(*seeks: Seek, table: UUID | None = None) -> SeeksClaim:
    return SeeksClaim(table=table or uuid4(), seeks=tuple(one.id for one in seeks), at=THEN)


def commit_with(stores: Stores, claimed: SeeksClaim) -> None:
    """Commit a new stream that takes the seeks."""
    stores.store.commit(commit(append(uuid4(), FIRST), seeks=claimed))


def test_a_seek_is_read_as_it_was_posted(stores: Stores) -> None:
    directory = stores.directory
    conditions = SeekConditions(
        rulesets=("threes", "leeds"),
        seats=4,
        clock=Clock(turn_seconds=20, swap_seconds=60, reserve_seconds=30),
        entropy=Entropy.COMMIT,
        only_stayers=True,
    )
    seek = replace(
        seek_of(register(directory, "Ada"), conditions=conditions),
        key="A" * 43 + "=",
        fill_after=0,
        standing=Standing.LEAVES,
    )
    directory.add_seek(seek)
    assert directory.seek(seek.id) == seek
    assert directory.seek(uuid4()) is None
    assert seek.status(THEN) is SeekStatus.OPEN
    assert seek.status(LATER) is SeekStatus.EXPIRED


def test_a_repeated_seek_changes_nothing(stores: Stores) -> None:
    seek = posted(stores.directory, "Ada")
    stores.directory.add_seek(replace(seek, fill_after=99), [quota(seek)])
    assert stores.directory.seek(seek.id) == seek


def test_the_same_seek_twice_is_one_seek(stores: Stores) -> None:
    """Even beside others up to the limit; a seek that differs in anything is another one."""
    directory, seek = stores.directory, posted(stores.directory, "Ada")
    again = seek_of(seek.player, after=60)
    assert directory.add_seek(again, [quota(again)]) == seek.id
    renewed = directory.seek(seek.id)
    assert renewed is not None and renewed.expires_at == again.expires_at
    for other in (
        replace(again, key="A" * 43 + "="),
        replace(again, fill_after=None),
        replace(again, keep=True),
        replace(again, conditions=replace(again.conditions, rulesets=("x",))),
        replace(again, conditions=replace(again.conditions, seats=3)),
        replace(
            again,
            conditions=replace(again.conditions, clock=Clock(turn_seconds=1, swap_seconds=1)),
        ),
        replace(again, conditions=replace(again.conditions, entropy=Entropy.VALUE)),
    ):
        new = replace(other, id=uuid4())
        assert directory.add_seek(new) == new.id
    bob = register(directory, "Bob")
    assert directory.add_seek(replace(again, id=uuid4(), player=bob)) != seek.id


def test_a_commit_ends_the_other_seeks_of_its_players_but_those_to_keep(stores: Stores) -> None:
    directory = stores.directory
    ada, bob = posted(directory, "Ada"), posted(directory, "Bob")
    other = replace(BASIC, seats=3)
    ends = seek_of(ada.player, conditions=other)
    stays = replace(seek_of(bob.player, conditions=other), keep=True)
    for seek in (ends, stays):
        directory.add_seek(seek)
    commit_with(stores, claim(ada, bob))
    assert list(directory.open_seeks(now=THEN, limit=9)) == [stays]
    ended = directory.seek(ends.id)
    assert ended is not None and ended.status(THEN) is SeekStatus.WITHDRAWN


def test_the_open_seeks_of_a_player_are_limited(stores: Stores) -> None:
    directory, seek = stores.directory, posted(stores.directory, "Ada")
    other = replace(BASIC, seats=3)
    with pytest.raises(QuotaFull) as full:
        directory.add_seek(seek_of(seek.player, conditions=other), [quota(seek)])
    assert full.value.kind is QuotaKind.SEEKS
    expired = quota(seek, since=LATER)
    directory.add_seek(seek_of(seek.player, after=600), [expired])
    assert directory.withdraw_seek(seek.id, seek.player, at=THEN)
    assert [one.created_at for one in directory.seeks_of(seek.player, limit=9)] == [LATER, THEN]


def test_the_seeks_that_a_player_posts_within_a_time_are_limited(stores: Stores) -> None:
    """A withdrawn one counts too: its row stays for a day."""
    directory, seek = stores.directory, posted(stores.directory, "Ada")
    assert directory.withdraw_seek(seek.id, seek.player, at=THEN)
    recent = quota(seek, QuotaKind.NEW_SEEKS, since=THEN - timedelta(days=1))
    with pytest.raises(QuotaFull) as full:
        directory.add_seek(seek_of(seek.player), [recent])
    assert full.value.kind is QuotaKind.NEW_SEEKS
    directory.add_seek(seek_of(seek.player), [quota(seek, QuotaKind.NEW_SEEKS, since=THEN)])


def test_open_seeks_are_listed_oldest_first(stores: Stores) -> None:
    directory = stores.directory
    second = posted(directory, "Bob", after=2)
    first = posted(directory, "Ada", after=1)
    both = posted(directory, "Cy", after=0, conditions=replace(BASIC, rulesets=("x", "leeds")))
    others = [
        posted(directory, "Di", after=4, conditions=other)
        for other in (
            replace(BASIC, rulesets=("x",)),
            replace(BASIC, seats=3),
            replace(BASIC, clock=Clock(turn_seconds=1, swap_seconds=1)),
            replace(BASIC, entropy=Entropy.VALUE),
        )
    ]
    found = list(directory.open_seeks(now=THEN, limit=9))
    assert found[:3] == [both, first, second]
    assert {one.id for one in found[3:]} == {one.id for one in others}
    soon = LATER + timedelta(seconds=1)
    assert first not in directory.open_seeks(now=soon, limit=9)
    waiting = directory.seeks_waiting(expire_after=THEN, limit=2)
    counts = [(conditions, sum(found.values())) for conditions, found in waiting]
    assert counts == [(BASIC, 2), (both.conditions, 1)], "most players, then the longest wait"


def test_of_too_many_open_seeks_those_of_other_players_are_listed_at_other_times(
    stores: Stores,
) -> None:
    """A player who waits behind any number of others is among them soon."""
    seeks = [posted(stores.directory, f"P{number}") for number in range(6)]
    moments = [THEN + timedelta(milliseconds=n) for n in range(200)]
    parts = [
        frozenset(one.id for one in stores.directory.open_seeks(now=now, limit=3))
        for now in moments
    ]
    assert {len(part) for part in parts} == {3}
    assert frozenset[UUID]().union(*parts) == {one.id for one in seeks}
    pairs = {frozenset((one, other)) for part in parts for one in part for other in part}
    assert len(pairs) == 6 + 15, "any two of them are in one part at times"


def test_a_seek_is_renewed_and_withdrawn_by_its_player_while_it_is_open(stores: Stores) -> None:
    directory, seek = stores.directory, posted(stores.directory, "Ada")
    until = LATER + timedelta(minutes=5)
    assert not directory.renew_seek(seek.id, uuid4(), at=THEN, until=until)
    assert directory.renew_seek(seek.id, seek.player, at=THEN, until=until)
    assert directory.renew_seek(seek.id, seek.player, at=THEN, until=LATER)  # not shortened
    renewed = directory.seek(seek.id)
    assert renewed is not None and renewed.expires_at == until
    assert not directory.renew_seek(seek.id, seek.player, at=until, until=until)
    assert not directory.withdraw_seek(seek.id, seek.player, at=until)
    assert not directory.withdraw_seek(seek.id, uuid4(), at=THEN)
    assert directory.withdraw_seek(seek.id, seek.player, at=THEN)
    assert not directory.withdraw_seek(seek.id, seek.player, at=THEN)
    ended = directory.seek(seek.id)
    assert ended is not None and ended.status(THEN) is SeekStatus.WITHDRAWN


def test_a_commit_ends_its_seeks_at_its_table(stores: Stores) -> None:
    directory, table = stores.directory, uuid4()
    ada, bob = posted(directory, "Ada"), posted(directory, "Bob")
    commit_with(stores, claim(ada, bob, table=table))
    for one in (ada, bob):
        found = directory.seek(one.id)
        assert found is not None
        assert (found.status(LATER), found.table) == (SeekStatus.MATCHED, table)
    assert not directory.open_seeks(now=THEN, limit=9)
    assert not directory.withdraw_seek(ada.id, ada.player, at=THEN)
    assert [one.id for one in directory.seeks_of(ada.player, matched=True, limit=9)] == [ada.id]


@pytest.mark.parametrize("over", ["matched", "withdrawn", "expired", "unknown"])
def test_a_commit_with_a_seek_that_is_over_writes_nothing(stores: Stores, over: str) -> None:
    """No player gets a second table by one seek, and no other is left at a table without it."""
    directory = stores.directory
    ada, bob = posted(directory, "Ada"), posted(directory, "Bob", after=-600 * (over == "expired"))
    if over == "matched":
        commit_with(stores, claim(bob))
    if over == "withdrawn":
        directory.withdraw_seek(bob.id, bob.player, at=THEN)
    if over == "unknown":
        bob = seek_of(bob.player)
    game = uuid4()
    with pytest.raises(StreamConflict) as conflict:
        stores.store.commit(commit(append(game, FIRST), seeks=claim(ada, bob)))
    assert conflict.value.stream == bob.id
    assert stores.store.read(game) is None
    assert ada in directory.open_seeks(now=THEN, limit=9)
    assert not directory.seeks_of(ada.player, matched=True, limit=9)


def test_an_erased_player_has_no_seeks_and_posts_none(stores: Stores) -> None:
    directory, seek = stores.directory, posted(stores.directory, "Ada")
    assert directory.erase(token_of(seek.player), THEN)
    assert directory.seek(seek.id) is None
    with pytest.raises(PlayerErased):
        directory.add_seek(seek_of(seek.player))


def test_a_player_with_an_open_seek_is_not_unused(stores: Stores) -> None:
    directory, seek = stores.directory, posted(stores.directory, "Ada")
    soon = THEN + timedelta(seconds=1)
    assert not directory.purge_players(registered_before=soon, at=soon)
    directory.withdraw_seek(seek.id, seek.player, at=THEN)
    assert directory.purge_players(registered_before=soon, at=soon)


def test_seeks_are_deleted_after_their_end(stores: Stores) -> None:
    directory = stores.directory
    withdrawn, expired = posted(directory, "Ada"), posted(directory, "Bob")
    still_open = posted(directory, "Cy", after=3600)
    directory.withdraw_seek(withdrawn.id, withdrawn.player, at=THEN)
    assert directory.purge_seeks(ended_before=LATER) == 0
    assert directory.purge_seeks(ended_before=LATER + timedelta(seconds=1)) == 2
    assert directory.seek(expired.id) is None
    assert directory.seek(still_open.id) == still_open


@pytest.mark.parametrize("is_first", [True, False])
def test_a_commit_that_seats_a_player_beside_one_who_blocks_writes_nothing(
    stores: Stores, *, is_first: bool
) -> None:
    """Whether by their seeks, or at a table of the player who blocks."""
    directory = stores.directory
    ada, bob = posted(directory, "Ada"), posted(directory, "Bob", after=1)
    pair = (ada.player, bob.player) if is_first else (bob.player, ada.player)
    directory.block(*pair, at=THEN, most=1)
    with pytest.raises(StreamConflict):
        commit_with(stores, claim(ada, bob))
    assert list(directory.open_seeks(now=THEN, limit=9)) == [ada, bob]
    table = uuid4()
    admission = Admission(table=table, host=ada.player, player=bob.player)
    seated = commit(append(table, FIRST), admission=admission)
    if is_first:
        with pytest.raises(StreamConflict):
            stores.store.commit(seated)
    else:
        stores.store.commit(seated)
    assert (stores.store.read(table) is None) == is_first
