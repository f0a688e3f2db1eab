"""Tokens of a player: issue, list and end them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from secrets import token_urlsafe
from typing import Any, Final
from uuid import UUID

from schemas.tokens import Scope
from service.application.calls import RegisteredPlayer, digest
from service.application.errors import Refusal, invalid, not_found
from service.application.players import TOKEN_BYTES
from service.application.ports import Notifier, World
from service.application.quotas import QUOTAS
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.store.directory import Directory, StoredToken
from service.store.events import QuotaKind, TokenEnded

_ORDER: Final = {scope.value: place for place, scope in enumerate(Scope)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """A request for a further token; None: as the token of the request."""

    name: str
    scopes: Collection[str] | None = None
    ends_at: datetime | None = None
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """
    Use cases of a player's tokens.

    The functions of the database take the token of the request itself and check it again, so that
    the role of the service, which reads the hashes, cannot issue or end a token without one.
    """

    directory: Directory
    world: World
    notifier: Notifier

    def of_player(self, player: RegisteredPlayer, bearer: str) -> list[dict[str, Any]]:
        """Return the tokens of a player that have not ended, newest first."""
        own = self._present(bearer)
        return [_json(token, own) for token in self.directory.tokens_of(player.id)]

    def present(self, bearer: str) -> dict[str, Any]:
        """Return the token of the request; raises Refusal `unauthorized` if it has ended."""
        own = self._present(bearer)
        return {**_json(own, own), "player": str(own.player)}

    def issue(self, bearer: str, wanted: TokenRequest) -> dict[str, Any]:
        """
        Return a new token, which never exceeds the token of the request.

        Raises Refusal `invalid-body` if it would, or has ended already; `unauthorized` if the token
        of the request has ended; and at the quota `limit-reached`, through QuotaFull.
        """
        own, now = self._present(bearer), self.world.now()
        scopes = own.scopes if wanted.scopes is None else tuple(wanted.scopes)
        missing = sorted(set(scopes) - set(own.scopes), key=_ORDER.__getitem__)
        if missing:
            raise invalid("/scopes", said("request.scopes", scopes=tuple(missing)))
        if wanted.ends_at is not None and wanted.ends_at <= now:
            raise invalid("/ends_at", said("request.past"))
        if own.ends_at is not None and (wanted.ends_at or own.ends_at) > own.ends_at:
            last = format_time(own.ends_at)
            raise invalid("/ends_at", said("request.after_token", time=last))
        token = token_urlsafe(TOKEN_BYTES)
        made = StoredToken(
            id=self.world.identity(),
            player=own.player,
            name=wanted.name,
            scopes=tuple(sorted(set(scopes), key=_ORDER.__getitem__)),
            created_at=now,
            ends_at=wanted.ends_at or own.ends_at,
            used_on=None,
        )
        most = QUOTAS[QuotaKind.TOKENS].most
        try:
            self.directory.issue_token(
                bearer, made, digest(token), replaces=wanted.replaces, most=most
            )
        except TokenEnded:
            raise _ended() from None
        if wanted.replaces:
            self.notifier.player_changed(own.player)
        return {**_json(made, own), "token": token}

    def end(self, player: RegisteredPlayer, bearer: str, token: UUID) -> None:
        """
        End a token of a player, and its open streams at once.

        Raises Refusal `not-found` if the player has no such token, `unauthorized` if the token of
        the request has ended.
        """
        try:
            ended = self.directory.end_token(bearer, token)
        except TokenEnded:
            raise _ended() from None
        if not ended:
            raise not_found("token")
        self.notifier.player_changed(player.id)

    def _present(self, bearer: str) -> StoredToken:
        found = self.directory.token(digest(bearer))
        if found is None:
            raise _ended()
        return found


def _json(token: StoredToken, own: StoredToken) -> dict[str, Any]:
    return {
        "id": str(token.id),
        "name": token.name,
        "scopes": list(token.scopes),
        "created_at": format_time(token.created_at),
        "ends_at": None if token.ends_at is None else format_time(token.ends_at),
        "used_on": None if token.used_on is None else token.used_on.isoformat(),
        "current": token.id == own.id,
    }


def _ended() -> Refusal:
    return Refusal("unauthorized", said("request.unknown_token"))
