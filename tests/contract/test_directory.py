"""Contract tests of every directory: lists and summaries of games and tables."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any
from uuid import UUID, uuid4

import pytest

from service.store.directory import CustomRuleset, Directory
from service.store.events import StreamConflict, StreamKind
from service.store.games import DueGame, GameFilter, SeatRow
from service.store.summaries import Cursor, ListName
from tests.contract.conftest import Stores
from tests.streams import (
    FIRST,
    THEN,
    append,
    bot,
    commit,
    new_game,
    new_table,
    person,
    register,
)

EVERYTHING = GameFilter()


def test_a_game_is_summarised_by_its_appends(stores: Stores) -> None:
    ann = register(stores.directory)
    seats = [person(1, ann), bot(0)]
    game = new_game(stores.store, turn=1, dealer=None, seats=seats, wake_kind="bot", wake_at=THEN)
    row = stores.directory.game(game)
    assert row is not None
    assert (row.id, row.table, row.hand, row.ruleset) == (game, UUID(int=7), 1, "shithead")
    assert (row.status, row.version, row.turn, row.dealer) == ("playing", 1, 1, None)
    assert (row.created_at, row.ended_at, row.public, row.back) == (THEN, None, True, ())
    assert row.seats == (
        SeatRow(seat=0, kind="bot", bot="greedy", player=None, name=None),
        SeatRow(seat=1, kind="human", bot=None, player=ann, name="Ann"),
    )
    ended = {
        "status": "ended",
        "turn": None,
        "ended_at": "2026-03-01T13:00:00.000000Z",
        "reason": "shithead",
        "shithead": 1,
        "places": [0],
        "wake_at": None,
    }
    stores.store.commit(
        commit(append(game, b"b", b"c", expected=1, after=stores.store, summary=ended))
    )
    assert stores.directory.game(game) == replace(
        row,
        status="ended",
        version=3,
        turn=None,
        ended_at=THEN + timedelta(hours=1),
        reason="shithead",
        shithead=1,
        places=(0,),
    )
    assert not stores.directory.due_games(now=THEN, limit=9)


def test_an_append_without_a_summary_still_increases_the_version(stores: Stores) -> None:
    game = new_game(stores.store)
    stores.store.commit(commit(append(game, b"b", expected=1, after=stores.store)))
    row = stores.directory.game(game)
    assert row is not None and row.version == 2


def test_a_stream_without_a_summary_is_in_no_list(stores: Stores) -> None:
    stream = uuid4()
    stores.store.commit(commit(append(stream, b"a")))
    assert stores.directory.game(stream) is None
    assert not stores.directory.list_games(EVERYTHING, viewer=None, everything=True).items


def test_a_refused_append_changes_no_summary(stores: Stores) -> None:
    game = new_game(stores.store)
    before = stores.directory.game(game)
    with pytest.raises(StreamConflict):
        stores.store.commit(
            commit(append(game, b"b", expected=5, after=stores.store, summary={"status": "ended"}))
        )
    assert stores.directory.game(game) == before


def test_a_table_is_summarised_by_its_appends(stores: Stores) -> None:
    ann = register(stores.directory)
    invite, game = b"i" * 32, uuid4()
    table = new_table(stores.store, public=False, invite_hash="\\x" + invite.hex(), host=str(ann))
    row = stores.directory.table(table)
    assert row is not None
    assert (row.id, row.host, row.version, row.status) == (table, ann, 1, "open")
    assert (row.public, row.invite_hash, row.hand, row.game) == (False, invite, 0, None)
    change = {"status": "playing", "hand": 1, "game_id": game, "seats": [person(0, ann)]}
    stores.store.commit(
        commit(append(table, b"b", expected=1, after=FIRST, kind=StreamKind.TABLE, summary=change))
    )
    found = stores.directory.table(table)
    assert found is not None
    assert (found.version, found.status, found.hand, found.game) == (2, "playing", 1, game)
    assert [(seat.player, seat.name) for seat in found.seats] == [(ann, "Ann")]
    assert found.invite_hash == invite
    assert stores.directory.table(uuid4()) is None


def test_games_are_listed_newest_first_page_by_page(stores: Stores) -> None:
    games = [new_game(stores.store, created_at=THEN + timedelta(hours=n // 2)) for n in range(7)]
    newest = sorted(range(7), key=lambda n: (n // 2, games[n]), reverse=True)
    seen, cursor = [], None
    for size in (3, 3, 1):
        page = stores.directory.list_games(EVERYTHING, viewer=None, cursor=cursor, limit=3)
        assert len(page.items) == size
        seen += [row.id for row in page.items]
        text = page.following(ListName.GAMES)
        cursor = None if text is None else Cursor.decode(text, ListName.GAMES)
    assert cursor is None
    assert seen == [games[n] for n in newest]


def test_the_last_page_has_no_cursor(stores: Stores) -> None:
    for _ in range(2):
        new_game(stores.store)
    assert stores.directory.list_games(EVERYTHING, viewer=None, limit=2).next is None


def test_games_are_listed_by_table_player_ruleset_and_status(stores: Stores) -> None:
    ann, table = uuid4(), uuid4()
    of_ann = new_game(stores.store, seats=[person(0, ann)], table_id=table)
    at_table = new_game(stores.store, table_id=table, ruleset_id="leeds")
    ended = new_game(stores.store, seats=[person(0, ann)], status="ended")

    def listed(**which: Any) -> set[UUID]:
        page = stores.directory.list_games(GameFilter(**which), viewer=None)
        return {row.id for row in page.items}

    assert listed() == {of_ann, at_table, ended}
    assert listed(table=table) == {of_ann, at_table}
    assert listed(player=ann) == {of_ann, ended}
    assert listed(table=table, player=ann) == {of_ann}
    assert listed(ruleset="leeds") == {at_table}
    assert listed(status="ended") == {ended}
    assert listed(player=ann, status="playing", ruleset="shithead") == {of_ann}
    assert listed(player=uuid4()) == listed(table=uuid4()) == set()


def test_games_are_listed_by_time_result_and_another_player(stores: Stores) -> None:
    ann, bob = uuid4(), uuid4()
    both = [person(0, ann), person(1, bob)]
    won = new_game(
        stores.store, seats=both, status="ended", reason="shithead", shithead=1, places=[0, 1]
    )
    lost = new_game(
        stores.store,
        seats=[person(0, ann)],
        status="ended",
        reason="forfeit",
        shithead=0,
        created_at=THEN + timedelta(hours=2),
    )
    aborted = new_game(stores.store, seats=both, status="aborted", reason="idle")
    running = new_game(stores.store, seats=[person(0, ann)])
    every = {won, lost, aborted, running}
    later = THEN + timedelta(hours=1)
    cases: list[tuple[dict[str, Any], set[UUID]]] = [
        ({"since": later}, {lost}),
        ({"until": later}, every - {lost}),
        ({"result": "shithead"}, {won}),
        ({"result": "forfeit"}, {lost}),
        ({"result": "aborted"}, {aborted}),
        ({"result": "first"}, {won}),
        ({"result": "lost"}, {lost}),
        ({"beside": bob}, {won, aborted}),
        ({"beside": bob, "result": "shithead", "until": later}, {won}),
        ({"over": True}, every - {running}),
    ]
    for filters, expected in cases:
        page = stores.directory.list_games(GameFilter(player=ann, **filters), viewer=None)
        assert {row.id for row in page.items} == expected, filters
    bobs = stores.directory.list_games(GameFilter(player=bob, result="lost"), viewer=None)
    assert {row.id for row in bobs.items} == {won}


def test_private_games_are_listed_for_present_and_former_players_and_the_host(
    stores: Stores,
) -> None:
    ann, bob, host, stranger = uuid4(), uuid4(), uuid4(), uuid4()
    table = new_table(stores.store, host=host, public=False, seats=[person(0, bob)])
    game = new_game(stores.store, table_id=table, public=False, seats=[person(0, ann)])
    for which in (EVERYTHING, GameFilter(table=table), GameFilter(player=ann)):
        for viewer in (ann, bob, host):
            page = stores.directory.list_games(which, viewer=viewer)
            assert [row.id for row in page.items] == [game]
        for other in (stranger, None):
            assert not stores.directory.list_games(which, viewer=other).items
            shown = stores.directory.list_games(which, viewer=other, everything=True)
            assert [row.id for row in shown.items] == [game]


def test_private_games_are_listed_for_referees_and_holders_of_the_invite(stores: Stores) -> None:
    ann, judge, refused = uuid4(), uuid4(), uuid4()
    table = new_table(stores.store, public=False, invite_hash=b"i" * 32)
    judged = new_game(stores.store, table_id=table, public=False, seats=[person(0, ann)])
    other = new_game(stores.store, table_id=table, public=False, seats=[person(0, ann)])
    referees = [
        {"referee": 0, "player_id": judge, "recused": False},
        {"referee": 1, "player_id": refused, "recused": True},
    ]
    summary = {
        "game_id": judged, "state": "open", "accuser": ann, "charge": "other", "move": 0,
        "opened_at": THEN,
        "referees": referees,
    }  # fmt: skip
    dispute = append(uuid4(), b"a", kind=StreamKind.DISPUTE, summary=summary)
    stores.store.commit(commit(dispute))

    def listed(which: GameFilter, **known: Any) -> set[UUID]:
        page = stores.directory.list_games(which, **{"viewer": None, **known})
        return {row.id for row in page.items}

    for which in (EVERYTHING, GameFilter(table=table), GameFilter(player=ann)):
        assert listed(which, viewer=judge) == {judged}
        assert listed(which, viewer=refused) == set()
        assert listed(which, invite=b"i" * 32) == {judged, other}
        assert listed(which, invite=b"j" * 32) == set()
    for invite, found in ((b"i" * 32, [table]), (b"j" * 32, [])):
        page = stores.directory.list_tables(viewer=None, invite=invite)
        assert [row.id for row in page.items] == found
    assert not stores.directory.list_tables(viewer=judge, invite=b"i" * 32, mine=True).items


def test_the_newest_games_of_a_table_include_private_games(stores: Stores) -> None:
    table = uuid4()
    games = [
        new_game(
            stores.store, table_id=table, hand=n, public=False, created_at=THEN + timedelta(hours=n)
        )
        for n in range(4)
    ]
    assert [row.id for row in stores.directory.games_of_table(table, limit=3)] == games[:0:-1]


def test_tables_are_listed_newest_first_with_the_viewers_own_private_tables(
    stores: Stores,
) -> None:
    ann, bob = uuid4(), uuid4()

    def make(hour: int, **changes: Any) -> UUID:
        return new_table(stores.store, created_at=THEN + timedelta(hours=hour), **changes)

    public = make(0, ruleset_id="leeds")
    hosted = make(1, public=False, host=ann)
    seated = make(2, public=False, seats=[person(0, ann)], status="between")
    foreign = make(3, public=False, host=bob)

    def listed(viewer: UUID | None, **which: Any) -> list[UUID]:
        page = stores.directory.list_tables(viewer=viewer, **which)
        return [row.id for row in page.items]

    assert listed(None) == [public]
    assert listed(ann) == [seated, hosted, public]
    assert listed(ann, mine=True) == [seated, hosted]
    assert listed(None, mine=True) == []
    assert listed(bob) == [foreign, public]
    assert listed(ann, status="between") == [seated]
    assert listed(ann, ruleset="leeds") == [public]
    first = stores.directory.list_tables(viewer=ann, limit=2)
    assert first.next is not None
    assert listed(ann, cursor=first.next) == [public]


def test_due_games_are_listed_by_their_due_time(stores: Stores) -> None:
    second = new_game(stores.store, wake_kind="bot", wake_at=THEN + timedelta(seconds=1))
    first = new_game(stores.store, wake_kind="time_out", wake_at=THEN)
    new_game(stores.store, wake_kind="bot", wake_at=THEN + timedelta(seconds=9))
    new_game(stores.store)
    now = THEN + timedelta(seconds=1)
    due = [
        DueGame(id=first, version=1, kind="time_out", at=THEN),
        DueGame(id=second, version=1, kind="bot", at=now),
    ]
    assert list(stores.directory.due_games(now=now, limit=9)) == due
    assert list(stores.directory.due_games(now=now, limit=1)) == due[:1]


def test_a_seat_returns_only_at_the_version_that_it_saw(stores: Stores) -> None:
    game = new_game(stores.store, wake_kind="bot", wake_at=THEN)
    later = THEN + timedelta(hours=1)
    for version, changed in ((2, False), (1, True)):
        assert changed is stores.directory.come_back(
            game, version=version, back={2, 0}, wake_kind="time_out", wake_at=later
        )
    row = stores.directory.game(game)
    assert row is not None and row.back == (0, 2)
    assert [due.kind for due in stores.directory.due_games(now=later, limit=9)] == ["time_out"]
    stores.store.commit(
        commit(append(game, b"b", expected=1, after=stores.store, summary={"back": []}))
    )
    row = stores.directory.game(game)
    assert row is not None and row.back == ()


def test_a_wake_up_is_rescheduled_only_at_the_version_that_was_read(stores: Stores) -> None:
    game = new_game(stores.store, wake_kind="bot", wake_at=THEN, back=[1])
    later = THEN + timedelta(hours=1)
    for version, changed in ((2, False), (1, True)):
        assert changed is stores.directory.set_next_action(
            game, version=version, wake_kind="time_out", wake_at=later
        )
    assert [due.at for due in stores.directory.due_games(now=later, limit=9)] == [later]
    row = stores.directory.game(game)
    assert row is not None and row.back == (1,), "the player is still recorded as back"
    assert stores.directory.set_next_action(game, version=1, wake_kind=None, wake_at=None)
    assert not stores.directory.due_games(now=later, limit=9)


def test_a_ruleset_is_stored_once_under_its_id(directory: Directory) -> None:
    ann = uuid4()
    mine = CustomRuleset(
        id="custom-1", name="Mine", owner=ann, document='{"ranks":{"7":1}}', created_at=THEN
    )
    newer = replace(mine, id="custom-2", created_at=THEN + timedelta(hours=1))
    assert directory.save_ruleset(mine)
    assert not directory.save_ruleset(replace(mine, name="Theirs", owner=uuid4()))
    assert directory.save_ruleset(newer)
    assert directory.ruleset("custom-1") == mine
    assert directory.ruleset("custom-3") is None
    assert list(directory.list_rulesets()) == [newer, mine]
    assert list(directory.list_rulesets(owner=ann, limit=1)) == [newer]
    assert not directory.list_rulesets(owner=uuid4())
    assert list(directory.list_rulesets(after=newer.id)) == [mine]
    assert not directory.list_rulesets(after=mine.id)
    assert not directory.list_rulesets(after="custom-3")
    assert directory.holdings(ann).rulesets == 2


def encoded(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


NO_TIME = "0001-01-01T00:00:00+01:00"
"""An hour before the earliest time in UTC."""


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "ä", "MjAyNg", "====", "a" * 90, "\0"),
        encoded(f"{NO_TIME} {UUID(int=1)}"),
        encoded(f"2026-01-01T00:00:00 {UUID(int=1)}"),
    ],
)
def test_an_invalid_cursor_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Cursor.decode(text, ListName.GAMES)


def test_a_cursor_is_read_back_from_its_text() -> None:
    cursor = Cursor(at=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC), id=uuid4())
    for name in (ListName.GAMES, None):
        assert Cursor.decode(cursor.encode(name), ListName.GAMES) == cursor


def test_a_cursor_of_another_list_is_refused() -> None:
    cursor = Cursor(at=datetime(2026, 1, 2, tzinfo=UTC), id=uuid4())
    for one, other in permutations(ListName, 2):
        with pytest.raises(ValueError, match="no cursor"):
            Cursor.decode(cursor.encode(one), other)


def test_a_gap_between_signs_of_life_is_an_outage(stores: Stores) -> None:
    """Waits that are far from both lengths: a slow machine changes nothing."""
    directory, gap, long = stores.directory, timedelta(seconds=0.01), timedelta(hours=1)
    assert directory.able_since(outage=long) is None
    directory.note_able(outage=long)
    directory.note_able(outage=long)
    assert directory.able_since(outage=long) is None
    time.sleep(0.05)
    while_away = directory.able_since(outage=gap)
    directory.note_able(outage=gap)
    since = directory.able_since(outage=long)
    assert while_away is not None
    assert since is not None
    assert while_away <= since
    directory.note_able(outage=long)
    assert directory.able_since(outage=long) == since
