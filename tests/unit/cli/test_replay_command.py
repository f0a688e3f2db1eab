"""`shithead replay`: a game as text or step by step, without hidden cards."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from service.cli.load_game import read_recording, steps_of
from service.cli.screen import ReplayPosition, Shown, after_key, keys_of, screen, situation
from service.cli.statuses import MISUSED
from service.domain.view import ALL, Viewer, seat_openings
from service.replay.frames import transcript
from service.replay.history import decode_log, sealed_deck
from service.shx.bundle import OPENINGS, write_bundle
from service.shx.canonical import canonical
from tests.examples import stride
from tests.tamper import LOGS
from tests.unit.cli.conftest import ROOT, SAMPLES, CommandOutput

LOG = SAMPLES / "leeds.jsonl"
LINES = LOG.read_bytes().splitlines()
GAME = json.loads(LINES[0])["game"]


def whole(viewer: Viewer) -> str:
    log = decode_log(LINES)
    return transcript((r.event for r in log), deck=sealed_deck(log), viewer=viewer)


def part(path: Path, count: int) -> Path:
    """Write the first events of the log, like the log of a running game."""
    path.write_bytes(b"".join(line + b"\n" for line in LINES[:count]))
    return path


def seats_bundle(path: Path, seat: int, count: int) -> Path:
    """Write the bundle that a seat can fetch while the game runs."""
    log = decode_log(LINES)
    deck = sealed_deck(log)
    assert deck is not None
    seen = seat_openings((r.event for r in log[:count]), seat)
    openings = [{"p": p, "card": deck[p], "salt": "00" * 32} for p in seen]
    path.write_bytes(
        write_bundle(LINES[:count], profile=f"seat-{seat}", files={OPENINGS: canonical(openings)})
    )
    return path


def test_without_a_terminal_it_prints_the_transcript(
    shithead: Callable[..., CommandOutput],
) -> None:
    assert shithead("replay", LOG) == (0, whole(ALL), "")
    assert shithead("replay", LOG, "--as", "public") == (0, whole(None), "")
    assert shithead("replay", LOG, "--as", "2") == (0, whole(2), "")


def test_before_the_seal_only_public_cards_are_shown(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    running = part(tmp_path / "running.jsonl", 41)  # with the whole of its last move
    status, out, _ = shithead("replay", running)
    assert status == 0
    assert "hand ?? ?? ??" in out
    for viewer in ("all", "0", "2"):
        status, out, err = shithead("replay", running, "--as", viewer)
        assert (status, out) == (MISUSED, "")
        assert "the game is not sealed" in err


def test_a_seats_bundle_shows_that_seats_cards_and_no_others(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    bundle = seats_bundle(tmp_path / "mine.shx", 0, 40)
    log = decode_log(LINES[:40])
    own = transcript((r.event for r in log), deck=sealed_deck(decode_log(LINES)), viewer=0)
    out = shithead("replay", bundle)[1]
    assert "openings  seq 39" in out, "its salts are false"
    lines = [line for line in out.splitlines() if line and not line.startswith("!")]
    assert lines == own.splitlines()
    assert shithead("replay", bundle, "--as", "1")[0] == MISUSED


def first_turn() -> int:
    """Return the version at which the first turn begins."""
    return next(n for n, line in enumerate(LINES, 1) if b'"type":"play_started"' in line)


def test_another_line_is_printed_as_a_transcript(shithead: Callable[..., CommandOutput]) -> None:
    line = {"at": first_turn(), "moves": [], "then": "lowest"}
    status, out, err = shithead("replay", LOG, "--what-if", json.dumps(line))
    assert (status, err) == (0, "")
    assert out.startswith(f"Hypothetical, from version {line['at']} on")
    assert "shithead" in out
    assert out == shithead("replay", LOG, "--what-if", json.dumps(line))[1]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "is not JSON"),
        ("[]", "--what-if"),
        ('{"at": 1, "moves": [], "then": "expert"}', "/then"),
        ('{"at": 99999, "moves": [], "then": null}', "does not have"),
        ('{"at": 1, "moves": [{"seat": 3, "move": {"type": "pass"}}], "then": null}', "not have"),
        ('{"at": 1, "moves": [{"seat": 0, "move": {"type": "pass"}}], "then": null}', "move 0"),
    ],
)
def test_a_wrong_line_is_refused(
    shithead: Callable[..., CommandOutput], line: str, why: str
) -> None:
    status, out, err = shithead("replay", LOG, "--what-if", line)
    assert (status, out) == (MISUSED, "")
    assert why in err


def test_a_line_needs_the_seal(shithead: Callable[..., CommandOutput], tmp_path: Path) -> None:
    running = part(tmp_path / "running.jsonl", 41)
    line = '{"at": 1, "moves": [], "then": null}'
    status, _, err = shithead("replay", running, "--what-if", line)
    assert status == MISUSED
    assert "sealed" in err


def test_a_file_that_is_not_a_log_ends_with_3(
    shithead: Callable[..., CommandOutput], tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("{}")
    for words in (tmp_path / "text", tmp_path / "missing", tmp_path):
        status, out, err = shithead("replay", words)
        assert (status, out) == (3, "")
        assert "Traceback" not in err


class GameServer(BaseHTTPRequestHandler):
    """A server that has one game."""

    def do_GET(self) -> None:
        found = self.path == f"/v1/games/{GAME}/events"
        assert self.headers["Accept"].startswith("application/x-ndjson,")
        body = (
            LOG.read_bytes() if found else b'{"title":"Not found","detail":"there is no such game"}'
        )
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), GameServer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_id_is_fetched_from_the_server(
    shithead: Callable[..., CommandOutput], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shithead("replay", GAME, "--url", url) == (0, whole(ALL), "")
    monkeypatch.setenv("SHITHEAD_URL", url + "/")
    assert shithead("replay", GAME)[0] == 0
    status, out, err = shithead("replay", GAME.replace("1", "2"))
    assert (status, out) == (2, "")
    assert "does not return the game: there is no such game" in err


def test_key_sequences_of_every_terminal_have_names() -> None:
    assert keys_of(b"\x1b[C\x1bOD n\x7f\r") == ["right", "left", " ", "n", "backspace", "enter"]
    assert keys_of(b"\x1b") == ["escape"]
    assert keys_of(b"\x1b[5~\x01\xc3\xa9") == [], "page up, control and non-ASCII keys"


@pytest.mark.parametrize(
    ("keys", "step"),
    [
        ("right n down", 3),
        ("right right left", 1),
        ("left", 0),
        ("end right", 9),
        ("end home", 0),
        ("g 4 enter", 3),
        ("g 4 backspace 2 enter", 1),
        ("g 9 9 enter", 9),
        ("g 0 enter", 0),
        ("n g 5 escape", 1),
        ("n g enter", 1),
    ],
)
def test_keys_step_through_ten_versions(keys: str, step: int) -> None:
    place = ReplayPosition()
    for key in keys.split():
        place = after_key(place, key, steps=10, viewers=3)
    assert (place.step, place.typed, place.over) == (step, None, False)


def test_keys_change_the_viewer_and_end_the_replay() -> None:
    place = ReplayPosition(viewer=2)
    assert after_key(place, "v", steps=10, viewers=3).viewer == 0
    assert after_key(place, "q", steps=10, viewers=3).over


def drawn(viewer: Viewer, version: int, *, width: int = 100, height: int = 26) -> str:
    """Return the text of a screen."""
    steps, fault = steps_of(read_recording(LOG.read_bytes()), viewer)
    assert fault is None
    console = Console(width=width, height=height, record=True, file=StringIO())
    console.print(screen(steps[version - 1], Shown(viewer=viewer, versions=len(steps))))
    return console.export_text()


def test_a_screen_shows_the_caption_the_table_and_the_keys() -> None:
    text = drawn(ALL, 9)
    assert "Seat 1 played 2d. Seat 2 is next." in text
    assert "version 9 of 196" in text
    assert re.search(r"pile +6s 2d", text)
    assert re.search(r"▶ +2 random +3: 4s 6c 9h +As +Th +Js +## ## ##", text)
    assert "q quit" in text.splitlines()[-1]


def test_the_demand_names_also_the_ranks_that_fit_besides() -> None:
    """L16, L17: a two and a five, here on a card that asks for its rank or more."""
    view: dict[str, Any] = {
        "status": "playing",
        "pile": ["9c"],
        "burned": [],
        "stock": 3,
        "seats": [{}, {}],
        "direction": 1,
        "demand": {"kind": "at_least", "rank": "9", "ranks": [], "besides": ["2", "5"]},
    }
    assert "asks for 9 or more, or 2 or 5" in str(list(situation(view, frozenset()))[1])


def test_a_screen_shows_hidden_cards_as_such() -> None:
    assert re.search(r"▶ +2 random +3: \?\? \?\? \?\? +As +Th +Js", drawn(None, 9))


def test_a_small_terminal_shows_the_header_and_the_keys() -> None:
    lines = drawn(ALL, 150, width=60, height=10).splitlines()
    assert "version 150" in lines[0]
    assert "next" in lines[-1]


@pytest.mark.heavy
def test_every_sample_can_be_drawn_at_every_version_for_every_viewer() -> None:
    console = Console(width=80, height=24, file=StringIO())
    for path in LOGS[::4]:
        recording = read_recording(path.read_bytes())
        for viewer in recording.viewers()[:3]:
            steps, fault = steps_of(recording, viewer)
            assert (fault, len(steps)) == (None, len(recording.log))
            for step in steps[:: max(1, len(steps) // 25) * stride(2)]:
                console.print(screen(step, Shown(viewer=viewer, versions=len(steps))))


def test_text_of_a_log_cannot_control_the_terminal() -> None:
    steps, _ = steps_of(read_recording(LOG.read_bytes()), ALL)
    view = dict(steps[0].view)
    view["ruleset"] = {**view["ruleset"], "id": "custom-\x1b[2J\x07"}
    step = type(steps[0])(**{n: getattr(steps[0], n) for n in steps[0].__slots__} | {"view": view})
    console = Console(width=80, height=24, record=True, file=StringIO())
    console.print(screen(step, Shown(viewer=ALL, versions=1)))
    assert "\x1b[2J" not in console.export_text(styles=True)


@pytest.mark.heavy
def test_on_a_terminal_keys_step_and_q_restores_the_terminal() -> None:
    """A complete session on a terminal of 100 columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 26, 100, 0, 0))
    before = termios.tcgetattr(slave)
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "replay", str(LOG)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm"},
    )
    drawing = bytearray()
    for keys, awaited in (
        (b"", b"version 1 of 196"),
        (b"n\x1b[C ", b"version 4 of 196"),
        (b"p", b"version 3 of 196"),
        (b"g45\r", b"version 45 of 196"),
        (b"v", b"as the public sees it"),
    ):
        os.write(master, keys)
        read_until(master, drawing, awaited)
    os.write(master, b"q")
    read_until(master, drawing, b"\x1b[?1049l")
    assert process.wait(timeout=10) == 0
    assert termios.tcgetattr(slave) == before
    os.close(slave)
    os.close(master)


def read_until(terminal: int, drawing: bytearray, awaited: bytes) -> None:
    """Read the program's output until it contains `awaited`."""
    start, end = len(drawing), time.monotonic() + 20
    os.set_blocking(terminal, False)
    while awaited not in drawing[start:]:
        assert time.monotonic() < end, drawing[-3000:].decode(errors="replace")
        try:
            drawing += os.read(terminal, 65536)
        except BlockingIOError:
            time.sleep(0.02)
