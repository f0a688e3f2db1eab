"""What the views of one application share: the services, the settings, the places to wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from flask import Flask, current_app

from service.api.places import Places
from service.api.waiting import Waiting
from service.bootstrap import Services
from service.config import Settings

_NAME = "shithead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One application's parts."""

    services: Services
    settings: Settings
    waiting: Waiting
    incoming: Places  # for what is sent to be verified, while it comes in
    uploads: Places  # to verify it
    count_player: Callable[[UUID], None]  # a call; refuses one too many


def install(app: Flask, context: Context) -> None:
    """Give an application its parts."""
    app.extensions[_NAME] = context


def context() -> Context:
    """Return the parts of the application that answers this request."""
    return cast("Context", current_app.extensions[_NAME])


def services() -> Services:
    """Return the services of the application that answers this request."""
    return context().services
