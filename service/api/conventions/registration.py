"""Adds the security and CORS headers to all answers of an application."""

from __future__ import annotations

from flask import Flask, Response

from service.api.conventions.caching import YEAR
from service.api.conventions.cors import open_to_every_origin, register_cors
from service.api.conventions.responses import JsonResponse
from service.api.conventions.security_headers import FOR_DATA, FOR_PAGES, missing_headers
from service.api.parsing import present_request
from service.runtime.config import Settings


def register_conventions(app: Flask, settings: Settings) -> None:
    """Add the security headers, and the CORS headers for the origins in the settings."""

    @app.after_request
    def add_security_headers(response: Response) -> Response:
        present = present_request()
        if response.status_code == 204 or (
            present.method == "OPTIONS" and response.content_length in (None, 0)
        ):
            response.headers.pop("Content-Type", None)  # there is no body
        if not isinstance(response, JsonResponse):  # a JsonResponse adds them when it is sent
            is_page = response.mimetype == "text/html"
            response.headers.extend(
                missing_headers(response.headers, FOR_PAGES if is_page else FOR_DATA)
            )
        open_to_every_origin(response)
        if present.is_secure:
            response.headers.setdefault("Strict-Transport-Security", f"max-age={YEAR}")
        return response

    origins = frozenset(part.strip() for part in (settings.cors_origins or "").split(",")) - {""}
    if origins:
        register_cors(app, origins)
