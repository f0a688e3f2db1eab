"""Contract tests of every directory for refused moves and recorded reads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from service.store.directory import Directory
from service.store.events import PlayerErased, Quota, QuotaFull, QuotaKind
from service.store.games import MAX_REFUSALS, READ_AGAIN, EventNote, Reading
from tests.contract.conftest import Stores
from tests.streams import THEN, append, commit, new_game, refused, register, token_of


def test_refused_moves_and_reads_are_stored_in_order(stores: Stores) -> None:
    directory, other, reader = stores.directory, uuid4(), uuid4()
    game, kept = new_game(stores.store), []
    directory.record_readings([], at=THEN, reader=reader, what="nothing")
    for hour in (2, 1):
        at = THEN + timedelta(hours=hour)
        kept.append(refused(hour, at, sealed=b"\0%d" % hour))
        assert directory.record_refusal(game, kept[-1])
        directory.record_readings([game, other], at=at, reader=reader, what=f"hand of {hour}")
    times = [THEN + timedelta(hours=hour) for hour in (1, 2)]
    assert list(directory.refusals(game)) == kept[::-1]
    assert not directory.refusals(uuid4())
    for one in (game, other):
        assert entries(directory.readings(one).items) == [
            (times[1], reader, "hand of 2"),
            (times[0], reader, "hand of 1"),
        ]
    assert not directory.readings(uuid4()).items


def entries(readings: Iterable[Reading]) -> list[tuple[datetime, UUID | None, str]]:
    return [(reading.created_at, reading.reader, reading.what) for reading in readings]


def test_recorded_reads_are_listed_in_pages(directory: Directory) -> None:
    game, times = uuid4(), [THEN + timedelta(hours=hour) for hour in range(5)]
    for at in (*times, times[0]):
        directory.record_readings([game], at=at, reader=uuid4(), what="its table")
    page = directory.readings(game, limit=2)
    found = list(page.items)
    while page.next is not None:
        page = directory.readings(game, cursor=page.next, limit=2)
        assert len(page.items) == 2
        found += page.items
    assert [reading.created_at for reading in found] == [*reversed(times), times[0]]
    assert len({reading.id for reading in found}) == 6


def test_repeated_reads_within_a_minute_are_recorded_once(stores: Stores) -> None:
    """Repeated polls of an unchanged game add one record only."""
    directory, reader = stores.directory, uuid4()
    game, minute = new_game(stores.store), READ_AGAIN

    def readings_after(after: timedelta, who: UUID | None = reader, what: str = "its view") -> int:
        directory.record_readings([game], at=THEN + after, reader=who, what=what)
        return len(directory.readings(game).items)

    assert [readings_after(part * minute) for part in (0, 0.5, 0.99)] == [1, 1, 1]
    assert readings_after(0.5 * minute, who=None) == 2
    assert readings_after(0.6 * minute, who=None) == 2
    assert readings_after(0.5 * minute, who=uuid4()) == 3
    assert readings_after(0.5 * minute, what="its log") == 4
    stores.store.commit(commit(append(game, b"b", expected=1, after=stores.store, summary={})))
    assert [readings_after(0.6 * minute), readings_after(0.7 * minute)] == [5, 5]
    assert [readings_after(1.6 * minute), readings_after(1.7 * minute)] == [6, 6]
    unknown = uuid4()
    for _ in range(2):
        directory.record_readings([unknown], at=THEN, reader=reader, what="its view")
    assert len(directory.readings(unknown).items) == 1


def test_a_limited_number_of_refused_moves_is_stored_for_a_seat(stores: Stores) -> None:
    """Otherwise a seat could post illegal moves until its bundle exceeds the limit of readers."""
    game, directory = new_game(stores.store), stores.directory
    for seat in (*[0] * (MAX_REFUSALS + 1), 1):
        assert directory.record_refusal(game, refused(seat))
    kept = [one.seat for one in directory.refusals(game)]
    assert (kept.count(0), kept.count(1)) == (MAX_REFUSALS, 1)


def test_refused_moves_are_deleted_by_the_end_time_of_their_game(stores: Stores) -> None:
    directory, day = stores.directory, timedelta(days=1)
    games = {name: new_game(stores.store) for name in ("over", "over later", "running")}
    for game in games.values():
        for _ in range(2):
            assert directory.record_refusal(game, refused())
    for name, days in (("over", 1), ("over later", 3)):
        over = {"status": "ended", "ended_at": THEN + days * day}
        stores.store.commit(
            commit(append(games[name], b"b", expected=1, after=stores.store, summary=over))
        )
    assert directory.purge_refusals(ended_before=THEN + day) == 0
    assert directory.purge_refusals(ended_before=THEN + 2 * day) == 2
    kept = {name: len(directory.refusals(game)) for name, game in games.items()}
    assert kept == {"over": 0, "over later": 2, "running": 2}


def test_refused_moves_of_the_same_time_keep_the_order_of_arrival(stores: Stores) -> None:
    game, kept = new_game(stores.store), [refused(n % 3) for n in range(20)]
    late, early = refused(at=THEN + timedelta(hours=1)), refused(at=THEN - timedelta(hours=1))
    for one in (late, *kept, early):
        assert stores.directory.record_refusal(game, one)
    assert list(stores.directory.refusals(game)) == [early, *kept, late]


def test_no_refused_move_is_recorded_after_the_end_of_a_game(stores: Stores) -> None:
    """Otherwise the bundle would contain an attempt that the seal does not count."""
    game = new_game(stores.store)
    assert stores.directory.record_refusal(game, refused())
    over = {"status": "aborted", "ended_at": THEN}
    stores.store.commit(commit(append(game, b"b", expected=1, after=stores.store, summary=over)))
    assert not stores.directory.record_refusal(game, refused())
    assert not stores.directory.record_refusal(uuid4(), refused())
    assert len(stores.directory.refusals(game)) == 1


def note(author: UUID, seq: int, text: str, visibility: str = "me") -> EventNote:
    return EventNote(author=author, seq=seq, text=text, visibility=visibility, at=THEN)


def test_a_note_is_replaced_deleted_and_shown_to_those_who_may_see_it(stores: Stores) -> None:
    directory, game = stores.directory, uuid4()
    ada, bob = register(directory, "Ada"), register(directory, "Bob")
    directory.keep_note(game, note(ada, 3, "first"))
    mine, shared = note(ada, 3, "second"), note(bob, 2, "look here", "dispute")
    for one in (mine, shared, note(bob, 9, "mine")):
        directory.keep_note(game, one)
    assert list(directory.notes(game, reader=ada, shared=False)) == [mine]
    assert list(directory.notes(game, reader=ada, shared=True)) == [shared, mine]
    assert not directory.notes(uuid4(), reader=ada, shared=True)
    assert directory.delete_note(game, ada, 3)
    assert not directory.delete_note(game, ada, 3)
    assert list(directory.notes(game, reader=ada, shared=True)) == [shared]


def test_an_erased_player_has_no_notes_and_writes_none(stores: Stores) -> None:
    directory, game = stores.directory, uuid4()
    ada, bob = register(directory, "Ada"), register(directory, "Bob")
    directory.keep_note(game, note(ada, 3, "gone", "dispute"))
    assert directory.erase(token_of(ada), THEN)
    assert not directory.notes(game, reader=bob, shared=True)
    with pytest.raises(PlayerErased):
        directory.keep_note(game, note(ada, 4, "too late"))


@pytest.mark.parametrize(
    ("kind", "same_author", "same_game"),
    [
        (QuotaKind.NOTES, True, True),
        (QuotaKind.NOTES_OF_GAME, False, True),
        (QuotaKind.ALL_NOTES, True, False),
    ],
)
def test_the_notes_of_a_player_and_of_a_game_are_limited(
    stores: Stores, kind: QuotaKind, *, same_author: bool, same_game: bool
) -> None:
    """A note may be changed at the limit; notes on other hands, or of others, count or not."""
    directory, game, ada = stores.directory, uuid4(), register(stores.directory, "Ada")
    bob = register(directory, "Bob")
    author, of = ada if same_author else bob, game if same_game else uuid4()

    def quotas(most: int) -> list[Quota]:
        kinds = (QuotaKind.NOTES, QuotaKind.NOTES_OF_GAME, QuotaKind.ALL_NOTES)
        return [Quota(player=author, kind=k, most=most if k is kind else 9, game=of) for k in kinds]

    directory.keep_note(game, note(ada, 3, "x"))
    directory.keep_note(of, note(author, 4, "y"), quotas(2))
    directory.keep_note(of, note(author, 4, "changed"), quotas(2))
    with pytest.raises(QuotaFull) as full:
        directory.keep_note(of, note(author, 5, "one more"), quotas(2))
    assert full.value.kind is kind
