"""Moments that players keep: places in hands with a line of text, for the player alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid5

import orjson
from msgspec import Struct

from service.application.calls import Answered, Caller, Idempotency
from service.application.errors import Refusal, not_found
from service.application.games.queries import Games, cursor_of
from service.application.handler import Handler
from service.application.ports import World
from service.application.quotas import Bound
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.store.database import Repository
from service.store.summaries import START, Cursor, Page

MOMENTS_OF_PLAYER: Final = Bound(
    of="player", most=500, counts="moments", rows=("moments",), problem="limit-reached"
)

FORMAT: Final = "moments/1"
"""The name of the form of an export."""


class Moment(Struct, frozen=True, kw_only=True):
    """A moment that a player keeps."""

    id: UUID
    game: UUID
    version: int
    viewer: str  # "public", "all" or a seat
    list: str
    text: str
    created_at: datetime


class MomentRepository(Repository):
    """The moments of players; each call names the player to whom they belong."""

    def keep(self, player: UUID, moment: Moment, *, most: int) -> bool:
        """
        Store a moment; one with this id stays as it is. Return False above the quota.

        Raises PlayerErased.
        """
        columns = {
            "moment_id": str(moment.id),
            "player_id": str(player),
            "game_id": str(moment.game),
            "version": moment.version,
            "viewer": moment.viewer,
            "list_name": moment.list,
            "words": moment.text,
            "kept_at": moment.created_at.isoformat(),
        }
        return bool(self._write("keep_moment", orjson.dumps(columns).decode(), most))

    def change(self, player: UUID, moment: UUID, text: str | None, list_: str | None) -> bool:
        """Set the text or the list of a moment; return whether there is one."""
        return self._count("change_moments", player, moment, None, text, list_) > 0

    def move(self, player: UUID, list_: str, to: str) -> int:
        """Move all moments of a list to another one; return their number."""
        return self._count("change_moments", player, None, list_, None, to)

    def delete(self, player: UUID, moment: UUID) -> bool:
        """Delete a moment; return whether there was one."""
        return bool(self._write("delete_moment", player, moment))

    def get(self, player: UUID, moment: UUID) -> Moment | None:
        """Return a moment of a player."""
        return self._first(_moment, "moment_of", player, moment)

    def page(
        self, player: UUID, *, list_: str | None = None, after: Cursor | None = None, limit: int
    ) -> Page[Moment]:
        """Return moments of a player, or of one list, newest first."""
        begin = after or START
        rows = self._database.fetch("moments_of", player, list_, begin.at, begin.id, limit + 1)
        return Page.of([_moment(row) for row in rows], limit)

    def lists(self, player: UUID) -> Sequence[tuple[str, int]]:
        """Return the names of a player's lists, sorted, each with its number of moments."""
        return [(name, count) for name, count in self._database.fetch("moment_lists", player)]


def _moment(row: tuple[Any, ...]) -> Moment:
    identity, game, version, viewer, list_, text, at = row
    return Moment(
        id=identity, game=game, version=version, viewer=viewer, list=list_, text=text, created_at=at
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """
    Keeps, changes and lists the moments of players (api.md, section 2).

    Whether a hand can be seen is checked when a moment is kept, and by each read of the hand. What
    is listed has nothing of the hand but its id, so nothing of a hand that can no longer be seen.
    """

    moments: MomentRepository
    games: Games
    handler: Handler
    world: World

    def keep(
        self,
        caller: Caller,
        player: UUID,
        wanted: dict[str, Any],
        request: Idempotency | None,
    ) -> Answered:
        """
        Keep a moment, and return it.

        Raises Refusal `not-found`, `sealed` for a viewer whose cards the caller may not see yet,
        `invalid-body` for a version or a viewer that the hand does not have, `limit-reached`, and
        those of `Handler.once`.
        """

        def act() -> tuple[Answered, bool]:
            entry = self.games.entry(caller, wanted["game"])
            at = wanted["version"]
            self.games.check_range(entry, at, at, named=("/version", "/version"))
            self.games.viewer(entry, caller, wanted["as_"])
            new = self.world.identity()
            moment = Moment(
                id=uuid5(player, request.request_key.hex()) if request else new,
                game=entry.record.identity,
                version=at,
                viewer=wanted["as_"],
                list=wanted["list_"],
                text=wanted["text"],
                created_at=self.world.now(),
            )
            if not self.moments.keep(player, moment, most=MOMENTS_OF_PLAYER.most):
                detail = said("quota.kept", most=MOMENTS_OF_PLAYER.most)
                raise Refusal("limit-reached", detail, limit="moments")
            return Answered(body=orjson.dumps(self.get(player, moment.id))), True

        return self.handler.once(player, request, act)

    def change(
        self, player: UUID, moment: UUID, *, text: str | None, list_: str | None
    ) -> dict[str, Any]:
        """Set the text or the list of a moment, and return it; raises Refusal `not-found`."""
        if not self.moments.change(player, moment, text, list_):
            raise not_found("kept")
        return self.get(player, moment)

    def move(self, player: UUID, list_: str, to: str) -> int:
        """Move all moments of a list to another one; raises Refusal `not-found` if it has none."""
        moved = self.moments.move(player, list_, to)
        if not moved:
            raise not_found("kept_list")
        return moved

    def delete(self, player: UUID, moment: UUID) -> None:
        """Delete a moment; raises Refusal `not-found`."""
        if not self.moments.delete(player, moment):
            raise not_found("kept")

    def get(self, player: UUID, moment: UUID) -> dict[str, Any]:
        """Return a moment as JSON; raises Refusal `not-found`."""
        found = self.moments.get(player, moment)
        if found is None:
            raise not_found("kept")
        return _json(found)

    def page(
        self, player: UUID, *, list_: str | None, limit: int, cursor: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """
        Return a page of moments as JSON, newest first, and the cursor of the next one.

        Raises Refusal `invalid-body` for a cursor of another list.
        """
        after = cursor_of(cursor, "moments")
        page = self.moments.page(player, list_=list_, after=after, limit=limit)
        return [_json(one) for one in page.items], page.following("moments")

    def lists(self, player: UUID) -> list[dict[str, Any]]:
        """Return all lists as JSON, by name."""
        return [{"name": name, "moments": count} for name, count in self.moments.lists(player)]

    def file(self, player: UUID) -> dict[str, Any]:
        """Return all moments in the form of an export; the quota bounds it."""
        items = self.moments.page(player, limit=MOMENTS_OF_PLAYER.most).items
        return {"format": FORMAT, "player": str(player), "moments": [_json(one) for one in items]}


def _json(moment: Moment) -> dict[str, Any]:
    return {
        "id": str(moment.id),
        "game": str(moment.game),
        "version": moment.version,
        "as": moment.viewer,
        "list": moment.list,
        "text": moment.text,
        "kept_at": format_time(moment.created_at),
    }
