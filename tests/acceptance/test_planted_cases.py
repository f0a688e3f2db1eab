"""Three planted cases of fraud, settled with a player's evidence and the command line alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from service.shx.bundle import read_log
from tests.attacks.cheating_server import Case, deleted_play, reneged_pick_up, substituted_draw
from tests.databases import Databases
from tests.unit.cli.conftest import CommandOutput, shithead

__all__ = ["shithead"]

pytestmark = pytest.mark.heavy

Run = Callable[..., CommandOutput]


@pytest.fixture(scope="module")
def reneged(databases: Databases) -> Case:
    """Return the evidence of `reneged_pick_up`."""
    with databases.lent() as url:
        return reneged_pick_up(url)


@pytest.fixture(scope="module")
def substituted(databases: Databases) -> Case:
    """Return the evidence of `substituted_draw`."""
    with databases.lent() as url:
        return substituted_draw(url)


@pytest.fixture(scope="module")
def deleted(databases: Databases) -> Case:
    """Return the evidence of `deleted_play`."""
    with databases.lent() as url:
        return deleted_play(url)


def written(case: Case, folder: Path) -> list[str]:
    """Write a case into a folder and return the command line that verifies it with all evidence."""
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


def test_a_pile_taken_by_a_seat_that_could_play_is_reported_with_the_broken_rule(
    reneged: Case, shithead: Run, tmp_path: Path
) -> None:
    """L10: a seat that can play must play."""
    status, out, _ = shithead(*written(reneged, tmp_path))
    assert status == 1
    assert set(failed(out)) == {"legality"}
    assert f"seq {reneged.seq}" in failed(out)["legality"]
    assert "L10" in failed(out)["legality"]
    happened = next(line for line in out.splitlines() if line.startswith("what happened"))
    assert re.search(
        rf"\(actions\), seq {reneged.seq}: Seat 2 picked up \d+ cards\. The server, which"
        r" checks every move, let it pass\. .*"
        r" Seat 2 could have played one of these: [a-z, ]+\. \[L10\]$",
        happened,
    )
    shown = f"shithead audit {tmp_path / 'game.shx'} --move {reneged.seq}\n"
    assert f"to see that move, with the same receipts and keys: {shown}" in out
    status, out, err = shithead("audit", tmp_path / "game.shx", "--move", reneged.seq)
    assert status == 1  # the replay is shown, with the faults of the log
    assert re.search(r"^legal\n  play ", out, re.MULTILINE)
    objections = out.partition("\ndid       pick up\n\n")[2]
    assert objections.startswith("failed checks\n  The rules forbid this: ")
    assert "(legality, L10)" in objections
    assert "\nstatements\n  L10 " in out, "the statement that decides comes first"
    assert "Seat 2 made this move, and the server, which judges every move, accepted it." in out
    assert "only the server states that seat 2 asked for it" in out
    assert "L10" in err


def test_a_saved_transcript_shows_its_faults_at_the_top_and_at_the_event(
    reneged: Case, shithead: Run, tmp_path: Path
) -> None:
    _, log, *_ = written(reneged, tmp_path)
    status, out, _ = shithead("replay", log, "--text")
    head, _, rest = joined(out).partition("\n\n")
    assert status == 1
    assert head.startswith("!     the actions do not hold")
    why = "The rules forbid this: a seat that can play must play."
    why += " Seat 2 could have played one of these: ace of spades. [L10]"
    assert f"legality  seq {reneged.seq}: {why}" in head
    lines = rest.splitlines()
    at = next(
        n for n, line in enumerate(lines) if line.startswith(f"{reneged.seq:>4}  Seat 2 picked up")
    )
    assert lines[at + 1] == f"!     legality: {why}"
    assert sum(line.startswith("!") for line in lines) == 1


def test_a_wrongly_drawn_card_is_found_when_it_is_played(
    substituted: Case, shithead: Run, tmp_path: Path
) -> None:
    status, out, _ = shithead(*written(substituted, tmp_path))
    assert status == 1
    custody = failed(out)["custody"]
    found = re.search(r"seq (\d+): Seat 2 did not hold the ([a-z ]+): it lay in the stock", custody)
    assert found is not None
    seq, card = found.groups()
    assert int(seq) > substituted.seq
    place = rf"at the draw \(event {substituted.seq + 1}, rule P8\)"
    assert re.search(rf"With the {card} in place of the [a-z ]+ {place}", custody)
    assert "No player can do this alone" in custody
    status, out, _ = shithead("audit", tmp_path / "game.shx", "--move", seq)
    assert status == 1
    assert re.search(
        r"^did +play \w+\n\nfailed checks\n  Seat 2 did not hold .+ \(custody\)", out, re.MULTILINE
    )


def test_a_log_that_its_deck_contradicts_is_replayed_to_its_end(
    substituted: Case, shithead: Run, tmp_path: Path
) -> None:
    """Events state outcomes, so the public part can be followed without the deck."""
    _, log, *_ = written(substituted, tmp_path)
    events = read_log(substituted.bundle).lines
    status, out, err = shithead("replay", log, "--text")
    out = joined(out)
    assert status == 1
    warnings = re.findall(r"\n!     From seq (\d+) on hidden cards are not known: .*\n", out)
    assert len(warnings) == 1
    lost, last = int(warnings[0]), len(events) - 1
    assert f"\n{last:>4}  The record is sealed, and the deck is public." in out
    before, _, after = out.partition(f"\n{lost:>4}  Seat 2 played As.")
    assert "hand ??" not in before
    assert "seat 1: hand ?? ?? ??" in after
    assert not python_words(out + err)
    public = shithead("replay", log, "--text", "--as", "public")[1]
    assert "From seq" not in public, "a viewer who never saw the deck is not told what is missing"
    for view in ("public", "0", "1", "all"):
        output = shithead("replay", log, "--text", "--as", view)[1]
        assert len(re.findall(r"^ *\d+  ", output, re.MULTILINE)) == len(events)


def test_every_audit_of_a_contradicted_log_is_answered_as_far_as_possible(
    substituted: Case, shithead: Run, tmp_path: Path
) -> None:
    _, log, *_ = written(substituted, tmp_path)
    last = len(read_log(substituted.bundle).lines) - 1
    for words in (
        *(("--move", seq) for seq in range(14, last + 1, 7)),
        *(("--knowledge", seat, "--at", at) for seat in (0, 1) for at in (17, 18, 60, last + 1)),
        *(("--card", card) for card in ("2c", "As", "8d", "Th")),
    ):
        status, out, err = shithead("audit", log, *words)
        assert (status, python_words(out + err)) == (1, False), (words, out, err)
        late = words[0] == "--card" or int(words[-1]) > substituted.seq + 6
        assert ("From seq 17 on hidden cards are not known" in out) == late, words
    out = shithead("audit", log, "--move", "30")[1]
    assert "hand      ?? ?? ??" in out
    assert "unknown: they depend on the hand, which is hidden" in out
    assert "did       play 9h" in out
    out = shithead("audit", log, "--card", "As")[1]
    assert "  0–16    stock           seen by no seat\n  17–18   pile" in out
    _, out, err = shithead("audit", log, "--move", "30", "--json")
    found = json.loads(out)
    assert "From seq 17 on hidden cards are not known" in err
    assert (found["legal"], found["not_legal"], found["saw"]["as"]) == (None, None, "public")


def joined(text: str) -> str:
    """Return a transcript with the lines of each mark as one."""
    return text.replace("\n!       ", " ")


def python_words(text: str) -> bool:
    """Return whether a text contains Python syntax or exception names."""
    return bool(re.search(r"Error:? |Traceback|list\.|zip\(|NoneType|not in list", text))


def test_a_removed_play_is_revealed_by_its_receipt(
    deleted: Case, shithead: Run, tmp_path: Path
) -> None:
    words = written(deleted, tmp_path)
    status, out, _ = shithead("verify", tmp_path / "game.shx")
    assert (status, failed(out)) == (0, {})  # the log alone is in order: level L1
    status, out, _ = shithead(*words)
    assert status == 1
    assert set(failed(out)) == {"receipts"}
    assert f"A receipt agrees up to event {deleted.seq - 1}, and a later one shows another" in out
    last = len(deleted.receipts) - 1  # the number of the only receipt that contradicts the log
    assert f"from outside: {last} receipts that the server signed agree, up to event" in out
    assert f". The receipt {last}.note contradicts, at event" in out


@pytest.mark.parametrize("words", [("audit", "--move", "20"), ("replay", "--text")])
def test_every_command_on_a_log_reports_the_receipts_that_contradict_it(
    words: tuple[str, ...], deleted: Case, shithead: Run, tmp_path: Path
) -> None:
    """The log alone is valid: every command takes the receipts as evidence."""
    _, _, *evidence = written(deleted, tmp_path)
    command, *arguments = words
    status, shown, err = shithead(command, tmp_path / "game.shx", *arguments)
    assert (status, err) == (0, "")
    status, out, err = shithead(command, tmp_path / "game.shx", *arguments, *evidence)
    assert status == 1
    unmarked = [line for line in out.splitlines() if line and not line.startswith("!")]
    for line in shown.splitlines():
        assert not line or line in unmarked  # the whole answer is shown all the same
    assert "the history does not hold: receipts fails at seq" in err
    assert f"A receipt agrees up to event {deleted.seq - 1}, and" in err
    status, _, err = shithead(command, tmp_path / "game.shx", *arguments, *evidence[2:])
    assert status == 1, "without the key they contradict it all the same"
    assert "its signer is unknown" in err


def test_every_event_that_a_receipt_may_contradict_is_marked(
    deleted: Case, shithead: Run, tmp_path: Path
) -> None:
    """A receipt shows a change in some event up to its own, but not in which one."""
    _, log, *evidence = written(deleted, tmp_path)
    out = shithead("replay", log, "--text", *evidence)[1]
    assert out.startswith("!     the history does not hold")
    marked = re.findall(r"^ *(\d+)  .*\n!     receipts: ", out, re.MULTILINE)
    agreed = re.search(r"A receipt agrees up to event (\d+), and a later one", joined(out))
    assert agreed is not None
    first, last = int(agreed[1]) + 1, int(marked[-1])
    assert first == deleted.seq
    assert [int(seq) for seq in marked] == list(range(first, last + 1))
    shown = shithead("audit", log, "--move", str(first), *evidence)[1]
    both = f"A receipt agrees up to event {first - 1}, and one for event {last} shows another"
    assert f"failed checks\n  {both} history of this game." in shown
    assert "(receipts)\n" in shown
    assert "failed checks" not in shithead("audit", log, "--move", str(first - 1), *evidence)[1]
    unsigned = shithead("replay", log, "--text", *evidence[2:])[1]
    assert "if the server signed it, which is not shown." in joined(unsigned)


def test_a_player_with_the_saved_events_can_prove_a_removed_play(
    deleted: Case, shithead: Run, tmp_path: Path
) -> None:
    """The signed head belongs to the history in which the play was made."""
    _, log, *evidence = written(deleted, tmp_path)
    assert "A player who saved the events of the other history" in joined(
        shithead("replay", log, "--text", *evidence)[1]
    )
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(b"\n".join(deleted.seen) + b"\n")
    status, out, _ = shithead("verify", kept, *evidence)
    assert (status, failed(out)) == (2, {}), "the game is not over, and no check fails"
    assert re.search(r"^receipts +pass", out, re.MULTILINE)
    status, output, _ = shithead("replay", kept, "--text", *evidence)
    assert status == 0
    assert "\n!" not in output
    last = [json.loads(line) for line in deleted.seen][deleted.seq :]
    mine = next(event for event in last if event["by"] == 0 and event["type"] == "cards_played")
    assert f"\n{mine['seq']:>4}  Seat 1 played {mine['data']['cards'][0]}" in output


@pytest.mark.parametrize("words", [("audit", "--move", "20"), ("replay", "--text")])
def test_receipts_that_cannot_be_checked_are_reported_as_such(
    words: tuple[str, ...], deleted: Case, shithead: Run, tmp_path: Path
) -> None:
    _, log, *key = written(deleted, tmp_path)[:4]
    command, *arguments = words
    first = ["--receipt", tmp_path / "0.note"]  # of an event that is still in the log
    status, _, err = shithead(command, log, *arguments, *first)
    assert status == 2
    assert "receipts: missing. To check who signed, the server’s key" in err
    assert shithead(command, log, *arguments, *first, *key)[0] == 0
    assert shithead(command, log, *arguments, "--receipt", tmp_path / "none.note", *key)[0] == 3


@pytest.mark.parametrize("name", ["reneged", "substituted"])
def test_the_forged_logs_break_only_the_intended_rules(
    name: str, request: pytest.FixtureRequest, shithead: Run, tmp_path: Path
) -> None:
    """The fraud is found by rules and deck, not by a mistake of the forger."""
    _, out, _ = shithead(*written(request.getfixturevalue(name), tmp_path))
    for check in ("bytes", "chain", "order", "commitments", "shuffle", "receipts", "seal"):
        assert re.search(rf"^{check} +pass", out, re.MULTILINE), out
