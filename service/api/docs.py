"""The document of the interface, a page made from it, and a page for every type of problem."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from flask import Blueprint, Flask, Response, render_template, request

from service.api.conventions import JSON
from service.api.openapi import Api
from service.api.problems import PROBLEMS
from service.application.errors import not_found

Json = dict[str, Any]


class Document:
    """The finished document, as JSON and as what the page shows of it."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @cached_property
    def value(self) -> Json:
        """Return the document as plain values."""
        found: Json = orjson.loads(orjson.dumps(self._api.spec.to_dict(), option=_OPTIONS))
        return found

    @cached_property
    def text(self) -> bytes:
        """Return the document as JSON."""
        return orjson.dumps(self.value, option=orjson.OPT_INDENT_2)

    @cached_property
    def tag(self) -> str:
        """Return the ETag of the document."""
        return hashlib.sha256(self.text).hexdigest()[:16]


def register(app: Flask, api: Api) -> None:
    """Serve the document of an application whose calls are all registered."""
    document = Document(api)
    docs = Blueprint("docs", __name__, template_folder="templates")

    @docs.get("/v1/openapi.json")
    def openapi() -> Response:
        return _kept(Response(document.text, content_type=JSON), document.tag)

    @docs.get("/docs")
    def page() -> Response:
        html = render_template("docs.html", **_shown(document.value), problems=PROBLEMS)
        return _kept(Response(html, content_type=_HTML), document.tag)

    @docs.get("/problems/<code>")
    def problem_page(code: str) -> Response:
        if code not in PROBLEMS:
            raise not_found("problem")
        html = render_template("problem.html", code=code, kind=PROBLEMS[code])
        return Response(html, content_type=_HTML)

    app.register_blueprint(docs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A media type, with the name of its schema where it has one."""

    media_type: str
    name: str | None


_HTML = "text/html; charset=utf-8"
_OPTIONS = orjson.OPT_NON_STR_KEYS
_TOKENS = {0: "", 1: "Needs a token.", 2: "Uses a token where there is one."}


def _kept(response: Response, tag: str) -> Response:
    response.set_etag(tag)
    response.headers["Cache-Control"] = "no-cache"
    response.make_conditional(request)
    return response


def _shown(document: Json) -> Json:
    tags = [
        {**tag, "calls": list(_calls(document, tag["name"]))} for tag in document.get("tags", [])
    ]
    schemas = {
        name: orjson.dumps(schema, option=orjson.OPT_INDENT_2).decode()
        for name, schema in sorted(document["components"]["schemas"].items())
    }
    return {"info": document["info"], "tags": tags, "schemas": schemas}


def _calls(document: Json, tag: str) -> Iterator[Json]:
    for path, calls in document["paths"].items():
        shared = calls.get("parameters", [])
        for method, call in calls.items():
            if method == "parameters" or tag not in call["tags"]:
                continue
            yield {
                "id": call.get("operationId", f"{method}-{path}"),
                "method": method.upper(),
                "path": path,
                "summary": call.get("summary", ""),
                "description": call.get("description", ""),
                "token": _TOKENS[len(call.get("security", []))],
                "parameters": [_parameter(one) for one in [*shared, *call.get("parameters", [])]],
                "body": _shapes(call.get("requestBody", {})),
                "answers": [
                    {"status": status, "description": one["description"], "shapes": _shapes(one)}
                    for status, one in sorted(call["responses"].items())
                ],
            }


def _parameter(parameter: Json) -> Json:
    schema = parameter.get("schema", {})
    kind = schema.get("type", "")
    words = [kind if isinstance(kind, str) else " or ".join(kind)]
    words += [
        f"{word} {schema[word]}"
        for word in ("minimum", "maximum", "default", "pattern")
        if word in schema
    ]
    if "enum" in schema:
        words.append("one of " + ", ".join(str(one) for one in schema["enum"]))
    return {
        "name": parameter["name"],
        "place": parameter["in"] + (", needed" if parameter.get("required") else ""),
        "shape": ", ".join(word for word in words if word),
        "description": parameter.get("description", ""),
    }


def _shapes(holder: Mapping[str, Any]) -> list[Shape]:
    return [
        Shape(media_type=media_type, name=_named(content.get("schema", {})))
        for media_type, content in holder.get("content", {}).items()
    ]


def _named(schema: Json) -> str | None:
    """Return the name under which a schema stands on the page, None where it has none."""
    reference: str = schema.get("$ref", "")
    return reference.rpartition("/")[2] or None
