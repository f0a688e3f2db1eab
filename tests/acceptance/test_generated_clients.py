"""Clients generated from the OpenAPI document: each plays a hand and makes thirty calls."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from werkzeug.serving import make_server

from service.bots.registry import bots
from tests.worlds.api_world import World, make_world

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests/acceptance/generated_client.ts"
NPM = {"openapi-fetch": "0.17.0", "openapi-typescript": "7.13.0", "typescript": "5.9.3"}
"""The generator, the library that its types are for, and the compiler, at tested versions."""

pytestmark = pytest.mark.heavy


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    made = make_world(database_url)
    yield made
    made.services.close()


@pytest.fixture
def address(world: World) -> Iterator[str]:
    """Return the address of a server of this application."""
    server = make_server("127.0.0.1", 0, world.app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


@pytest.fixture
def document(world: World, tmp_path: Path) -> Path:
    """Return a file with the document."""
    file = tmp_path / "openapi.json"
    file.write_bytes(world.get("/v1/openapi.json").data)
    return file


def run(*command: str | Path, folder: Path) -> str:
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout + done.stderr


@dataclass
class Generated:
    """The generated package: its calls by tag and operation, and how many were made."""

    package: str
    address: str
    calls: int = 0
    clients: dict[str | None, Any] = field(default_factory=dict)

    def model(self, name: str) -> Any:
        return getattr(self._module("models"), name)

    def call(self, operation: str, *words: Any, token: str | None = None, **more: Any) -> Any:
        """Make a call with the generated function, and return the parsed answer."""
        tag, _, name = operation.partition(".")
        function = self._module(f"api.{tag}.{tag}_{name}").sync_detailed
        answer = function(*words, client=self._client(token), **more)
        self.calls += 1
        return answer.parsed

    def _client(self, token: str | None) -> Any:
        if token not in self.clients:
            library = self._module("client")
            self.clients[token] = (
                library.Client(base_url=self.address)
                if token is None
                else library.AuthenticatedClient(base_url=self.address, token=token)
            )
        return self.clients[token]

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{self.package}.{name}")


@pytest.fixture
def generated(document: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Generated:
    """Return the client that openapi-python-client makes of the document."""
    folder = document.parent
    generator = (sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none")
    settings = folder / "settings.yml"
    settings.write_text("post_hooks: []\n", "utf-8")  # the generated code need not be formatted
    output = run(
        *generator,
        *("--path", document, "--output-path", "shithead_api_client", "--config", settings),
        folder=folder,
    )
    # What the generator leaves out: answers that are no JSON, and two of three bodies of an upload.
    assert {line for line in output.splitlines() if line.startswith("WARNING")} == {
        "WARNING parsing GET /v1/games/{game_id}/evidence within evidence.",
        "WARNING parsing GET /v1/games/{game_id}/picture.png within replay.",
        "WARNING parsing GET /v1/games/{game_id}/picture.svg within replay.",
        "WARNING parsing GET /v1/players/{player_id}/hands within hands.",
        "WARNING parsing GET /v1/players/{player_id}/hands.tar within hands.",
        "WARNING parsing POST /v1/verify within evidence.",
    }
    monkeypatch.syspath_prepend(folder)
    return Generated(package="shithead_api_client", address=address)


def test_a_python_client_is_generated_and_makes_thirty_calls(generated: Generated) -> None:
    call, model = generated.call, generated.model
    ada, bob = (
        call("players.register", body=model("Registration").from_dict({"name": n})) for n in "AB"
    )
    tokens = [ada.token, bob.token]
    assert call("players.me", token=ada.token).name == "A"
    assert call("players.player", bob.id).name == "B"
    assert call("rulesets.ruleset", "leeds").statements[0].id == "L1"
    assert {bot.name for bot in call("bots.list_bots").items} == set(bots())
    body = model("TableRequest").from_dict({"ruleset": "leeds", "seats": ["me", "open"]})
    table = call("tables.open_table", body=body, token=ada.token)
    sat = call("tables.sit", table.id, body=model("Sit").from_dict({}), token=bob.token)
    assert call("tables.list_tables").items[0].id == table.id
    game = sat.game
    for token in tokens:
        move = model("ReadyMove").from_dict({"type": "ready"})
        assert call("games.move", game, body=move, token=token).game.status in (
            "swapping",
            "playing",
        )
    for _ in range(5):
        seat = call("games.game", game).turn
        view = call("games.game", game, token=tokens[seat])
        moved = call("games.move", game, body=view.moves[0], token=tokens[seat])
        kinds = {type(event).__name__ for event in moved.events}
        assert kinds & {"CardsPlayedEvent", "PilePickedUpEvent"}, kinds
    wrong = model("PlayMove").from_dict({"type": "play", "cards": ["10h"]})
    turn = tokens[call("games.game", game).turn]
    assert call("games.move", game, body=wrong, token=turn).type_ == "/problems/unknown-card"
    forfeit = model("ForfeitMove").from_dict({"type": "forfeit"})
    assert call("games.move", game, body=forfeit, token=ada.token).game.result.shithead == 0
    page = call("events.list_events", game)
    assert type(page.items[0]).__name__ == "GameCreatedEvent"
    assert page.items[-1].data.deck
    assert call("replay.frames", game, as_="all").items[0].view.version == 1
    assert call("audit.knowledge", game, token=ada.token).seat == 0
    assert call("evidence.audit", game).result == "pass"
    assert call("evidence.keys").items[0].to is None
    assert generated.calls >= 30


def node_modules() -> Path:
    """Return a folder with the npm packages, installed by the first test that needs them."""
    folder = Path(sys.prefix) / "cache/npm"
    wanted = json.dumps({"private": True, "type": "module", "dependencies": NPM})
    manifest = folder / "package.json"
    if not manifest.exists() or manifest.read_text("utf-8") != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "installing.json").write_text(wanted, "utf-8")
        names = [f"{name}@{version}" for name, version in NPM.items()]
        run("npm", "install", "--no-save", "--no-audit", "--no-fund", *names, folder=folder)
        (folder / "installing.json").rename(manifest)
    return folder / "node_modules"


@pytest.mark.long  # npm fetches three packages the first time
@pytest.mark.skipif(  # .ci/run installs both, so CI never skips for want of them
    shutil.which("node") is None or shutil.which("npm") is None,
    reason="no Node.js with npm (apt-get install nodejs npm)",
)
def test_a_typescript_client_is_generated_and_makes_thirty_calls(
    document: Path, address: str
) -> None:
    """It is compiled in strict mode, so the types of the document fit the calls."""
    folder, modules = document.parent, node_modules()
    (folder / "node_modules").symlink_to(modules)
    (folder / "package.json").write_text('{"type": "module"}', "utf-8")
    shutil.copy(SCRIPT, folder / "client.ts")
    binaries = modules / ".bin"
    # Without the flag a field with a default is required in requests as well.
    flag = "--default-non-nullable=false"
    run(binaries / "openapi-typescript", document, flag, "-o", "schema.d.ts", folder=folder)
    options = ("--strict", "--module", "esnext", "--target", "es2022")
    resolution = ("--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable")
    run(binaries / "tsc", *options, *resolution, "client.ts", folder=folder)
    output = run("node", "client.js", address, folder=folder).splitlines()
    assert "422 /problems/unknown-card" in output
    calls, word, result, _level = output[-1].split()
    assert int(calls) >= 30
    assert (word, result) == ("calls", "pass")
