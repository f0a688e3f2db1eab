"""The caller's own stream: what concerns the caller, as it happens, as events or as a long poll."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

import orjson
from flask import Response

from schemas.notices import OwnStreamQuery, SnapshotSchema
from service.api.audience import Mailbox
from service.api.context import Context, context, services
from service.api.conventions.caching import private
from service.api.conventions.media_types import EVENT_STREAM, JSON, NDJSON
from service.api.conventions.responses import json_response
from service.api.following import Called, Following, Step, slot_for_poll, streamed
from service.api.long_poll import LOST_SECONDS
from service.api.operation import Call, InviteHeaders, Token, blueprint, operation
from service.api.parsing import malformed
from service.application.calls import Caller
from service.application.games.entry import GameEntry
from service.application.notices import Notice, Open, Sent, Wanted, is_news, open_at, position_of
from service.application.quotas import BY_SEATS
from service.replay.sentences import said

own_stream = blueprint("own_stream", __name__, "What concerns the caller, as it happens.")

LOOK_SECONDS: Final = 30.0
"""
Seconds after which a stream looks at everything again.

It finds what neither a notification nor the outbox announced: a period that is about to end, a
token that has ended, messages that this process lost.
"""

BLIND_SECONDS: Final = 1.0
"""The same while there are no notifications."""


@operation(
    own_stream,
    "GET",
    "/players/me/stream",
    query=OwnStreamQuery,
    answer=SnapshotSchema,
    produces=(JSON, EVENT_STREAM, NDJSON),
    token=Token.NEEDED,
    refuses=("not-found",),
    headers=(InviteHeaders,),
    weight=BY_SEATS,
)
def follow_own(call: Call) -> Response:
    """
    Follow what concerns the caller: turns, hands, tables, disputes, and the games in `watch`.

    It begins with a snapshot of all that is open (`event: snapshot`, or a first line with `type`
    `snapshot`), which has `items`. Then each notice follows at least once, `event` is its type;
    the key is `type`, `id` and `version`. After a lost connection the next snapshot has everything
    that still matters. Every 5 s without a notice a comment, or an empty line, is sent. The
    streams of a token end with it. As JSON the answer is the snapshot alone, with `wait` as a long
    poll.
    """
    query, parts = call.query, context()
    wanted = Wanted(watched=query["watch"], referee=query["referee"])
    if call.media_type != JSON and (query["wait"] is not None or query["after"] is not None):
        raise malformed(said("request.json_only"), "wait")
    parts.services.notices.check(call.caller, wanted)
    if call.media_type == JSON:
        return private(json_response(_polled(call, parts, wanted)))
    follow = partial(OwnFollower, parts, call.by.id, call.caller, wanted, call.media_type)
    return streamed(call.by.id, follow, call.media_type)


def _polled(call: Call, parts: Context, wanted: Wanted) -> dict[str, Any]:
    """Return the snapshot as soon as it differs from the one before, at the latest after `wait`."""
    after, notices = call.query["after"], services().notices
    try:
        known = open_at(after)
    except ValueError:
        raise malformed(said("request.no_next"), "after") from None

    def look() -> tuple[str, dict[str, Any]]:
        found = notices.look(call.by.id, call.caller, wanted, known)
        position = position_of(found)
        if after is not None and not is_news(position, after):
            position = after  # what ends from now on is found by its time
        return position, {"items": [one.json() for one in found.notices], "next": position}

    end = time.monotonic() + (call.query["wait"] or 0)
    mailbox = Mailbox(call.by.id, wanted.watched)
    with slot_for_poll() as free, parts.audience.joined(mailbox, wanted):
        while True:
            mailbox.take()
            position, answer = look()
            left = end - time.monotonic()
            if not free or position != after or left <= 0 or parts.waiting.ended:
                return answer
            mailbox.wait(min(left, _seconds_to_look(parts)))


def _seconds_to_look(parts: Context) -> float:
    """Return after how many seconds a reader looks at everything again."""
    if parts.waiting.longest() < LOST_SECONDS:
        return BLIND_SECONDS
    # Spread, so that the streams of a process do not look at once after its start.
    return LOOK_SECONDS * random.uniform(0.8, 1.2)  # noqa: S311 - no secret


class OwnFollower(Following):
    """One client that follows what concerns its player."""

    def __init__(
        self,
        parts: Context,
        player: UUID,
        caller: Caller,
        wanted: Wanted,
        media_type: str,
        slot: str,
    ) -> None:
        super().__init__(parts, caller, slot, media_type)
        self._parts = parts
        self._player = player
        self._wanted = wanted
        self._frame = _event if media_type == EVENT_STREAM else _line
        self._notices = parts.services.notices
        self._open = Open()
        self._sent = Sent()
        self._look_at = 0.0  # the snapshot has not been sent
        self._mailbox = Mailbox(player, wanted.watched)
        parts.audience.join(self._mailbox, referee=wanted.referee)

    def release(self) -> None:
        """Release the slot and leave the audience, once."""
        self._parts.audience.leave(self._mailbox)
        super().release()

    def is_woken(self) -> bool:
        """Return whether there are changes to handle."""
        return not self._mailbox.is_empty()

    def wait(self, seconds: float) -> None:
        """Wait in this thread until something changes, at most `seconds`."""
        self._mailbox.wait(seconds)

    def woken_by(self, wake: Callable[[], None]) -> None:
        """Call `wake` with each change, from another thread."""
        self._mailbox.woken_by(wake)

    def look(self) -> Generator[Step, Any, float | None]:
        """Send the snapshot at first, then the new notices."""
        if not self._look_at:
            items = [notice.json() for notice in (yield Called(self._look))]
            yield self.send((self._frame({"type": "snapshot", "items": items}, "snapshot"),))
        else:
            changed, games = self._mailbox.take()
            notices = yield from self._of_games(games)
            if changed or time.monotonic() >= self._look_at:
                notices += yield Called(self._look)
            if notices:
                yield self.send([self._frame(one.json(), one.type.value) for one in notices])
        return self._look_at - time.monotonic()

    def _look(self) -> list[Notice]:
        """Return what is new of all that concerns the player; raises Refusal `unauthorized`."""
        self.check_token()
        found = self._notices.look(self._player, self._caller, self._wanted, self._open)
        self._open = found.open
        self._look_at = time.monotonic() + _seconds_to_look(self._parts)
        return self._sent.new_of_all(found.notices)

    def _of_games(self, games: Sequence[GameEntry]) -> Generator[Step, Any, list[Notice]]:
        """Return the new notices about changed games."""
        found: list[Notice] = []
        for entry in games:
            if self._player == entry.host or self._player in entry.players:
                notices = self._notices.of_game(entry, self._player)
                found += self._sent.new_of_game(entry, notices)
            if entry.record.identity in self._mailbox.watched:
                # A private game may have become invisible, which costs a query.
                check = partial(self._watched, entry)
                found += check() if entry.public else (yield Called(check))
        return found

    def _watched(self, entry: GameEntry) -> list[Notice]:
        return self._sent.new(self._notices.watched(entry, self._caller))


def _event(value: Any, name: str) -> bytes:
    """Return a notice or the snapshot as a server-sent event."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps(value))


def _line(value: Any, _name: str) -> bytes:
    """Return a notice or the snapshot as a line."""
    return orjson.dumps(value) + b"\n"
