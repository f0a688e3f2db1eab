"""A dispute opened, judged and appealed with `shithead dispute`, on a real server."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from service.cli.__main__ import run
from service.cli.statuses import MISUSED
from service.client.api import Api
from service.client.player import Player
from service.client.player_files import PlayerFolder
from tests.running import Running, wait_for

pytestmark = pytest.mark.heavy

MAX_WORDS = 30
TIME = r"2\d{3}-\d\d-\d\d \d\d:\d\d UTC"


class Terminal:
    """The terminals of several people, each with a folder of its own."""

    def __init__(self, service: Running, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.url, self.folder, self._capsys = (
            f"http://127.0.0.1:{service.port}",
            folder,
            capsys,
        )

    def person(self, name: str) -> Player:
        """Return a registered player."""
        files = PlayerFolder.at(self.folder / name, self.url)
        player = Player(api=Api(url=self.url), files=files)
        player.register(files.folder / "token", name)
        return player

    def types(self, name: str, *words: object, status: int = 0) -> str:
        """Return what a dispute command of a person prints, with the expected status."""
        line = ["dispute", *map(str, words), "--url", self.url, "--home", str(self.folder / name)]
        found = run(line)
        printed = self._capsys.readouterr()
        assert found == status, (printed.out, printed.err)
        return printed.err if status else printed.out


@pytest.fixture
def terminal(service: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(service, tmp_path, capsys)


def finished_game(terminal: Terminal) -> str:
    """Return the id of a game of Ada and Bob in which Bob was ready and Ada gave up."""
    ada, bob = terminal.person("Ada"), terminal.person("Bob")
    table = ada.open_table("shithead", ["open"])
    game = str(bob.sit(UUID(table["id"]))["game"])
    bob.api.post(f"/games/{game}/moves", {"type": "ready"})
    ada.api.post(f"/games/{game}/moves", {"type": "forfeit"})
    return game


def shown(terminal: Terminal, dispute: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(terminal.types("Ada", "show", dispute, "--json"))
    return found


def judged_by(terminal: Terminal, dispute: str, names: list[str], *votes: str) -> str:
    """Let all vote, sealed; the last one reveals at once, then the others."""
    for name in names:
        terminal.person(name)
        terminal.types(name, "judge", dispute)
    for name, vote in zip(names, votes, strict=True):
        why = ("--reason", f"{name} saw it.") if vote == "cheated" else ()
        printed = terminal.types(name, "vote", dispute, vote, *why)
        assert ("Keep the file" in printed) is (name != names[-1]), "the last is revealed at once"
    assert "Your vote is revealed." in printed
    for name in names[:-1]:
        printed = terminal.types(name, "vote", dispute)
    return printed


def test_a_dispute_is_opened_judged_and_appealed(terminal: Terminal) -> None:
    game = finished_game(terminal)
    ready = next(
        event["seq"]
        for event in map(json.loads, Api(url=terminal.url).lines(f"/games/{game}/events"))
        if event["type"] == "seat_ready" and event["by"] == 1
    )
    own = ("open", game, "--charge", "time", "--statement", "He took too long.")
    assert "no event 99999" in terminal.types("Ada", *own, "--seq", 99999, status=MISUSED)
    opened = terminal.types("Ada", *own, "--seq", ready)
    assert "You accuse Bob of play outside the time limit." in opened
    assert f"Event {ready}: Bob got ready." in opened
    dispute = re.findall(r"Dispute (\S+)", opened)[0]
    assert f"/disputes/{dispute}" in terminal.types("Ada", *own, "--seq", ready, status=2)

    terminal.types("Bob", "statement", dispute, "I was there.")
    assert "cannot be a referee" in terminal.types("Bob", "judge", dispute, status=2)
    wait_for(lambda: shown(terminal, dispute)["findings"], seconds=60)
    check_findings(terminal.types("Bob", "show", dispute))

    check_evidence(terminal, dispute, ready)

    first = ["Cleo", "Dora", "Emil"]
    ruled = judged_by(terminal, dispute, first, "cheated", "cheated", "cheated")
    against = f"{TIME}: against Bob: all referees voted `cheated`."
    assert re.search(f"Ruling, {against}\n  It is not final: the side that lost can appeal", ruled)
    emil = f"2  Emil: voted: cheated, sealed on {TIME}, revealed on {TIME}"
    assert re.search(f"{emil}\n     reason: Emil saw it.\n", ruled)
    assert "only the side that lost" in terminal.types("Ada", "appeal", dispute, status=2)
    assert "dispute appeal" not in terminal.types("Ada", "show", dispute)
    assert f"shithead dispute appeal {terminal.url}" in terminal.types("Bob", "show", dispute)
    assert "your vote is revealed" in terminal.types("Cleo", "vote", dispute, status=2)
    appealed = terminal.types("Bob", "appeal", dispute)
    assert "3 more referees needed" in appealed
    standing = terminal.types("Ada", "show", dispute)
    assert re.search(f"Ruling, {against}\n  It was appealed: other referees judge now", standing)
    assert "dispute appeal" not in appealed

    others = ["Fay", "Gil", "Hana"]
    final = judged_by(terminal, dispute, others, "cheated", "not-proven", "cheated")
    assert "State: closed." in final
    ruling, earlier = final.split("\nEarlier ruling, ")
    assert re.search(f"\nRuling after the appeal, {TIME}: not against Bob", ruling)
    assert re.match(f"{against}\n  It was appealed, and the ruling above", earlier)
    votes = re.findall(r"(\w+): (before the appeal, )?voted: ", final)
    assert votes == [(name, "before the appeal, ") for name in first] + [(n, "") for n in others]
    assert shown(terminal, dispute)["state"] == "final"
    assert "What you can do now" not in terminal.types("Bob", "show", game)


def check_evidence(terminal: Terminal, dispute: str, seq: int) -> None:
    """Check that the commands that are printed with the evidence make pages of it."""
    file, page = terminal.folder / "the game.shx", terminal.folder / "page.html"
    printed = terminal.types("Bob", "evidence", dispute, file)
    for command in (("verify", file), ("audit", file, "--move", seq)):
        words = [str(word) for word in command]
        assert f"shithead {shlex.join(words)} --html" in printed
        assert run([*words, "--html", str(page)]) == 0
        assert page.read_text("utf-8").startswith("<!doctype html>")
        page.unlink()


def check_findings(text: str) -> None:
    """Check that findings are one or two short sentences, with the name of the check behind."""
    found = re.findall(r"^  (?:ok|open|FAULT) +(.+\.) \((.+)\)$", text, re.MULTILINE)
    assert len(found) > 8
    assert found[0] == ("The rules allow this move.", found[0][1])
    assert found[0][1].startswith("the move, event ")
    for sentence, behind in found:
        sentences = sentence.split(". ")
        assert len(sentences) <= 2
        assert max(len(one.split()) for one in (*sentences, behind)) <= MAX_WORDS


def test_a_vote_is_sealed_by_the_client_or_by_the_server(terminal: Terminal) -> None:
    """A sealed vote cannot be changed, and is not revealed before all have voted."""
    game = finished_game(terminal)
    opened = terminal.types("Ada", "open", game, "--charge", "altered-log", "--statement", "No.")
    assert "You accuse the server of changing the record of the game." in opened
    dispute = re.findall(r"Dispute (\S+)", opened)[0]
    for name in ("Cleo", "Dora", "Emil"):
        terminal.person(name)
        assert "not a referee" in terminal.types(name, "vote", dispute, "cheated", status=2)
        terminal.types(name, "judge", dispute)
    sealed = terminal.types("Cleo", "vote", dispute, "cheated", "--reason", "Seen.")
    [file] = (terminal.folder / "Cleo").rglob("votes/*.json")
    assert str(file) in sealed
    assert file.stat().st_mode & 0o777 == 0o600
    assert "cannot be changed" in terminal.types("Cleo", "vote", dispute, "not-proven", status=2)
    waiting = terminal.types("Cleo", "vote", dispute, status=2)
    assert re.search(f"when all referees have voted. The voting ends on {TIME}", waiting)
    shown = terminal.types("Dora", "show", dispute)
    assert re.search(f"Cleo: has voted, sealed on {TIME}; the vote is not revealed yet", shown)
    assert "Dora: has not voted yet" in shown
    assert "to vote: shithead dispute vote" in terminal.types("Dora", "vote", dispute, status=2)
    kept = file.read_bytes()
    for name in ("Dora", "Emil"):
        terminal.types(name, "vote", dispute, "not-proven", "--server-seals")
    file.write_bytes(kept.replace(b'"cheated"', b'"not_proven"'))
    assert "refused" in terminal.types("Cleo", "vote", dispute, status=2), "another vote"
    file.write_bytes(kept)
    assert "not against the server" in terminal.types("Cleo", "vote", dispute)


def test_a_refused_referee_and_a_reader_without_a_token_are_not_asked_to_judge(
    terminal: Terminal,
) -> None:
    game = finished_game(terminal)
    opened = terminal.types("Ada", "open", game, "--charge", "altered-log", "--statement", "No.")
    dispute = re.findall(r"Dispute (\S+)", opened)[0]
    assert "A referee needs 0 finished hands" in opened
    assert "The side that lost can appeal once, within 7 days." in opened
    assert re.search(f"fixed when the dispute was opened on {TIME}", opened)
    assert "if they are not complete by" in opened
    assert "Only if all of them vote `cheated`, the ruling is against the server." in opened
    for name in ("Cleo", "Dora"):
        terminal.person(name)
    assert "offer to judge:" in terminal.types("Cleo", "show", dispute)
    assert "refuse a referee" not in opened
    terminal.types("Cleo", "judge", dispute)
    assert "refuse a referee (each can be" in terminal.types("Ada", "show", dispute)
    waits = terminal.types("Cleo", "vote", dispute, "cheated", status=2)
    assert "the voting has not begun: it opens once the game is over and three" in waits
    assert "0  Cleo: refused by the accuser (you)" in terminal.types("Ada", "refuse", dispute, 0)
    assert "refused referee 0 already" in terminal.types("Ada", "refuse", dispute, 0, status=2)
    assert "offer to judge:" not in terminal.types("Cleo", "show", dispute)
    assert "refused you" in terminal.types("Cleo", "judge", dispute, status=2)
    assert "refused you" in terminal.types("Cleo", "vote", dispute, "cheated", status=2)
    assert "offer to judge:" in terminal.types("Dora", "show", dispute)
    stranger = terminal.types("nobody", "show", dispute)
    assert "offer to judge:" not in stranger
    assert "take part: you have no account here" in stranger


def test_receipts_are_submitted_and_saved_with_the_evidence(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    """The stored receipt is found automatically; the saved evidence is verified with it."""
    game = finished_game(terminal)
    opened = terminal.types("Ada", "open", game, "--charge", "altered-log", "--statement", "No.")
    dispute = re.findall(r"Dispute (\S+)", opened)[0]
    assert "hand in a receipt:" in opened
    assert "there is no receipt of this game" in terminal.types("Ada", "receipt", dispute, status=3)
    kept = PlayerFolder.at(terminal.folder / "Ada", terminal.url).game(UUID(game)) / "receipts"
    note = kept / "000009.note"
    note.write_bytes(Api(url=terminal.url).data(f"/games/{game}/receipt"))
    assert f"{note}: handed in, up to event" in terminal.types("Ada", "receipt", dispute)
    again = terminal.types("Ada", "receipt", dispute, note, status=2)
    assert "refused: this receipt was handed in before" in again
    assert "The accuser has handed in your newest receipt already" in terminal.types(
        "Ada", "receipt", dispute
    )
    assert "only the two sides" in terminal.types("Bob", "receipt", dispute, note, status=2)

    def confirmed() -> bool:
        return "The receipts from the server confirm this" in terminal.types("Ada", "show", dispute)

    wait_for(confirmed, seconds=60)
    found = shown(terminal, dispute)
    [given] = found["receipts"]
    assert f"1  up to event {given['seq']}, handed in by the accuser (Ada)" in terminal.types(
        "Bob", "show", dispute
    )
    file = terminal.folder / "the game.shx"
    printed = terminal.types("Bob", "evidence", dispute, file)
    assert f"SHA-256 of this file: {hashlib.sha256(file.read_bytes()).hexdigest()}" in printed
    assert f"frozen copy, SHA-256 in the dispute: {found['bundle_sha256']}" in printed
    assert f"dispute/{dispute}.shx in the file has this SHA-256." in printed
    [command] = re.findall(r"shithead (verify .+) --html verify.html", printed)
    assert run([*shlex.split(command), "--level", "L2"]) == 0
    assert "no evidence of tampering, level L2" in capsys.readouterr().out


def test_the_moves_that_are_offered_fit_the_charge(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = finished_game(terminal)
    ask = ("open", game, "--statement", "No.", "--charge")
    monkeypatch.setattr("sys.stdin", io.StringIO("99\n3\n"))
    output = terminal.types("Ada", *ask, "time")
    assert "Bob got ready." in output
    nothing = terminal.types("Ada", *ask, "false-pick-up", status=2)
    assert "no other seat has taken the pile in this game" in nothing


def test_a_number_that_is_not_in_the_list_of_moves_is_asked_for_again(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long list of moves is not repeated in the message."""
    game = finished_game(terminal)
    events = [json.loads(line) for line in Api(url=terminal.url).lines(f"/games/{game}/events")]
    [ready] = [event["seq"] for event in events if event["type"] == "seat_ready"]
    monkeypatch.setattr("sys.stdin", io.StringIO(f"700\n{ready}\nBob was too fast.\n"))
    opened = terminal.types("Ada", "open", game, "--charge", "other")
    assert "'700' is not one of the numbers in front of the moves" in opened
    assert f"Event {ready}: Bob got ready." in opened
    assert "Bob was too fast." in opened


def test_collusion_is_charged_by_the_seats_of_two_players(terminal: Terminal) -> None:
    ada, *others = (terminal.person(name) for name in ("Ada", "Bob", "Cat"))
    table = ada.open_table("shithead", ["open", "open"])
    for other in others:
        game = other.sit(UUID(table["id"]))["game"]
    words = ("open", game, "--charge", "collusion", "--accused", 1, "--statement", "They help.")
    opened = terminal.types("Ada", *words, "--partner", 2)
    assert opened.startswith("To be shown: the two played for each other")
    assert "You accuse Bob of collusion with Cat." in opened
    dispute = re.findall(r"Dispute (\S+)", opened)[0]
    assert "Event" not in terminal.types("Cat", "show", dispute).split("Findings")[0]
    terminal.types("Cat", "statement", dispute, "We do not.")
    assert "partner (Cat), " in terminal.types("Bob", "show", dispute)
    assert "--move" not in terminal.types("Bob", "evidence", dispute, terminal.folder / "of.shx")
    server = ("open", game, "--charge", "collusion", "--accused", "server")
    assert "a seat" in terminal.types("Ada", *server, "--partner", 2, status=MISUSED)


def test_the_accuser_withdraws_an_unanswered_dispute(terminal: Terminal) -> None:
    game = finished_game(terminal)
    words = ("open", game, "--charge", "altered-log", "--statement", "A gap.")
    opened = terminal.types("Ada", *words)
    dispute = re.findall(r"Dispute (\S+)", opened)[0]
    assert "withdraw the dispute, while it is unanswered:  shithead dispute withdraw" in opened
    withdrawn = terminal.types("Ada", "withdraw", dispute)
    assert "State: withdrawn." in withdrawn
    assert "Ruling: none; the accuser withdrew the dispute" in withdrawn
    assert "you cannot make it again" in terminal.types("Ada", *words, status=2)
