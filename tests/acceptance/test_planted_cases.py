"""Three planted cases, settled with what a guest holds and the command line alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.crooked_house import Case, deleted_play, reneged_pick_up, substituted_draw
from tests.unit.cli.conftest import Said, shithead

__all__ = ["shithead"]

Run = Callable[..., Said]


def written(case: Case, folder: Path) -> list[str]:
    """Write a case into a folder and return the words that verify it with all there is."""
    log, keys = folder / "game.shx", folder / "keys.json"
    log.write_bytes(case.bundle)
    keys.write_bytes(case.keys)
    words = ["verify", str(log), "--server-key", str(keys)]
    for number, receipt in enumerate(case.receipts):
        (folder / f"{number}.note").write_bytes(receipt)
    return [*words, "--receipt", str(folder)]


def failed(out: str) -> dict[str, str]:
    """Return the lines of the checks that fail, by check."""
    return {line.split()[0]: line for line in out.splitlines() if re.match(r"\w+ +fail", line)}


def test_a_pile_taken_by_one_who_could_play_is_named_with_its_rule(
    shithead: Run, tmp_path: Path
) -> None:
    """L10: whoever can play must play."""
    case = reneged_pick_up()
    status, out, _ = shithead(*written(case, tmp_path))
    assert status == 1
    assert set(failed(out)) == {"legality"}
    assert f"seq {case.seq}" in failed(out)["legality"]
    assert "L10" in failed(out)["legality"]
    status, out, err = shithead("audit", tmp_path / "game.shx", "--move", case.seq)
    assert status == 1  # shown, and what is wrong with the log is told
    assert re.search(r"^legal\n  play ", out, re.MULTILINE)
    said = out.partition("\ndid       pick up\n\n")[2]
    assert said.startswith("against it\n  legality  L10  not allowed")
    assert "  L10 " in out.partition("\nstatements\n")[2]
    assert "L10" in err


def test_a_card_that_was_not_the_next_of_the_stock_is_found_when_it_is_played(
    shithead: Run, tmp_path: Path
) -> None:
    case = substituted_draw()
    status, out, _ = shithead(*written(case, tmp_path))
    assert status == 1
    custody = failed(out)["custody"]
    found = re.search(r"seq (\d+): seat 1 does not hold (\w+): it lies in the stock", custody)
    assert found is not None
    seq, card = found.groups()
    assert int(seq) > case.seq
    status, out, _ = shithead("audit", tmp_path / "game.shx", "--move", seq)
    assert status == 1
    assert re.search(rf"^did +play {card}\n\nagainst it\n  custody ", out, re.MULTILINE)
    assert shithead("replay", tmp_path / "game.shx", "--text")[0] == 1


def test_a_play_that_was_taken_back_is_shown_by_the_receipt_for_it(
    shithead: Run, tmp_path: Path
) -> None:
    case = deleted_play()
    words = written(case, tmp_path)
    status, out, _ = shithead("verify", tmp_path / "game.shx")
    assert (status, failed(out)) == (0, {})  # the log alone is in order: level L1
    status, out, _ = shithead(*words)
    assert status == 1
    assert set(failed(out)) == {"receipts"}
    assert f"they agree up to seq {case.seq - 1}: something from seq {case.seq} to" in out


@pytest.mark.parametrize("words", [("audit", "--move", "20"), ("replay", "--text")])
def test_who_looks_into_a_log_is_told_what_the_receipts_say_of_it(
    words: tuple[str, ...], shithead: Run, tmp_path: Path
) -> None:
    """The log alone is in order: whoever has receipts gives them to each command."""
    case = deleted_play()
    _, _, *evidence = written(case, tmp_path)
    command, *asked = words
    status, shown, err = shithead(command, tmp_path / "game.shx", *asked)
    assert (status, err) == (0, "")
    status, out, err = shithead(command, tmp_path / "game.shx", *asked, *evidence)
    assert status == 1
    assert shown in out  # all of it is shown, for what it is worth
    assert "the history does not hold: receipts fails at seq" in err
    assert f"they agree up to seq {case.seq - 1}" in err
    status, _, err = shithead(command, tmp_path / "game.shx", *asked, *evidence[2:])
    assert status == 1, "without the key they contradict it all the same"
    assert "nobody knows who signed it" in err


@pytest.mark.parametrize("words", [("audit", "--move", "20"), ("replay", "--text")])
def test_receipts_that_cannot_be_checked_are_told_to_be_so(
    words: tuple[str, ...], shithead: Run, tmp_path: Path
) -> None:
    _, log, *key = written(deleted_play(), tmp_path)[:4]
    command, *asked = words
    first = ["--receipt", tmp_path / "0.note"]  # of an event that still stands there
    status, _, err = shithead(command, log, *asked, *first)
    assert status == 2
    assert "receipts: missing the server's key" in err
    assert shithead(command, log, *asked, *first, *key)[0] == 0
    assert shithead(command, log, *asked, "--receipt", tmp_path / "none.note", *key)[0] == 3


@pytest.mark.parametrize("case", [reneged_pick_up, substituted_draw])
def test_the_house_made_everything_else_right(
    case: Callable[[], Case], shithead: Run, tmp_path: Path
) -> None:
    """So it is the rules and the deck that tell, not a slip in the forgery."""
    _, out, _ = shithead(*written(case(), tmp_path))
    for check in ("bytes", "chain", "order", "commitments", "shuffle", "receipts", "seal"):
        assert re.search(rf"^{check} +pass", out, re.MULTILINE), out
