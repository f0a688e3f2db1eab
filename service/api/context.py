"""The parts that all views share: services, settings, slots and rate limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from flask import Flask, current_app

from service.api.limits import LongGames, RateLimits
from service.api.long_poll import Waiting
from service.bootstrap import Services
from service.config import Settings
from service.slots import Slots

_NAME = "shithead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The parts of one application."""

    services: Services
    settings: Settings
    waiting: Waiting
    uploads: Slots  # for the verification of uploaded evidence
    long_games: LongGames
    rate_limits: RateLimits


def install(app: Flask, context: Context) -> None:
    """Store the parts in an application."""
    app.extensions[_NAME] = context


def context() -> Context:
    """Return the parts of the current application."""
    return cast("Context", current_app.extensions[_NAME])


def services() -> Services:
    """Return the services of the current application."""
    return context().services
