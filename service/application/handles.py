"""Handles: unique names by which players are found; look-alikes, reserved ones, the search."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from schemas.players import MAX_FOUND
from service.application.calls import RegisteredPlayer
from service.application.errors import Refusal
from service.application.ports import World
from service.application.quotas import QUOTAS
from service.bots.registry import bots
from service.keys import Keys
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.events import QuotaFull, QuotaKind
from service.store.handles import ListedPlayer

CHANGED_EVERY: Final = timedelta(seconds=QUOTAS[QuotaKind.HANDLES].seconds or 0)
"""Time after a choice before the player may choose another handle."""

_ALIKE: Final = str.maketrans("01258i", "olzsbl")
"""Characters that a reader confuses, each with one that stands for both."""

_ALIKE_IN_PAIRS: Final = (("rn", "m"), ("vv", "w"))

_RESERVED: Final = (
    *("admin", "administrator", "anonymous", "bot", "dealer", "erased", "help", "mod", "moderator"),
    *("nobody", "official", "operator", "public", "referee", "root", "security", "server"),
    *("service", "shithead", "staff", "support", "system", "team", "verifier", "witness"),
)


def skeleton(handle: str) -> str:
    """
    Return the form that a handle shares with all that look alike.

    >>> skeleton("b0b"), skeleton("bob"), skeleton("8o-b")
    ('bob', 'bob', 'bob')
    >>> skeleton("bernd"), skeleton("ber-nd")
    ('bemd', 'bemd')
    """
    handle = handle.replace("-", "")  # first, because a hyphen may part a pair
    for pair, one in _ALIKE_IN_PAIRS:
        handle = handle.replace(pair, one)
    return handle.translate(_ALIKE)


def is_reserved(handle: str) -> bool:
    """Return whether a handle looks like a role of the service, or like a bot."""
    return skeleton(handle) in {skeleton(name) for name in (*_RESERVED, *bots())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Handles:
    """Use cases of handles."""

    directory: Directory
    keyring: Keys
    world: World

    def choose(self, player: RegisteredPlayer, token: str, handle: str) -> None:
        """
        Set the handle of the player with a token. Safe to repeat.

        Raises Refusal `handle-taken`, the same for one in use, held or reserved and for its
        look-alikes; `rate-limited` if the player chose another within CHANGED_EVERY;
        `unauthorized` if the token has expired meanwhile. Raises PlayerErased.
        """
        now = self.world.now()
        if is_reserved(handle):
            raise Refusal("handle-taken", said("request.handle_taken"))
        try:
            done = self.directory.choose_handle(
                token, handle, self._hash(handle), at=now, last=now - CHANGED_EVERY
            )
        except QuotaFull:
            raise self._too_early(player.id) from None
        if done is None:
            raise Refusal("unauthorized", said("request.unknown_token"))
        if not done:
            raise Refusal("handle-taken", said("request.handle_taken"))

    def fixed_until(self, player: UUID) -> str | None:
        """Return until when a player cannot choose another handle; None if it is possible."""
        chosen = self.directory.handle_chosen_at(player)
        if chosen is None or chosen + CHANGED_EVERY <= self.world.now():
            return None
        return format_time(chosen + CHANGED_EVERY)

    def search(self, prefix: str) -> list[dict[str, Any]]:
        """Return the first few players whose handles begin with a text."""
        return people_json(self.directory.handles_with(prefix, limit=MAX_FOUND))

    def people(self, ids: Sequence[UUID]) -> list[dict[str, Any]]:
        """Return players by their ids, in this order; unknown ones are left out."""
        known = {one.id: one for one in self.directory.known_players(ids)}
        return people_json(known[player] for player in ids if player in known)

    def _too_early(self, player: UUID) -> Refusal:
        """Return the refusal of a second choice within CHANGED_EVERY."""
        chosen = self.directory.handle_chosen_at(player)
        until = (chosen or self.world.now()) + CHANGED_EVERY
        return Refusal(
            "rate-limited",
            said("quota.handles", until=until.date().isoformat()),
            limit=QuotaKind.HANDLES.value,
            retry_after=max(1, int((until - self.world.now()).total_seconds())),
        )

    def _hash(self, handle: str) -> bytes:
        """Return a keyed hash: without the key it does not reveal which handle was erased."""
        key = self.keyring.present.bot_secret
        return hmac.digest(key, b"handle " + skeleton(handle).encode(), "sha256")


def people_json(people: Iterable[ListedPlayer]) -> list[dict[str, Any]]:
    """Return players as JSON."""
    return [{"id": str(one.id), "name": one.name, "handle": one.handle} for one in people]
