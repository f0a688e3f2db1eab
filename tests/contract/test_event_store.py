"""Contract tests for every event store: appends, conflicts, answers, secrets and the outbox."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from service.store.events import (
    AnswerConflict,
    EventStore,
    OutboxRow,
    SealedSecret,
    StoreError,
    StreamConflict,
    StreamKind,
)
from tests.changed import replace
from tests.streams import (
    SEAL,
    answer,
    append,
    commit,
    game_summary,
    head_of,
    lines_of,
    linked,
    passed_on,
)

LATER = datetime.now(UTC) + timedelta(days=1)


def test_appended_events_are_read_back_byte_for_byte(store: EventStore) -> None:
    stream = uuid4()
    lines = ('{"b":"ä€😀","a":"\\u0000\\"\\\\"}'.encode(), b'{"n":1e5,  "odd spacing":true}', b"{}")
    store.commit(commit(append(stream, *lines)))
    found = store.read(stream)
    assert found is not None
    assert found.events == lines
    assert (found.version, found.head, found.kind) == (3, head_of(b"{}"), StreamKind.GAME)


def test_a_line_of_one_mebibyte_is_stored(store: EventStore) -> None:
    stream, line = uuid4(), b'"' + b"x" * (1 << 20) + b'"'
    store.commit(commit(append(stream, line)))
    assert lines_of(store, stream) == (line,)


def test_an_unknown_stream_reads_as_none(store: EventStore) -> None:
    assert store.read(uuid4()) is None


@pytest.mark.parametrize(
    ("after", "limit", "expected"),
    [(0, None, "abcde"), (2, None, "cde"), (1, 2, "bc"), (4, 9, "e"), (5, None, ""), (9, 3, "")],
)
def test_a_slice_has_the_events_after_a_version_and_the_version_of_the_stream(
    store: EventStore, after: int, limit: int | None, expected: str
) -> None:
    stream = uuid4()
    store.commit(commit(append(stream, b"a", b"b", b"c", b"d", b"e")))
    found = store.read(stream, after=after, limit=limit)
    assert found is not None
    assert b"".join(found.events) == expected.encode()
    assert (found.version, found.head) == (5, head_of(b"e"))


@pytest.mark.parametrize(("after", "limit"), [(-1, None), (0, 0), (0, -3)])
def test_an_invalid_slice_raises_value_error(
    store: EventStore, after: int, limit: int | None
) -> None:
    with pytest.raises(ValueError, match="slice"):
        store.read(uuid4(), after=after, limit=limit)


def test_a_stream_that_is_not_archived_has_no_bundle(store: EventStore) -> None:
    stream = uuid4()
    assert store.bundle(stream) is None
    store.commit(commit(append(stream, b"a")))
    assert store.bundle(stream) is None


@pytest.mark.parametrize("expected", [0, 1, 3, 4])
def test_an_append_with_a_wrong_version_is_refused_with_the_current_one(
    store: EventStore, expected: int
) -> None:
    stream = uuid4()
    store.commit(commit(append(stream, b"a", b"b")))
    with pytest.raises(StreamConflict) as refused:
        store.commit(commit(append(stream, b"c", expected=expected, after=store)))
    assert (refused.value.stream, refused.value.version) == (stream, 2)
    assert lines_of(store, stream) == (b"a", b"b")


def test_an_append_to_an_unknown_stream_with_a_version_is_refused(store: EventStore) -> None:
    stream = uuid4()
    with pytest.raises(StreamConflict) as refused:
        store.commit(commit(append(stream, b"c", expected=3, after=store)))
    assert (refused.value.stream, refused.value.version) == (stream, 0)
    assert store.read(stream) is None


def test_a_head_that_does_not_match_the_last_event_is_refused(store: EventStore) -> None:
    stream = uuid4()
    wrong = replace(append(stream, b"a", b"b"), head=head_of(b"a"))
    with pytest.raises(StoreError):
        store.commit(commit(wrong))
    assert store.read(stream) is None


@pytest.mark.parametrize("names", ["no head", "an earlier head", "the head, for another stream"])
def test_an_event_that_does_not_name_the_head_of_its_stream_is_refused(
    store: EventStore, names: str
) -> None:
    """Such a line would continue another history; it could never be verified."""
    stream, line = uuid4(), b'{"type":"x"}'
    store.commit(commit(append(stream, b"a", b"b")))
    wrong = {
        "no head": line,
        "an earlier head": linked(stream, line, b"a"),
        "the head, for another stream": linked(uuid4(), line, b"b"),
    }[names]
    with pytest.raises(StoreError) as refused:
        store.commit(commit(append(stream, wrong, expected=2)))
    assert not isinstance(refused.value, StreamConflict)
    assert lines_of(store, stream) == (b"a", b"b")
    store.commit(commit(append(stream, line, expected=2, after=store)))


def test_the_kind_of_a_stream_cannot_change(store: EventStore) -> None:
    stream = uuid4()
    store.commit(commit(append(stream, b"a", kind=StreamKind.DISPUTE)))
    with pytest.raises(StoreError):
        store.commit(commit(append(stream, b"b", expected=1, after=store, kind=StreamKind.ACCESS)))
    assert lines_of(store, stream) == (b"a",)


@pytest.mark.parametrize("kind", StreamKind)
def test_streams_of_every_kind_are_stored(store: EventStore, kind: StreamKind) -> None:
    stream = uuid4()
    store.commit(commit(append(stream, b"a", kind=kind)))
    found = store.read(stream)
    assert found is not None and found.kind is kind


def test_an_invalid_commit_raises_value_error_and_writes_nothing(store: EventStore) -> None:
    stream = uuid4()
    twice = OutboxRow(stream=stream, version=1, topic="game")
    mistakes = [
        commit(),
        commit(forget_secret=stream, answer=answer()),
        commit(outbox=(twice,), answer=answer()),
        commit(append(stream)),
        commit(append(stream, b"a", expected=-1)),
        commit(append(stream, b"a"), append(stream, b"b", expected=1, after=store)),
        commit(append(stream, b"\xff")),
        commit(append(stream, b"\0")),
        commit(append(stream, b"a"), outbox=(twice, twice)),
        commit(append(stream, b"a", summary={"status": "playing"})),
        commit(append(stream, b"a", summary=game_summary(colour="red"))),
        commit(append(stream, b"a", summary=game_summary(created_at=datetime(2026, 1, 1)))),  # noqa: DTZ001 - a naive time is one of the invalid values
    ]
    for mistake in mistakes:
        with pytest.raises(ValueError, match=r"."):
            store.commit(mistake)
    assert store.read(stream) is None


def test_several_streams_are_written_together(store: EventStore) -> None:
    first, second = uuid4(), uuid4()
    store.commit(commit(append(first, b"a"), append(second, b"b", kind=StreamKind.TABLE)))
    assert (lines_of(store, first), lines_of(store, second)) == ((b"a",), (b"b",))


@pytest.mark.parametrize("order", ["conflict first", "conflict last"])
def test_a_conflict_in_one_stream_leaves_the_others_unwritten(
    store: EventStore, order: str
) -> None:
    low, high = UUID(int=uuid4().int >> 1), UUID(int=(uuid4().int >> 1) + (1 << 127))
    moved, other = (low, high) if order == "conflict first" else (high, low)
    store.commit(commit(append(moved, b"a")))
    stored = answer()
    with pytest.raises(StreamConflict):
        store.commit(
            commit(
                append(other, b"b"),
                append(moved, b"b"),
                answer=stored,
                secret=SealedSecret(game=other, key_id="1", ciphertext=b"s"),
                outbox=(OutboxRow(stream=other, version=1, topic="game"),),
            )
        )
    assert store.read(other) is None
    assert store.answer(stored.caller, stored.request_key) is None
    assert store.secret(other) is None
    assert not passed_on(store, topic="game", limit=9, older_than=LATER)


def test_an_answer_is_stored_with_the_effect_of_its_request(store: EventStore) -> None:
    stored = answer()
    store.commit(commit(append(uuid4(), b"a"), answer=stored))
    assert store.answer(stored.caller, stored.request_key) == stored
    assert store.answer(uuid4(), stored.request_key) is None
    assert store.answer(stored.caller, b"x" * 32) is None


def test_an_answer_without_an_append_is_stored_once(store: EventStore) -> None:
    """The effect of such a request is not in a stream."""
    stored = answer()
    store.commit(commit(answer=stored))
    assert store.answer(stored.caller, stored.request_key) == stored
    with pytest.raises(AnswerConflict):
        store.commit(commit(answer=replace(stored, sealed=b"another")))
    assert store.answer(stored.caller, stored.request_key) == stored


def test_a_request_answered_before_is_refused_and_changes_nothing(store: EventStore) -> None:
    stored, other = answer(), uuid4()
    store.commit(commit(append(uuid4(), b"a"), answer=stored))
    with pytest.raises(AnswerConflict):
        store.commit(commit(append(other, b"a"), answer=stored))
    assert store.read(other) is None


def test_a_repeated_request_raises_answer_conflict_and_not_stream_conflict(
    store: EventStore,
) -> None:
    stored, stream = answer(), uuid4()
    store.commit(commit(append(stream, b"a"), answer=stored))
    with pytest.raises(AnswerConflict):
        store.commit(commit(append(stream, b"a"), answer=stored))


def test_answers_are_deleted_by_age(store: EventStore) -> None:
    stored = answer()
    store.commit(commit(append(uuid4(), b"a"), answer=stored))
    assert store.purge_answers(older_than=LATER - timedelta(days=2)) == 0
    # An hour ahead at the most: the database refuses to purge up to a later time.
    assert store.purge_answers(older_than=datetime.now(UTC) + timedelta(minutes=30)) == 1
    assert store.answer(stored.caller, stored.request_key) is None


def test_a_secret_is_stored_until_it_is_deleted(store: EventStore) -> None:
    secret = SealedSecret(game=uuid4(), key_id="2026-1", ciphertext=b"\x00\xff")
    store.commit(commit(append(secret.game, b"a"), secret=secret))
    assert store.secret(secret.game) == secret
    store.commit(
        commit(
            append(secret.game, SEAL, expected=1, after=store), forget_secret=secret.game, refused=0
        )
    )
    assert store.secret(secret.game) is None


def test_a_secret_is_never_replaced(store: EventStore) -> None:
    secret = SealedSecret(game=uuid4(), key_id="1", ciphertext=b"first")
    store.commit(commit(append(secret.game, b"a"), secret=secret))
    other = SealedSecret(game=secret.game, key_id="1", ciphertext=b"second")
    with pytest.raises(StoreError):
        store.commit(commit(append(secret.game, b"b", expected=1, after=store), secret=other))
    assert store.secret(secret.game) == secret
    assert lines_of(store, secret.game) == (b"a",)


def test_each_outbox_row_stays_until_it_is_dropped(store: EventStore) -> None:
    topics = ("game", "game", "another", "log", "statistics")
    rows = [OutboxRow(stream=uuid4(), version=1, topic=topic) for topic in topics]
    for row in rows:
        store.commit(commit(append(row.stream, b"a"), outbox=(row,)))
    before = datetime.now(UTC) - timedelta(days=1)
    assert not store.outbox(topic="game", limit=9, older_than=before)
    for _ in range(2):
        assert list(store.outbox(topic="game", limit=9, older_than=LATER)) == rows[:2]
    assert list(passed_on(store, topic="game", limit=1, older_than=LATER)) == rows[:1]
    assert list(passed_on(store, topic="game", limit=9, older_than=LATER)) == rows[1:2]
    store.drop_outbox(rows[:2])  # by a second relay
    assert not store.outbox(topic="game", limit=9, older_than=LATER)
    store.drop_outbox(rows)
    for row in rows[3:]:  # deleted with what they ask for alone
        assert list(store.outbox(topic=row.topic, limit=9, older_than=LATER)) == [row]
    assert not store.outbox(topic="another", limit=9, older_than=LATER)
