"""The machine's findings on every event of every sample, before the seal and after it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from uuid import UUID

import orjson
import pytest

from service.application.findings import findings_on
from service.domain.dispute_events import Charge
from service.rulesets.catalogue import catalogue
from tests.tamper import sample

SAMPLES = Path(__file__).resolve().parents[1] / "golden" / "samples"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


@lru_cache(maxsize=4)
def log_of(name: str) -> tuple[bytes, ...]:
    return tuple((SAMPLES / f"{name}.jsonl").read_bytes().splitlines())


def found(
    lines: tuple[bytes, ...], seq: int, charge: Charge = Charge.OTHER
) -> list[dict[str, object]]:
    first = orjson.loads(lines[0])
    known = catalogue().get(first["data"]["ruleset"]["id"])
    cites = known.cites if known else {}
    return findings_on(UUID(first["game"]), lines, seq, charge, cites=cites)


def end_of_move(lines: tuple[bytes, ...], seq: int) -> int:
    """Return the version after the move of an event: all of a move carries one time."""
    times = [orjson.loads(line)["at"] for line in lines]
    return next((n for n in range(seq + 1, len(lines)) if times[n] != times[seq]), len(lines))


@pytest.mark.parametrize("name", NAMES)
def test_an_event_can_be_judged_wherever_the_log_stands(name: str) -> None:
    lines = log_of(name)
    step = max(1, len(lines) // 4)
    for seq in range(0, len(lines), step):
        for version in {end_of_move(lines, seq), len(lines)}:
            about, *checks = found(lines[:version], seq)
            assert about["seq"] == seq
            assert about["result"] == "pass", about
            assert about["text"]
            assert about["rule"] or seq == 0
            assert len(checks) == 16
            assert all(check["text"] for check in checks)
            sealed = version == len(lines)
            assert sealed is ("all cards considered" in str(about["text"]))


def test_an_event_that_breaks_the_record_is_found_there_and_what_follows_is_left_open() -> None:
    lines = list(log_of(NAMES[0]))
    seq = next(n for n, line in enumerate(lines) if b'"type":"cards_played"' in line)
    lines[seq] = lines[seq].replace(b'"direction":1', b'"direction":-1', 1)
    about, *_ = found(tuple(lines), seq)
    assert about["result"] == "fail"
    later, *_ = found(tuple(lines), len(lines) - 1)
    assert later["result"] == "missing"


def test_a_second_broken_rule_is_found_at_its_own_event() -> None:
    forgery = sample("shithead")
    burns = [n for n, e in enumerate(forgery.events) if e["data"].get("cause") == "rank"]
    one, two, *_ = burns
    for seq in (one, two):
        forgery.data(seq)["cause"] = "set"
    for seq in (one, two):
        about, *_ = found(forgery.lines(), seq)
        assert about["result"] == "fail"
        assert about["text"] == "legality fails here: cause is set, the rules give rank"
    later, *checks = found(forgery.lines(), two + 1)
    assert later["result"] == "missing"
    assert "does not hold before this event (legality)" in str(later["text"])
    legality = next(check for check in checks if check["check"] == "legality")
    assert str(legality["text"]).endswith(f"; 1 more, at seq {two}")


def test_nothing_is_said_of_collusion() -> None:
    about, *_ = found(log_of(NAMES[0]), 5, Charge.COLLUSION)
    assert about["result"] == "missing"
