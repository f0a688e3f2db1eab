"""The Flask application: all blueprints, error handlers and middleware."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, cast

import redis
from flask import Blueprint, Flask, Request, Response
from flask.sessions import NullSession, SessionInterface
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.routing import MapAdapter, Rule

from service.api import docs, limits, observability, openapi, pages, problems
from service.api.audience import Audience
from service.api.bodies import Application as WsgiApplication
from service.api.bodies import BodySlots, Environ, RequestBodies, StartResponse
from service.api.call_threads import CallThreads
from service.api.connections import ConnectionLimit
from service.api.context import Context, install, services
from service.api.conventions.compression import register_compression
from service.api.conventions.registration import register_conventions
from service.api.conventions.responses import json_response
from service.api.limits import LongGames
from service.api.long_poll import RedisListener, Waiting
from service.api.openapi import make_api
from service.api.parsing import (
    caller_address,
    forwarded_address,
    malformed,
    present_request,
)
from service.api.stream_slots import StreamSlots
from service.application.quotas import Slots, Weight
from service.bootstrap import Services, services_from
from service.feature import Feature, quotas_of, settings_of, weights_of
from service.job_queue import client_of, giving_up_after
from service.replay.sentences import said
from service.rulesets.catalogue import catalogue, known_by_name
from service.rulesets.statements import model
from service.runtime.config import Settings, settings_from
from service.runtime.readiness import ReadyState
from service.runtime.telemetry import configure_logs, configure_traces
from service.startup_checks import check_start, warn_of_redis
from service.store.database import queries
from service.stream_counts import Presence

health = Blueprint("health", __name__)


class NoSessions(SessionInterface):
    """There are no cookies, so no session is opened or stored."""

    _NONE = NullSession()

    def open_session(self, _app: Flask, _request: Request) -> NullSession:
        """Return the same empty session for every request."""
        return self._NONE


CACHED_ROUTES: Final = 4096
MAX_CACHED_PATH: Final = 200
"""Maximum number of characters of method and path of a cached route; an entry takes about 1 KB."""

Route = tuple[Rule, Mapping[str, Any]]
"""The rule of a request, and the values of its parameters."""


class _Routes(MapAdapter):
    """Finds the route of a request; those of recent paths are cached, because games repeat them."""

    def __init__(self, app: Application, request: Request) -> None:
        super().__init__(
            app.url_map,
            server_name="",
            script_name=request.root_path,
            subdomain="",
            url_scheme=request.scheme,
            path_info=request.path,
            default_method=request.method,
            query_args=None,
        )
        self._cached_route = app.cached_route
        self._is_doubled = request.environ.get("PATH_INFO", "").startswith("//")

    def match(self, *args: Any, **options: Any) -> Any:
        """
        Return the route of the request, or of the arguments, as `MapAdapter.match` does.

        A path has one slash at its beginning; werkzeug would leave out further ones.
        """
        if self._is_doubled:
            raise NotFound
        # Only short ones are cached, because callers choose method and path.
        short = len(self.path_info) + len(self.default_method) <= MAX_CACHED_PATH
        if args or options != {"return_rule": True} or not short:
            return super().match(*args, **options)
        rule, values = self._cached_route(self.default_method, self.path_info)
        return rule, dict(values)


class _Request(Request):
    """A request of Flask, which never parses forms and so has no files to close."""

    def close(self) -> None:
        """Do nothing: there are no files of forms."""


class Application(Flask):
    """Flask behind WSGI middleware, without work for coroutines and sessions in each request."""

    session_interface = NoSessions()
    request_class = _Request

    def __init__(self, import_name: str) -> None:
        super().__init__(import_name, static_folder=None)
        self.outermost: WsgiApplication = self.wsgi_app  # `_wrap` puts middleware around it
        self.cached_route = lru_cache(CACHED_ROUTES)(self._route)

    def _route(self, method: str, path: str) -> Route:
        """Return the route of a path; raises werkzeug's `NotFound` or `MethodNotAllowed`."""
        adapter = MapAdapter(self.url_map, "", "", "", "", path, method)
        return adapter.match(return_rule=True)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request that the WSGI server passes on."""
        return self.outermost(environ, start_response)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function unchanged: no view is a coroutine, so the check is left out."""
        return func

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return the adapter that finds the route of a request; no route depends on the host."""
        return None if request is None else _Routes(self, request)

    def preprocess_request(self) -> ResponseReturnValue | None:
        """Call the functions registered for every request; no blueprint has any of its own."""
        for function in self.before_request_funcs.get(None, ()):
            answer = function()
            if answer is not None:
                return cast("ResponseReturnValue", answer)
        return None

    def process_response(self, response: Response) -> Response:
        """Call the functions registered for every answer, the last one first."""
        for function in reversed(self.after_request_funcs.get(None, ())):
            response = cast("Response", function(response))
        return response

    def do_teardown_request(self, exc: BaseException | None = None) -> None:
        """Do nothing: no function is registered for the end of a request."""

    def do_teardown_appcontext(self, exc: BaseException | None = None) -> None:
        """Do nothing: no function is registered for the end of a request."""


@health.get("/healthz")
def alive() -> Response:
    """Return 200 as long as the process answers."""
    return _fresh(json_response({"status": "ok"}))


@health.get("/readyz")
def ready() -> Response:
    """Return 200 if a move would be stored; Redis and the clock are reported, not required."""
    state, parts = services().readiness.check()
    body = {"status": state.value, "parts": parts}
    return _fresh(json_response(body, 503 if state is ReadyState.UNREADY else 200))


def _fresh(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response


MAX_VERIFICATIONS = 4
"""Concurrent verifications in a process; a large log takes seconds and about 400 MB."""

DELIVERERS = 1
"""Threads that read changed games for the players' own streams, for all readers together."""

THREADS_BESIDE_STREAMS = 8
"""Threads of the stream process beyond its slots for waiting, to answer refusals at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadShares:
    """Maximum number of threads of a process that may be blocked, by cause."""

    waiting: int  # long polls and streams; in the stream process, streams block no thread
    bodies: int  # request bodies that are being received
    slow_bodies: int  # those of them that arrive slowly
    database: int  # calls that wait for a connection to the database


def api_shares(settings: Settings) -> ThreadShares:
    """
    Return the shares in an API process: half its threads for waiting, a quarter for slow bodies.

    The bodies of all addresses block at most seven of eight threads. One address blocks at most
    five of eight with bodies and two with long polls, so it leaves at least one of eight free. At
    most seven of eight threads wait for the database.
    """
    threads = settings.api_threads
    return ThreadShares(
        waiting=threads // 2,
        bodies=threads * 7 // 8,
        slow_bodies=threads // 4,
        database=threads * 7 // 8,
    )


def streaming_shares(settings: Settings) -> ThreadShares:
    """
    Return the shares in the stream process: nearly all its threads for waiting.

    Nearly all may wait for the database too, because all long polls of a game read at once.
    """
    return ThreadShares(
        waiting=settings.stream_threads - THREADS_BESIDE_STREAMS,
        bodies=THREADS_BESIDE_STREAMS * 7 // 8,
        slow_bodies=THREADS_BESIDE_STREAMS // 2,
        database=settings.stream_threads - THREADS_BESIDE_STREAMS // 2,
    )


def create_app(
    features: Sequence[Feature],
    services: Services | None = None,
    settings: Settings | None = None,
    shares_of: Callable[[Settings], ThreadShares] = api_shares,
    process: str = "api",
) -> Flask:
    """
    Return the application with the operations of some features.

    Without further arguments it is configured from the environment.

    The server calls this once in every process, after the fork, so that no connection is
    shared between processes. `process` is its name in traces.
    """
    if settings is None:
        settings = settings_from(declared=settings_of(features))
        configure_logs(settings)
        configure_traces(process)
        check_start(settings)
        read_files()
        warn_of_redis(settings)
    shares = shares_of(settings)
    if services is None:
        services = services_from(settings, most_waiting=shares.database)
    app = Application(__name__)
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    app.url_map.merge_slashes = False  # a redirect would be an undocumented answer
    _wrap(app, settings, shares)
    weights = {**limits.PAGES, **weights_of(features)}
    parts = _parts(services, settings, shares, weights)
    install(app, parts)
    # The first one's handler of answers runs last: it logs the answer as it is sent.
    observability.register(app, settings, services.readiness)
    register_compression(app)
    app.before_request(_refuse_without_host)
    if settings.trusted_proxies:
        app.before_request(_refuse_below_a_path)
    limits.register(app, parts.rate_limits)
    register_conventions(app, settings)
    api = make_api(app, limits.published(settings, weights, quotas_of(features)))
    problems.register(app)
    for blueprint in [group for feature in features for group in feature.operations]:
        api.register_blueprint(blueprint)
    app.register_blueprint(health)
    docs.register(app, openapi.register(app, api))
    pages.register(app, settings.security_contact or "")
    return app


def read_files() -> None:
    """Read the queries and rulesets, so that requests are answered without file descriptors."""
    queries()
    catalogue()
    known_by_name()
    model()


def create_stream_app(features: Sequence[Feature]) -> Flask:
    """Return the application of the stream process, which also serves all other operations."""
    return create_app(features, shares_of=streaming_shares, process="streams")


def _wrap(app: Application, settings: Settings, shares: ThreadShares) -> None:
    """Add the WSGI middleware: a deadline for bodies, and the headers of trusted proxies."""
    slots = BodySlots(
        arriving=Slots("bodies", shares.bodies, per_address=shares.bodies * 5 // 7),
        slow=Slots("slow bodies", shares.slow_bodies),
    )
    connections = ConnectionLimit(settings)
    app.outermost = RequestBodies(
        app.outermost, slots, seconds=settings.body_seconds, hang_up=connections.hang_up
    )
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        inner = _Forwarded(app.outermost, count)
        app.outermost = ProxyFix(inner, x_for=0, x_proto=count, x_host=count)


class _Forwarded:
    """WSGI middleware that sets the address of the caller as the trusted proxies saw it."""

    def __init__(self, app: WsgiApplication, proxies: int) -> None:
        self._app = app
        self._proxies = proxies

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; an empty address counts as one that cannot be read."""
        header = environ.get("HTTP_X_FORWARDED_FOR")
        if header is not None:
            seen = forwarded_address(header, self._proxies)
            if seen is not None:
                environ["REMOTE_ADDR"] = seen
        return self._app(environ, start_response)


def _refuse_without_host() -> None:
    """Raise Refusal `malformed` for a request of HTTP/1.1 without a host (RFC 9112, 3.2)."""
    environ = present_request().environ
    if not environ.get("HTTP_HOST") and environ.get("SERVER_PROTOCOL") == "HTTP/1.1":
        raise malformed(said("request.no_host"), "Host")


def _refuse_below_a_path() -> Response | None:
    """Answer a request whose address a proxy has below a path: links would lead out of it."""
    if not present_request().environ.get("HTTP_X_FORWARDED_PREFIX", "").strip("/ "):
        return None
    return problems.unlisted(HTTPStatus.MISDIRECTED_REQUEST, said("request.below_path"))


def _parts(
    services: Services, settings: Settings, shares: ThreadShares, weights: Mapping[str, Weight]
) -> Context:
    rate_limits = limits.RateLimits(settings, weights)
    listener = RedisListener(settings.redis_url) if settings.redis_url else None
    waiting = Waiting(shares.waiting, listener)
    client = None
    if settings.redis_url:
        client = client_of(settings.redis_url, **giving_up_after(limits.COUNTER_SECONDS))
    return Context(
        services=services,
        settings=settings,
        waiting=waiting,
        streams=_stream_slots(settings, waiting.slots, client),
        audience=Audience(
            waiting, services.directory, services.game_cache, CallThreads(DELIVERERS)
        ),
        uploads=Slots("verifications", MAX_VERIFICATIONS),
        long_games=LongGames(caller_address, rate_limits),
        rate_limits=rate_limits,
        presence=Presence(client),
    )


def _stream_slots(settings: Settings, slots: Slots, client: redis.Redis | None) -> StreamSlots:
    """Return the slots for streams; without rate limits an address has its share of the process."""
    if not settings.rate_limits:
        return StreamSlots(slots, None, most=(slots.size, slots.size))
    return StreamSlots(slots, client)
