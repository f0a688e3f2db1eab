"""`shithead replay` of invalid logs: shown to their end, with the objections to events."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from service.cli.load_game import read_recording, steps_of
from service.cli.replay import warning_of
from service.domain.view import ALL
from tests.tamper import Forgery
from tests.unit.cli.conftest import CommandOutput
from tests.unit.cli.test_replay_command import LINES, LOG, whole


def test_an_invalid_log_is_shown_to_its_end_with_a_warning(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(LOG.read_bytes().replace(b'"seq":20,', b'"seq":21,'))
    status, out, err = shithead("replay", changed)
    assert status == 1
    assert "the history does not hold: chain fails at seq 20" in err
    assert out.partition("\n\n")[2].splitlines()[0] == whole(None).splitlines()[0]
    assert "\n  20  " not in out
    rest = "The log has 176 more lines: the first of them is not a valid next event."
    assert out.endswith(f"!     {rest}\n")


def test_events_after_a_broken_link_are_shown_and_marked(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    """A changed time in one event leaves all later events readable."""
    changed = tmp_path / "changed.jsonl"
    second = LINES[21].replace(b'"at":"2026-11-21T', b'"at":"2026-11-20T')
    assert second != LINES[21]
    changed.write_bytes(b"\n".join([*LINES[:21], second, *LINES[22:]]) + b"\n")
    status, out, _ = shithead("replay", changed, "--as", "public")
    assert status == 1
    lines = out.partition("\n\n")[2].splitlines()
    assert [line for line in lines if not line.startswith("!")] == whole(None).splitlines()
    chained = [n for n, line in enumerate(lines) if line.startswith("!     chain")]
    assert "22" in [lines[n - 1].split()[0] for n in chained], (
        "the link is marked at the event after it"
    )


def unknown_seat(forgery: Forgery) -> None:
    seq = forgery.find("cards_drawn", n=5)
    forgery.data(seq)["seat"] = forgery.events[seq]["by"] = 9


def too_many_cards_drawn(forgery: Forgery) -> None:
    forgery.data(forgery.find("cards_drawn", n=3))["count"] = 60


def unknown_slot(forgery: Forgery) -> None:
    forgery.data(forgery.find("cards_played", lambda e: e["data"]["zone"] == "down"))["slot"] = 7


@pytest.mark.parametrize("forge", [unknown_seat, too_many_cards_drawn, unknown_slot])
def test_events_that_cannot_be_folded_are_described_one_by_one(
    forge: Callable[[Forgery], None], shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    """If the public fold fails too, each event is described by itself."""
    forgery = Forgery(LINES)
    forge(forgery)
    path = tmp_path / "forged.jsonl"
    path.write_bytes(b"\n".join(forgery.lines()) + b"\n")
    status, out, err = shithead("replay", path)
    assert status == 1
    assert len(re.findall(r"^ *\d+  ", out, re.MULTILINE)) == len(LINES)
    assert "on the places of the cards are not known" in out
    outputs = [out, err, *shithead("verify", path)[1:]]
    for words in (("--move", "150"), ("--card", "Th"), ("--knowledge", "1", "--at", "190")):
        status, out, err = shithead("audit", path, *words)
        assert status == 1, err
        assert "on the places of the cards are not known" in out
        outputs += [out, err]
    assert not re.search(r"[A-Z][a-z]+Error|index out of|list\.|zip\(", "".join(outputs))


def test_a_screen_shows_the_objections_to_its_event() -> None:
    """A reader who steps through a game sees the objections at their events."""
    forgery = Forgery(LINES)
    too_many_cards_drawn(forgery)
    recording = read_recording(b"\n".join(forgery.lines()) + b"\n")
    steps, fault = steps_of(recording, ALL)
    seq = recording.against[0].seq
    assert "A card was drawn from an empty stock." in str(warning_of(recording, steps[seq], fault))
    assert "the places of the cards are not known" in str(warning_of(recording, steps[-1], fault))
    before = str(warning_of(recording, steps[seq - 1], fault))
    assert "the deck does not hold" in before
    assert "places of the cards are not known" not in before
