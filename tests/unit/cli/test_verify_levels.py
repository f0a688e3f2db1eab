"""Level L3 needs a signature of every person in the hand, and counts moves after time-outs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from service.shx.chain import head
from service.shx.receipts import issue_receipt
from service.shx.tlog.notes import NoteSigner
from tests.changed import replace
from tests.random_games import Plan, made_game, private_key, public_text
from tests.unit.cli.conftest import CommandOutput

Run = Callable[..., CommandOutput]
SERVER = NoteSigner(name="levels.example", key=private_key("server"))
KEYS = {seat: private_key(f"seat {seat}") for seat in range(2)}
CLOCK = {"turn_seconds": 30, "swap_seconds": 60}
SIGNED = Plan(name="levels", seats=2, keys=KEYS, clock=CLOCK)


def verify(run: Run, folder: Path, plan: Plan, *words: str) -> CommandOutput:
    """Verify a generated game with a receipt for its end and all keys of its seats."""
    lines = made_game(plan)
    log, note = folder / "events.jsonl", folder / "mine.note"
    log.write_bytes(b"\n".join(lines) + b"\n")
    game = UUID(json.loads(lines[0])["game"])
    note.write_bytes(issue_receipt(SERVER, game=game, seq=len(lines) - 1, head=head(lines[-1])))
    options = ["--receipt", str(note), "--server-key", str(SERVER.verifier)]
    for seat, key in plan.keys.items():
        options += ["--seat-key", f"{seat}={public_text(key)}"]
    return run("verify", log, *options, *words)


def check_only_l2(run: Run, folder: Path, plan: Plan, seat: int) -> None:
    """Check that the hand reaches only L2, because the signature of `seat` is missing."""
    status, out, _ = verify(run, folder, plan, "--level", "L3")
    assert status == 2
    assert out.splitlines()[-1].startswith("no evidence of tampering, level L2")
    assert f"for more: Seat {seat + 1} signed no move of this hand after the deal" in out
    assert verify(run, folder, plan, "--level", "L2")[0] == 0


def test_a_hand_that_every_person_signed_reaches_l3(shithead: Run, tmp_path: Path) -> None:
    status, out, _ = verify(shithead, tmp_path, SIGNED, "--level", "L3")
    assert (status, out.splitlines()[-1]) == (0, "no evidence of tampering, level L3")


@pytest.mark.attack(
    "UNSIGNED",
    "every move of a keyed seat made after time-outs",
    check="the level",
    needs="SEAT_KEY",
)
def test_a_seat_with_moves_only_after_time_outs_limits_the_level_to_l2(
    shithead: Run, tmp_path: Path
) -> None:
    """Its key is in the log but signed nothing: the server made every move for it."""
    check_only_l2(shithead, tmp_path, replace(SIGNED, silent=1), 1)


@pytest.mark.attack(
    "UNSIGNED", "a keyed game aborted before any seat signed", check="the level", needs="SEAT_KEY"
)
def test_an_aborted_hand_whose_keys_signed_nothing_after_the_deal_reaches_no_l3(
    shithead: Run, tmp_path: Path
) -> None:
    check_only_l2(shithead, tmp_path, replace(SIGNED, abort=True), 0)


@pytest.mark.parametrize("after", [6, 8])
def test_moves_made_after_time_outs_are_counted_in_the_text_on_l3(
    shithead: Run, tmp_path: Path, after: int
) -> None:
    plan = replace(SIGNED, silent=1, silent_after=after)
    count = sum(b'"turn_timed_out"' in line for line in made_game(plan))
    status, out, _ = verify(shithead, tmp_path, plan, "--level", "L3")
    made = f"{count} moves of seat 2 were made for it after time-outs"
    assert (status, out.splitlines()[-1]) == (0, f"no evidence of tampering, level L3; {made}")
    page = tmp_path / "page.html"
    _, out, _ = verify(shithead, tmp_path, plan, "--json", "--html", str(page))
    assert json.loads(out)["wording"] == f"no evidence of tampering, level L3; {made}"
    assert made in page.read_text("utf-8")


def test_a_single_move_made_after_a_time_out_is_stated_in_the_singular(
    shithead: Run, tmp_path: Path
) -> None:
    last = sum(b'"auth"' in line for line in made_game(SIGNED))
    found = set()
    for after in (last - 1, last - 2):
        for seat in (0, 1):
            plan = replace(SIGNED, silent=seat, silent_after=after)
            lines = made_game(plan)
            if sum(b'"turn_timed_out"' in line for line in lines) == 1:
                found.add(verify(shithead, tmp_path, plan)[1].splitlines()[-1][-58:])
    assert found
    for text in found:
        assert "; 1 move of seat " in text
        assert text.endswith(" was made for it after a time-out")


def test_a_forfeit_of_a_seat_without_a_key_is_listed_in_the_signatures_of_the_report(
    shithead: Run, tmp_path: Path
) -> None:
    plan = Plan(name="given up", forfeit_by=1)
    lines = made_game(plan)
    seq = next(seq for seq, line in enumerate(lines) if b'"game_ended"' in line)
    unproven = f"Event {seq}: no signature shows that seat 2 gave up."
    for level in ("L1", "L2"):
        status, out, _ = verify(shithead, tmp_path, plan, "--level", level)
        assert status == 0
        assert f"not signed: {unproven}" in out
    assert verify(shithead, tmp_path, plan, "--level", "L3")[0] == 2
    _, out, _ = verify(shithead, tmp_path, plan, "--json")
    [signatures] = [c for c in json.loads(out)["checks"] if c["check"] == "signatures"]
    assert signatures["reason"] == f"No player of this game has a signing key. {unproven}"


def test_l3_does_not_apply_to_a_hand_of_bots(shithead: Run, tmp_path: Path) -> None:
    status, out, _ = verify(shithead, tmp_path, Plan(name="bots", bots=True), "--level", "L3")
    assert status == 2
    assert "for more: Level L3 does not apply: no person sat at the table." in out
