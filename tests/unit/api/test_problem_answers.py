"""Every problem is made in one place, with the code and the values of its sentence."""

from __future__ import annotations

import ast
from http import HTTPStatus
from pathlib import Path

import pytest
from flask import Flask

from service.api import problems
from service.application.errors import Refusal
from service.replay.sentences import Sentence, said
from service.store.events import PlayerErased, QuotaFull, QuotaKind, StoreUnavailable

SERVICE = Path(problems.__file__).resolve().parents[1]


def test_the_media_type_of_problems_is_used_for_answers_in_one_place() -> None:
    """Another place could forget the members that all problems have."""
    users = {
        (path.relative_to(SERVICE).as_posix(), function.name)
        for path in SERVICE.rglob("*.py")
        if any(name in (text := path.read_text()) for name in ("MEDIA_TYPE", _TYPE))
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in ("content_type", "mimetype")
        and ast.unparse(keyword.value).rpartition(".")[2] in ("MEDIA_TYPE", f"'{_TYPE}'")
    }
    assert users == {("api/problems.py", "_answer")}


_TYPE = problems.MEDIA_TYPE


@pytest.mark.parametrize(
    "error",
    [
        Refusal("not-found", said("absent.game")),
        StoreUnavailable("down"),
        PlayerErased("erased"),
        QuotaFull(QuotaKind.TABLES),
        OSError(24, "too many open files"),
        KeyError("a fault of the service"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_answer_to_every_error_has_the_code_and_the_values_of_its_sentence(
    error: Exception,
) -> None:
    app = Flask(__name__)
    problems.register(app)

    @app.get("/v1/fails")
    def fails() -> str:
        raise error

    _check(app.test_client().get("/v1/fails").json)
    _check(app.test_client().get("/v1/nowhere").json)


def test_a_problem_without_a_type_has_them_too() -> None:
    with Flask(__name__).test_request_context("/v1/bots"):
        answer = problems.unlisted(HTTPStatus.MISDIRECTED_REQUEST, said("request.below_path"))
        _check(answer.json)


def _check(problem: dict[str, object] | None) -> None:
    assert problem is not None
    assert problem.keys() >= {"type", "title", "status", "detail", "instance", "code", "values"}
    code, values = problem["code"], problem["values"]
    assert isinstance(code, str)
    assert isinstance(values, dict)
    assert Sentence(code=code, values=values).text == problem["detail"]
