"""Pages for people: what this is, the rules, how to verify; plain HTML without scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, request

from service.api.checks import checks, sources
from service.api.context import services
from service.api.html import asked_again, html_page, ticked
from service.application.errors import not_found
from service.rulesets.catalogue import Definition, Statement, definition
from service.rulesets.differences import differs_from_base
from service.rulesets.known import known_by_name
from service.rulesets.page import COMMON_TITLE, rules_page

pages = Blueprint("pages", __name__, template_folder="templates")

STYLE = Path(__file__).parent / "static" / "style.css"


def register(app: Flask) -> None:
    """Serve the pages."""
    app.add_template_filter(ticked, "ticked")
    app.register_blueprint(pages)


@pages.get("/")
def home() -> Response:
    """Say what this is, and where to go on."""
    playable, _ = _catalogue()
    start = start_line(request.host_url.rstrip("/"))
    return html_page("home.html", playable=len(playable), start=start)


@pages.get("/rules")
def rules_list() -> Response:
    """List all rulesets."""
    playable, named = _catalogue()
    return html_page("rules_list.html", playable=playable, named=named)


@pages.get("/rules/<name:ruleset_id>")
def rules(ruleset_id: str) -> Response:
    """Show the rules of one ruleset, statement by statement."""
    known = known_by_name().get(ruleset_id)
    found = known or services().rulebook.find(ruleset_id)
    if found is None:
        raise not_found("ruleset")
    page, said = rules_page(found), set[str]()
    base = found.base if isinstance(found, Definition) else None
    return html_page(
        "rules.html",
        page=page,
        sections=[
            {
                "name": section.name,
                "title": section.title,
                "statements": _anchored(section.statements, said),
            }
            for section in page.sections
        ],
        common=_anchored(page.common, said),
        common_title=COMMON_TITLE,
        base=definition(base) if base else None,
        differs=differs_from_base(found) if isinstance(found, Definition) and base else (),
    )


@pages.get("/checks")
def how_to_verify() -> Response:
    """Describe how a game is verified, and every check."""
    shown = [(package, sorted(names)) for package, names in sources().items()]
    return html_page("checks.html", checks=checks(), sources=shown)


@pages.get("/source/<name:package>/<file>")
def source(package: str, file: str) -> Response:
    """Show the source of a check."""
    text = sources().get(package, {}).get(file)
    if text is None:
        raise not_found("source")
    return asked_again(Response(text, content_type="text/plain; charset=utf-8"))


@pages.get("/style.css")
def style() -> Response:
    """Give the style sheet of all pages."""
    return asked_again(Response(STYLE.read_bytes(), content_type="text/css; charset=utf-8"))


def start_line(address: str) -> str:
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
    """A statement on a page; the first of an id is where links to it lead."""

    id: str
    text: str
    reading: bool
    first: bool


def _anchored(statements: Iterable[Statement], said: set[str]) -> list[_Anchored]:
    shown = []
    for one in statements:
        first = one.id not in said
        said.add(one.id)
        shown.append(_Anchored(id=one.id, text=one.text, reading=one.reading, first=first))
    return shown


def _catalogue() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rulesets to play, and those known by name only."""
    both = services().ruleset_pages.all()
    return [one for one in both if one["playable"]], [one for one in both if not one["playable"]]
