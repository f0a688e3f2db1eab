"""The examples of the OpenAPI document: complete, valid and up to date."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import orjson
import pytest

from service.api.problems import PROBLEMS
from service.replay.sentences import sentence
from tests.contract.recorded_examples import FILE, record
from tests.worlds.api_world import make_world

BINARY = {"type": "string", "format": "binary"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """Return the document, which needs no database."""
    made = make_world("postgresql://nobody@127.0.0.1:1/none")
    found: dict[str, Any] = made.get("/v1/openapi.json").json
    made.services.close()
    return found


def calls(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every call of the document."""
    for path in document["paths"].values():
        yield from (call for method, call in path.items() if method != "parameters")


def bodies(call: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each request and successful answer of a call."""
    for media_type, content in call.get("requestBody", {}).get("content", {}).items():
        yield f"{call['operationId']} request {media_type}", content
    for status, answer in call["responses"].items():
        if int(status) < 400:
            for media_type, content in answer.get("content", {}).items():
                yield f"{call['operationId']} {status} {media_type}", content


def example(document: dict[str, Any], content: dict[str, Any]) -> Any:
    """Return the example of a request or answer, inline or from the components."""
    if "example" in content:
        return content["example"]
    name = content["examples"]["recorded"]["$ref"].rpartition("/")[2]
    return document["components"]["examples"][name]["value"]


def test_the_examples_are_what_the_service_answers(database_url: str) -> None:
    """If it fails: `python -m tests.contract.recorded_examples` records them again."""
    now = record(database_url)
    then = orjson.loads(FILE.read_bytes())
    assert now["problems"] == then["problems"]
    for operation, call in now["calls"].items():
        assert call == then["calls"][operation], operation
    assert now.keys() == then.keys()
    assert now["calls"].keys() == then["calls"].keys()


def test_every_request_and_answer_has_a_valid_example(document: dict[str, Any]) -> None:
    checked = 0
    for call in calls(document):
        for place, content in bodies(call):
            value = example(document, content)
            schema = {**content["schema"], "components": document["components"]}
            if content["schema"] != BINARY:
                valid = jsonschema_rs.validator_for(schema, validate_formats=True)
                assert [error.message for error in valid.iter_errors(value)] == [], place
            checked += 1
    assert checked >= 69


def test_every_problem_type_has_a_valid_example(document: dict[str, Any]) -> None:
    shared = document["components"]["examples"]
    schema = {"$ref": "#/components/schemas/Problem", "components": document["components"]}
    valid = jsonschema_rs.validator_for(schema, validate_formats=True)
    for code, kind in PROBLEMS.items():
        value = shared[f"problem-{code}"]["value"]
        assert value["type"] == f"/problems/{code}"
        assert value["status"] == kind.status.value
        assert value["detail"] == sentence(value["code"], value["values"])
        assert [error.message for error in valid.iter_errors(value)] == [], code
    referred = {
        reference["$ref"].rpartition("/")[2]
        for call in calls(document)
        for answer in call["responses"].values()
        for content in answer.get("content", {}).values()
        for reference in content.get("examples", {}).values()
    }
    assert referred <= shared.keys()


def test_every_parameter_of_a_path_has_an_example(document: dict[str, Any]) -> None:
    for path, found in document["paths"].items():
        for parameter in found.get("parameters", []):
            assert "example" in parameter, (path, parameter["name"])
