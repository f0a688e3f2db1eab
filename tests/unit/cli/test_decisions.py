"""`shithead decisions`: what is found and counted in files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.audit.decision import decision
from service.audit.decisions import Decided, DecisionFilter, decisions_of
from service.cli.decisions import ChoiceCounts, HandFile, found_in
from service.replay.history import History, decode_log, sealed_deck
from service.search.intervals import wilson
from service.shx.bundle import REFUSALS, write_bundle
from service.shx.canonical import canonical
from tests.examples import stride
from tests.tamper import LOGS
from tests.unit.cli.conftest import SAMPLES, CommandOutput

LEEDS = SAMPLES / "leeds.jsonl"


def history_of(path: Path) -> History:
    log = decode_log(path.read_bytes().splitlines())
    return History(log, sealed_deck(log))


def found(shithead: Callable[..., CommandOutput], *words: object) -> dict[str, Any]:
    status, out, err = shithead("decisions", *words, "--json")
    assert status == 0, err
    answer: dict[str, Any] = json.loads(out)
    return answer


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_decision_is_what_the_audit_says_of_its_move(path: Path) -> None:
    history = history_of(path)
    every = list(decisions_of(history))
    assert bool(every) == (history.log[-1].type == "game_sealed")
    for one in every[:: stride(3)]:
        card = decision(history, one.event)
        saw, did = card["saw"], card["did"]
        assert one.seat == card["seat"]
        assert one.held == saw["seats"][one.seat]["hand"]["count"]
        assert (one.demand, one.asked) == (saw["demand"]["kind"], saw["demand"]["rank"])
        assert one.pile == len(saw["pile"])
        assert one.left == sum(seat["out"] is None for seat in saw["seats"])
        assert one.had_other == (len(card["legal"]) > 1)
        assert one.count == len(did.get("cards", ()))
        assert one.milliseconds == card["milliseconds"]
        assert one.burned == any(row["type"] == "pile_burned" for row in card["effects"])
        assert one.timed_out == card["timed_out"]


def test_every_filter_leaves_out_what_does_not_meet_it(
    shithead: Callable[..., CommandOutput],
) -> None:
    every = list(decisions_of(history_of(LEEDS)))
    cases: dict[tuple[str, ...], Callable[[Decided], bool]] = {
        ("--kind", "pick_up"): lambda one: one.kind == "pick_up",
        ("--kind", "burn"): lambda one: one.burned,
        ("--kind", "blind"): lambda one: one.kind == "blind",
        ("--bot", "random"): lambda one: one.bot == "random",
        ("--bot", "none"): lambda one: one.bot is None,
        ("--phase", "up"): lambda one: one.phase == "up",
        ("--demand", "at_most"): lambda one: one.demand == "at_most",
        ("--asked", "K"): lambda one: one.asked == "K",
        ("--top", "K"): lambda one: one.top == "K",
        ("--held", "3-5"): lambda one: 3 <= one.held <= 5,
        ("--held", "6-"): lambda one: one.held >= 6,
        ("--left", "2"): lambda one: one.left == 2,
        ("--rank", "7"): lambda one: "7" in (one.rank or "").split("+"),
        ("--count", "2"): lambda one: one.count == 2,
        ("--had-other",): lambda one: one.had_other,
        ("--no-other",): lambda one: not one.had_other,
        ("--lost",): lambda one: bool(one.lost),
        ("--took", "1"): lambda one: (
            one.milliseconds is not None and 1000 <= one.milliseconds < 2000
        ),
    }
    for words, fits in cases.items():
        wanted = [one.event for one in every if fits(one)]
        assert 0 < len(wanted) < len(every), words
        answer = found(shithead, LEEDS, "--limit", 1000, *words)
        assert [row["event"] for row in answer["found"]] == wanted, words
        assert answer["decisions"] == len(wanted)
    assert found(shithead, LEEDS, "--ruleset", "palace")["decisions"] == 0


def test_what_was_chosen_is_counted_with_its_uncertainty(
    shithead: Callable[..., CommandOutput],
) -> None:
    answer = found(shithead, SAMPLES, "--asked", "9", "--limit", 0)
    every = [one for path in LOGS for one in decisions_of(history_of(path)) if one.asked == "9"]
    chosen = Counter(one.choice for one in every)
    assert {row["choice"]: row["n"] for row in answer["choices"]} == chosen
    assert answer["decisions"] == len(every)
    for row in answer["choices"]:
        low, high = wilson(row["n"] / len(every), len(every))
        assert (row["share"]["low"], row["share"]["high"]) == (round(low, 4), round(high, 4))
        ended = [o for o in every if o.choice == row["choice"] and o.lost is not None]
        lost = sum(bool(one.lost) for one in ended)
        assert row["lost"] is None or row["lost"]["share"] == round(lost / len(ended), 4)


def test_a_result_leads_to_its_moment(shithead: Callable[..., CommandOutput]) -> None:
    _, out, _ = shithead("decisions", LEEDS, "--kind", "pick_up", "--limit", 1)
    first, command, *_ = out.splitlines()
    assert "pick_up" in first
    program, *words = command.split()
    assert program == "shithead"
    at = int(words[-1])
    assert history_of(LEEDS).log[at - 1].type == "pile_picked_up"
    assert shithead(*words, "--text")[0] == 0


def test_refused_attempts_of_a_bundle_are_found_and_a_bad_file_is_named(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    history = history_of(LEEDS)
    one = next(d for d in decisions_of(history) if d.event > 50)
    row = {
        "at": history.log[one.event].at,
        "seat": one.seat,
        "move": {"type": "pick_up"},
        "rule": "L8",
    }
    lines = LEEDS.read_bytes().splitlines()
    files = {REFUSALS: canonical(row) + b"\n"}
    (tmp_path / "hand.shx").write_bytes(write_bundle(lines, files=files))
    assert [r["event"] for r in found(shithead, tmp_path, "--kind", "refused")["found"]] == [
        one.event
    ]
    (tmp_path / "bad.shx").write_bytes(b"no bundle")
    status, out, err = shithead("decisions", tmp_path, "--json")
    assert status == 1
    assert "bad.shx" in err
    assert json.loads(out)["hands"] == 1
    assert shithead("decisions", tmp_path, "--held", "few")[0] == 64


def test_the_decisions_of_a_player_are_those_of_the_seat_in_the_index_of_a_dump() -> None:
    players = (None, None, "2d1a54f0-8a3c-4bd1-8b3c-1c3f5a0c2f11")
    hand = HandFile(file="game.shx", data=LEEDS.read_bytes(), tar="01.tar", players=players)
    tally, wanted = ChoiceCounts(), DecisionFilter(player=players[2])
    seats = {one.seat for _, one in found_in(iter([hand]), wanted, tally, report_nothing)}
    assert seats == {2}
    assert hand.command(7) == "tar -xf 01.tar game.shx && shithead replay game.shx --at 8"
    stranger = DecisionFilter(player="2d1a54f0-8a3c-4bd1-8b3c-1c3f5a0c2f12")
    assert not list(found_in(iter([hand]), stranger, tally, report_nothing))


def report_nothing(path: Path, fault: str) -> None:
    raise AssertionError(f"{path}: {fault}")
