"""The parts that all views share: services, settings, slots and rate limits."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Flask

from service.api.limits import LongGames, RateLimits
from service.api.long_poll import Waiting
from service.api.parsing import present_app
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
    parts: Context = present_app().extensions[_NAME]
    return parts


def services() -> Services:
    """Return the services of the current application."""
    return context().services
