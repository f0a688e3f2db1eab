"""The size of the scripts, style sheets and texts that the pages load."""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath

import pytest

from service.api.pages import FOLDER, loaded_assets

TEMPLATES = FOLDER.parent / "templates"
VERIFY = "app/verify.js"
WORKER = "verifier/worker.js"

MAX_BYTES = {"scripts and styles": 204_000, "with the texts": 400_000}
"""
The budget in bytes, before compression, for a visitor who opens every page.

Each file counts once: the scripts that the pages import, directly or not, the service worker of
/verify, and the style sheets that the templates name. The texts count in one language, because a
visitor loads only one. Cards are drawn by a script and so are included.
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
    files = loaded_assets().files
    assert {"app/lobby.js", "app/table.js", VERIFY} <= scripts()
    used = set().union(*(loaded_with(one, language) for one in scripts())) | {WORKER}
    assert {"app/cards.js", "app/dom.js", "verifier/custody.js"} <= used
    texts = {f"app/strings/{part}{language}.json" for part in ("", "verify/", "replay/")}
    assert texts <= used
    loads = {"with the texts": used}
    loads["scripts and styles"] = {one for one in used if not one.endswith(".json")}
    for name, most in MAX_BYTES.items():
        sizes = {one: len(files[one]) for one in loads[name]}
        assert sum(sizes.values()) <= most, (name, sorted(sizes.items(), key=lambda one: -one[1]))


def test_every_script_and_style_belongs_to_a_page() -> None:
    """A file that the test above does not count is either unused or loaded without a budget."""
    languages = ("en", "sv", "ja")
    used = set().union(*(loaded_with(one, lang) for one in scripts() for lang in languages))
    assert set(loaded_assets().files) - used == {"verifier/cli.js", WORKER}
