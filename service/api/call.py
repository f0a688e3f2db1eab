"""A request from the wire to its answer: one object that each step fills in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast
from uuid import UUID

from flask import Response, g
from flask.ctx import _AppCtxGlobals
from msgspec import Struct, field

from schemas.strict_fields import ME
from service.application.calls import Caller, Idempotency, RegisteredPlayer
from service.application.errors import Refusal
from service.application.request import RequestRead
from service.domain.commands import Seat
from service.replay.sentences import said

Known = TypeVar("Known")

Window = tuple[str, int, int, float]
"""
What is left of a limit on requests after this one: policy, limit, rest, seconds until its end.

The rest is negative above the limit. A plain tuple, because every request makes two.
"""


class Work(Protocol):
    """The work that a request has done, in events."""

    events: int


class Call(Struct, kw_only=True):
    """
    One request: what is known of it so far, from its first byte to the line in the log.

    The fields are in the order of the steps that set them (`steps.py`).
    """

    began: float | None = None  # of `perf_counter`
    request_id: str | None = None
    limits: tuple[Window, ...] = ()  # that have counted it
    media_type: str = ""  # of the answer
    bearer: str | None = None
    read: RequestRead | None = None  # its first query of the database
    repeat: Idempotency | None = None
    player: RegisteredPlayer | None = None  # of a valid token
    caller: Caller = field(default_factory=Caller)
    work: Work | None = None
    query: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    raw_body: bytes | None = None
    seat: Seat | None = None  # of the caller of a move, found before its body is read
    body: Any = None
    answer: Response | None = None
    problem: str | None = None
    retry_after: int | None = None
    is_full: bool = False  # no slot was free for a stream, which is no error of the service
    is_secret: bool = False  # the answer is not compressed

    @property
    def by(self) -> RegisteredPlayer:
        """Return the authenticated player; raises `unauthorized` for an anonymous caller."""
        return required(self.player)

    def player_named(self, name: str | None) -> UUID | None:
        """Return the player whom a query names by id or as `me`; raises `unauthorized`."""
        if name is None:
            return None
        return self.by.id if name == ME else UUID(name)

    @property
    def token(self) -> str:
        """Return the bearer token; raises `unauthorized` for an anonymous caller."""
        return required(self.bearer)


def required(known: Known | None) -> Known:
    """Return the player, or the token; raises `unauthorized` for an anonymous caller."""
    if known is None:
        raise Refusal("unauthorized", said("request.token_needed"))
    return known


# Reading through the proxy takes ten times as long as reading the object behind it.
_present: Callable[[], _AppCtxGlobals] = cast("Any", g)._get_current_object  # noqa: SLF001 - documented


def present_call() -> Call:
    """Return the request that this thread answers."""
    notes = _present()
    call: Call | None = notes.get("call")
    if call is None:
        call = notes.call = Call()
    return call
