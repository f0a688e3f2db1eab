"""How many bytes of scripts and style sheets the pages load."""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath

import pytest

from service.api.assets import FOLDER, loaded

TEMPLATES = FOLDER.parent / "templates"
VERIFY = "app/verify.js"
"""The script of /verify: a second verifier, which no other page loads as a whole."""

MOST_BYTES = {"pages": 200_000, "verify": 130_000}
"""
The budget for scripts and style sheets, in bytes before compression, as one visitor loads them.

`pages`: all pages but /verify together, each file once. `verify`: a cold load of /verify. Both
count what a page imports, directly or not, all style sheets that its template names, and the
words of one language; cards are drawn by a script and so are included. The words of the other
languages and the verifier's command line are loaded by no page of this visitor.
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
    todo = [script, f"app/strings/{language}.js"]
    parts = re.findall(r'\bstart\("(\w+)"\)', files[script].decode())
    todo += [f"app/strings/{part}/{language}.js" for part in parts]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        targets = re.findall(r"""from ["']([^"']+)["']""", files[name].decode())
        todo += [normpath(join(dirname(name), target)) for target in targets]
    return found


@pytest.mark.parametrize("language", ["en", "sv", "ja"])
def test_scripts_and_styles_of_the_pages_are_small(language: str) -> None:
    files = loaded().files
    assert {"app/lobby.js", "app/table.js", VERIFY} <= scripts()
    pages = set().union(*(loaded_with(one, language) for one in scripts() - {VERIFY}))
    loads = {"pages": pages, "verify": loaded_with(VERIFY, language) | {"verifier/worker.js"}}
    assert {"app/cards.js", "app/dom.js", f"app/strings/{language}.js"} <= pages
    assert {"verifier/custody.js", f"app/strings/verify/{language}.js"} <= loads["verify"]
    for name, most in MOST_BYTES.items():
        sizes = {one: len(files[one]) for one in loads[name]}
        assert sum(sizes.values()) <= most, (name, sorted(sizes.items(), key=lambda one: -one[1]))


def test_every_script_and_style_belongs_to_a_page() -> None:
    """A file that the count above leaves out would be loaded without a budget, or be dead."""
    languages = ("en", "sv", "ja")
    used = set().union(*(loaded_with(one, lang) for one in scripts() for lang in languages))
    assert set(loaded().files) - used == {"verifier/cli.js", "verifier/worker.js"}
