"""
Counts facts that stand in several places: python -m ops.facts.

It prints the circles of imports, the public class names with two owners, for each effect of a rank
the Python files that name it, for each feature the other files that name it, and the modules that
a move crosses.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from types import FrameType

from service.domain.ruleset import EFFECTS
from service.store.migrate import migrate
from tests.servers import postgres
from tests.test_architecture import PACKAGES, ROOT, circles, owners
from tests.worlds.api_world import make_world

COUNTED = ("webhooks", "seeks")
"""The features whose names are counted (decision 0109)."""

MOST_FILES = 5
"""The most Python files that a new effect may need (CONTRIBUTING, A new effect)."""


def files_that_name(effect: str, root: Path = ROOT) -> list[str]:
    """Return the Python files of a checkout whose code names an effect; sentences do not count."""
    files = (file for package in PACKAGES for file in sorted((root / package).rglob("*.py")))
    texts = ((file, file.read_text("utf-8")) for file in files)
    return [
        str(file.relative_to(root))
        for file, text in texts
        if effect in text and effect in _names(ast.parse(text))
    ]


def files_beside(feature: str, root: Path = ROOT) -> list[str]:
    """
    Return the files that name a feature, as a word or a part of a name, and are not its own.

    A file is its own if the file or a folder is named after it. `file.seek()` is no feature;
    decisions and the change log, which tell of the past, do not count.
    """
    word = feature.removesuffix("s")
    names = re.compile(rf"(?<![a-z.]){word}s?(?![a-z(])|_{word}", re.IGNORECASE)
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [
        name
        for name in listed.stdout.splitlines()
        if word not in name.lower()
        and not name.startswith(("ops/decisions/", "ops/CHANGELOG.md"))
        and names.search((root / name).read_text("utf-8", "ignore"))
    ]


def crossed_by_a_move() -> list[str]:
    """Return the modules that run between a move's request and its answer, at a new database."""
    with tempfile.TemporaryDirectory() as folder, postgres(Path(folder)) as server:
        url = server.create()
        migrate(url)
        return modules_of_a_move(url)


def modules_of_a_move(url: str) -> list[str]:
    """Return the modules that run between a move's request and its answer, at a database."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            seen.add(frame.f_globals.get("__name__", ""))

    world = make_world(url)
    ada, bob = world.person("Ada"), world.person("Bob")
    table = ada.table("open")
    game = bob.post(f"/v1/tables/{table['id']}/seats").json["game"]
    ada.get(f"/v1/games/{game}")
    sys.setprofile(note)
    try:
        answer = ada.post(f"/v1/games/{game}/moves", {"type": "ready"})
    finally:
        sys.setprofile(None)
    world.services.close()
    if answer.status_code != HTTPStatus.CREATED:
        raise RuntimeError(answer.text)
    return sorted(name for name in seen if name.partition(".")[0] in PACKAGES)


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the names in code that can be an effect, and the ends of settings: `ranks.T.burns`."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Constant(value=str(text)):
                yield text.rpartition(".")[2]


def main() -> None:
    """Print the counts, and the names behind those that are not 0."""
    groups = circles()
    shared = {name: places for name, places in owners().items() if len(places) > 1}
    print(f"circles of imports: {len(groups)}")
    for group in groups:
        print(f"  {', '.join(sorted(group))}")
    print(f"public class names with two owners: {len(shared)}")
    for name, places in sorted(shared.items()):
        print(f"  {name}: {', '.join(places)}")
    for feature in COUNTED:
        beside = files_beside(feature)
        print(f"files beside their own that name {feature}: {len(beside)}")
        print(f"  {', '.join(beside)}")
    crossed = crossed_by_a_move()
    print(f"modules that a move crosses: {len(crossed)}")
    print(f"  {', '.join(crossed)}")
    for effect in EFFECTS:
        files = files_that_name(effect)
        print(f"Python files that name the effect {effect}: {len(files)} of at most {MOST_FILES}")
        print(f"  {', '.join(files)}")


if __name__ == "__main__":
    main()
