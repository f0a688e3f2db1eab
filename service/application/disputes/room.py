"""Referees' rooms: one referee leads through a replay, and the others follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol
from uuid import UUID

from service.application.calls import Caller, Player
from service.application.disputes.commands import DisputeCommands
from service.application.disputes.record import DisputeRecord
from service.application.errors import Refusal, invalid
from service.application.games.queries import Games

LEAD_SECONDS: Final = 30
"""A lead ends if the leader sends no position for this long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a replay: the version, the viewer (`as` of a query), and a selected event."""

    version: int
    viewer: str
    selected: int | None  # seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The leading referee's position; each change has a new number, greater than 0."""

    number: int
    referee: int
    position: Position


class Leads(Protocol):
    """The present lead of each room; every method raises Refusal `unavailable`."""

    def read(self, dispute: UUID) -> Lead | None:
        """Return the lead; None if no referee leads."""

    def set(self, dispute: UUID, referee: int, position: Position, *, take: bool) -> Lead:
        """
        Store the position that a referee has sent, and return the lead that now holds.

        A lead ends LEAD_SECONDS after the last position. While another referee leads, the lead
        changes only if `take` is true.
        """

    def end(self, dispute: UUID, referee: int) -> None:
        """End the lead of a referee; no effect if another one leads."""


class NoLeads:
    """The rooms of a service without Redis: always unavailable."""

    def read(self, _dispute: UUID) -> Lead | None:
        """Raise Refusal `unavailable`."""
        raise unavailable()

    def set(self, _dispute: UUID, _referee: int, _position: Position, *, take: bool) -> Lead:  # noqa: ARG002 - the name belongs to the protocol
        """Raise Refusal `unavailable`."""
        raise unavailable()

    def end(self, _dispute: UUID, _referee: int) -> None:
        """Raise Refusal `unavailable`."""
        raise unavailable()


def unavailable() -> Refusal:
    """Return the refusal of a room whose store does not answer."""
    return Refusal("unavailable", "the rooms of referees need Redis, which does not answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """
    Use cases of the referees' rooms.

    Only the referees of the present panel can read or set a room. A position is only a hint: each
    follower fetches the view with the follower's own rights. A leader cannot set a viewer whose
    view the leader may not see. Every method raises Refusal `not-found`, `forbidden` for callers
    who are not referees of the present panel, and `unavailable` if Redis does not answer.
    """

    commands: DisputeCommands
    games: Games
    leads: Leads

    def view(self, caller: Caller, player: Player, identity: UUID) -> dict[str, Any]:
        """Return the room of a dispute as JSON."""
        self._referee(caller, player, identity)
        return _room_json(self.leads.read(identity))

    def changed(self, identity: UUID, known: int) -> Callable[[], bool]:
        """
        Return a function that returns whether the room has another number than `known`.

        It raises Refusal `unavailable`. The caller must have checked access with `view`.
        """

        def has_changed() -> bool:
            lead = self.leads.read(identity)
            return known != (0 if lead is None else lead.number)

        return has_changed

    def lead(
        self, caller: Caller, player: Player, identity: UUID, position: Position, *, take: bool
    ) -> dict[str, Any]:
        """
        Set the caller's position unless another referee leads, and return the room.

        With `take` the caller replaces another leader. Raises Refusal `invalid-body` for an
        unknown version, viewer or event, `sealed` for the view of another seat before the seal,
        and those of the class.
        """
        number, record = self._referee(caller, player, identity)
        entry, at = self.games.entry(caller, record.game), position.version
        self.games.check_range(entry, at, at, named=("/version", "/version"))
        self.games.viewer(entry, caller, position.viewer)
        if position.selected is not None and position.selected >= entry.record.version:
            raise invalid("/selected", "is not the seq of an event of the game")
        return _room_json(self.leads.set(identity, number, position, take=take))

    def leave(self, caller: Caller, player: Player, identity: UUID) -> None:
        """End the caller's lead; no effect if another referee leads."""
        number, _ = self._referee(caller, player, identity)
        self.leads.end(identity, number)

    def _referee(self, caller: Caller, player: Player, identity: UUID) -> tuple[int, DisputeRecord]:
        """Return the caller's number as a referee, and the dispute; raises `forbidden`."""
        record = self.commands.visible(caller, identity, noted=False)
        for number, referee in record.dispute.seated.items():
            if referee.player == str(player.id):
                return number, record
        raise Refusal("forbidden", "only referees of the present panel can use its room")


def _room_json(lead: Lead | None) -> dict[str, Any]:
    if lead is None:
        return {"number": 0, "leader": None, "position": None}
    position = lead.position
    return {
        "number": lead.number,
        "leader": lead.referee,
        "position": {
            "version": position.version,
            "as": position.viewer,
            "selected": position.selected,
        },
    }
