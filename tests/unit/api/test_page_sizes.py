"""How many bytes of scripts and style sheets the pages load."""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath

import pytest

from service.api.assets import FOLDER, loaded

TEMPLATES = FOLDER.parent / "templates"
VERIFY = "app/verify.js"
WORKER = "verifier/worker.js"

MOST_BYTES = {"scripts and styles": 200_000, "with the words": 400_000}
"""
The budget in bytes before compression, of what one visitor loads who opens every page.

It counts what a page imports, directly or not, the service worker of /verify, and all style sheets
that the templates name, each file once. The words of one language are counted beside them:
no visitor loads those of another. Cards are drawn by a script and so are included.
"""


def scripts() -> set[str]:
    """Return the script with which each page begins, from the templates."""
    texts = (page.read_text("utf-8") for page in TEMPLATES.iterdir())
    named = re.compile(r'^{% set script = "(.+?)"', re.MULTILINE)
    return {script for text in texts for script in named.findall(text)}


def loaded_with(script: str, language: str) -> set[str]:
    """Return the files that a page with this script loads in one language."""
    files = loaded().files
    texts = (page.read_text("utf-8") for page in TEMPLATES.iterdir())
    template = next(text for text in texts if f'"{script}"' in text)
    found = {"style.css", "app/app.css", *re.findall(r'asset\("([^"]+)"\)', template)}
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
        targets = re.findall(r"""(?:from|\bimport\() ?["']([^"']+)["']""", files[name].decode())
        todo += [normpath(join(dirname(name), target)) for target in targets]
    return found


@pytest.mark.parametrize("language", ["en", "sv", "ja"])
def test_scripts_and_styles_of_the_pages_are_small(language: str) -> None:
    files = loaded().files
    assert {"app/lobby.js", "app/table.js", VERIFY} <= scripts()
    used = set().union(*(loaded_with(one, language) for one in scripts())) | {WORKER}
    assert {"app/cards.js", "app/dom.js", "verifier/custody.js"} <= used
    words = {f"app/strings/{part}{language}.json" for part in ("", "verify/", "replay/")}
    assert words <= used
    loads = {"with the words": used}
    loads["scripts and styles"] = {one for one in used if not one.endswith(".json")}
    for name, most in MOST_BYTES.items():
        sizes = {one: len(files[one]) for one in loads[name]}
        assert sum(sizes.values()) <= most, (name, sorted(sizes.items(), key=lambda one: -one[1]))


def test_every_script_and_style_belongs_to_a_page() -> None:
    """A file missing in the count above would be loaded without a budget, or be unused."""
    languages = ("en", "sv", "ja")
    used = set().union(*(loaded_with(one, lang) for one in scripts() for lang in languages))
    assert set(loaded().files) - used == {"verifier/cli.js", WORKER}
