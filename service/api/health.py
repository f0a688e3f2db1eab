"""Whether the process lives, and whether it can do its work."""

from __future__ import annotations

from flask import Blueprint, Response

from service.api.context import services
from service.api.conventions import json_response

health = Blueprint("health", __name__)


@health.get("/healthz")
def alive() -> Response:
    """Say that the process answers."""
    return _fresh(json_response({"status": "ok"}))


@health.get("/readyz")
def ready() -> Response:
    """Say whether database, migrations and keys are there; Redis is told, not needed."""
    fine, parts = services().readiness.check()
    body = {"status": "ready" if fine else "unready", "parts": parts}
    return _fresh(json_response(body, 200 if fine else 503))


def _fresh(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
