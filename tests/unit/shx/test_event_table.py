"""The table of event types beside the classes of the game, which are written by hand."""

from __future__ import annotations

import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from schemas.events import _CLASSES, type_of
from service.domain.events import (
    AbortCause,
    BurnCause,
    EndReason,
    Entropy,
    Event,
    TurnTimedOut,
    Zone,
)
from service.shx.event_shapes import EVENT_TYPES, EVENTS
from service.shx.validators import Schema

ROOT = Path(__file__).resolve().parents[3]

SECRET = {"seed", "deck", "refusals"}
"""Fields of a seal that the log publishes and the game does not need."""

WRITTEN_DIFFERENTLY: dict[str, dict[str, str | None]] = {
    "pile_picked_up": {"with": "along"},  # `with` is a keyword of Python
    "turn_passed": {"reason": None},  # has one value
}


def test_each_type_of_the_table_is_a_class_of_the_game() -> None:
    assert set(_CLASSES) == EVENT_TYPES
    assert len(_CLASSES) == len(get_args(Event))
    assert type_of(TurnTimedOut(seat=0)) == "turn_timed_out"


@pytest.mark.parametrize("kind", sorted(EVENT_TYPES - {"game_created"}))
def test_a_class_has_exactly_the_fields_of_the_table(kind: str) -> None:
    shape, renamed = EVENTS[kind], WRITTEN_DIFFERENTLY.get(kind, {})
    named = {renamed.get(name, name) for name in shape.fields}
    secret = SECRET if kind in ("game_sealed", "game_aborted") else set()
    assert named - {None} - secret == set(_CLASSES[kind].__struct_fields__)


@pytest.mark.parametrize(
    ("kind", "field", "words"),
    [
        ("cards_played", "zone", Zone),
        ("pile_burned", "cause", BurnCause),
        ("game_ended", "reason", EndReason),
        ("game_aborted", "cause", AbortCause),
    ],
)
def test_a_class_has_exactly_the_words_of_the_table(
    kind: str, field: str, words: type[StrEnum]
) -> None:
    assert set(properties(kind)[field]["enum"]) == {word.value for word in words}


def test_the_entropy_of_a_seat_has_exactly_the_words_of_the_table() -> None:
    seat = properties("game_created")["seats"]["items"]["properties"]
    assert set(seat["entropy"]["enum"]) == {word.value for word in Entropy}


@pytest.mark.parametrize("kind", sorted(EVENT_TYPES - {"game_created"}))
def test_a_field_may_be_null_in_the_class_where_it_may_be_in_the_table(kind: str) -> None:
    for name, hint in get_type_hints(_CLASSES[kind]).items():
        inner = {one: key for key, one in WRITTEN_DIFFERENTLY.get(kind, {}).items()}.get(name, name)
        assert (type(None) in get_args(hint)) == ("anyOf" in properties(kind)[inner]), name


def properties(kind: str) -> dict[str, Schema]:
    """Return the JSON Schema of each field of a type."""
    found: dict[str, Any] = EVENTS[kind].data.schema["properties"]
    return found


FIRST_READS = """
import contextlib, sys
from schemas import disputes, events, tables

reads = []

def watch(frame, what, _):
    if what == "call" and frame.f_code.co_name == "get_class_annotations":
        reads.append(frame)

sys.setprofile(watch)
for kinds, read in (
    (events._CLASSES, lambda name: events.event_of(name, {"with": None}, None)),
    (tables._EVENTS, lambda name: tables.table_event_of(name, {})),
    (disputes._EVENTS, lambda name: disputes.dispute_event_of(name, {})),
):
    for name in kinds:
        with contextlib.suppress(Exception):
            read(name)
sys.setprofile(None)
print(len(reads))
"""


def test_the_fields_of_events_are_read_before_two_threads_can_need_them() -> None:
    """msgspec lets a second thread use the unfinished list of fields, which ends the process."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_READS], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert int(done.stdout) == 0
