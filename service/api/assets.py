"""Scripts and styles of the pages, at addresses that change with their content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson
from flask import Blueprint, Flask, Response
from markupsafe import Markup, escape

from service.api.http import immutable, revalidated
from service.application.errors import not_found

FOLDER = Path(__file__).parent / "static"

STYLE = "style.css"
"""The style sheet of all pages, which has an address of its own as well."""

STRINGS = "app/strings/en.js"
"""All English words of the pages: a JavaScript module whose value is plain JSON."""

KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

_EXPORT = "export default "

_COMMENT = re.compile(
    rb"^[ \t]*(?:/\*(?!!)(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*\n", re.DOTALL | re.MULTILINE
)
"""A comment on lines of its own; `/*!` begins one that stays, such as a licence."""

_AROUND = re.compile(rb"\s*([{};])\s*")
_INDENT = re.compile(rb"^[ \n]+", re.MULTILINE)

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
    `./cards.js` gets the file of its own build, without its name being rewritten. Comments
    are left out: with types and documentation they are a quarter of the scripts. The files
    in `app/` and `verifier/` lose their indentation as well.
    """
    paths = sorted(path for path in FOLDER.rglob("*") if path.suffix in KINDS)
    files = {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in paths}
    for name, content in files.items():
        plain = _COMMENT.sub(b"", content)
        compact = name.startswith(("app/", "verifier/"))
        files[name] = _compact(plain, Path(name).suffix) if compact else plain
    whole = hashlib.sha256()
    for name, content in files.items():
        whole.update(f"{name}\n{len(content)}\n".encode() + content)
    return Assets(files=files, build=whole.hexdigest()[:16])


def _compact(source: bytes, suffix: str) -> bytes:
    r"""
    Return a script without indentation, a style sheet without spaces around punctuation.

    It knows nothing of either language. So a literal in a script must not go over several
    lines, nor a text in a style sheet contain punctuation; a test sees to that.

    >>> _compact(b"const sum = (a, b) =>\n  a + b;\n", ".js")
    b'const sum = (a, b) =>\na + b;\n'
    >>> _compact(b".red, b {\n  color: red;\n}\n", ".css")
    b'.red,b{color:red;}'
    """
    plain = _INDENT.sub(b"", source)
    if suffix != ".css":
        return plain
    return _AROUND.sub(rb"\1", plain).replace(b": ", b":").replace(b", ", b",")


@cache
def strings() -> Mapping[str, str]:
    """Return the English words of the pages by key."""
    text = loaded().files[STRINGS].decode()
    start = text.index(_EXPORT) + len(_EXPORT)
    words: dict[str, str] = orjson.loads(text[start:].rstrip().removesuffix(";"))
    return words


def word(key: str) -> Markup:
    """Return an English text of the pages, marked for a script that translates it."""
    return Markup('<span data-t="{}">{}</span>').format(key, strings()[key])


def register(app: Flask) -> None:
    """Serve the files; templates get `asset(path)` and `t(key)`."""
    app.add_template_global(lambda path: loaded().address(path), "asset")
    app.add_template_global(word, "t")
    app.add_template_global(lambda key: escape(strings()[key]), "plain")
    app.register_blueprint(assets)


@assets.get("/static/<build>/<path:path>")
def asset(build: str, path: str) -> Response:
    """
    Return a script or style sheet: cached without limit under the present build.

    The address of another build is that of a page from before or after an upgrade. It gets
    the present file, which caches revalidate.
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
