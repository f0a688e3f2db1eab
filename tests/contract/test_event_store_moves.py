"""Contract tests for the commit of an ordinary move, which has its own path in PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from service.store.events import (
    AnswerConflict,
    Commit,
    EventStore,
    OutboxRow,
    StoredAnswer,
    StoreError,
    StreamConflict,
)
from tests.changed import replace
from tests.streams import answer, append, commit, lines_of, new_game, new_table, passed_on, unlinked

LATER = datetime.now(UTC) + timedelta(days=1)


def move(
    store: EventStore,
    game: UUID,
    line: bytes,
    *,
    expected: int,
    stored: StoredAnswer | None = None,
) -> Commit:
    """Return the commit of a move: one append with the summary of a running game."""
    summary: dict[str, Any] = {
        "status": "playing",
        "turn": 1,
        "dealer": 0,
        "ended_at": None,
        "reason": None,
        "shithead": None,
        "places": None,
        "left_by": None,
        "wake_kind": None,
        "wake_at": None,
    }
    row = OutboxRow(stream=game, version=expected + 1, topic="game")
    appended = append(game, line, expected=expected, after=store, summary=summary)
    return commit(appended, answer=stored, outbox=(row,))


def test_a_move_is_stored_with_its_answer_and_its_outbox_row(store: EventStore) -> None:
    game, stored = new_game(store), answer()
    store.commit(move(store, game, b"a", expected=1, stored=stored))
    assert lines_of(store, game)[1:] == (b"a",)
    assert store.answer(stored.caller, stored.request_key) == stored
    [row] = passed_on(store, topic="game", limit=10, older_than=LATER)
    assert (row.stream, row.version) == (game, 2)


def test_a_late_move_writes_nothing_and_its_request_can_be_sent_again(store: EventStore) -> None:
    game, stored = new_game(store), answer()
    store.commit(move(store, game, b"a", expected=1))
    with pytest.raises(StreamConflict) as late:
        store.commit(move(store, game, b"b", expected=1, stored=stored))
    assert (late.value.stream, late.value.version) == (game, 2)
    assert unlinked(*late.value.lines) in ((), (b"a",))  # not every store returns them
    assert store.answer(stored.caller, stored.request_key) is None
    store.commit(move(store, game, b"b", expected=2, stored=stored))
    assert lines_of(store, game)[1:] == (b"a", b"b")
    assert store.answer(stored.caller, stored.request_key) == stored


@pytest.mark.parametrize("expected", [1, 2])
def test_a_repeated_move_is_an_answer_conflict_at_any_version(
    store: EventStore, expected: int
) -> None:
    game, stored = new_game(store), answer()
    store.commit(move(store, game, b"a", expected=1, stored=stored))
    with pytest.raises(AnswerConflict):
        store.commit(move(store, game, b"b", expected=expected, stored=stored))
    assert lines_of(store, game)[1:] == (b"a",)


def test_a_move_in_an_unknown_game_is_refused(store: EventStore) -> None:
    with pytest.raises(StreamConflict) as missing:
        store.commit(move(store, uuid4(), b"a", expected=1))
    assert missing.value.version == 0
    table = new_table(store)
    with pytest.raises(StoreError):
        store.commit(move(store, table, b"a", expected=1))
    assert len(lines_of(store, table)) == 1


def test_a_move_that_does_not_name_the_head_of_its_game_is_refused(store: EventStore) -> None:
    """The answer is not stored either, so the request can be sent again."""
    game, stored = new_game(store), answer()
    made = move(store, game, b"a", expected=1, stored=stored)
    store.commit(move(store, game, b"b", expected=1))
    [late] = made.appends
    again = replace(
        made,
        appends=(replace(late, expected=2),),
        outbox=(OutboxRow(stream=game, version=3, topic="game"),),
    )
    with pytest.raises(StoreError) as refused:
        store.commit(again)
    assert not isinstance(refused.value, StreamConflict)
    assert lines_of(store, game)[1:] == (b"b",)
    assert store.answer(stored.caller, stored.request_key) is None


def test_concurrent_repetitions_of_a_move_are_stored_once(store: EventStore) -> None:
    game, stored = new_game(store), answer()

    def sent(number: int) -> type[Exception] | None:
        try:
            store.commit(move(store, game, b"%d" % number, expected=1, stored=stored))
        except (AnswerConflict, StreamConflict) as error:
            return type(error)
        return None

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(sent, range(6)))
    assert outcomes.count(None) == 1
    assert set(outcomes) <= {None, AnswerConflict}
    assert len(lines_of(store, game)) == 2
