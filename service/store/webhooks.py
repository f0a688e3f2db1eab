"""Repository of webhooks: the receivers of players, and what they have to be sent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson

from service.store.database import Repository, as_json


class WebhookState(StrEnum):
    """Whether a webhook is sent anything."""

    WAITING = "waiting"  # for the echo of its ping
    ON = "on"
    OFF = "off"  # until it is set again


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWebhook:
    """The webhook of a player."""

    token: UUID  # its id; the webhook ends with it
    url: str = field(repr=False)  # can contain a secret of the receiver's
    types: tuple[str, ...]
    origin: str  # stands for the network address that set it
    key_id: str
    secret: bytes = field(repr=False)  # encrypted
    state: WebhookState
    fault: str | None = None
    status: int | None = None
    failures: int = 0
    failing_since: datetime | None = None
    created_at: datetime
    delivered_at: datetime | None = None
    due_at: datetime
    claim: int
    tables: tuple[UUID, ...] = ()
    games: tuple[UUID, ...] = ()
    looked_at: datetime | None = None  # when these were found
    waiting: int = 0  # deliveries that were not accepted yet
    token_ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A notice that a receiver has to be, or was, sent."""

    type: str
    id: UUID
    mark: int
    body: str
    found_at: datetime
    sent_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookResult:
    """How the work under a claim went, and when the webhook is due again."""

    state: WebhookState
    fault: str | None = None
    status: int | None = None
    failures: int = 0
    failing_since: datetime | None = None
    delivered_at: datetime | None
    next: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksInUse:
    """
    How many webhooks are not off, how many of these fail, and since when the first is due.

    Those that wait for the share of their origin are left out of the last: others of it are
    worked on, so their time says nothing of the processes.
    """

    used: int
    failing: int
    due: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookShares:
    """How many webhooks may be claimed at a time; the last request of an unproven one failed."""

    origin: int  # of one network address
    unproven: int  # of one network address
    unproven_of_all: int


class WebhookRepository(Repository):
    """
    Webhooks and their deliveries.

    A worker writes under a claim: a number that `claim_webhooks` and `begin_webhook` raise. What it
    stores under an old number is ignored, so a worker that was held up changes nothing.
    """

    def set_webhook(self, token: str, webhook: StoredWebhook) -> None:
        """
        Replace the webhook of the player with a token, to which it belongs; raises TokenEnded.

        `token` is the token itself, whatever `webhook` names.
        """
        values = list(webhook.types), webhook.origin, webhook.key_id, webhook.secret
        self._write("set_webhook", token, webhook.url, *values, webhook.created_at)

    def end_webhook(self, token: str) -> bool:
        """Delete the webhook of the player with a token; raises TokenEnded."""
        return bool(self._write("end_webhook", token))

    def webhook(self, player: UUID) -> StoredWebhook | None:
        """Return the webhook of a player."""
        return self._first(_webhook, "webhook_of", player)

    def webhook_deliveries(self, player: UUID) -> Sequence[Delivery]:
        """Return the deliveries of a webhook, the oldest first."""
        return [_delivery(row) for row in self._database.fetch("webhook_deliveries_of", player)]

    def webhooks_in_use(self) -> WebhooksInUse:
        """Return the number of webhooks that are not off, and what the metrics show of them."""
        [(used, failing, due)] = self._database.fetch("webhooks_in_use")
        return WebhooksInUse(used=used, failing=failing, due=due)

    def wake_webhooks(self, players: Collection[UUID], at: datetime) -> int:
        """Let the webhooks of some players be due, if they do not fail; return their number."""
        return self._count("wake_webhooks", list(players), at)

    def claim_webhooks(
        self, at: datetime, *, until: datetime, most: int, shares: WebhookShares
    ) -> Sequence[tuple[UUID, int]]:
        """Claim the webhooks that are due, within the shares; return players and claims."""
        of = shares.origin, shares.unproven, shares.unproven_of_all
        rows = self._call("claim_webhooks", at, until, most, *of)
        return [(player, claim) for player, claim in rows]

    def begin_webhook(self, player: UUID, claim: int, at: datetime, *, until: datetime) -> bool:
        """Begin the work under a claim, whose number rises by one; return False if it is old."""
        return bool(self._write("begin_webhook", player, claim, at, until))

    def note_webhook_look(
        self,
        player: UUID,
        claim: int,
        at: datetime,
        *,
        tables: Collection[UUID],
        games: Collection[UUID],
        added: Iterable[Delivery],
        gone: Iterable[Delivery],
    ) -> bool:
        """Store and delete deliveries, and what was open; return False for an old claim."""
        new = [
            {"type": d.type, "id": d.id, "mark": d.mark, "body": d.body, "found_at": d.found_at}
            for d in added
        ]
        old = [{"type": d.type, "id": d.id} for d in gone]
        both = _json(new), _json(old)
        return bool(
            self._write("note_webhook_look", player, claim, at, list(tables), list(games), *both)
        )

    def note_webhook_sent(self, player: UUID, claim: int, sent: Delivery, at: datetime) -> bool:
        """Store that a delivery was accepted; return False for an old claim."""
        key = sent.type, sent.id, sent.mark
        return bool(self._write("note_webhook_sent", player, claim, *key, at))

    def note_webhook_state(self, player: UUID, claim: int, result: WebhookResult) -> bool:
        """Store how the work went, and give the claim back; return False for an old claim."""
        value = {
            "state": result.state,
            "fault": result.fault,
            "status": result.status,
            "failures": result.failures,
            "failing_since": result.failing_since,
            "delivered_at": result.delivered_at,
            "next": result.next,
        }
        return bool(self._write("note_webhook_state", player, claim, _json(value)))


def _json(value: Any) -> str:
    return orjson.dumps(as_json(value)).decode()


def _webhook(row: tuple[Any, ...]) -> StoredWebhook:
    token, url, types, origin, key_id, secret, state, *rest = row
    fault, status, failures, since, created, delivered, due, claim, tables, games, *more = rest
    looked, waiting, token_ended = more
    return StoredWebhook(
        token=token,
        url=url,
        types=tuple(types),
        origin=origin,
        key_id=key_id,
        secret=bytes(secret),
        state=WebhookState(state),
        fault=fault,
        status=status,
        failures=failures,
        failing_since=since,
        created_at=created,
        delivered_at=delivered,
        due_at=due,
        claim=claim,
        tables=tuple(tables),
        games=tuple(games),
        looked_at=looked,
        waiting=waiting,
        token_ended=token_ended,
    )


def _delivery(row: tuple[Any, ...]) -> Delivery:
    kind, identity, mark, body, found_at, sent_at = row
    return Delivery(
        type=kind, id=identity, mark=mark, body=body, found_at=found_at, sent_at=sent_at
    )
