"""A dispute opened, judged and appealed with `shithead dispute`, on a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from service.cli.__main__ import MISUSED, run
from service.client.api import Api
from service.client.player import Player
from service.client.player_files import PlayerFolder
from tests.running import Running, running, wait_for

pytestmark = pytest.mark.heavy

AT_ONCE = {"referee_hands": 0, "referee_account_seconds": 0, "referee_seated_seconds": 0}
MOST_WORDS = 30


@pytest.fixture(scope="module")
def service(
    module_database_url: str, redis_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    logs = tmp_path_factory.mktemp("logs")
    with running(module_database_url, redis_server, logs, api_processes=1, **AT_ONCE) as started:
        yield started


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
        kept = PlayerFolder.at(self.folder / name, self.url)
        player = Player(api=Api(url=self.url), kept=kept)
        player.register(kept.folder / "token", name)
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
    """Have people judge: all vote sealed, the last one reveals at once, then the others."""
    for name in names:
        terminal.person(name)
        terminal.types(name, "judge", dispute)
    for name, vote in zip(names, votes, strict=True):
        printed = terminal.types(name, "vote", dispute, vote)
        assert "Keep the file" in printed
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
    assert f"Event {ready}: Bob is ready." in opened
    dispute = re.findall(r"Dispute (\S+)", opened)[0]
    assert f"/disputes/{dispute}" in terminal.types("Ada", *own, "--seq", ready, status=2)

    terminal.types("Bob", "statement", dispute, "I was there.")
    assert "cannot be a referee" in terminal.types("Bob", "judge", dispute, status=2)
    wait_for(lambda: shown(terminal, dispute)["findings"], seconds=60)
    check_findings(terminal.types("Bob", "show", dispute))

    check_evidence(terminal, dispute, ready)

    first = ["Cleo", "Dora", "Emil"]
    ruled = judged_by(terminal, dispute, first, "cheated", "cheated", "cheated")
    assert "Ruling: against Bob; it is not final." in ruled
    assert "2  Emil: voted: cheated" in ruled
    assert "only the side that lost" in terminal.types("Ada", "appeal", dispute, status=2)
    assert f"shithead dispute appeal {terminal.url}" in terminal.types("Bob", "show", dispute)
    assert "3 more referees needed" in terminal.types("Bob", "appeal", dispute)

    others = ["Fay", "Gil", "Hana"]
    final = judged_by(terminal, dispute, others, "cheated", "not-proven", "cheated")
    assert "State: closed." in final
    assert "Ruling after the appeal" in final
    assert "not against Bob" in final
    assert shown(terminal, dispute)["state"] == "final"
    assert "What you can do now" not in terminal.types("Bob", "show", game)


def check_evidence(terminal: Terminal, dispute: str, seq: int) -> None:
    """Check that the commands that are printed with the evidence make pages of it."""
    file, page = terminal.folder / "game.shx", terminal.folder / "page.html"
    printed = terminal.types("Bob", "evidence", dispute, file)
    for command in (("verify", file), ("audit", file, "--move", seq)):
        words = [str(word) for word in command]
        assert f"shithead {' '.join(words)} --html" in printed
        assert run([*words, "--html", str(page)]) == 0
        assert page.read_text("utf-8").startswith("<!doctype html>")
        page.unlink()


def check_findings(text: str) -> None:
    """Check that findings come in short sentences, with the name of the check behind them."""
    found = re.findall(r"^  (?:ok|open|FAULT) +(.+\.) \((.+)\)$", text, re.MULTILINE)
    assert len(found) > 8
    assert found[0] == ("The rules allow this move.", found[0][1])
    assert found[0][1].startswith("the move, event ")
    for sentence, behind in found:
        assert sentence.count(". ") == 0
        assert max(len(sentence.split()), len(behind.split())) <= MOST_WORDS


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
    sealed = terminal.types("Cleo", "vote", dispute, "cheated")
    [file] = (terminal.folder / "Cleo").rglob("votes/*.json")
    assert str(file) in sealed
    assert file.stat().st_mode & 0o777 == 0o600
    assert "cannot be changed" in terminal.types("Cleo", "vote", dispute, "not-proven", status=2)
    assert "when all referees have voted" in terminal.types("Cleo", "vote", dispute, status=2)
    kept = file.read_bytes()
    for name in ("Dora", "Emil"):
        terminal.types(name, "vote", dispute, "not-proven", "--server-seals")
    file.write_bytes(kept.replace(b'"cheated"', b'"not_proven"'))
    assert "refused" in terminal.types("Cleo", "vote", dispute, status=2), "another vote"
    file.write_bytes(kept)
    assert "not against the server" in terminal.types("Cleo", "vote", dispute)
