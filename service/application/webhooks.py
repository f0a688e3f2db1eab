"""
Webhooks: a player's own events, sent as signed requests to a receiver that the player named.

What is sent is computed as for the own stream (`notices.py`), from the present state; what was
sent is stored, so an event is found again until the receiver has accepted it, whichever process
ends in between. A receiver gets one request at a time. Nothing is sent before it has answered a
ping with the challenge in it.
"""

from __future__ import annotations

import hmac
import random
import time
from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final
from uuid import UUID

import orjson
from standardwebhooks import Webhook

from schemas.notices import NoticeType
from schemas.tokens import Scope
from service.application.calls import Caller, RegisteredPlayer, digest
from service.application.errors import Refusal, invalid, missing_scope, not_found
from service.application.notices import Notice, Notices, Open, Wanted
from service.application.ports import JobKind, World
from service.keys import KeyringError, Keys
from service.replay.sentences import said
from service.runtime.http_client import Reply
from service.runtime.receivers import (
    MAX_ECHO,
    MAX_URL,
    LookupsBusy,
    NotDelivered,
    ReceiverFault,
    Receivers,
    Sender,
    url_fault,
)
from service.runtime.version import VERSION
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.events import TokenEnded
from service.store.webhooks import (
    Delivery,
    StoredWebhook,
    WebhookResult,
    WebhookShares,
    WebhookState,
)

SEND_WEBHOOK: Final = JobKind(name="send_webhook", queue="webhooks")
"""Requests to receivers have a queue and a process of their own, because receivers may hang."""

LOOK_EVERY: Final = timedelta(minutes=5)
"""
Time after which a webhook is looked at without an event that concerns its player.

It finds a period that is about to end, and what a relay took from the outbox before it was killed.
"""

LOOK_SOON: Final = timedelta(seconds=10)
"""Time after the first look: every process knows of a first webhook then (IN_USE_SECONDS)."""

AGAIN_AFTER: Final = timedelta(minutes=1)
"""After how long the time of a look that found nothing new is stored again."""

LEASE: Final = timedelta(seconds=60)
"""How long a claim is valid; after that, its worker counts as killed."""

WORK_SECONDS: Final = 10.0
"""Time for the requests of one job; what is left waits for the next, behind the other players."""

OFF_AFTER: Final = timedelta(hours=24)
"""Time without a success after which a webhook is switched off."""

FIRST_PAUSE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = timedelta(hours=1)

PING_PAUSES: Final = tuple(timedelta(seconds=s) for s in (5, 15, 45, 300))
"""Pauses between the pings: a receiver needs the secret, and may get it after the first one."""

MAX_WAITING: Final = 500
"""Maximum number of ends of hands and tables that wait for a receiver, the newest."""

BATCH: Final = 100
"""Maximum number of webhooks that are claimed at a time."""

SHARES: Final = WebhookShares(origin=16, unproven=4, unproven_of_all=16)
"""How many webhooks are worked on at a time: receivers that may hang leave half of 32 threads."""

BUSY_PAUSE: Final = timedelta(seconds=2)
"""Pause, with jitter, of a webhook whose share of lookups is in use."""

IN_USE_SECONDS: Final = 5.0
"""How long a process assumes that there is still no webhook, or still one."""

_SECRET_BYTES: Final = 32
_ENDS: Final = frozenset({NoticeType.HAND_SEALED.value, NoticeType.TABLE_CLOSED.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """A request for a webhook, from a network address."""

    url: str
    types: Collection[str]
    address: str


class Webhooks:
    """
    Use cases of a player's webhook, and the work of the processes that send events.

    As for tokens, the functions of the database take the token of the request itself.
    """

    def __init__(
        self,
        *,
        directory: Directory,
        notices: Notices,
        keyring: Keys,
        receivers: Receivers,
        world: World,
    ) -> None:
        self._directory = directory
        self._notices = notices
        self._keyring = keyring
        self._receivers = receivers
        self._world = world
        self._used = False
        self._used_at: float | None = None  # when it was read, monotonic

    def set(self, player: RegisteredPlayer, bearer: str, wanted: WebhookRequest) -> dict[str, Any]:
        """
        Set or replace a player's webhook; return it with its new secret.

        Raises Refusal `invalid-body` for an address that cannot be that of a receiver,
        `missing-scope` without the scope `read`, because a webhook reads, and `unauthorized` if
        the token of the request has ended. The webhook ends with this token.
        """
        own = self._directory.token(digest(bearer))
        if own is None:
            raise _ended()
        if Scope.READ not in own.scopes:
            raise missing_scope(Scope.READ)
        fault = url_fault(wanted.url, loopback=self._receivers.loopback)
        if fault is not None:
            values = {"n": MAX_URL} if fault == "form" else {}
            raise invalid("/url", said(f"webhook.{fault}", **values))
        now, secret = self._world.now(), self._world.random(_SECRET_BYTES)
        key, sealed = self._keyring.seal(secret, _bound(player.id))
        made = StoredWebhook(
            token=own.id,
            url=wanted.url,
            types=tuple(kind.value for kind in NoticeType if kind in wanted.types),
            origin=self._origin(wanted.address),
            key_id=key,
            secret=sealed,
            state=WebhookState.WAITING,
            created_at=now,
            due_at=now,
            claim=0,
        )
        try:
            self._directory.set_webhook(bearer, made)
        except TokenEnded:
            raise _ended() from None
        return {**_json(made), "secret": f"whsec_{b64encode(secret).decode()}"}

    def show(self, player: RegisteredPlayer) -> dict[str, Any]:
        """Return a player's webhook; raises Refusal `not-found` if there is none."""
        found = self._directory.webhook(player.id)
        if found is None:
            raise not_found("webhook")
        return _json(found)

    def end(self, bearer: str) -> None:
        """Delete a player's webhook; raises Refusal `not-found` or `unauthorized`."""
        try:
            ended = self._directory.end_webhook(bearer)
        except TokenEnded:
            raise _ended() from None
        if not ended:
            raise not_found("webhook")

    def wake(self, changed: Collection[UUID]) -> None:
        """Let the webhooks be due whose players some games, tables or disputes concern."""
        if changed and self._in_use():
            concerned = self._directory.concerned(changed).values()
            players = {player for one in concerned for player in one.players}
            self._directory.wake_webhooks(players, self._world.now())

    def claim(self) -> Sequence[tuple[UUID, int]]:
        """
        Claim webhooks that are due; return players and claims, for a job each.

        What is due beyond the share of a network address waits until others of it are done.
        """
        if not self._in_use():
            return ()
        now = self._world.now()
        return self._directory.claim_webhooks(now, until=now + LEASE, most=BATCH, shares=SHARES)

    def deliver(self, player: UUID, claim: int) -> str:
        """
        Send what a player's receiver has not accepted yet; return the outcome.

        `on`: all was accepted, or the ping; `more`: the time of the job was over; `busy`: the
        share of lookups is in use; `failing` or `off`; `taken`: the claim is not valid any more.
        """
        begun = self._world.now()
        if not self._directory.begin_webhook(player, claim, begun, until=begun + LEASE):
            return "taken"
        hook = self._directory.webhook(player)
        if hook is None:
            return "taken"
        work = _Work(self._receivers, self._world, player, hook)
        try:
            if hook.token_ended:
                raise NotDelivered(ReceiverFault.TOKEN)
            work.sign_with(self._keyring.open(hook.key_id, hook.secret, _bound(player)))
            if hook.state is WebhookState.WAITING:
                work.ping()
                complete = False  # what is open follows in the next job
            else:
                complete = self._send_all(work, claim + 1)
        except NotDelivered as failed:
            result = work.failed(failed)
        except LookupsBusy:
            stored = self._directory.note_webhook_state(player, claim + 1, work.put_off())
            return "busy" if stored else "taken"
        except KeyringError:
            result = work.failed(NotDelivered(ReceiverFault.SECRET))
        else:
            result = work.succeeded(complete=complete)
        if not self._directory.note_webhook_state(player, claim + 1, result):
            return "taken"
        if result.failures:
            return "off" if result.state is WebhookState.OFF else "failing"
        return "on" if result.next > self._world.now() else "more"

    def _send_all(self, work: _Work, claim: int) -> bool:
        """Look, and send what is new; return False if time is over; raises NotDelivered."""
        player, end = work.player, time.monotonic() + WORK_SECONDS
        for one in self._look(work.player, work.hook, claim):
            if time.monotonic() >= end:
                return False
            work.send(one)
            if not self._directory.note_webhook_sent(player, claim, one, self._world.now()):
                return False  # it was replaced or deleted meanwhile
        return True

    def _look(self, player: UUID, hook: StoredWebhook, claim: int) -> Sequence[Delivery]:
        """Compare what concerns a player now with what was sent; return what is to be sent."""
        wanted = Wanted(referee=NoticeType.REFEREE_WANTED.value in hook.types)
        # Of the time before the first look, which may be lost jobs later, nothing is left out.
        since = hook.looked_at or hook.created_at
        known = Open(tables=frozenset(hook.tables), games=frozenset(hook.games), at=since)
        found = self._notices.look(player, Caller(player=player), wanted, known)
        notices = [one for one in found.notices if one.type.value in hook.types]
        stored = {(d.type, d.id): d for d in self._directory.webhook_deliveries(player)}
        added, gone = _compared(notices, stored, self._world.now())
        looked = found.open.at or self._world.now()
        is_old = hook.looked_at is None or looked - since > AGAIN_AFTER
        same = (found.open.tables, found.open.games) == (known.tables, known.games)
        if added or gone or is_old or not same:
            is_valid = self._directory.note_webhook_look(
                player,
                claim,
                looked,
                tables=found.open.tables,
                games=found.open.games,
                added=added,
                gone=gone,
            )
            if not is_valid:
                return ()
        for old in gone:
            stored.pop((old.type, old.id), None)
        stored |= {(new.type, new.id): new for new in added}
        waiting = (one for one in stored.values() if one.sent_at is None)
        return sorted(waiting, key=lambda one: one.found_at)

    def _origin(self, address: str) -> str:
        """Return what stands for a network address: equal for equal ones, and no address."""
        key = self._keyring.present.bot_secret
        return hmac.digest(key, b"webhook origin " + address.encode(), "sha256")[:8].hex()

    def _in_use(self) -> bool:
        """Return whether there are webhooks, which costs no query for a few seconds."""
        now = time.monotonic()
        if self._used_at is None or now - self._used_at > IN_USE_SECONDS:
            self._used, self._used_at = self._directory.webhooks_in_use().used > 0, now
        return self._used


def _compared(
    notices: Iterable[Notice], stored: dict[tuple[str, UUID], Delivery], now: datetime
) -> tuple[list[Delivery], list[Delivery]]:
    """
    Return the deliveries to add, and those to delete.

    A newer notice replaces an older one of its key, sent or not. What is no longer open is
    forgotten; the end of a hand or a table stays until it was sent.
    """
    added, keys = [], set()
    for one in notices:
        key = one.type.value, one.id
        keys.add(key)
        known = stored.get(key)
        if known is None or known.mark < one.mark:
            event = {"type": one.type.value, "timestamp": format_time(now), **one.json()}
            body = orjson.dumps(event).decode()
            added.append(Delivery(type=key[0], id=one.id, mark=one.mark, body=body, found_at=now))
    ends: list[Delivery] = []
    gone: list[Delivery] = []
    for key, known in stored.items():
        if key not in keys:
            waits = known.type in _ENDS and known.sent_at is None
            (ends if waits else gone).append(known)
    ends.sort(key=lambda one: one.found_at, reverse=True)
    return added, gone + ends[MAX_WAITING:]


class _Work:
    """The requests of one job to one receiver, and what they lead to."""

    def __init__(
        self, receivers: Receivers, world: World, player: UUID, hook: StoredWebhook
    ) -> None:
        self.player = player
        self.hook = hook
        self._receivers = receivers
        self._world = world
        self._signer: Webhook | None = None

    def sign_with(self, secret: bytes) -> None:
        """Sign further requests with a secret."""
        self._signer = Webhook(secret)

    def ping(self) -> None:
        """Send a challenge; raises NotDelivered unless the answer is the challenge."""
        identity = self._world.identity()
        challenge = self._world.random(18).hex()
        event = {
            "type": "ping",
            "timestamp": format_time(self._world.now()),
            "challenge": challenge,
        }
        answer = self._post(f"ping-{identity}", orjson.dumps(event).decode(), most=MAX_ECHO)
        if len(answer.body) == MAX_ECHO or answer.body.strip() != challenge.encode():
            raise NotDelivered(ReceiverFault.ECHO, answer.status)
        self._note_success()

    def send(self, one: Delivery) -> None:
        """Send an event; raises NotDelivered. Its id is equal at each attempt."""
        version = orjson.loads(one.body)["version"]
        self._post(f"{one.type}-{one.id}-{version}", one.body)
        self._note_success()

    def _note_success(self) -> None:
        self.hook = replace(
            self.hook,
            state=WebhookState.ON,
            delivered_at=self._world.now(),
            failures=0,
            failing_since=None,
        )

    def _post(self, identity: str, body: str, *, most: int = 0) -> Reply:
        now = self._world.now()
        if self._signer is None:
            raise NotDelivered(ReceiverFault.SECRET)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"shithead-webhooks/{VERSION}",
            "webhook-id": identity,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._signer.sign(identity, now, body),
        }
        sender = Sender(
            player=self.player,
            origin=self.hook.origin,
            is_proven=self.hook.state is WebhookState.ON and not self.hook.failures,
        )
        return self._receivers.post(self.hook.url, body.encode(), headers, sender, most=most)

    def succeeded(self, *, complete: bool) -> WebhookResult:
        """Return the result after requests that were all accepted."""
        now = self._world.now()
        hook = self.hook
        every = LOOK_EVERY if hook.looked_at else min(LOOK_SOON, LOOK_EVERY)
        pause = every * random.uniform(0.8, 1.2) if complete else timedelta()  # noqa: S311 - no secret
        return WebhookResult(state=hook.state, delivered_at=hook.delivered_at, next=now + pause)

    def put_off(self) -> WebhookResult:
        """Return the result if nothing was tried: all stays as it is, and it is due again soon."""
        hook, pause = self.hook, BUSY_PAUSE * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
        return WebhookResult(
            state=hook.state,
            fault=hook.fault,
            status=hook.status,
            failures=hook.failures,
            failing_since=hook.failing_since,
            delivered_at=hook.delivered_at,
            next=self._world.now() + pause,
        )

    def failed(self, failure: NotDelivered) -> WebhookResult:
        """Return the result after a request that was not accepted."""
        hook, now = self.hook, self._world.now()
        failures, since = hook.failures + 1, hook.failing_since or now
        if hook.state is WebhookState.WAITING:
            pause = PING_PAUSES[failures - 1] if failures <= len(PING_PAUSES) else None
        else:
            pause = None if now - since >= OFF_AFTER else _back_off(failures)
        if pause is not None:
            pause = max(pause, asked_pause(failure.retry_after, now))
        if failure.fault in (ReceiverFault.GONE, ReceiverFault.SECRET, ReceiverFault.TOKEN):
            pause = None
        return WebhookResult(
            state=WebhookState.OFF if pause is None else hook.state,
            fault=failure.fault.value,
            status=failure.status,
            failures=failures,
            failing_since=since,
            delivered_at=hook.delivered_at,
            next=now + (pause or timedelta()),
        )


def _back_off(failures: int) -> timedelta:
    """Return the pause after some failures in a row: doubled, with jitter of up to a half."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * float(1 << min(failures - 1, 20)))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def asked_pause(text: str | None, now: datetime) -> timedelta:
    """
    Return the pause that a `Retry-After` asks for, at most LONGEST_PAUSE, 0 if it cannot be read.

    >>> now = datetime(2026, 11, 27, 6, tzinfo=UTC)
    >>> str(asked_pause("120", now)), str(asked_pause("Fri, 27 Nov 2026 06:00:30 GMT", now))
    ('0:02:00', '0:00:30')
    >>> str(asked_pause("9" * 5000, now)), str(asked_pause("soon", now))
    ('1:00:00', '0:00:00')
    >>> str(asked_pause("Fri, 27 Nov 2026 05:00:00 GMT", now))
    '0:00:00'
    """
    text = (text or "").strip()
    if text.isdecimal():
        longest = LONGEST_PAUSE.total_seconds()
        return timedelta(seconds=min(longest, int(text))) if len(text) < 10 else LONGEST_PAUSE
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # what an unreadable date raises
        return timedelta()
    return max(timedelta(), min(LONGEST_PAUSE, date.replace(tzinfo=date.tzinfo or UTC) - now))


def _bound(player: UUID) -> bytes:
    """Return the context of an encrypted secret."""
    return b"webhook " + player.bytes


def _json(hook: StoredWebhook) -> dict[str, Any]:
    is_off = hook.token_ended or hook.state is WebhookState.OFF
    fails = hook.failures > 0 and not is_off
    return {
        "token": str(hook.token),
        "url": hook.url,
        "types": list(hook.types),
        "state": (WebhookState.OFF if is_off else hook.state).value,
        "fault": ReceiverFault.TOKEN.value if hook.token_ended else hook.fault,
        "status": None if hook.token_ended else hook.status,
        "failing_since": None if hook.failing_since is None else format_time(hook.failing_since),
        "next_attempt": format_time(hook.due_at) if fails else None,
        "waiting": hook.waiting,
        "delivered_at": None if hook.delivered_at is None else format_time(hook.delivered_at),
        "created_at": format_time(hook.created_at),
    }


def _ended() -> Refusal:
    return Refusal("unauthorized", said("request.unknown_token"))
