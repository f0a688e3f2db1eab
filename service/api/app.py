"""The web application: every call, every convention, put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from service.api import conventions, cors, docs, limits, metrics, pages, problems, requests_log
from service.api.audit import audit
from service.api.bots import bots
from service.api.context import Context, install
from service.api.disputes import disputes
from service.api.events import events
from service.api.evidence import evidence
from service.api.games import games
from service.api.health import health
from service.api.listener import RedisListener
from service.api.log import log
from service.api.openapi import make_api
from service.api.places import Places
from service.api.players import players
from service.api.replay import replay
from service.api.rulesets import rulesets
from service.api.statistics import statistics
from service.api.stream import stream
from service.api.tables import tables
from service.api.waiting import Waiting
from service.bootstrap import Services
from service.config import Settings, settings_from
from service.configured import services_from
from service.logs import configure_logs
from service.starting import check_start

BLUEPRINTS = (
    *(players, rulesets, bots, tables, games, events, stream, replay, evidence, audit),
    *(disputes, statistics, log),
)


UPLOADS = 4
"""Logs that a process verifies at a time; a large one takes seconds and some 400 MB."""

CALLS_BESIDE_STREAMS = 8
"""Threads of the process for streams in which nobody waits: who is refused is told at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many threads of a process may be held by others than calls."""

    waiting: int  # long polls and streams
    incoming: int  # uploads that are still coming in


def room_beside_calls(settings: Settings) -> Room:
    """Return the room in an API process: half its threads to wait, a quarter for uploads."""
    half = settings.api_threads // 2
    return Room(waiting=half, incoming=half // 2)


def room_beside_streams(settings: Settings) -> Room:
    """Return the room in the process for streams: nearly all its threads to wait."""
    return Room(
        waiting=settings.stream_threads - CALLS_BESIDE_STREAMS,
        incoming=CALLS_BESIDE_STREAMS // 2,
    )


def create_app(
    services: Services | None = None,
    settings: Settings | None = None,
    room: Callable[[Settings], Room] = room_beside_calls,
) -> Flask:
    """
    Return the application; without arguments as the environment describes it.

    The server calls this once in every process, after the fork: whatever connects
    does so here or later.
    """
    if settings is None:
        settings = settings_from()
        configure_logs(settings)
        check_start(settings)
    if services is None:
        services = services_from(settings)
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    app.url_map.merge_slashes = False  # a redirect would be an answer that nobody documents
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        app.wsgi_app = ProxyFix(  # type: ignore[method-assign] # as Flask's own manual has it
            app.wsgi_app, x_for=count, x_proto=count, x_host=count
        )
    install(app, _parts(services, settings, room(settings)))
    conventions.register(app)
    cors.register(app, settings)
    metrics.register(app, settings)
    requests_log.register(app)
    problems.register(app)
    api = make_api(app)
    for blueprint in BLUEPRINTS:
        api.register_blueprint(blueprint)
    app.register_blueprint(health)
    docs.register(app, api)
    pages.register(app)
    limits.register(app, settings)
    return app


def create_stream_app() -> Flask:
    """Return the application of the process for streams and long polls; it knows every call."""
    return create_app(room=room_beside_streams)


def _parts(services: Services, settings: Settings, room: Room) -> Context:
    listener = RedisListener(settings.redis_url) if settings.redis_url else None
    return Context(
        services=services,
        settings=settings,
        waiting=Waiting(room.waiting, listener),
        incoming=Places(room.incoming),
        uploads=Places(UPLOADS),
        count_player=limits.player_counter(settings),
    )
