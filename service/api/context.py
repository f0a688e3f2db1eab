"""Context of a request: the application's services, and the caller's token and invite."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from flask import Flask, Request

from schemas.strict_fields import SEAT_OR_WORD
from service.api.audience import Audience
from service.api.limits import LongGames, RateLimits
from service.api.long_poll import Waiting
from service.api.parsing import path_of, present_app, present_request
from service.api.stream_slots import StreamSlots
from service.application.calls import Caller, RegisteredPlayer
from service.application.errors import Refusal
from service.application.quotas import Slots
from service.application.request import RequestRead
from service.bootstrap import Services
from service.replay.sentences import said
from service.runtime.config import Settings
from service.stream_counts import Presence

_NAME = "shithead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Objects that all requests of one application share."""

    services: Services
    settings: Settings
    waiting: Waiting
    streams: StreamSlots
    audience: Audience
    uploads: Slots  # for the verification of uploaded evidence
    long_games: LongGames
    rate_limits: RateLimits
    presence: Presence


def install(app: Flask, context: Context) -> None:
    """Store the shared objects in an application."""
    app.extensions[_NAME] = context


def context() -> Context:
    """Return the shared objects of the current application."""
    parts: Context = present_app().extensions[_NAME]
    return parts


def services() -> Services:
    """Return the services of the current application."""
    return context().services


INVITE_HEADER = "Shithead-Invite"
INVITE_VARIABLE = "HTTP_" + INVITE_HEADER.upper().replace("-", "_")
MAX_LOGGED_PATH = 300
"""Maximum number of characters of the requested path that the access log records."""

_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/=-]{1,500}) *")


def bearer_token() -> str | None:
    """Return the bearer token or None; raises `unauthorized` for a malformed header."""
    header: str | None = present_request().environ.get("HTTP_AUTHORIZATION")
    if header is None:
        return None
    match = _BEARER.fullmatch(header)
    if match is None:
        raise Refusal("unauthorized", said("request.bearer"))
    return match[1]


def caller_of(player: RegisteredPlayer | None, read: RequestRead) -> Caller:
    """Return the caller: the player, if any, with the invite in the request and its first read."""
    present = present_request()
    return Caller(
        player=player.id if player else None,
        invite=present.environ.get(INVITE_VARIABLE),
        what=partial(_path, present),
        read=read,
    )


def _path(present: Request) -> str:
    """
    Return what a request reads, as the access log records it: operation, seat and version.

    Other parts of the query are left out: each different one would be a record of its own.
    """
    path = path_of(present)
    query = "&".join(
        f"{name}={value}"
        for name, form in _LOGGED.items()
        if form.fullmatch(value := present.args.get(name, ""))
    )
    return (f"{path}?{query}" if query else path)[:MAX_LOGGED_PATH]


_LOGGED = {
    "at": re.compile(r"0|[1-9][0-9]{0,6}"),
    "as": re.compile(SEAT_OR_WORD),
    "seat": re.compile(SEAT_OR_WORD),
    "profile": re.compile("public|seat"),
}
"""The parts of a query that name a seat or a version, with the forms of their values."""
