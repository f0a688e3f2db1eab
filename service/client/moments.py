"""The moments of hands that a player keeps, in lists by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlencode
from uuid import UUID

from service.client.api import Api

PATH = "/players/me/moments"

KeptMoment = TypedDict(
    "KeptMoment",
    {
        "id": str,
        "game": str,
        "version": int,
        "as": str,  # "public", "all" or a seat
        "list": str,
        "text": str,
        "kept_at": str,
    },
)
"""A moment of a hand that a player keeps."""


@dataclass(frozen=True, slots=True)
class KeptMoments:
    """
    The moments that a player keeps; no other player can read them.

    `api` has the player's token: `KeptMoments(player.api)`. All methods raise Refused or
    NotAnswered.
    """

    api: Api

    def keep(
        self, game: UUID, version: int, text: str, *, viewer: str = "public", in_list: str
    ) -> KeptMoment:
        """
        Keep the moment of a hand after a version, as a viewer sees it: `public`, `all` or a seat.

        Before the seal only as the public and as this player's own seat. Raises Refused or
        NotAnswered.
        """
        hand = {"game": str(game), "version": version, "as": viewer}
        kept: KeptMoment = self.api.post(PATH, {**hand, "list": in_list, "text": text})
        return kept

    def listed(self, in_list: str | None = None) -> Iterator[KeptMoment]:
        """Yield all moments, or those of a list, newest first; raises Refused or NotAnswered."""
        query = {} if in_list is None else {"list": in_list}
        while True:
            page = self.api.get(f"{PATH}?{urlencode({**query, 'limit': 200})}")
            yield from page["items"]
            if page["next"] is None:
                return
            query["cursor"] = page["next"]

    def lists(self) -> dict[str, int]:
        """Return the names of all lists, each with its number of moments; raises as `listed`."""
        found = self.api.get(f"{PATH}?limit=1")["lists"]
        return {one["name"]: one["moments"] for one in found}

    def change(self, moment: UUID, **change: str) -> KeptMoment:
        """Give a moment another `text` or `list`; raises Refused or NotAnswered."""
        changed: KeptMoment = self.api.patch(f"{PATH}/{moment}", change)
        return changed

    def rename(self, in_list: str, to: str) -> None:
        """Move all moments of a list to another one; raises Refused or NotAnswered."""
        self.api.patch(PATH, {"list": in_list, "to": to})

    def forget(self, moment: UUID) -> None:
        """Delete a moment; raises Refused or NotAnswered."""
        self.api.delete(f"{PATH}/{moment}")

    def export(self) -> dict[str, Any]:
        """Return all moments as the file that the service exports; raises as `listed`."""
        exported: dict[str, Any] = self.api.get(f"{PATH}/export")
        return exported
