"""HTML pages about the API: operations, problem types, and a guide for client authors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, cast

import orjson
from flask import Blueprint, Flask, Response, redirect, request

from service.api.conventions.caching import revalidated
from service.api.conventions.media_types import JSON, PLAIN
from service.api.openapi import Document, recorded, refusals
from service.api.pages import example_commands, html_page
from service.api.problems import PROBLEMS
from service.application.errors import not_found

Json = dict[str, Any]

LANGUAGES = {"client.py": "Python", "client.mjs": "JavaScript"}
"""The files of the example client in the guide; each is also served as a plain file."""

EXAMPLES = {
    "bot.py": "a bot",
    "tables.py": "a bot at all its tables",
    "spectator.py": "a spectator",
    "receiver.py": "a receiver of webhooks",
    "receiver.mjs": "a receiver in JavaScript, without the library",
}
"""The programs in ops/examples; they are shown and served."""

_INSTALLED = Path(__file__).resolve().parents[2]
"""The folder that contains `service`, in a checkout and in an installation."""

SPECIFICATION = _INSTALLED / "ops/spec"
"""The folder of the specification."""

SPECIFIED = {
    "shx-1.md": "the record, SHX/1",
    "dump-1.md": "the public hands of a month as files",
    "rules.md": "the rules and their settings",
    "api.md": "this interface",
    "statistics.md": "the figures about fairness",
    "stability.md": "what may change in this interface, and what may not",
    "threat-model.md": "the threat model",
    "rulesets.json": "the catalogue of rulesets, as data",
    "schemas.json": "the JSON Schema of each object",
    "vectors.json": "test vectors of SHX/1",
}
"""The files of the specification that are served, with their subjects."""

LONGEST_EXAMPLE = 8_000
"""Characters of the longest example that is shown on the page; a longer one is linked."""

_STEP = re.compile(r"^(?:#|//) == (\w+): (.*)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideStep:
    """A step of the guide: what it does, the calls it makes, and its code by language."""

    name: str
    title: str
    text: str
    calls: tuple[str, ...]
    code: tuple[tuple[str, str], ...]


@cache
def client_source(name: str) -> str:
    """Return the source of the guide's client in one language."""
    # The Python client is not a module of the service, so its stored name ends in .txt.
    stored = f"{name}.txt" if name.endswith(".py") else name
    return (files(__package__) / "guide" / stored).read_text("utf-8")


@cache
def example_source(name: str) -> str:
    """Return the source of a program that uses the client library."""
    return (_INSTALLED / "ops/examples" / name).read_text("utf-8")


@cache
def guide() -> tuple[GuideStep, ...]:
    """Return the steps of the guide, in order."""
    parts = {name: _STEP.split(client_source(name)) for name in LANGUAGES}
    code: dict[str, list[tuple[str, str]]] = {}
    titles: dict[str, str] = {}
    for name, (_, *rest) in parts.items():
        for step, title, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
            titles[step] = title
            code.setdefault(step, []).append((LANGUAGES[name], text.strip("\n")))
    return tuple(
        GuideStep(
            name=step,
            title=titles[step],
            text=_TEXTS[step],
            calls=_CALLS[step],
            code=tuple(by_language),
        )
        for step, by_language in code.items()
    )


def example_of(content: Json, document: Json) -> Any:
    """Return the example of a media type object; None if it has none."""
    if "example" in content:
        return content["example"]
    found = content.get("examples", {}).get("recorded")
    if found is None:
        return None
    return document["components"]["examples"][found["$ref"].rpartition("/")[2]]["value"]


def example_named(name: str, document: Json) -> Any:
    """
    Return the example of a call's body or answer, None if there is none.

    The name is the operation id, `body` or the status, and the second part of the media type,
    such as `games.game.200.json`.
    """
    operation, _, rest = name.rpartition(".")
    operation, _, place = operation.rpartition(".")
    for calls in document["paths"].values():
        for method, call in calls.items():
            if method == "parameters" or call["operationId"] != operation:
                continue
            holder = call.get("requestBody") if place == "body" else call["responses"].get(place)
            for media_type, content in (holder or {}).get("content", {}).items():
                if media_type.rpartition("/")[2] == rest:
                    return example_of(content, document)
    return None


def json_text(value: Any) -> str:
    """Return a value as indented JSON."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _guide(address: str) -> dict[str, Any]:
    """Return the values of the guide's page for the service at an address."""
    examples = [(name, about, example_source(name)) for name, about in EXAMPLES.items()]
    start = example_commands(address)
    return {"steps": guide(), "address": address, "examples": examples, "start": start}


def register(app: Flask, document: Document) -> None:
    """Add the routes of the pages to the application."""
    docs = Blueprint("docs", __name__, template_folder="templates")

    _add_interface(docs, document)

    @docs.get("/docs/client")
    def client() -> Response:
        address = request.host_url.rstrip("/")
        return html_page("client_guide.html", **_guide(address))

    @docs.get("/docs/<text>")
    def plain(text: str) -> Response:
        if text in SPECIFIED:
            content = (SPECIFICATION / text).read_text("utf-8")
        elif text in LANGUAGES:
            content = client_source(text)
        elif text in EXAMPLES:
            content = example_source(text)
        else:
            raise not_found("page")
        return revalidated(Response(content, content_type=f"{PLAIN}; charset=utf-8"))

    @docs.get("/problems")
    def problems_list() -> Response:
        return cast("Response", redirect("/docs#problems", code=308))

    @docs.get("/problems/<code>")
    def problem_page(code: str) -> Response:
        if code not in PROBLEMS:
            raise not_found("problem_type")
        kind = PROBLEMS[code]
        calls = document.operations_refusing(code)
        example = recorded()["problems"][code]
        return html_page("problem.html", code=code, kind=kind, example=example, calls=calls)

    app.add_template_filter(refusals)
    app.add_template_filter(json_text)
    app.add_template_filter(example_of)
    app.register_blueprint(docs)


def _add_interface(docs: Blueprint, document: Document) -> None:
    """Add the pages generated from the document: an index, a page for each tag, the schemas."""

    @docs.get("/docs")
    def page() -> Response:
        return html_page(
            "docs.html", document=document.value, problems=PROBLEMS, specified=SPECIFIED
        )

    @docs.get("/docs/assistants")
    def assistants() -> Response:
        address = request.host_url.rstrip("/")
        return html_page("assistants.html", address=address, tools=TOOLS.items())

    @docs.get("/docs/calls/<tag>")
    def calls(tag: str) -> Response:
        found = next((t for t in document.value["tags"] if t["name"] == tag), None)
        if found is None:
            raise not_found("page")
        return html_page(
            "docs_calls.html",
            document=document.value,
            tag=found,
            schemas_at="/docs/schemas",
            longest=LONGEST_EXAMPLE,
        )

    @docs.get("/docs/schemas")
    def schemas() -> Response:
        return html_page("docs_schemas.html", document=document.value, schemas_at="")

    @docs.get("/docs/examples/<example>")
    def example_text(example: str) -> Response:
        value = example_named(example, document.value)
        if value is None:
            raise not_found("example")
        text, kind = (value, PLAIN) if isinstance(value, str) else (json_text(value), JSON)
        return revalidated(Response(text, content_type=kind))


TOOLS: Final[Mapping[str, str]] = {
    "view": "a game as you see it now",
    "replay": "the events up to a version, and the table after them, as one seat or all saw it",
    "explain": "a move or a refused attempt: what the seat saw, every legal move, why other cards "
    "were not legal, and the statements that decide it",
    "verify": "the verdict on a record as `shithead verify` gives it: result, level, failed checks",
    "dispute": "charge, findings, statements, votes and rulings, with the verdict on the record",
    "find_decisions": "decisions in sealed public hands of this service, or in those of a folder, "
    "by position and kind of move, and how often each move was chosen",
    "rules": "a ruleset in one screen, or with every statement",
}
"""The tools of `shithead mcp`, for their page."""

_TEXTS: Mapping[str, str] = {
    "call": (
        "Every call is JSON over HTTP. A refused request is answered with a problem (RFC 9457), "
        "whose `type` is the address of a page and whose `detail` names the reason."
    ),
    "register": (
        "A player has a name, a token and a recovery code. The token is sent with every further "
        "request. Store the token and the code: the service cannot show them again."
    ),
    "table": (
        "A table has a ruleset and seats. The hand is dealt as soon as all seats are taken. With "
        "`entropy` this client adds 32 random bytes to the shuffle, so the server alone cannot "
        "choose the deck."
    ),
    "stream": (
        "The log of a game is also a stream of server-sent events: `id` is the seq of an event, "
        "`event` its type, `data` its stored bytes. It can begin at any event, ends after the "
        "seal, and contains no hidden card."
    ),
    "play": (
        "The view of a seat has its own cards and, in `moves`, legal moves that can be posted "
        "unchanged; post `ready` to end the exchange of cards. With `If-Match`, the ETag "
        'of the view or "v<version>", a move is refused '
        "if any seat has acted in between; in the exchange only your own actions count. The "
        "answer contains a receipt, the server's signature of the game so far."
    ),
    "replay": (
        "After the seal all cards are public. Each frame has an event, a caption and the view "
        "after the event."
    ),
    "evidence": (
        "The evidence is a ZIP archive without compression: the log and a manifest. The receipt "
        "for the last head, the server's keys and the evidence are all that a later verification "
        "needs."
    ),
    "verify": (
        "The verification needs only the log: it checks the hash chain, the commitment to the seed "
        "and the commitment to each card, and derives the shuffle again. The format is SHX/1, "
        "specified at `/docs/shx-1.md`."
    ),
    "receipt": (
        "A log alone reaches level L1: the operator could have replaced all of it. Your own "
        "receipts show that it is the game that you played, which is level L2. The receipt of "
        "a move covers the game up to this move; `/receipt` after the end covers all of it. The "
        "signatures and the rules are checked by `POST /v1/verify` of this or any other server, "
        "or offline by `shithead verify game.shx --level L2 --receipt mine.note --server-key "
        "keys.json`."
    ),
    "again": (
        "A table plays one hand after another, and any seated player can deal the next one. In the "
        "answer to a move or a deal, `game` is the hand as you see it (`GameView`), with its id in "
        "`game.id`. In a table `game` is the id itself. To play several hands, put the steps from "
        "the entropy on into a loop. All your finished hands are lines of JSON at "
        "`/v1/players/{id}/hands`, and `/v1/players/{id}/hands.tar` has their evidence in parts."
    ),
    "own": (
        "One stream announces what concerns a player at all tables: turns, hands, seats, disputes. "
        "It begins with all that is open, so a program that was away misses nothing. Ask for it "
        "with `Accept: text/event-stream` or `application/x-ndjson`; as JSON it is a long poll, "
        "with `wait`. A bot needs a token with the scopes `read` and `play` only."
    ),
}
_CALLS: Mapping[str, tuple[str, ...]] = {
    "call": (),
    "register": ("players.register",),
    "table": ("tables.open_table", "games.entropy"),
    "stream": ("stream.follow",),
    "play": ("games.game", "games.move"),
    "replay": ("replay.frames",),
    "evidence": ("evidence.bundle", "evidence.keys", "events.list_events"),
    "verify": (),
    "receipt": ("events.receipt", "evidence.verify"),
    "again": ("tables.deal", "hands.list_hands", "hands.pack_hands"),
    "own": ("tokens.issue", "own_stream.follow_own"),
}
