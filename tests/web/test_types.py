"""`tsc --checkJs` finds no fault in the JavaScript: its types are in JSDoc comments.

The types of the API are generated from its OpenAPI document; `pages.d.ts` builds on them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.api_world import make_world

pytestmark = pytest.mark.heavy

WEB = Path(__file__).parent
TOOLS = Path(sys.prefix) / "cache" / "web-tools"
"""Where the packages of package.json are installed: in the environment, not in the checkout."""

NO_NPM = "no npm: types of the JavaScript are not checked (apt-get install npm)"
UNREACHABLE = "the npm registry does not answer: types of the JavaScript are not checked"

LOCK = "package-lock.json"
STORED = 8
"""The number of OpenAPI documents whose types are kept in TOOLS."""

GENERATOR = ".bin/openapi-typescript"
COMPILER = "typescript-7/bin/tsc"
"""TypeScript 7 checks in a fifth of the time; openapi-typescript still needs version 5."""


def tool(name: str) -> str:
    """Return the path of a program of package.json; all are installed once for each lock file."""
    if shutil.which("npm") is None:
        pytest.skip(NO_NPM)
    TOOLS.mkdir(parents=True, exist_ok=True)
    with (TOOLS / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # another process of the tests may be installing them
        _install()
    return str(TOOLS / "node_modules" / name)


def _install() -> None:
    """Install the packages unless those of the present lock file are installed."""
    wanted = (WEB / LOCK).read_bytes()
    stamp = TOOLS / "installed.json"
    if stamp.exists() and stamp.read_bytes() == wanted:
        return
    for file in ("package.json", LOCK):
        shutil.copy(WEB / file, TOOLS)
    command = ["npm", "ci", "--no-audit", "--no-fund", "--fetch-retries=1"]
    done = subprocess.run(command, cwd=TOOLS, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reached = not any(word in done.stderr for word in ("ENOTFOUND", "ECONN", "EAI_AGAIN"))
        assert not reached, done.stderr
        pytest.skip(UNREACHABLE)
    stamp.write_bytes(wanted)


def check(config: Path, *types: Path) -> str:
    """Return the faults that the compiler finds; `types` are folders with packages of types."""
    roots = ",".join(map(str, [*types, TOOLS / "node_modules" / "@types"]))
    words = ["--project", str(config), "--typeRoots", roots, "--pretty", "false"]
    command = [tool(COMPILER), *words, "--singleThreaded"]  # which takes half the processor time
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.fixture(scope="module")
def document() -> Any:
    """Return the OpenAPI document, which needs no database."""
    made = make_world("postgresql://nobody@127.0.0.1:1/none")
    found = made.get("/v1/openapi.json").json
    made.services.close()
    return found


def types_of(document: Any, folder: Path) -> Path:
    """
    Make the types of an OpenAPI document, as the package `shithead-api` in a folder.

    The generator takes most of the time of a test, so the types of a document are stored.
    """
    content = json.dumps(document).encode()
    # Without the flag a field with a default is required in requests as well.
    words = [tool(GENERATOR), "openapi.json", "--default-non-nullable=false"]
    made_from = sha256(b"".join((content, words[-1].encode(), (WEB / LOCK).read_bytes())))
    target = folder / "shithead-api" / "index.d.ts"
    target.parent.mkdir()
    stored = TOOLS / "types" / f"{made_from.hexdigest()}.d.ts"
    if stored.exists():
        shutil.copy(stored, target)
        return folder
    (folder / "openapi.json").write_bytes(content)
    subprocess.run([*words, "-o", target], cwd=folder, capture_output=True, check=True)
    _store(target, stored)
    return folder


def _store(made: Path, stored: Path) -> None:
    """Store generated types, and delete those that are older than the newest STORED."""
    stored.parent.mkdir(exist_ok=True)
    whole = stored.with_name(f"{os.getpid()}.tmp")
    shutil.copy(made, whole)
    whole.replace(stored)
    by_age = sorted(stored.parent.glob("*.d.ts"), key=os.path.getmtime)
    for old in by_age[:-STORED]:
        old.unlink(missing_ok=True)


def test_the_types_of_the_pages_fit_the_openapi_document(document: Any, tmp_path: Path) -> None:
    assert check(WEB / "tsconfig.app.json", types_of(document, tmp_path)) == ""


@pytest.mark.long
def test_a_page_that_contradicts_the_document_is_found(document: Any, tmp_path: Path) -> None:
    """A path, a field and a value are missing; each error is at the place of use."""
    paths, schemas = document["paths"], document["components"]["schemas"]
    paths["/v1/keyring"] = paths.pop("/v1/keys")
    schemas["GameView"]["properties"]["heap"] = schemas["GameView"]["properties"].pop("pile")
    schemas["TableRequest"]["properties"]["visibility"]["enum"].remove("private")
    found = check(WEB / "tsconfig.app.json", types_of(document, tmp_path))
    for file, fault in (
        ("record", "'/v1/keys'|\"/v1/keys\""),
        ("board", "Property 'pile' does not exist"),
        ("lobby", '"private"'),
    ):
        lines = [line for line in found.splitlines() if f"/{file}.js(" in line]
        assert any(word in line for line in lines for word in fault.split("|")), (file, found)


def test_the_javascript_types_are_correct_and_a_wrong_one_is_found(tmp_path: Path) -> None:
    """A wrong file is added, and its error must be the only one."""
    config = (WEB / "tsconfig.json").read_text()
    config = config.replace('"../../service', f'"{WEB.parents[1]}/service')
    config = config.replace('"*.js"', f'"{WEB}/*.js", "*.js"')
    (tmp_path / "tsconfig.json").write_text(config)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    verifier = WEB.parents[1] / "service" / "api" / "static" / "verifier" / "bytes.js"
    (tmp_path / "wrong.js").write_text(f'import {{ hex }} from "{verifier}";\nhex("text");\n')
    [error] = check(tmp_path / "tsconfig.json").splitlines()
    assert "wrong.js(2,5): error TS2345" in error
