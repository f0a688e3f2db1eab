"""Players: registration, tokens, recovery, public pages, blocks and erasure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from schemas.tokens import ALL_SCOPES
from service.application.calls import RegisteredPlayer, digest
from service.application.errors import Refusal, not_found
from service.application.games.cache import GameCache, Names
from service.application.handles import Handles
from service.application.ports import Notifier, World
from service.application.quotas import QUOTAS
from service.application.tables.tables import Tables
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.events import HandRunning, PlayerErased, QuotaKind

TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Players:
    """Use cases of players' own accounts."""

    directory: Directory
    game_cache: GameCache
    tables: Tables
    names: Names
    world: World
    notifier: Notifier
    ratings: Callable[[UUID], list[dict[str, Any]]]
    handles: Handles
    # Stores the ends of periods in the disputes of a player.
    settle_disputes: Callable[[UUID], None] = lambda _player: None

    def register(self, name: str) -> dict[str, Any]:
        """Return a new player with token and recovery code, which are shown only here."""
        token, recovery = token_urlsafe(TOKEN_BYTES), token_urlsafe(TOKEN_BYTES)
        identity = self.world.identity()
        self.directory.create_player(
            player=identity,
            name=name,
            token_hash=digest(token),
            recovery_hash=digest(recovery),
            at=self.world.now(),
        )
        return {"id": str(identity), "name": name, "token": token, "recovery": recovery}

    def check_known(self, player: UUID) -> None:
        """Raise Refusal `not-found` if there is no such player, or none any more."""
        if self.directory.player(player) is None:
            raise not_found("player")

    def by_token(self, token: str) -> RegisteredPlayer | None:
        """Return the player of a token; None for an unknown or expired token."""
        row = self.directory.player_by_token(digest(token))
        return None if row is None else RegisteredPlayer(id=row.id, name=row.name or "")

    def me(self, player: RegisteredPlayer) -> dict[str, Any]:
        """Return a player's own page, with the open tables that the player hosts or sits at."""
        tables = [str(table) for table in self.directory.tables_of(player.id)]
        page = self.public(player.id, own=True)
        own = {"tables": tables, "handle_fixed_until": self.handles.fixed_until(player.id)}
        return {**{k: page[k] for k in ("id", "name", "handle", "created_at")}, **own, **page}

    def public(self, player: UUID, *, own: bool = False) -> dict[str, Any]:
        """
        Return a player's page: the public one, or with `own` the player's own.

        Hands of private tables count on the player's own page only: a growing public count
        would reveal when such a hand ends. Disputes about private games count publicly once
        they have a final ruling; before that, only callers who may see the game learn of
        them. Raises Refusal `not-found`.
        """
        row = self.directory.player(player)
        if row is None:
            raise not_found("player")
        results = self.directory.results(player, public=not own)
        self.settle_disputes(player)
        record = self.directory.accusations(player, since=self.world.now())
        return {
            "id": str(row.id),
            "name": row.name,
            "handle": row.handle,
            "created_at": format_time(row.created_at),
            "games": results.games,
            "shithead": results.shithead,
            "cad": record.cad,
            "accusations": {
                "made": record.made if own else record.known,
                "upheld": record.upheld,
            },
            "ratings": self.ratings(row.id),
        }

    def recover(self, recovery: str) -> str:
        """
        Return a new token with all scopes for a recovery code; all earlier ones end.

        Raises Refusal `unauthorized`.
        """
        token = token_urlsafe(TOKEN_BYTES)
        player = self.directory.recover(recovery, digest(token))
        if player is None:
            raise Refusal("unauthorized", said("request.unknown_recovery"))
        self.notifier.player_changed(player)
        return token

    def rename(self, player: RegisteredPlayer, token: str, name: str) -> dict[str, Any]:
        """
        Set the name of the player with a token and return the player's own page.

        Names are outside the logs, so all views, also of past hands, show the new name at once;
        views from other processes show it within `KEPT_SECONDS`. Raises Refusal `unauthorized` if
        the token has expired meanwhile.
        """
        if not self.directory.rename(token, name):
            raise _gone()
        self.names.forget(player.id)
        return self.me(player)

    def renew_recovery(self, token: str, code: str | None) -> str:
        """
        Return a new recovery code for the player with a token; the old one expires at once.

        Raises Refusal `forbidden` unless `code` is the old one, or is None and the token full;
        `unauthorized` if the token has expired meanwhile.
        """
        recovery = token_urlsafe(TOKEN_BYTES)
        done = self.directory.renew_recovery(token, code, digest(recovery))
        if done is None:
            raise _gone()
        if not done:
            fault = "request.full_token_or_code" if code is None else "request.unknown_recovery"
            raise Refusal("forbidden", said(fault))
        return recovery

    def blocks(self, player: RegisteredPlayer) -> list[dict[str, Any]]:
        """Return the players whom a player blocks, newest first."""
        return self._blocks_json(self.directory.blocks(player.id))

    def block(self, player: RegisteredPlayer, other: UUID) -> dict[str, Any]:
        """
        Block another player, who is not notified; return the block. Safe to repeat.

        Raises Refusal `not-found` for an unknown or erased player, `forbidden` for the caller's own
        id; PlayerErased if the caller was erased meanwhile; and at the quota `limit-reached`,
        through QuotaFull.
        """
        if other == player.id:
            raise Refusal("forbidden", said("request.block_self"))
        if not self._is_present(other):
            raise not_found("player")
        try:
            most = QUOTAS[QuotaKind.BLOCKS].most
            since = self.directory.block(player.id, other, at=self.world.now(), most=most)
        except PlayerErased:  # one of the two, at the same moment
            if not self._is_present(player.id):
                raise
            raise not_found("player") from None
        return self._blocks_json({other: since})[0]

    def unblock(self, player: RegisteredPlayer, other: UUID) -> None:
        """End a block; raises Refusal `not-found` if there is none."""
        if not self.directory.unblock(player.id, other):
            raise not_found("block")

    def _is_present(self, player: UUID) -> bool:
        """Return whether a player is registered, and not erased."""
        row = self.directory.player(player)
        return row is not None and row.erased_at is None

    def _blocks_json(self, blocks: Mapping[UUID, datetime]) -> list[dict[str, Any]]:
        named = zip(blocks.items(), self.names.of(list(blocks)), strict=True)
        return [
            {"player": str(other), "name": name, "at": format_time(since)}
            for (other, since), name in named
        ]

    def erase(self, player: RegisteredPlayer, token: str | None) -> None:
        """
        Erase a player: name and tokens are deleted, the logs stay valid.

        Without the player's token only the operator may do so, whose role is the database's owner.

        The player leaves all tables, and the invitations to those that the player hosts end. A hand
        dealt at the same moment either comes first, and the erasure is refused, or is itself
        refused: both lock the player's row. Raises Refusal `forbidden` unless the token is full,
        `hand-running` during a hand, `unauthorized` if the token has expired meanwhile.
        """
        if token is not None:
            self._refuse_unless_full(token)
        if self.directory.holdings(player.id).running:
            raise _hand_running()
        self._leave_tables(player)
        invited = self._invited(player)
        try:
            if token is None:
                self.directory.erase_player(player.id, self.world.now())
            elif not self.directory.erase(token, self.world.now()):
                raise _gone()
        except HandRunning:
            raise _hand_running() from None
        self._leave_tables(player)  # joined meanwhile; from now on the player can join none
        self.names.forget(player.id)
        for one in (player.id, *invited):
            self.notifier.player_changed(one)

    def _refuse_unless_full(self, token: str) -> None:
        known = self.directory.token(digest(token))
        if known is None:
            raise _gone()
        if known.ends_at is not None or not ALL_SCOPES.issubset(known.scopes):
            raise Refusal("forbidden", said("request.full_token"))

    def _invited(self, host: RegisteredPlayer) -> set[UUID]:
        """Return the players with invitations to the tables of a host."""
        hosted = [
            table
            for table in self.directory.tables_of(host.id)
            if (row := self.directory.table(table)) is not None and row.host == host.id
        ]
        return {one.player for table in hosted for one in self.directory.invitations_to(table)}

    def _leave_tables(self, player: RegisteredPlayer) -> None:
        for table in self.directory.tables_of(player.id):
            record = self.game_cache.table(table)
            if record is not None and record.table.seat_of(str(player.id)) is not None:
                try:
                    self.tables.leave(player, table)
                except Refusal as refusal:
                    if refusal.code != "not-seated":  # a second erasure was faster
                        raise


def _gone() -> Refusal:
    return Refusal("unauthorized", said("request.unknown_token"))


def _hand_running() -> Refusal:
    return Refusal("hand-running", said("request.finish_first"))
