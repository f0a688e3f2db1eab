"""Webhooks and their deliveries, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from service.store.events import TokenEnded
from service.store.webhooks import (
    Delivery,
    StoredWebhook,
    WebhookResult,
    WebhooksInUse,
    WebhookState,
)


class MemoryWebhooks:
    """The directory's part for webhooks."""

    def __init__(self) -> None:
        self._hooks: dict[UUID, StoredWebhook] = {}
        self._claimed: dict[UUID, datetime] = {}
        self._deliveries: dict[UUID, dict[tuple[str, UUID], Delivery]] = {}

    def _player_of(self, token: str) -> UUID | None:
        raise NotImplementedError

    def set_webhook(self, token: str, webhook: StoredWebhook) -> None:
        player = self._own(token)
        old = self._hooks.get(player)
        claim = 0 if old is None else old.claim + 1
        self._hooks[player] = replace(webhook, claim=claim)
        self._claimed.pop(player, None)
        self._deliveries[player] = {}

    def end_webhook(self, token: str) -> bool:
        return self._delete_webhook(self._own(token))

    def _delete_webhook(self, player: UUID) -> bool:
        self._claimed.pop(player, None)
        self._deliveries.pop(player, None)
        return self._hooks.pop(player, None) is not None

    def webhook(self, player: UUID) -> StoredWebhook | None:
        found = self._hooks.get(player)
        if found is None:
            return None
        waiting = [d for d in self._deliveries[player].values() if d.sent_at is None]
        return replace(found, waiting=len(waiting))

    def webhook_deliveries(self, player: UUID) -> Sequence[Delivery]:
        found = self._deliveries.get(player, {}).values()
        return sorted(found, key=lambda d: (d.found_at, d.type, d.id))

    def webhooks_in_use(self) -> WebhooksInUse:
        used = [hook for hook in self._hooks.values() if hook.state is not WebhookState.OFF]
        failing = len([hook for hook in used if hook.failures])
        due = min(
            (h.due_at for h in used if h.state is WebhookState.ON and not h.failures), default=None
        )
        return WebhooksInUse(used=len(used), failing=failing, due=due)

    def wake_webhooks(self, players: Collection[UUID], at: datetime) -> int:
        woken = 0
        for player in players:
            hook = self._hooks.get(player)
            if hook and hook.state is WebhookState.ON and not hook.failures and hook.due_at > at:
                self._hooks[player] = replace(hook, due_at=at)
                woken += 1
        return woken

    def claim_webhooks(
        self, at: datetime, *, until: datetime, most: int, share: int, unproven: int
    ) -> Sequence[tuple[UUID, int]]:
        def proven(hook: StoredWebhook) -> bool:
            return hook.state is WebhookState.ON and not hook.failures

        taken = Counter[object]()
        for player, end in self._claimed.items():
            if end > at:
                taken.update([self._hooks[player].origin])
                taken.update([(self._hooks[player].origin, proven(self._hooks[player]))])
        due = sorted(
            (not proven(hook), hook.due_at, player)
            for player, hook in self._hooks.items()
            if hook.state is not WebhookState.OFF
            and hook.due_at <= at
            and self._claimed.get(player, at) <= at
        )
        claimed: list[tuple[UUID, int]] = []
        for is_unproven, _, player in due:
            origin = self._hooks[player].origin
            has_room = taken[origin] < share and len(claimed) < most
            if has_room and not (is_unproven and taken[origin, False] >= unproven):
                taken.update([origin])
                taken.update([(origin, not is_unproven)])
                claimed.append((player, self._claim(player, until)))
        return claimed

    def begin_webhook(self, player: UUID, claim: int, at: datetime, *, until: datetime) -> bool:
        hook = self._valid(player, claim)
        end = self._claimed.get(player)
        if hook is None or end is None or end <= at:
            return False
        self._claim(player, until)
        self._hooks[player] = replace(self._hooks[player], due_at=until)
        return True

    def _claim(self, player: UUID, until: datetime) -> int:
        claim = self._hooks[player].claim + 1
        self._hooks[player] = replace(self._hooks[player], claim=claim)
        self._claimed[player] = until
        return claim

    def note_webhook_look(
        self,
        player: UUID,
        claim: int,
        *,
        tables: Collection[UUID],
        games: Collection[UUID],
        added: Iterable[Delivery],
        gone: Iterable[Delivery],
    ) -> bool:
        hook = self._valid(player, claim)
        if hook is None:
            return False
        self._hooks[player] = replace(hook, tables=tuple(tables), games=tuple(games))
        for old in gone:
            self._deliveries[player].pop((old.type, old.id), None)
        for new in added:
            self._deliveries[player][new.type, new.id] = new
        return True

    def note_webhook_sent(self, player: UUID, claim: int, sent: Delivery, at: datetime) -> bool:
        known = self._deliveries.get(player, {})
        found = known.get((sent.type, sent.id))
        if self._valid(player, claim) is None or found is None or found.mark != sent.mark:
            return False
        known[sent.type, sent.id] = replace(found, sent_at=at)
        return True

    def note_webhook_state(self, player: UUID, claim: int, result: WebhookResult) -> bool:
        hook = self._valid(player, claim)
        if hook is None:
            return False
        woken = hook.due_at < self._claimed.pop(player) and not result.failures
        self._hooks[player] = replace(
            hook,
            state=result.state,
            fault=result.fault,
            status=result.status,
            failures=result.failures,
            failing_since=result.failing_since,
            delivered_at=result.delivered_at,
            due_at=hook.due_at if woken else result.next,
        )
        if result.state is WebhookState.OFF:
            self._deliveries[player] = {}
        return True

    def _own(self, token: str) -> UUID:
        player = self._player_of(token)
        if player is None:
            raise TokenEnded("the token has ended, or may not do this")
        return player

    def _valid(self, player: UUID, claim: int) -> StoredWebhook | None:
        hook = self._hooks.get(player)
        return hook if hook is not None and hook.claim == claim else None
