"""The size of the scripts, style sheets and texts that a page loads, as they are sent."""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import product
from posixpath import dirname, join, normpath

import pytest

from service.api.conventions.compression import ENCODINGS
from service.api.pages import FOLDER, GUARD, loaded_assets
from tests.worlds.api_world import World, make_world

TEMPLATES = FOLDER.parent / "templates"
WORKERS = {"verifier/worker.js", "verifier/checks_worker.js"}
LANGUAGES = ("en", "sv", "ja")

MAX_KB = {"app/lobby.js": 101, "app/table.js": 142, "app/replay.js": 160, "app/verify.js": 156}
"""
The budget of a page in kB of 1000 bytes, compressed, for the first page that a visitor opens.

It covers the scripts that the page imports, directly or not, also those that it imports while it
runs, its style sheets, and the texts of one language. Cards are drawn by a script.
"""


def scripts() -> set[str]:
    """Return the first script of each page, from the templates."""
    texts = (page.read_text("utf-8") for page in TEMPLATES.iterdir())
    named = re.compile(r'^{% set script = "(.+?)"', re.MULTILINE)
    return {script for text in texts for script in named.findall(text)}


def loaded_with(script: str, language: str) -> set[str]:
    """Return the files that a page with this script loads in one language."""
    files = loaded_assets().files
    texts = (page.read_text("utf-8") for page in TEMPLATES.iterdir())
    template = next(text for text in texts if f'"{script}"' in text)
    found = {"style.css", "app/app.css", GUARD, *re.findall(r'asset\("([^"]+)"\)', template)}
    found.add(f"app/strings/{language}.json")
    todo = [script]
    calls = re.findall(r"\bstart\(([^()]*)\)", (FOLDER / script).read_text("utf-8"))
    parts = [part for call in calls for part in re.findall(r'"(\w+)"', call)]
    found |= {f"app/strings/{part}/{language}.json" for part in parts}
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        # Not the imports of types, which are in comments.
        imports = (
            r"""^(?:import|export)(?:\b[^;"]*?\bfrom)? "([^"]+)";|await .*?\bimport\("([^"]+)"\)"""
        )
        for pair in re.findall(imports, files[name].decode(), re.MULTILINE):
            todo += [normpath(join(dirname(name), target)) for target in pair if target]
    return found


def sent_sizes(world: World, encoding: str) -> dict[str, int]:
    """Return the number of bytes that a browser receives for each file."""
    sizes = {}
    for name in loaded_assets().files:
        answer = world.client.get(
            loaded_assets().address(name), headers={"Accept-Encoding": encoding}
        )
        assert answer.status_code == 200
        sizes[name] = len(answer.data)
    return sizes


@pytest.mark.heavy
def test_the_files_of_a_page_are_small_as_they_are_sent() -> None:
    world = make_world("postgresql://nobody@127.0.0.1:1/none")  # files need no database
    by_encoding = {encoding: sent_sizes(world, encoding) for encoding in ENCODINGS}
    world.services.close()
    for (script, most), language in product(MAX_KB.items(), LANGUAGES):
        names = loaded_with(script, language)
        assert {"app/cards.js", "app/dom.js", f"app/strings/{language}.json"} <= names
        for encoding, sizes in by_encoding.items():
            largest = sorted(((sizes[name], name) for name in names), reverse=True)
            sent = sum(size for size, _ in largest)
            assert sent <= most * 1000, (script, language, encoding, largest)


def test_a_script_of_others_has_its_checksum_and_licence_beside_it() -> None:
    """The checksum is of the published file, which follows a first line of ours."""
    found = sorted((FOLDER / "vendor").glob("*.js"))
    assert found
    for script in found:
        beside = script.with_suffix(".txt").read_text("utf-8")
        published = script.read_bytes().split(b"\n", 1)[1]
        assert f"SHA-256 {sha256(published).hexdigest()}" in beside, script.name
        assert "Copyright" in beside and "https://registry.npmjs.org/" in beside, script.name


def test_every_script_and_style_belongs_to_a_page() -> None:
    """A file that no page loads is unused, or loaded in a way that the test above overlooks."""
    assert {"app/verify.js", *MAX_KB} <= scripts()
    used = set().union(*(loaded_with(one, lang) for one in scripts() for lang in LANGUAGES))
    assert {"verifier/custody.js", "app/opinion.js", "app/strings/replay/ja.json"} <= used
    for_node = {f"verifier/{name}.js" for name in ("cli", "levels", "seat_keys", "sequence")}
    by_programs = {*for_node, "app/strings/report/en.json"}
    assert set(loaded_assets().files) - used == {*by_programs, *WORKERS}
