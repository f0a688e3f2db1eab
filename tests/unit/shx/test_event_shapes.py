"""Validation of events: missing, additional and malformed fields are refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from service.shx.canonical import RecordError
from service.shx.event_shapes import EVENT_TYPES, check_event
from tests.tamper import LOGS, sample

FREE = {"options", "settings"}
WRONG: tuple[Any, ...] = (True, 0.0, -7, "", {"a": 1}, [[[]]])


def shape(value: Any) -> str:
    if isinstance(value, dict):
        return str({key: shape(item) for key, item in sorted(value.items())})
    if isinstance(value, list):
        return str([shape(item) for item in value[:1]])
    return type(value).__name__


def specimens() -> list[dict[str, Any]]:
    """Return one event of every shape in the samples, and one of the missing type."""
    found: dict[str, dict[str, Any]] = {}
    for path in LOGS:
        for line in path.read_text().splitlines():
            event = json.loads(line)
            variant = [event["data"].get(name) for name in ("zone", "reason", "cause")]
            found.setdefault(f"{event['type']} {variant} {shape(event)}", event)
    passed = next(e for e in found.values() if e["type"] == "seat_ready" and "auth" not in e)
    data = {"seat": passed["data"]["seat"], "reason": "no_play", "turn": 1}
    found["turn_passed"] = {**passed, "type": "turn_passed", "data": data}
    return list(found.values())


SPECIMENS = specimens()


def objects(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of the closed objects in an event."""
    if isinstance(value, dict):
        yield path
        for key, item in value.items():
            if key not in FREE:
                yield from objects(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:2]):
            yield from objects(item, (*path, index))


def at(event: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        event = event[step]
    return event


def specimen_of(kind: str, **want: Any) -> dict[str, Any]:
    """Return a copy of a specimen of this type with these values in its data."""
    for event in SPECIMENS:
        if event["type"] == kind and want.items() <= event["data"].items():
            return copy.deepcopy(event)
    raise AssertionError(kind)


def refused(event: Any) -> str:
    with pytest.raises(RecordError) as caught:
        check_event(event)
    return caught.value.code


def test_every_event_type_has_a_valid_specimen() -> None:
    assert {event["type"] for event in SPECIMENS} == EVENT_TYPES
    for event in SPECIMENS:
        check_event(event)


def test_no_field_may_be_missing() -> None:
    for event in SPECIMENS:
        for path in objects(event):
            for name in at(event, path):
                if path == () and name == "auth":
                    continue
                less = copy.deepcopy(event)
                del at(less, path)[name]
                refused(less)


def test_no_field_may_be_added() -> None:
    for event in SPECIMENS:
        for path in objects(event):
            more = copy.deepcopy(event)
            at(more, path)["name"] = None
            refused(more)


def test_no_field_takes_a_value_of_another_kind() -> None:
    for event in SPECIMENS:
        for path in objects(event):
            for name in at(event, path):
                if name not in FREE:
                    for wrong in WRONG:
                        changed = copy.deepcopy(event)
                        at(changed, path)[name] = wrong
                        refused(changed)


def test_an_unknown_version_and_an_unknown_type_are_different_errors() -> None:
    event = specimen_of("seat_ready")
    assert refused({**event, "v": 2}) == "unknown_version"
    assert refused({**event, "v": 3}) == "unknown_version"
    assert refused({**event, "v": True}) == "unknown_version"
    assert refused({**event, "type": "seat_cheated"}) == "unknown_type"
    assert refused([]) == "bad_field"


@pytest.mark.parametrize("name", ["shithead", "shithead-aborted"])
def test_forms_of_records_made_before_the_first_release_are_named(name: str) -> None:
    """Version 2 of the first and the last event, and a seal without refused attempts."""
    created, *_, seal = sample(name).events
    for event in (created, seal):
        check_event(event)
        assert refused({**event, "v": 2}) == "made_before"
        assert refused({**event, "v": 3}) == "unknown_version"
    del seal["data"]["refusals"]
    assert refused(seal) == "made_before"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("count", -1),
        ("count", 200 * 64 + 1),
        ("count", "2"),
        ("count", None),
        ("sha256", "af08"),
        ("sha256", "AF" * 32),
        ("sha256", None),
        ("files", 1),
    ],
)
def test_the_refused_attempts_of_a_seal_are_validated(name: str, value: Any) -> None:
    seal = sample("shithead-refused-attempts").events[-1]
    seal["data"]["refusals"][name] = value
    assert refused(seal) == "bad_field"


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("seat_ready", "at", "2026-11-21T02:46:00.10Z"),
        ("seat_ready", "at", "2026-11-21T02:46:00.109447+00:00"),
        ("seat_ready", "at", "2026-11-31T02:46:00.109447Z"),
        ("seat_ready", "at", "2026-11-21T02:46:00.109447Z\n"),
        ("seat_ready", "game", "5B7F90C3-5CCD-4995-9042-3B8B34D9AEF9"),
        ("seat_ready", "game", "5b7f90c35ccd499590423b8b34d9aef9"),
        ("seat_ready", "prev", "A" * 64),
        ("seat_ready", "prev", "a" * 63),
        ("seat_ready", "prev", "a" * 63 + "\n"),
        ("seat_ready", "seq", 100_000),
        ("seat_ready", "data/seat", 64),
        ("entropy_revealed", "data/value", "00" * 31),
        ("cards_drawn", "data/count", 0),
        ("seat_out", "data/place", 0),
        ("turn_passed", "data/reason", "tired"),
        ("game_ended", "data/reason", "draw"),
        ("game_aborted", "data/cause", "bored"),
        ("cards_played", "data/direction", 0),
        ("cards_played", "data/cards", []),
        ("game_sealed", "data/deck", []),
        ("game_sealed", "data/deck", ["Th", "10h"]),
        ("game_sealed", "data/deck", ["7c/1"]),
        ("game_sealed", "data/deck", ["7c/02"]),
        ("game_sealed", "data/deck", ["X0"]),
        ("game_sealed", "data/deck", ["X1/2"]),
        ("game_sealed", "data/deck", ["??"]),
        ("game_sealed", "data/deck", ["1c"]),
        ("game_created", "data/hand", 0),
        ("game_created", "data/turn_limit", 0),
        ("game_created", "data/seats", []),
        ("game_created", "data/dealer", 63),
        ("game_created", "data/engine/name", "x" * 301),
        ("game_created", "data/ruleset/options", {"a": ["x" * 301]}),
        ("game_created", "data/ruleset/options", []),
        ("game_created", "data/ruleset/id", "custom-0123456789abcdef"),
        ("game_created", "data/deck/partial", ["A", "2"]),
        ("game_created", "data/deck/partial", ["2", "2"]),
        ("game_created", "data/deck/partial", ["10"]),
        ("game_created", "data/deck/decks", 0),
        ("game_created", "data/deck/decks", 2000),
        ("game_created", "data/seats/0/key", "AAAA"),
        ("game_created", "data/seats/0/key", "B" * 43 + "="),
        ("game_created", "data/seats/0/entropy", "some"),
        ("game_created", "data/seats/0/kind", "cat"),
    ],
)
def test_a_value_out_of_its_limits_is_refused(kind: str, path: str, value: Any) -> None:
    event = specimen_of(kind)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    at(event, tuple(steps))[last] = value
    assert refused(event) == "bad_field"


@pytest.mark.parametrize("code", ["Th", "7c/2", "Ac/12", "2s", "X1", "X12"])
def test_valid_card_codes_are_accepted(code: str) -> None:
    event = specimen_of("game_sealed")
    event["data"]["deck"] = [code]
    check_event(event)


def test_only_an_unseen_card_is_opened() -> None:
    opening = specimen_of("cards_played", zone="down")["data"]["opening"]
    for zone, change in [
        ("hand", {"opening": opening}),
        ("up", {"slot": 0}),
        ("down", {"opening": None}),
        ("down", {"slot": None}),
        ("stock", {"opening": None}),
        ("stock", {"slot": 1}),
    ]:
        event = specimen_of("cards_played", zone=zone)
        event["data"] |= change
        assert refused(event) == "bad_field"


def test_only_bots_have_a_name_in_the_log() -> None:
    event = specimen_of("game_created")
    seats = event["data"]["seats"]
    seats[0] |= {"kind": "human", "bot": "greedy"}
    assert refused(event) == "bad_field"
    seats[0] |= {"kind": "bot", "bot": None}
    assert refused(event) == "bad_field"


def test_a_swap_goes_pair_by_pair() -> None:
    event = specimen_of("cards_swapped")
    event["data"]["up"] = [*event["data"]["up"], "2c"]
    assert refused(event) == "bad_field"


def test_by_is_the_seat_that_acted_or_null() -> None:
    ready = specimen_of("seat_ready")
    ready.pop("auth", None)
    check_event({**ready, "by": None})
    assert refused({**ready, "by": ready["data"]["seat"] + 1}) == "bad_field"
    assert refused({**specimen_of("game_ended"), "by": 0}) == "bad_field"
    assert refused({**specimen_of("entropy_revealed"), "by": None}) == "bad_field"


def test_only_a_players_own_action_is_signed() -> None:
    signed = next(e for e in SPECIMENS if "auth" in e and e["type"] == "cards_played")
    auth = signed["auth"]
    assert refused({**signed, "by": None}) == "bad_field"
    assert refused({**specimen_of("cards_drawn"), "auth": auth}) == "bad_field"
    assert refused({**specimen_of("game_ended", reason="shithead"), "auth": auth}) == "bad_field"
    assert refused({**specimen_of("entropy_revealed"), "auth": auth}) == "bad_field"
    check_event({**specimen_of("game_ended", reason="forfeit"), "auth": auth})


def test_the_error_names_the_place() -> None:
    event = specimen_of("game_created")
    event["data"]["seats"][1]["key"] = "?"
    with pytest.raises(RecordError, match="/data/seats/1/key: not 32 bytes"):
        check_event(event)
