"""Examples of requests and answers in the OpenAPI document, recorded from a running service."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

Json = dict[str, Any]

SHARED = 8000
"""Texts of more characters are in the document once, and referred to."""


@cache
def recorded() -> Mapping[str, Any]:
    """
    Return the recorded examples.

    `calls` has for each operation id `path` and `query` (values by parameter), `bodies` (by
    media type) and `answers` (by status and media type); `problems` has one answer of each
    problem type. Bodies of binary media types are in base64.
    """
    found: Json = orjson.loads((files(__package__) / "examples.json").read_bytes())
    return found


def add_examples(document: Json) -> None:
    """Add the recorded examples to a finished document."""
    shared = document["components"].setdefault("examples", {})
    for code, problem in recorded()["problems"].items():
        shared[f"problem-{code}"] = {"summary": problem["title"], "value": problem}
    for calls in document["paths"].values():
        for method, call in calls.items():
            if method != "parameters":
                found = recorded()["calls"].get(call["operationId"], {})
                _add_to_parameters(calls.get("parameters", []), found.get("path", {}))
                _add_to_parameters(call.get("parameters", []), found.get("query", {}))
                _add_to_call(call, found, shared)


def _add_to_parameters(parameters: list[Json], values: Mapping[str, str]) -> None:
    for parameter in parameters:
        if parameter["name"] in values and "example" not in parameter:
            value = values[parameter["name"]]
            whole = parameter["schema"].get("type") == "integer"
            parameter["example"] = int(value) if whole else value


def _add_to_call(call: Json, found: Mapping[str, Any], shared: Json) -> None:
    for media_type, content in call.get("requestBody", {}).get("content", {}).items():
        if media_type in found.get("bodies", {}):
            content.update(_example(media_type, found["bodies"][media_type], shared))
    for status, answer in call["responses"].items():
        answers = found.get("answers", {}).get(status, {})
        for media_type, content in answer.get("content", {}).items():
            if media_type == "application/problem+json":
                codes = answer["description"].partition(": ")[2].split(", ")
                content["examples"] = {
                    code: {"$ref": f"#/components/examples/problem-{code}"} for code in codes
                }
            elif media_type in answers:
                content.update(_example(media_type, answers[media_type], shared))


def _example(media_type: str, value: Any, shared: Json) -> Json:
    """Return the member of a media type object that holds an example."""
    if not isinstance(value, str) or len(value) <= SHARED:
        return {"example": value}
    name = f"recorded-{media_type.rpartition('/')[2]}"
    shared.setdefault(name, {"summary": f"the body, as {media_type}", "value": value})
    return {"examples": {"recorded": {"$ref": f"#/components/examples/{name}"}}}
