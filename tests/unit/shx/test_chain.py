"""The hash chain: broken links, and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.shx.canonical import MAX_LINE, RecordError, canonical, format_time, parse, parse_time
from service.shx.chain import encode_event, head, read_chain

SAMPLE = Path(__file__).parents[2] / "golden" / "samples" / "shithead-aborted.jsonl"
LINES = SAMPLE.read_bytes().splitlines()


def changed(line: bytes, **fields: Any) -> bytes:
    return canonical({**parse(line), **fields})


def refused(lines: list[bytes]) -> str:
    with pytest.raises(RecordError) as caught:
        list(read_chain(lines))
    return caught.value.code


def test_a_changed_lost_doubled_or_moved_event_breaks_the_chain() -> None:
    assert refused([changed(LINES[0], at="2026-11-21T02:46:00.109446Z"), *LINES[1:]]) == "bad_chain"
    assert refused([LINES[0], *LINES[2:]]) == "bad_chain"
    assert refused([LINES[0], LINES[0]]) == "bad_chain"
    assert refused([LINES[0], LINES[2], LINES[1]]) == "bad_chain"
    assert refused(LINES[1:]) == "bad_chain"


def test_the_first_event_links_to_the_id_of_its_game() -> None:
    other = str(UUID(int=7))
    assert refused([changed(LINES[0], game=other)]) == "bad_chain"
    second = changed(LINES[1], game=other)
    assert refused([LINES[0], second]) == "bad_chain"


def test_time_does_not_run_backwards() -> None:
    early = changed(LINES[1], at="2026-11-21T02:45:59.000000Z")
    assert refused([LINES[0], early]) == "bad_time"


def test_an_event_that_is_none_of_a_game_is_refused_although_it_is_linked() -> None:
    assert refused([changed(LINES[0], type="cards_eaten")]) == "unknown_type"
    assert refused([changed(LINES[0], by=0)]) == "bad_field"


def test_a_complete_log_is_read_to_its_head() -> None:
    assert list(read_chain(LINES))[-1].head == head(LINES[-1])


def test_an_event_has_size_limits() -> None:
    event: dict[str, Any] = {"game": UUID(int=1), "prev": b"\0" * 32, "at": "", "by": None}
    with pytest.raises(RecordError, match="too_large"):
        encode_event(**event, seq=0, type="x", data={"a": ["b" * 99] * (MAX_LINE // 100)})
    with pytest.raises(RecordError, match="too_long"):
        encode_event(**event, seq=100_000, type="x", data={})


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_can_be_read_as_they_are_written(moment: datetime) -> None:
    text = format_time(moment)
    assert len(text) == 27
    assert parse_time(text) == moment


def test_times_of_other_zones_are_written_in_utc() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    text = format_time(datetime(2026, 11, 21, 2, 30, tzinfo=east))
    assert text == "2026-11-20T21:00:00.000000Z"


def test_a_time_without_a_zone_is_an_error() -> None:
    with pytest.raises(RecordError):
        format_time(datetime(2026, 11, 21, tzinfo=None))  # noqa: DTZ001 - the mistake itself
