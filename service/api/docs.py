"""The document of the interface, a page made from it, and a page for every type of problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from flask import Blueprint, Flask, Response

from service.api.conventions import JSON
from service.api.html import asked_again, html_page
from service.api.openapi import Api
from service.api.problems import MEDIA_TYPE, PROBLEMS, Kind
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
    def shown(self) -> Json:
        """Return what the page shows."""
        return _shown(self.value)

    @cached_property
    def calls(self) -> list[Json]:
        """Return all calls as the page shows them."""
        return [call for tag in self.shown["tags"] for call in tag["calls"]]


def register(app: Flask, api: Api) -> None:
    """Serve the document of an application whose calls are all registered."""
    document = Document(api)
    docs = Blueprint("docs", __name__, template_folder="templates")

    @docs.get("/v1/openapi.json")
    def openapi() -> Response:
        return asked_again(Response(document.text, content_type=JSON))

    @docs.get("/docs")
    def page() -> Response:
        return html_page("docs.html", **document.shown, problems=PROBLEMS)

    @docs.get("/problems/<code>")
    def problem_page(code: str) -> Response:
        if code not in PROBLEMS:
            raise not_found("problem")
        kind = PROBLEMS[code]
        example = orjson.dumps(_example(code, kind), option=orjson.OPT_INDENT_2).decode()
        calls = [call for call in document.calls if code in call["refuses"]]
        return html_page("problem.html", code=code, kind=kind, example=example, calls=calls)

    app.register_blueprint(docs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A media type, with the name of its schema where it has one."""

    media_type: str
    name: str | None


_OPTIONS = orjson.OPT_NON_STR_KEYS
_TOKENS = {0: "", 1: "Needs a token.", 2: "Uses a token where there is one."}


def _example(code: str, kind: Kind) -> Json:
    return {
        "type": f"/problems/{code}",
        "title": kind.title,
        "status": kind.status.value,
        "detail": "what was wrong with this request",
        "instance": "the path that was asked for",
    }


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
                "refuses": _refused(call["responses"]),
                "answers": [
                    {"status": status, "description": one["description"], "shapes": _shapes(one)}
                    for status, one in sorted(call["responses"].items())
                    if MEDIA_TYPE not in one.get("content", {})
                ],
            }


def _refused(responses: Json) -> list[str]:
    """Return the types of problems among the answers, which their descriptions list."""
    said = [one["description"].partition(": ")[2].split(", ") for one in responses.values()]
    return [code for codes in said for code in codes if code in PROBLEMS]


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
