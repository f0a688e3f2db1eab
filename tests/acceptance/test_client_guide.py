"""The programs that /docs/client shows: fetched from the service and run as a reader would."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import urlopen
from uuid import UUID

import pytest

from service.cli.__main__ import run as command
from service.client import GameView, Move, Player
from tests.running import Running, wait_for

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]

NO_NODE = "no Node.js: the JavaScript client is left out (apt-get install nodejs)"


def fetched(service: Running, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{service.port}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def run(service: Running, command: list[str], folder: Path) -> list[str]:
    """Run a client against the service, and return the lines that it printed."""
    address = f"http://127.0.0.1:{service.port}"
    done = subprocess.run(
        [*command, address], capture_output=True, text=True, timeout=120, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    return done.stdout.splitlines()


def check(printed: list[str]) -> None:
    """Check that a client registered, played to the seal, replayed, and verified the evidence."""
    assert printed[0].startswith("registered as ")
    assert printed[1].startswith("playing ")
    events = [line for line in printed if re.match(r"\d+ [a-z_]+ ", line)]
    assert events[0].startswith("0 game_created")
    assert " game_sealed " in events[-1] + " "
    assert any(line.startswith("result ") for line in printed)
    at = next(number for number, line in enumerate(printed) if line.startswith("hand 2 is "))
    assert re.fullmatch(
        r"\d+ events, [1-9]\d* receipts: no evidence of tampering, level L2", printed[at - 1]
    )
    second = re.fullmatch(r"hand 2 is ([0-9a-f-]{36})", printed[at])
    assert second is not None and second[1] not in printed[1]
    assert f"hand_dealt {second[1]} at version 1" in printed[at:]
    assert re.fullmatch(r"[1-9] notices", printed[-1])


def check_saved(folder: Path) -> None:
    """The saved files reach L2 offline; without the receipt they do not."""
    evidence = ("verify", str(folder / "game.shx"), "--level", "L2")
    keys = ("--server-key", str(folder / "keys.json"))
    assert command([*evidence, "--receipt", str(folder / "mine.note"), *keys]) == 0
    assert command([*evidence, *keys]) == 2


def test_the_python_client_plays_a_hand_and_verifies_it(service: Running, tmp_path: Path) -> None:
    file = tmp_path / "client.py"
    file.write_text(fetched(service, "/docs/client.py"), "utf-8")
    check(run(service, [sys.executable, "-I", str(file)], tmp_path))
    check_saved(tmp_path)


def test_the_javascript_client_plays_a_hand_and_verifies_it(
    service: Running, tmp_path: Path
) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip(NO_NODE)  # .ci/run installs it, so CI never skips
    file = tmp_path / "client.mjs"
    file.write_text(fetched(service, "/docs/client.mjs"), "utf-8")
    check(run(service, [node, str(file)], tmp_path))
    check_saved(tmp_path)


@pytest.mark.parametrize("name", ["client.py", "client.mjs"])
def test_the_code_on_the_page_is_the_code_that_is_tested(service: Running, name: str) -> None:
    page = fetched(service, "/docs/client")
    shown = [
        html.unescape(block)
        for block in re.findall(r"<pre tabindex=\"0\"><code>(.*?)</code>", page, re.DOTALL)
    ]
    source = fetched(service, f"/docs/{name}")
    _, *steps = re.split(r"^(?:#|//) == .*\n", source, flags=re.MULTILINE)
    assert len(steps) == 11
    assert [step for step in steps if step.strip("\n") not in shown] == []


def address(service: Running) -> str:
    return f"http://127.0.0.1:{service.port}"


class Program:
    """An example program as the page serves it, with its player's files in a folder."""

    def __init__(self, service: Running, folder: Path, name: str, *words: str) -> None:
        folder.mkdir()
        file, self._output = folder / name, folder / "output"
        file.write_text(fetched(service, f"/docs/{name}"), "utf-8")
        with self._output.open("w") as output:
            self.child = subprocess.Popen(
                [sys.executable, file, address(service), *words],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder)},
            )

    def lines(self) -> list[str]:
        """Return the whole lines that it has printed."""
        return self._output.read_text().split("\n")[:-1]

    def first_line(self) -> str:
        wait_for(lambda: self.lines() or self.child.poll() is not None, seconds=60)
        return self.lines()[0]


@contextmanager
def started(service: Running, folder: Path, name: str, *words: str) -> Iterator[Program]:
    program = Program(service, folder, name, *words)
    try:
        yield program
    finally:
        program.child.kill()
        program.child.wait()


def test_the_example_bot_and_spectator_survive_a_killed_api(
    service: Running, tmp_path: Path
) -> None:
    """The bot repeats its moves, the spectator resumes its stream, and both verify the hand."""
    homes = tmp_path / "bot", tmp_path / "spectator"
    with started(service, homes[0], "bot.py") as bot:
        game = bot.first_line().split()[1]
        with started(service, homes[1], "spectator.py", game) as spectator:
            assert spectator.first_line() == "0 game_created"
            service.kill("API")
            service.start("API")
            assert (spectator.child.wait(timeout=120), bot.child.wait(timeout=120)) == (0, 0)
    played, watched = bot.lines(), spectator.lines()
    assert played[-1] == "no evidence of tampering, level L3"
    assert watched[-1] == "no evidence of tampering, level L2"
    events = [line.split() for line in watched if line[0].isdigit()]
    assert [int(seq) for seq, _ in events] == list(range(len(events)))
    assert events[-1][1] == "game_sealed"
    assert sum(line.endswith(" still had cards") for line in watched) == 1
    assert not any("None" in line for line in watched)
    (own,) = homes[0].glob(f".shithead/*/games/{game}/events.jsonl")
    (seen,) = homes[1].glob(f".shithead/*/watched/{game}/events.jsonl")
    assert own.read_bytes() == seen.read_bytes()


def test_a_restarted_bot_continues_from_its_folder(service: Running, tmp_path: Path) -> None:
    """Token, key, entropy, log and receipts are read again; the hand still reaches L3."""

    def choose(view: GameView) -> Move:
        return next(move for move in view["moves"] if move["type"] != "swap")

    player = Player.at(address(service), keyed=True, home=tmp_path)
    table = player.open_table("shithead", [{"bot": "greedy"}], turn_limit=60)
    game = player.next_game(table)
    hand = player.hand(game)
    made = 0
    for view in hand.views():
        if view["moves"]:
            move = choose(view)
            if move["type"] == "play" and view["turn"] == view["as"]:
                assert hand.reasons(move["cards"])["legal"]
            hand.move(view, move)
            made += 1
        if made == 3:
            break
    receipts = len(hand.seen.receipts())
    again = Player.at(address(service), keyed=True, home=tmp_path).hand(game)
    assert again.seen.lines == hand.seen.lines
    assert again.play(choose)["status"] == "ended"
    assert len(again.seen.receipts()) > receipts >= made
    assert again.verified().conclusion == "no evidence of tampering, level L3"


def test_the_printed_command_for_the_next_hand_deals_it(service: Running, tmp_path: Path) -> None:
    page = html.unescape(fetched(service, "/docs/client"))
    [line] = re.findall(r"<pre tabindex=\"0\"><code>(hand = .*)</code></pre>", page)
    player = Player.at(address(service), home=tmp_path)
    table = player.open_table("shithead", [{"bot": "lowest"}], turn_limit=20)
    hand = player.hand(player.next_game(table))
    first = hand.game
    assert hand.play(lambda view: view["moves"][0])["hand"] == 1
    names: dict[str, Any] = {"player": player, "table": table, "hand": hand}
    exec(line, names)
    assert names["hand"].game != first
    assert names["hand"].fetch_view()["hand"] == 2


def test_a_program_deals_at_a_table_that_has_stopped_to_deal_by_itself(
    service: Running, tmp_path: Path
) -> None:
    """No person moves among bots, so the table waits for a request."""
    player = Player.at(address(service), home=tmp_path)
    seats = [{"bot": "lowest"}, {"bot": "lowest"}]
    body = {"ruleset": "shithead", "seats": seats, "turn_limit": 20, "deal": "always"}
    table = player.api.post("/tables", body)
    first = player.next_game(table)
    while table["status"] != "between":
        table = player.table(UUID(table["id"]), after=table["version"])
    found: list[UUID] = []
    waiting = Thread(
        target=lambda: found.append(player.next_game(table, after=str(first))), daemon=True
    )
    waiting.start()
    waiting.join(30)
    assert found
    assert found != [first]


@pytest.mark.parametrize(
    "name", ["bot.py", "tables.py", "spectator.py", "receiver.py", "receiver.mjs"]
)
def test_the_examples_on_the_page_are_the_files(service: Running, name: str) -> None:
    source = (ROOT / "ops" / "examples" / name).read_text("utf-8")
    assert fetched(service, f"/docs/{name}") == source
    assert source.strip() in html.unescape(fetched(service, "/docs/client"))
    code = [
        line for line in source.splitlines() if line and not line.startswith(("import", "from"))
    ]
    assert len(code) <= 20, "the guide promises a bot of 20 lines"
