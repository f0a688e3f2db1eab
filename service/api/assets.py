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

STRINGS = "app/strings/"
"""The words of the pages: JavaScript modules whose value is plain JSON, one a language.

The modules of this folder are for all pages, those of its folders for some pages each."""

KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

_EXPORT = "export default "

_COMMENT = re.compile(
    rb"^[ \t]*(?:/\*(?!!)(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*\n", re.DOTALL | re.MULTILINE
)
"""A comment on lines of its own; `/*!` begins one that stays, such as a licence."""

_TYPE = re.compile(rb"/\*\* @type [^*\n]*\*/ ?")
_REMARK = re.compile(rb"(?<=[;,{)]) // [^\"'`\n]*$", re.MULTILINE)
"""Comments within a line: the type of a value, and a remark without quotes at the end."""

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
    in `app/` and `verifier/` lose their indentation as well. Names and code stay as they are.
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
    lines, nor contain a comment; nor may a text in a style sheet contain punctuation. A test
    sees to that.

    >>> _compact(b"const sum = (a, b) =>\n  a + b;\n", ".js")
    b'const sum = (a, b) =>\na + b;\n'
    >>> _compact(b"const one = /** @type {any} */ (two); // as ever\n", ".js")
    b'const one = (two);\n'
    >>> _compact(b".red, b {\n  color: red;\n}\n", ".css")
    b'.red,b{color:red}'
    """
    plain = _INDENT.sub(b"", source)
    if suffix != ".css":
        return _REMARK.sub(b"", _TYPE.sub(b"", plain))
    plain = _AROUND.sub(rb"\1", plain).replace(b": ", b":").replace(b", ", b",")
    return plain.replace(b";}", b"}")


@cache
def strings(language: str = "en") -> Mapping[str, str]:
    """Return the words of all pages in one language by key."""
    words: dict[str, str] = {}
    for name, content in loaded().files.items():
        if name.startswith(STRINGS) and name.endswith(f"/{language}.js"):
            text = content.decode().removeprefix(_EXPORT).rstrip().removesuffix(";")
            words |= orjson.loads(text)
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
