"""Scripts and styles of the pages, at addresses that change with their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson
from flask import Blueprint, Flask, Response
from markupsafe import Markup, escape

from service.api.compact import compact_json, compact_scripts, compact_style
from service.api.http import immutable, revalidated
from service.application.errors import not_found

FOLDER = Path(__file__).parent / "static"

STYLE = "style.css"
"""The style sheet of all pages, which has an address of its own as well."""

STRINGS = "app/strings/"
"""The texts of the pages, one file per language.

The files in the folder itself are for all pages, those of a subfolder for some pages."""

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
}

COMPACT = {".css": compact_style, ".json": compact_json}

assets = Blueprint("assets", __name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """All files of the static folder by path, and a hash of all of them."""

    files: Mapping[str, bytes]
    build: str

    def address(self, path: str) -> str:
        """Return the address of a file; raises KeyError if there is no such file."""
        self.files[path]
        return f"/static/{self.build}/{path}"


@cache
def loaded() -> Assets:
    """
    Return the files as this process serves them.

    One hash covers all of them and is a part of every address. So a module that imports
    `./cards.js` gets the file of its own build, and imports need not be rewritten. Comments,
    spaces and long names are removed (`compact.py`): they are half of the scripts.
    """
    paths = sorted(path for path in FOLDER.rglob("*") if path.suffix in KINDS)
    paths.remove(FOLDER / "package.json")  # for Node.js
    texts = {path.relative_to(FOLDER).as_posix(): path.read_text("utf-8") for path in paths}
    scripts = [name for name in texts if name.endswith(".js")]
    compact = dict(zip(scripts, compact_scripts([texts[name] for name in scripts]), strict=True))
    for name, text in texts.items():
        if name not in compact:
            compact[name] = COMPACT[Path(name).suffix](text)
    files = {name: compact[name].encode() for name in texts}
    build = hashlib.sha256()
    for name, content in files.items():
        build.update(f"{name}\n{len(content)}\n".encode() + content)
    return Assets(files=files, build=build.hexdigest()[:16])


@cache
def strings(language: str = "en") -> Mapping[str, str]:
    """Return the texts of all pages in one language by key."""
    texts: dict[str, str] = {}
    for name, content in loaded().files.items():
        if name.startswith(STRINGS) and name.endswith(f"/{language}.json"):
            texts |= orjson.loads(content)
    return texts


def translatable(key: str) -> Markup:
    """Return an English text of the pages, marked for a script that translates it."""
    return Markup('<span data-t="{}">{}</span>').format(key, strings()[key])


def register(app: Flask) -> None:
    """Serve the files; templates get `asset(path)`, `t(key)` and `plain(key)`."""
    app.add_template_global(lambda path: loaded().address(path), "asset")
    app.add_template_global(translatable, "t")
    app.add_template_global(lambda key: escape(strings()[key]), "plain")
    app.register_blueprint(assets)


@assets.get("/static/<build>/<path:path>")
def asset(build: str, path: str) -> Response:
    """
    Return a script or style sheet; caches store that of the present build permanently.

    A page loaded before or after an upgrade requests the file of another build. It gets the
    present file, which caches revalidate.
    """
    content = loaded().files.get(path)
    if content is None:
        raise not_found("file")
    response = Response(content, content_type=KINDS[Path(path).suffix])
    if build == loaded().build:
        return immutable(response, public=True)
    return revalidated(response)


@assets.get("/style.css")
def style() -> Response:
    """Return the style sheet of all pages."""
    return revalidated(Response(loaded().files[STYLE], content_type=KINDS[".css"]))
