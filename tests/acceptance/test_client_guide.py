"""The clients that /docs/client shows: fetched from the service and run as a reader would."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
import redis

from tests.running import Running, running
from tests.servers import DatabaseServer

pytestmark = pytest.mark.heavy

NO_NODE = "no Node.js: the JavaScript client is left out (apt-get install nodejs)"


@pytest.fixture(scope="module")
def service(
    database_server: DatabaseServer,
    migrated_template: str,
    redis_server: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    """Return the whole running service, whose bots answer."""
    with redis.Redis.from_url(redis_server) as client:
        client.flushdb()
    url = database_server.create(template=migrated_template)
    with running(url, redis_server, tmp_path_factory.mktemp("logs")) as started:
        yield started
    database_server.drop(url)


def fetched(service: Running, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{service.port}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def run(service: Running, command: list[str]) -> list[str]:
    """Run a client against the service, and return the lines that it printed."""
    address = f"http://127.0.0.1:{service.port}"
    done = subprocess.run(
        [*command, address], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    return done.stdout.splitlines()


def check(printed: list[str]) -> None:
    """A client registered, played to the seal, replayed and verified."""
    assert printed[0].startswith("registered as ")
    assert printed[1].startswith("playing ")
    events = [line for line in printed if re.match(r"\d+ [a-z_]+ ", line)]
    assert events[0].startswith("0 game_created")
    assert " game_sealed " in events[-1] + " "
    assert any(line.startswith("result ") for line in printed)
    assert re.fullmatch(
        r"\d+ events, [1-9]\d* receipts: no evidence of tampering, level L1", printed[-1]
    )


def test_the_python_client_plays_a_hand_and_verifies_it(service: Running, tmp_path: Path) -> None:
    file = tmp_path / "client.py"
    file.write_text(fetched(service, "/docs/client.py"), "utf-8")
    check(run(service, [sys.executable, "-I", str(file)]))


def test_the_javascript_client_plays_a_hand_and_verifies_it(
    service: Running, tmp_path: Path
) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip(NO_NODE)  # .ci/run installs it, so CI never skips
    file = tmp_path / "client.mjs"
    file.write_text(fetched(service, "/docs/client.mjs"), "utf-8")
    check(run(service, [node, str(file)]))


@pytest.mark.parametrize("name", ["client.py", "client.mjs"])
def test_the_code_on_the_page_is_the_code_that_runs(service: Running, name: str) -> None:
    page = fetched(service, "/docs/client")
    shown = [
        html.unescape(block) for block in re.findall(r"<pre><code>(.*?)</code>", page, re.DOTALL)
    ]
    source = fetched(service, f"/docs/{name}")
    _, *steps = re.split(r"^(?:#|//) == .*\n", source, flags=re.MULTILINE)
    assert len(steps) == 7
    assert [step for step in steps if step.strip("\n") not in shown] == []
