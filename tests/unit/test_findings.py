"""Findings of disputes on events of every sample, before and after the seal."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest

from service.application.disputes.findings import findings_on
from service.audit.decision import decision
from service.replay.history import History, decode_log, move_around, sealed_deck
from service.rulesets.catalogue import catalogue
from service.rulesets.statements import FALLBACK
from tests.examples import spread, stride
from tests.tamper import LOGS, sample
from tests.unit.audit.histories import OF_THE_RECORD

SAMPLES = Path(__file__).resolve().parents[1] / "golden" / "samples"
NAMES = [path.stem for path in LOGS]


@lru_cache(maxsize=4)
def log_of(name: str) -> tuple[bytes, ...]:
    return tuple((SAMPLES / f"{name}.jsonl").read_bytes().splitlines())


def findings_at(lines: tuple[bytes, ...], seq: int | None) -> list[dict[str, object]]:
    first = orjson.loads(lines[0])
    known = catalogue().get(first["data"]["ruleset"]["id"])
    cites = known.cites if known else {}
    return findings_on(UUID(first["game"]), lines, seq, cites=cites)


def on_move(found: list[dict[str, object]]) -> dict[str, object] | None:
    """Return the finding on the move itself, if there is one."""
    first, *checks = found
    if first["check"] != "event":
        assert len(found) == 16
        return None
    assert len(checks) == 16
    return first


@pytest.mark.heavy
@pytest.mark.parametrize("name", spread(NAMES, 4))
def test_events_of_a_sealed_game_get_a_passing_finding(name: str) -> None:
    lines = log_of(name)
    for seq in range(0, len(lines), max(1, len(lines) // 6) * stride(2)):
        results = findings_at(lines, seq)
        finding = on_move(results)
        assert finding is not None
        assert finding["seq"] == seq
        assert finding["result"] == "pass", finding
        assert "All cards are considered" in str(finding["text"])
        is_step = orjson.loads(lines[seq])["type"] in OF_THE_RECORD
        assert finding["rule"] or seq == 0 or is_step
        assert finding["rule"] != FALLBACK
        assert all(check["text"] for check in results)


@pytest.mark.heavy
@pytest.mark.parametrize("name", spread(NAMES, 4))
def test_findings_before_the_seal_equal_those_after_it(name: str) -> None:
    lines, compared = log_of(name), 0
    for seq in range(3, len(lines), max(1, len(lines) // 6) * stride(2)):
        move = move_around(lines, seq)
        if move.last == len(lines) - 1:
            continue
        finding = on_move(findings_at(lines[: move.last + 1], seq))
        if finding is None:
            continue
        compared += 1
        assert finding["result"] == "pass"
        assert "Only public information is considered" in str(finding["text"])
        later = on_move(findings_at(lines, seq))
        assert later is not None
        assert later["result"] == "pass"
        assert later["rule"] == finding["rule"]
    assert compared or name.endswith("-aborted")


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["shithead", "leeds", "threes-time-outs", "shithead-layout"])
def test_a_finding_on_a_legal_move_cites_the_statements_that_allow_it(name: str) -> None:
    """The statements about its effects, such as the next seat, are not cited."""
    lines = log_of(name)
    log = decode_log(lines)
    history = History(log, sealed_deck(log), cites=catalogue()[name_of(lines)].cites)
    plays = [d for d in history.moves if d.command is not None and not d.timed_out]
    cited = False
    for move in plays[:: max(1, len(plays) // 8)]:
        shown = decision(history, move.first)
        same = [item["rules"] for item in shown["legal"] if same_move(item["move"], shown["did"])]
        [rules] = same or [None]
        if rules is None:
            continue  # a forfeit is never listed
        for seq in (move.first, move.last):
            finding = on_move(findings_at(lines, seq))
            assert finding is not None
            assert finding["rule"] == rules[0]
            assert finding["values"] == {"rules": list(rules)}
        cited = True
    assert cited


def name_of(lines: tuple[bytes, ...]) -> str:
    return str(orjson.loads(lines[0])["data"]["ruleset"]["id"])


def same_move(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two moves are the same up to the order of their cards."""
    return {**one, "cards": set(one.get("cards", ()))} == {
        **other,
        "cards": set(other.get("cards", ())),
    }


def test_a_move_that_depends_on_a_hidden_hand_gets_a_finding_only_after_the_seal() -> None:
    """Only the seal shows whether a seat that took the pile could have played."""
    name, seq = next(
        (name, n)
        for name in NAMES
        for n, line in enumerate(log_of(name))
        if b'"type":"pile_picked_up"' in line and b'"by":null' not in line
    )
    lines = log_of(name)
    last = move_around(lines, seq).last
    assert on_move(findings_at(lines[: last + 1], seq)) is None
    assert on_move(findings_at(lines, seq)) is not None


@pytest.mark.parametrize("name", NAMES)
def test_the_move_of_an_event_is_the_same_as_in_the_audit(name: str) -> None:
    lines = log_of(name)
    for move in History(decode_log(lines)).moves:
        for seq in range(move.first, move.last + 1):
            accused = move_around(lines, seq)
            assert (accused.first, accused.last) == (move.first, move.last)
            if move.command is not None:
                assert accused.seat == move.seat


def test_an_invalid_event_fails_and_later_events_have_no_result() -> None:
    lines = list(log_of(NAMES[0]))
    seq = next(n for n, line in enumerate(lines) if b'"type":"cards_played"' in line)
    lines[seq] = lines[seq].replace(b'"direction":1', b'"direction":-1', 1)
    finding, *_ = findings_at(tuple(lines), seq)
    assert finding["result"] == "fail"
    later, *_ = findings_at(tuple(lines), len(lines) - 1)
    assert later["result"] == "missing"
    assert later["seq"] == len(lines) - 1


def test_a_second_broken_rule_is_found_at_its_own_event() -> None:
    forgery = sample("shithead")
    burns = [n for n, e in enumerate(forgery.events) if e["data"].get("cause") == "rank"]
    one, two, *_ = burns
    for seq in (one, two):
        forgery.data(seq)["cause"] = "set"
    for seq in (one, two):
        finding, *_ = findings_at(forgery.lines(), seq)
        assert finding["result"] == "fail"
        assert (finding["check"], finding["code"]) == ("event", "legality.cause_rank")
    later, *checks = findings_at(forgery.lines(), two + 1)
    assert later["result"] == "missing"
    assert (later["code"], later["values"]) == ("move.earlier", {"checks": ["legality"]})
    legality = next(check for check in checks if check["check"] == "legality")
    assert str(legality["text"]).endswith(f" 1 more, at event {two}.")


def test_a_charge_of_collusion_gets_no_result() -> None:
    finding, *_ = findings_at(log_of(NAMES[0]), None)
    assert finding["result"] == "missing"
