"""Event log and replay endpoints, and the log as a live stream (SSE)."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from flask import Response, request

from schemas.games import (
    AsQuery,
    EventPageSchema,
    EventsQuery,
    MomentQuery,
    OembedQuery,
    OembedSchema,
    OpeningsSchema,
    PictureQuery,
    ReplayQuery,
    ReplaySchema,
    StreamQuery,
)
from service.api import link_previews
from service.api.context import Context, context, services
from service.api.conventions.caching import immutable, private, shared
from service.api.conventions.media_types import EVENT_STREAM, JSON, NDJSON, PLAIN, PNG, SVG
from service.api.conventions.paging import listed, with_next
from service.api.conventions.responses import json_response, page, text_response
from service.api.following import TOKEN_SECONDS, Called, Following, Step, streamed
from service.api.operation import (
    EVENT_ID,
    Call,
    InviteHeaders,
    ResumeHeaders,
    Token,
    blueprint,
    operation,
)
from service.api.parsing import malformed
from service.application.calls import Caller
from service.application.errors import check_known
from service.application.games.entry import GameEntry
from service.application.quotas import BY_EVENTS, Weight
from service.replay.sentences import said
from service.runtime import tracing

events = blueprint("events", __name__, "The log of a game: stored events, openings and receipts.")

GAME = "/games/<uuid:game_id>"
PAGE_EVENTS = 1000
"""Maximum number of events in a JSON answer to a request without `limit`."""


@operation(
    events,
    "GET",
    f"{GAME}/events",
    query=EventsQuery,
    answer=EventPageSchema,
    produces=(JSON, NDJSON),
    refuses=("not-found", "unknown-version"),
    headers=(InviteHeaders,),
    weight=BY_EVENTS,
)
def list_events(call: Call, game_id: UUID) -> Response:
    """
    List the events with seq ≥ `after`: those that a client with version `after` lacks.

    With `Accept: application/x-ndjson` the answer is the stored bytes, one event a line, and
    without `limit` all of them.
    """
    after, limit = call.query["after"], call.query["limit"]
    lines_only = call.media_type == NDJSON
    if limit is None and not lines_only:
        limit = PAGE_EVENTS
    entry = services().games.read(call.caller, game_id)
    check_known("game", entry.version, after)
    lines, version = services().games.lines(call.caller, game_id, after=after, limit=limit)
    reached = after + len(lines)
    more = bool(lines) and reached < version
    # Events below the version never change; the JSON form also contains the version.
    fixed = entry.record.sealed or (lines_only and more)
    if lines_only:
        response = Response(b"".join(line + b"\n" for line in lines), content_type=NDJSON)
    else:
        next_ = reached if more else None
        body = b'{"items":[%b],"version":%d,"next":%b}'
        next_json = b"null" if next_ is None else b"%d" % next_
        response = json_response(body % (b",".join(lines), version, next_json))
        response = with_next(response, next_, parameter="after")
    response = _cached(response, entry, fixed=fixed)
    # A cache must store the two media types of this address separately.
    response.vary.add("Accept")
    return response


@operation(
    events,
    "GET",
    f"{GAME}/openings",
    answer=OpeningsSchema,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    weight=BY_EVENTS,
)
def openings(call: Call, game_id: UUID) -> Response:
    """
    List the openings of the caller's dealt and drawn cards; after the seal, of all cards.

    An opening proves a card against the commitment to the deck that was public before the deal.
    """
    items = services().games.openings(call.caller, game_id)
    return private(json_response(page(items, None)))


@operation(
    events,
    "GET",
    f"{GAME}/receipt",
    answer=None,
    produces=(PLAIN,),
    refuses=("not-found",),
    headers=(InviteHeaders,),
    weight=BY_EVENTS,
)
def receipt(call: Call, game_id: UUID) -> Response:
    """
    Return a signed note of the game's present head, which proves any later change of the log.

    A verifier compares it with the log. Moves are answered with such a note too.
    """
    return private(text_response(services().games.receipt(call.caller, game_id)))


def _cached(response: Response, entry: GameEntry, *, fixed: bool) -> Response:
    """Return the answer with its caching rules; `fixed`: the answer will never change."""
    if fixed:
        return immutable(response, public=entry.public)
    return shared(response) if entry.public else private(response)


replay = blueprint("replay", __name__, "Replays of games: frames with captions, and transcripts.")


@operation(
    replay,
    "GET",
    f"{GAME}/replay",
    query=ReplayQuery,
    answer=ReplaySchema,
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def frames(call: Call, game_id: UUID) -> Response:
    """
    Return the frames of versions `from` to `to`, inclusive, at most 1,000.

    A frame has the event, a caption and the view after it. `as` chooses the viewer; other seats can
    be chosen after the seal.
    """
    query = call.query
    entry = services().games.entry(call.caller, game_id)
    items, next_ = services().games.frames(
        call.caller, game_id, query["as_"], query["from_"], query["to"]
    )
    return _with_caching(call, entry, listed(items, next_, parameter="from"))


@operation(
    replay,
    "GET",
    f"{GAME}/transcript",
    query=AsQuery,
    answer=None,
    produces=(PLAIN,),
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def transcript(call: Call, game_id: UUID) -> Response:
    """
    Return the game as a plain text transcript.

    It is made to be read and to be compared with other transcripts.
    """
    entry = services().games.entry(call.caller, game_id)
    text = services().games.transcript(call.caller, game_id, call.query["as_"])
    return _with_caching(call, entry, text_response(text))


@operation(
    replay,
    "GET",
    f"{GAME}/picture.svg",
    query=PictureQuery,
    answer=None,
    produces=(SVG,),
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    replica=True,
    weight=BY_EVENTS,
)
def picture(call: Call, game_id: UUID) -> Response:
    """
    Return the table at a version as a picture of 1,200 × 630 pixels, to be shown on other pages.

    It has no names, and words of one language only. `as` is `public` unless it is given; other
    seats can be chosen after the seal.
    """
    query = call.query
    entry = services().games.entry(call.caller, game_id)
    drawn = services().games.picture(
        call.caller, game_id, query["at"], query["as_"], query["language"]
    )
    return _with_caching_of_pictures(query["as_"], entry, Response(drawn, content_type=SVG))


@operation(
    replay,
    "GET",
    f"{GAME}/picture.png",
    query=MomentQuery,
    answer=None,
    produces=(PNG,),
    refuses=("not-found", "sealed"),
    headers=(InviteHeaders,),
    replica=True,
    weight=Weight(
        grows=f"40 calls for a picture that the process does not have; {BY_EVENTS.grows}"
    ),
)
def pixels(call: Call, game_id: UUID) -> Response:
    """
    Return the table at a version as a picture of 800 × 420 pixels, for programs without SVG.

    It shows what `picture.svg` shows, with English words.
    """
    query = call.query
    entry = services().games.entry(call.caller, game_id)
    drawn = services().games.pixels(call.caller, game_id, query["at"], query["as_"])
    return _with_caching_of_pictures(query["as_"], entry, Response(drawn, content_type=PNG))


def _with_caching_of_pictures(viewer: str, entry: GameEntry, response: Response) -> Response:
    """Return the answer with its caching rules: no picture depends on the caller's seat."""
    if entry.record.sealed:
        return immutable(response, public=entry.public)
    is_shared = entry.public and viewer == "public"
    return shared(response) if is_shared else private(response)


@operation(
    replay,
    "GET",
    "/oembed",
    query=OembedQuery,
    answer=OembedSchema,
    token=Token.IGNORED,
    refuses=("not-found",),
    weight=BY_EVENTS,
)
def oembed(call: Call) -> Response:
    """
    Return what other sites show for the address of a public hand: oEmbed 1.0, type `rich`.

    The address is that of a replay, of a hand's page or of its frame on this server; its query
    names the moment. Of any other address, and of what a stranger may not see, it is 404.
    """
    room = call.query["maxwidth"], call.query["maxheight"]
    return shared(json_response(link_previews.embedded(call.query["url"], room)), seconds=60)


def _with_caching(call: Call, entry: GameEntry, response: Response) -> Response:
    """
    Return the answer with its caching rules: immutable after the seal if `as` is explicit.

    `entry` was read before the answer was made: unless it was sealed then, the answer may change.
    """
    if entry.record.sealed and call.query["as_"] is not None:
        return immutable(response, public=entry.public)
    return private(response)


stream = blueprint("stream", __name__, "A game's events as they happen.")

SEALS = ("game_sealed", "game_aborted")
"""The types of the last event of a log."""

BATCH = 100
"""Maximum number of events in one read from the store; a slow reader's wait in memory."""

MAX_TRACED = 32
"""Maximum number of events in a traced delivery; larger ones, to a late reader, are not traced."""


@operation(
    stream,
    "GET",
    "/games/<uuid:game_id>/stream",
    query=StreamQuery,
    answer=None,
    produces=(EVENT_STREAM,),
    refuses=("not-found", "unknown-version"),
    headers=(InviteHeaders, ResumeHeaders),
    weight=BY_EVENTS,
)
def follow(call: Call, game_id: UUID) -> Response:
    """
    Stream the events of a game: from `Last-Event-ID` + 1 or `after`, then each as it happens.

    `id` is the seq of an event, `event` its type, `data` its stored bytes. Every caller gets
    the same stream; a seat's hidden cards are only in its view. After the seal: `event: end`; a
    reader that reconnects after it is answered with 204, so that an `EventSource` stops.
    """
    parts = context()
    entry = parts.services.games.read(call.caller, game_id)
    first = _first_seq(call.query["after"])
    check_known("game", entry.version, first)
    if entry.record.sealed and first == entry.version and _is_resumed():
        return private(Response(status=204))
    follow = partial(Follower, parts, call.caller, entry, first)
    return streamed(call.caller.player, follow)


class _Delivery(NamedTuple):
    """Events sent to a reader."""

    first: int  # seq
    events: int
    since: int  # start, in nanoseconds since 1970; `until` is the end
    until: int


class FrameBatch(NamedTuple):
    """Frames of consecutive events, and the version of the game when they were read."""

    frames: tuple[bytes, ...]
    version: int
    has_seal: bool  # as the last event


class Follower(Following):
    """One client that follows a game's log."""

    def __init__(
        self, parts: Context, caller: Caller, entry: GameEntry, first: int, slot: str
    ) -> None:
        super().__init__(parts, caller, slot)
        self.game = entry.record.identity
        player = None if self._token is None else caller.player
        self.topics = (self.game,) if player is None else (self.game, player)
        self.names = {"game": str(self.game)}
        self._public = entry.public
        self._games = parts.services.games
        self._notifier = parts.services.notifier
        self._first = self._after = first
        self._is_over = entry.record.sealed and first == entry.version
        self._check_at = time.monotonic() + TOKEN_SECONDS
        self._deliveries: list[_Delivery] = []  # not yet traced
        self.take_tickets()

    def look(self) -> Generator[Step, Any, float | None]:
        """Send a batch of the events that are new; at the seal `event: end`."""
        if not self._is_over:
            (_, *before), (ticket, *tokens) = self._tickets, self.take_tickets()
            if before != tokens or time.monotonic() > self._check_at:
                self._check_at = time.monotonic() + TOKEN_SECONDS
                yield Called(self.check_token)
            after, since = self._after, time.time_ns()
            # A read that began before this stream's ticket could miss what the ticket announces.
            key = self.game, after, ticket
            batch: FrameBatch = yield Called(partial(self.read, after), key)
            if batch.frames:
                if not self._public:
                    yield Called(partial(self.check, batch))
                yield self.send(batch.frames)
            if batch.version < after:
                return None  # a backup was restored; the reader reconnects: `unknown-version`
            self._after += (events := len(batch.frames))
            if tracing.is_on() and (0 < events <= MAX_TRACED or self.is_quiet()):
                yield Called(self.trace)
                if events:
                    self._deliveries.append(_Delivery(after, events, since, time.time_ns()))
            if not batch.has_seal:
                return self._waiting.longest() if self._after >= batch.version else 0.0
        # An EventSource reconnects with the id of the seal and stops at 204, so it has to get one.
        identity = b"" if self._after > self._first else b"id: %d\n" % (self._after - 1)
        yield self.send((b"%bevent: end\ndata:\n\n" % identity,))
        return None

    def read(self, after: int) -> FrameBatch:
        """Return a batch for all streams of a game; those of a private game then call `check`."""
        return batch_of(*self._games.stored_lines(self.game, after=after, limit=BATCH))

    def check(self, batch: FrameBatch) -> None:
        """
        Check that the caller may see a batch of a private game now; record a read of the seal.

        Raises Refusal `unauthorized` if the token has expired, `not-found` if the game is not
        visible to the caller any more.
        """
        self.check_token()
        self._games.check_lines(self._caller, self.game, with_seal=batch.has_seal)

    def trace(self) -> None:
        """
        Trace earlier deliveries, in the traces that published their events.

        They are not traced when they are sent, because a reader can be faster than the notification
        that names the trace.
        """
        deliveries, self._deliveries = self._deliveries, []
        for sent in deliveries:
            versions = [(self.game, sent.first + n) for n in range(1, sent.events + 1)]
            for trace in self._notifier.traces(versions).values():
                tracing.delivered(trace, events=sent.events, since=sent.since, until=sent.until)


def batch_of(lines: Sequence[bytes], version: int) -> FrameBatch:
    """Return the frames of stored lines."""
    events = [orjson.loads(line) for line in lines]
    frames = tuple(
        b"id: %d\nevent: %b\ndata: %b\n\n" % (event["seq"], event["type"].encode(), line)
        for event, line in zip(events, lines, strict=True)
    )
    return FrameBatch(frames, version, bool(events) and events[-1]["type"] in SEALS)


def _is_resumed() -> bool:
    """Return whether the request continues an earlier stream."""
    return bool(request.headers.get("Last-Event-ID"))


def _first_seq(after: int) -> int:
    """
    Return the first seq to send: the one after Last-Event-ID, else `after`.

    Raises Refusal `malformed` for a Last-Event-ID that is no seq.
    """
    known = request.headers.get("Last-Event-ID", "")
    if not known:  # a browser sends none before the first event
        return after
    if not re.fullmatch(EVENT_ID, known):
        raise malformed(said("request.no_seq"), "Last-Event-ID")
    return int(known) + 1
