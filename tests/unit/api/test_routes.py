"""Routes are cached by method and path: equal requests get equal, separate values."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from flask import request
from werkzeug.exceptions import MethodNotAllowed, NotFound

from service.api.app import MAX_CACHED_PATH, Application


@pytest.fixture
def app() -> Application:
    """Return an application with one route that has a parameter."""
    made = Application("routes")
    made.add_url_rule("/games/<uuid:game>", "game", lambda game: str(game))
    made.add_url_rule("/files/<path:name>", "file", lambda name: name)
    return made


def matched(app: Application, path: str, method: str = "GET") -> dict[str, object]:
    """Return the parameters of a request's route."""
    with app.test_request_context(path, method=method):
        if request.routing_exception is not None:
            raise request.routing_exception
        assert request.view_args is not None
        return request.view_args


def test_each_request_has_its_own_values(app: Application) -> None:
    game = uuid4()
    first = matched(app, f"/games/{game}")
    first["game"] = None
    again = matched(app, f"/games/{game}")
    assert again == {"game": game}
    assert isinstance(again["game"], UUID)
    assert app.cached_route.cache_info().hits == 1
    assert matched(app, f"/games/{uuid4()}") != again


def test_the_method_is_part_of_the_key(app: Application) -> None:
    path = f"/games/{uuid4()}"
    assert matched(app, path)
    with pytest.raises(MethodNotAllowed):
        matched(app, path, "DELETE")
    assert matched(app, path)


def test_unknown_and_long_paths_are_not_cached(app: Application) -> None:
    for _ in range(2):
        with pytest.raises(NotFound):
            matched(app, "/unknown")
    long = "x" * MAX_CACHED_PATH
    assert matched(app, f"/files/{long}") == {"name": long}
    assert app.cached_route.cache_info().currsize == 0
