"""Hostile logs: verification always ends in a report, and a changed log never passes."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.shx.bundle import Bundle, NotABundle, read_log
from service.verify.finding import Check, Result
from service.verify.report import audit_object, report_text
from service.verify.verify import verify_bundle
from tests.examples import examples
from tests.tamper import Forgery, failing, report_on, sample_lines

NAMES = ("threes", "shithead-keyed", "leeds-forfeit", "reverse-second-hand", "shithead-aborted")
INDEPENDENT = (  # before play, seats do these in any order, so two swapped ones may be valid
    "seat_ready",
    "cards_swapped",
    "entropy_revealed",
    "entropy_committed",
    "table_laid",
)
QUICK = examples(40)


@cache
def decoded(name: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(line) for line in sample_lines(name))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a value, those of lists and objects too."""
    if isinstance(value, dict):
        inner = [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    elif isinstance(value, list):
        inner = [leaf for i, item in enumerate(value) for leaf in leaves(item, (*path, i))]
    else:
        inner = []
    return [path, *inner] if path else inner


def put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new


strange = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.sampled_from([2**31, 2**53 - 1, 10**6]),
    st.sampled_from(["", "2h", "X1", "7c/2", "Th", "hand", "up", "down", "shithead", "forfeit"]),
    st.text(max_size=4),
    st.sampled_from(["threes", "custom-0123456789abcdef", "07" * 32, "A" * 44]),
    st.lists(st.sampled_from(["2h", "3c", "X1"]), max_size=3),
    st.just({}),
)


@pytest.mark.heavy
@QUICK
@given(st.data())
def test_a_mutated_and_rechained_log_is_always_reported_on(data: st.DataObject) -> None:
    """Hostile content is a failed check, never an exception; the report is plain JSON and text."""
    name = data.draw(st.sampled_from(NAMES))
    forgery = Forgery(())
    whole = decoded(name)
    length = data.draw(st.one_of(st.just(len(whole)), st.integers(1, len(whole))))
    forgery.events = deepcopy(list(whole[:length]))
    for _ in range(data.draw(st.integers(1, 3))):
        event = data.draw(st.sampled_from(forgery.events))
        path = data.draw(st.sampled_from(leaves(event["data"])))
        donor = data.draw(st.sampled_from(forgery.events))["data"]
        values = [v for v in donor.values() if not isinstance(v, dict)]
        new = data.draw(st.one_of(strange, st.sampled_from(values) if values else strange))
        put(event["data"], path, deepcopy(new))
    report = report_on(forgery.lines())
    json.dumps(audit_object(report))
    assert report_text(report)
    assert [finding.check for finding in report.findings] == list(Check)
    for finding in report.findings:
        assert finding.result is not Result.FAIL or finding.reason


@pytest.mark.heavy
@QUICK
@given(st.data())
def test_a_check_fails_if_an_event_is_moved_dropped_or_doubled(data: st.DataObject) -> None:
    """
    In a finished game that does not end with an unsigned forfeit.

    The server can claim a forfeit after any move, and the report says that it is unproven.
    """
    name = data.draw(st.sampled_from(("threes", "shithead-keyed", "reverse", "covered-queen")))
    forgery = Forgery(())
    forgery.events = deepcopy(list(decoded(name)))
    one = data.draw(st.integers(0, len(forgery.events) - 2))
    match data.draw(st.sampled_from(["drop", "double", "swap"])):
        case "drop":
            forgery.drop(one)
        case "double":
            forgery.events.insert(one, deepcopy(forgery.events[one]))
        case _:
            events = forgery.events
            events[one], events[one + 1] = events[one + 1], events[one]
            late = max(events[one]["at"], events[one + 1]["at"])
            events[one]["at"] = events[one + 1]["at"] = late
    report = report_on(forgery.lines())
    json.dumps(audit_object(report))
    if forgery.events[one]["type"] not in INDEPENDENT:
        assert failing(report)


@QUICK
@given(st.data())
def test_a_check_fails_if_a_byte_is_changed(data: st.DataObject) -> None:
    """If the hashes are not recomputed."""
    name = data.draw(st.sampled_from(NAMES[:4]))
    whole = bytearray(b"\n".join(sample_lines(name)))
    at = data.draw(st.integers(0, len(whole) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[at]))
    whole[at] = new
    report = verify_bundle(Bundle(lines=tuple(bytes(whole).split(b"\n"))))
    assert failing(report)


@QUICK
@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_reported_on(data: bytes) -> None:
    for read in (data, b"{" + data, b"PK\x03\x04" + data):
        try:
            bundle = read_log(read)
        except NotABundle:
            continue
        assert verify_bundle(bundle).level in (None, "L0")


@pytest.mark.parametrize("lines", [(), (b"",), (b"{}",), (b"[]", b"{}"), (b"\xff",)])
def test_a_file_without_a_log_has_no_level(lines: tuple[bytes, ...]) -> None:
    report = verify_bundle(Bundle(lines=lines))
    assert (report.level, report.result, report.game) == (None, Result.FAIL, None)
    assert failing(report) == {Check.BYTES: 0}


def test_a_log_of_a_single_event_that_is_not_the_first_fails() -> None:
    for name in NAMES:
        seen = set()
        for event in decoded(name):
            if event["type"] in seen or event["type"] == "game_created":
                continue
            seen.add(event["type"])
            forgery = Forgery(())
            forgery.events = [deepcopy(event)]
            assert Check.ORDER in failing(report_on(forgery.lines()))
