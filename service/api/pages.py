"""The HTML pages, with their scripts, styles and texts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any, Final, cast
from uuid import UUID

import orjson
from flask import Blueprint, Flask, Response, current_app, redirect, render_template, request
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from service.api import link_previews
from service.api.context import services
from service.api.conventions.caching import immutable, private, revalidated, shared
from service.api.conventions.compression import packed
from service.api.conventions.etags import conditional
from service.api.conventions.security_headers import EMBED_POLICY, PAGE_POLICY
from service.api.link_previews import Preview
from service.application.errors import not_found
from service.replay.deck import drawings
from service.replay.sentences import LANGUAGES
from service.rulesets.catalogue import Definition, Statement, definition, known_by_name
from service.rulesets.in_short import in_short
from service.rulesets.labels import differs_from_base
from service.rulesets.rules_page import COMMON_TITLE, rules_page
from service.shx.canonical import format_time
from service.verify.finding import Check, asks
from service.verify.verify import CHECKED_BY
from service.words import FOLDER as WORDS

HTML = "text/html; charset=utf-8"
_CONTACTS = "SECURITY_CONTACTS"
_INLINE_CODE = re.compile("`([^`]+)`")


ABOUT = (
    "The card game Shithead in 22 rulesets, in the browser and by programs. The record of every "
    "hand can be verified without the server."
)
"""The sentence in the link preview of a page that has none of its own."""


def html_page(template: str, *, policy: str = PAGE_POLICY, **values: Any) -> Response:
    """
    Return a page made from a template, or 304 if the caller has it already.

    The template of a page with a script of its own extends `app.html`.
    """
    values.setdefault("preview", Preview())
    values |= {"site": request.host_url.rstrip("/"), "about": ABOUT}
    response = Response(render_template(template, **values), content_type=HTML)
    # Set here, because a 304 has no type by which it could be recognised as a page later.
    response.headers["Content-Security-Policy"] = policy
    if values["preview"].status is not HTTPStatus.OK:
        response.status_code = values["preview"].status
        return private(response)
    return revalidated(response)


def inline_code(text: str) -> Markup:
    """Return plain text as HTML, with `code` between backticks."""
    return Markup(_INLINE_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


SHOWN = {"verify": "service.verify", "shx": "service.shx", "tlog": "service.shx.tlog"}
"""The packages whose source is shown: the checks, and the modules that they use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedCheck:
    """A check of the verifier as the page shows it."""

    name: str
    asks: str
    module: str


def checks() -> list[DescribedCheck]:
    """Return all checks in the order in which the verifier makes them."""
    return [
        DescribedCheck(name=check.value, asks=asks(check), module=_module_of(check))
        for check in Check
    ]


@cache
def sources() -> Mapping[str, Mapping[str, str]]:
    """Return the source files that are shown, by package and file name."""
    return {
        package: {
            file.name: file.read_text("utf-8")
            for file in sorted(files(module).iterdir(), key=lambda file: file.name)
            if file.name.endswith(".py")
        }
        for package, module in SHOWN.items()
    }


def _module_of(check: Check) -> str:
    """Return the file of `service.verify` that defines a check."""
    return f"{CHECKED_BY[check].__module__.rpartition('.')[2]}.py"


VERIFIER_WORKER = "verifier/worker.js"

pages = Blueprint("pages", __name__, template_folder="templates")


def register(app: Flask, security_contact: str) -> None:
    """Serve the pages, with their scripts and styles; the contacts are separated by commas."""
    app.config[_CONTACTS] = [one.strip() for one in security_contact.split(",") if one.strip()]
    register_assets(app)
    app.add_template_filter(inline_code, "inline_code")
    app.register_blueprint(pages)


@pages.get("/")
def lobby() -> Response:
    """Show the lobby: a running table, ways to play, the tables, and the newest hands."""
    playable, _ = _catalogue()
    return html_page("lobby.html", playable=playable)


@pages.get("/play/<uuid:game_id>")
def play(game_id: UUID) -> Response:
    """Show a hand to its players and to spectators; the script gets it from the API."""
    return _table_page(link_previews.of_game(game_id), game=game_id)


@pages.get("/games/<uuid:game_id>")
def game(game_id: UUID) -> Response:
    """Redirect from the API's name of a hand to its page."""
    return cast("Response", redirect(f"/play/{game_id}", code=308))


@pages.get("/games/<uuid:game_id>/picture.svg")
def picture(game_id: UUID) -> Response:
    """Redirect to the picture of a moment, with its query, for addresses without `/v1`."""
    query = request.query_string.decode("ascii", "replace")
    address = f"/v1/games/{game_id}/picture.svg"
    return cast("Response", redirect(f"{address}?{query}" if query else address, code=308))


@pages.get("/embed/<uuid:game_id>")
def embed(game_id: UUID) -> Response:
    """Show a public hand event by event in a frame of another site."""
    preview = link_previews.of_game(game_id)
    language = request.accept_languages.best_match(LANGUAGES)
    response = html_page(
        "embed.html", policy=EMBED_POLICY, preview=preview, game=game_id, language=language
    )
    # A browser refuses to open a page with a sandbox and another opener policy in a tab.
    response.headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
    response.headers["Cross-Origin-Embedder-Policy"] = "require-corp"
    response.vary.add("Accept-Language")
    return response


@pages.get("/tables/<uuid:table_id>")
def table(table_id: UUID) -> Response:
    """
    Show a table between its hands, or while it waits for players.

    The page does not have the id, which its script reads from the address: so it is the same bytes
    for every table that a stranger cannot see.
    """
    return _table_page(link_previews.of_table(table_id))


@pages.get("/replay/<uuid:game_id>")
def replay(game_id: UUID) -> Response:
    """Show a hand event by event, as a viewer saw it; the script gets it from the API."""
    preview = link_previews.of_game(game_id)
    return html_page("replay.html", preview=preview, game=game_id, links=HAND_LINKS)


HAND_LINKS = {"replay": "/replay/", "verify": "/verify?game="}
"""Links at the end of a hand: the key of the text, and the address before the game's id."""


def _table_page(preview: Preview, *, game: UUID | None = None) -> Response:
    return html_page("table.html", preview=preview, game=game)


@pages.get("/disputes")
def disputes() -> Response:
    """List disputes; the script gets them from the API."""
    return _court_page("disputes.title", Preview())


@pages.get("/disputes/new")
def new_dispute() -> Response:
    """Open a dispute about a move, which the query names: `game`, and `event` or `version`."""
    game = request.args.get("game")
    status = HTTPStatus.OK if game is None else link_previews.status_of_game(game)
    return _court_page("disputes.new", Preview(status=status))


@pages.get("/disputes/<uuid:dispute_id>")
def dispute(dispute_id: UUID) -> Response:
    """Show a dispute: findings, statements, referees, votes and ruling."""
    preview = link_previews.of_dispute(dispute_id)
    return _court_page("disputes.title", preview, dispute=dispute_id)


def _court_page(title: str, preview: Preview, dispute: UUID | None = None) -> Response:
    return html_page("court.html", preview=preview, title=title, dispute=dispute)


@pages.get("/account")
def account() -> Response:
    """Show the reader's own player: devices, programs, webhook and erasure."""
    return html_page("account.html")


@pages.get("/moments")
def moments() -> Response:
    """Show the moments that the reader keeps; the script gets them from the API."""
    return html_page("moments.html")


@pages.get("/ratings")
def ratings() -> Response:
    """Show the ratings of players and bots, by ruleset."""
    return html_page("ratings.html")


@pages.get("/statistics")
def statistics() -> Response:
    """Show statistics of all shuffles, and of a player's blind choices and hands."""
    return html_page("statistics.html")


@pages.get("/rules")
def rules_list() -> Response:
    """List all rulesets."""
    playable, names_only = _catalogue()
    return html_page("rules_list.html", playable=playable, names_only=names_only)


@pages.get("/rules/<name:ruleset_id>")
def rules(ruleset_id: str) -> Response:
    """Show the statements of one ruleset."""
    known = known_by_name().get(ruleset_id)
    found = known or services().rulebook.find(ruleset_id)
    if found is None:
        raise not_found("ruleset")
    page, seen = rules_page(found), set[str]()
    base = found.base if isinstance(found, Definition) else None
    return html_page(
        "rules.html",
        page=page,
        short=in_short(found.ruleset({})) if isinstance(found, Definition) else None,
        sections=[
            {
                "name": section.name,
                "title": section.title,
                "statements": _anchored(section.statements, seen),
            }
            for section in page.sections
        ],
        common=_anchored(page.common, seen),
        common_title=COMMON_TITLE,
        base=definition(base) if base else None,
        differs=differs_from_base(found) if isinstance(found, Definition) and base else (),
    )


@pages.get("/checks")
def how_to_verify() -> Response:
    """Describe how to verify a game, and every check."""
    shown = [(package, sorted(names)) for package, names in sources().items()]
    return html_page("checks.html", checks=checks(), sources=shown)


@pages.get("/verify")
def verify_page() -> Response:
    """Verify a game in the browser; once the browser has stored it, the page needs no server."""
    return html_page("verify.html")


@pages.get("/robots.txt")
def robots() -> Response:
    """Ask search engines to read pages only, not the API."""
    text = "User-agent: *\nDisallow: /v1/\n"
    return revalidated(Response(text, content_type="text/plain; charset=utf-8"))


@pages.get("/.well-known/security.txt")
def security() -> Response:
    """
    Return where to report a fault of security (RFC 9116); 404 `not-found` without the setting.

    It expires in half a year from today: a copy of it is not believed for ever.
    """
    contacts = current_app.config[_CONTACTS]
    if not contacts:
        raise not_found("file")
    today = services().world.now().replace(hour=0, minute=0, second=0, microsecond=0)
    lines = [
        *(f"Contact: {one}" for one in contacts),
        f"Expires: {format_time(today + timedelta(days=180))}",
        f"Preferred-Languages: {', '.join(LANGUAGES)}",
        f"Canonical: {request.host_url}.well-known/security.txt",
    ]
    text = "".join(f"{line}\n" for line in lines)
    return revalidated(Response(text, content_type="text/plain; charset=utf-8"))


@pages.get("/preview.png")
def preview_picture() -> Response:
    """Return the picture with the mark that other programs show beside a link to a page."""
    response = Response(_preview_picture(), content_type="image/png")
    return conditional(shared(response, seconds=86_400))


@cache
def _preview_picture() -> bytes:
    """Return the file; it has an address of its own because other programs keep the address."""
    return (Path(__file__).parent / "preview.png").read_bytes()


@pages.get("/favicon.ico")
@pages.get("/icon.svg")
def icon() -> Response:
    """Return the icon: the mark on felt. Browsers request favicon.ico for what is no page."""
    return revalidated(Response(_icon(), content_type="image/svg+xml"))


@pages.get("/manifest.webmanifest")
def manifest() -> Response:
    """Return the description with which a browser installs the site; it starts at the lobby."""
    return revalidated(Response(orjson.dumps(MANIFEST), content_type="application/manifest+json"))


MANIFEST = {
    "id": "/",
    "name": "Shithead",
    "short_name": "Shithead",
    "description": "The card game, with a record that anybody can check.",
    "start_url": "/",
    "display": "standalone",
    "background_color": "#14532d",
    "theme_color": "#14532d",
    "icons": [
        {"src": "/icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": purpose}
        for purpose in ("any", "maskable")
    ],
}


def mark() -> Markup:
    """Return the mark of the game, a paper bag, as SVG for a template."""
    shapes = "".join(
        f'<path class="bag-{colour}" d="{path}"/>' for colour, path in drawings()["mark"].items()
    )
    return Markup(f'<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">{shapes}</svg>')  # noqa: S704 - our own


def _icon() -> str:
    paper, ink = (drawings()["mark"][colour] for colour in ("paper", "ink"))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="512" height="512">'
        '<rect width="64" height="64" fill="#14532d"/>'
        '<g transform="translate(12.8 12.4) scale(1.2)">'
        f'<path fill="#e9cfa0" d="{paper}"/><path fill="#3b2a16" d="{ink}"/></g></svg>'
    )


@pages.get("/verify/worker.js")
def verify_worker() -> Response:
    """Return the service worker that stores the page /verify in the browser."""
    response = Response(loaded_assets().files[VERIFIER_WORKER], content_type=CONTENT_TYPES[".js"])
    response.headers["Service-Worker-Allowed"] = (
        "/verify"  # /verify is not below /verify/, the folder of this script
    )
    response.headers["Content-Security-Policy"] = PAGE_POLICY  # for requests of the worker
    return revalidated(response)


@pages.get("/source/<name:package>/<file>")
def source(package: str, file: str) -> Response:
    """Show a source file of the verifier."""
    text = sources().get(package, {}).get(file)
    if text is None:
        raise not_found("source_file")
    return revalidated(Response(text, content_type="text/plain; charset=utf-8"))


def example_commands(address: str) -> str:
    """Return shell lines that register a player and deal a hand against two bots."""
    return (
        "JSON='Content-Type: application/json'\n"
        f'TOKEN=$(curl -s {address}/v1/players -H "$JSON" -d \'{{"name": "Ada"}}\' |\n'
        '    sed \'s/.*"token": *"\\([^"]*\\)".*/\\1/\')\n'
        f'curl -s {address}/v1/tables -H "$JSON" -H "Authorization: Bearer $TOKEN" -d \\\n'
        '    \'{"ruleset": "shithead", "seats": ["me", {"bot": "greedy"}, {"bot": "lowest"}]}\''
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Anchored:
    """A statement on a page; the first with an id is the target of links."""

    id: str
    text: str
    reading: bool
    first: bool


def _anchored(statements: Iterable[Statement], seen: set[str]) -> list[_Anchored]:
    anchored = []
    for statement in statements:
        first = statement.id not in seen
        seen.add(statement.id)
        anchored.append(
            _Anchored(id=statement.id, text=statement.text, reading=statement.reading, first=first)
        )
    return anchored


def _catalogue() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the playable rulesets, and those known by name only."""
    rulesets = services().ruleset_pages.built_in()
    playable = [ruleset for ruleset in rulesets if ruleset["playable"]]
    return playable, [ruleset for ruleset in rulesets if not ruleset["playable"]]


FOLDER = Path(__file__).parent / "static"

STYLE = "style.css"
"""The style sheet of all pages, which has an address of its own as well."""

STRINGS = "app/strings/"
"""Where the pages load the texts of `service/words/`, one file a language in each folder."""

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
}

GUARD = "app/guard.js"
"""The classic script that handles the failures of a page with scripts."""

OF_ANY_BUILD = frozenset((STYLE, GUARD))
"""Files that are also served under the address of another build: nothing is imported into them."""

assets = Blueprint("assets", __name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """All files of the static folder by path, with those of STRINGS, and a hash of all of them."""

    files: Mapping[str, bytes]
    build: str

    def address(self, path: str) -> str:
        """Return the address of a file; raises KeyError if there is no such file."""
        self.files[path]
        return f"/static/{self.build}/{path}"


@cache
def loaded_assets() -> Assets:
    """
    Return the files as they are written, which is how this process serves them.

    One hash covers the content of all of them and is a part of every address. So a module that
    imports `./cards.js` gets the file of its own build, and imports need not be rewritten.
    """
    paths = sorted(path for path in FOLDER.rglob("*") if path.suffix in CONTENT_TYPES)
    paths.remove(FOLDER / "package.json")  # for Node.js
    files = {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in paths}
    for path in sorted(WORDS.rglob("*.json")):
        files[f"{STRINGS}{path.relative_to(WORDS).as_posix()}"] = path.read_bytes()
    build = hashlib.sha256()
    for name, content in files.items():
        build.update(f"{name}\n{len(content)}\n".encode() + content)
    return Assets(files=files, build=build.hexdigest()[:16])


@cache
def strings(language: str = "en") -> Mapping[str, str]:
    """Return the texts of all pages in one language by key."""
    texts: dict[str, str] = {}
    for name, content in loaded_assets().files.items():
        if name.startswith(STRINGS) and name.endswith(f"/{language}.json"):
            texts |= orjson.loads(content)
    return texts


@pass_context
def translatable(values: Context, key: str) -> Markup:
    """Return a text of the pages, marked for a script that translates it."""
    return Markup('<span data-t="{}">{}</span>').format(key, word(values, key))


@pass_context
def word(values: Context, key: str) -> str:
    """Return a text of the pages in the language of the template, which is English by default."""
    return strings(values.get("language") or "en")[key]


@cache
def guard_texts() -> str:
    """Return the texts of `guard.js` in each language as JSON; it loads no files."""
    languages = sorted(path.stem for path in WORDS.glob("*.json"))
    texts = {
        language: {key: text for key, text in strings(language).items() if key.startswith("guard.")}
        for language in languages
    }
    return orjson.dumps(texts).decode()


_IMPORTED: Final = re.compile(r'^(?:import|export)(?:\b[^;"]*?\bfrom)? "(\.[^"]+)";', re.MULTILINE)
_STARTED: Final = re.compile(r"\bawait start\(([^()]*)\)")


@cache
def modules_of(script: str) -> tuple[str, ...]:
    """
    Return the modules that a script imports, directly or not, and that a page requests with it.

    A browser finds the imports of a module after it has arrived: each level would cost a round
    trip. Modules that are imported while the page runs are not among them.
    """
    found: dict[str, None] = {}
    todo = [script]
    while todo:
        name = todo.pop(0)
        imported = _IMPORTED.findall(loaded_assets().files[name].decode())
        new = {normpath(join(dirname(name), path)): None for path in imported}
        todo += new.keys() - found.keys()
        found |= new
    return tuple(found)


@cache
def parts_of(script: str) -> str:
    """Return the folders of texts that a script starts with; `guard.js` requests them."""
    calls = _STARTED.findall(loaded_assets().files[script].decode())
    return " ".join(re.findall(r'"(\w+)"', " ".join(calls)))


def register_assets(app: Flask) -> None:
    """Serve the files; templates get `asset`, `t`, `word`, `plain`, `guard_texts` and the like."""
    app.add_template_global(lambda path: loaded_assets().address(path), "asset")
    app.add_template_global(translatable, "t")
    app.add_template_global(word, "word")
    app.add_template_global(lambda key: escape(strings()[key]), "plain")
    app.add_template_global(guard_texts, "guard_texts")
    app.add_template_global(modules_of, "modules_of")
    app.add_template_global(parts_of, "parts_of")
    app.add_template_global(mark, "mark")
    app.register_blueprint(assets)


@assets.get("/static/<build>/<path:path>")
def asset(build: str, path: str) -> Response:
    """
    Return a script, style sheet or text file of the present build, which caches store permanently.

    During an upgrade, a page of one build can request its files from a process of another build.
    A module of another build could lack what the page imports from it, so there is none: the page
    loads itself again (`guard.js`). Only the files in OF_ANY_BUILD are returned, and revalidated.
    """
    content = loaded_assets().files.get(path)
    is_present = build == loaded_assets().build
    if content is None or not (is_present or path in OF_ANY_BUILD):
        raise not_found("file")
    response = Response(content, content_type=CONTENT_TYPES[Path(path).suffix])
    if not is_present:
        return revalidated(response)
    packed(response, content)
    return immutable(response, public=True)


@assets.get("/style.css")
def style() -> Response:
    """Return the style sheet of all pages."""
    return revalidated(Response(loaded_assets().files[STYLE], content_type=CONTENT_TYPES[".css"]))
