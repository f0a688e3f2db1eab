"""Invitations: the host of a table invites players, who accept by sitting down, or decline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from service.application.access import visible_table
from service.application.calls import Caller, RegisteredPlayer
from service.application.errors import Refusal, invalid, not_found
from service.application.games.cache import Names
from service.application.quotas import QUOTAS
from service.application.tables.commands import TableChanges
from service.application.tables.record import TableRequest
from service.domain.table import SeatKind, TableSeat, TableStatus
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.events import PlayerErased, QuotaKind
from service.store.games import TableRow
from service.store.notices import SentInvitation

OPEN, DECLINED = "open", "declined"


def may_join(directory: Directory, row: TableRow | None, caller: Caller) -> TableRow:
    """
    Return the table if the caller may see it, also by an open invitation.

    An invitation shows a private table and gives the right to sit down; its hands are visible from
    the seat. Raises Refusal `not-found`, the same as for a table that does not exist.
    """
    try:
        return visible_table(row, caller)
    except Refusal:
        if row is None or not is_invited(directory, row.id, caller):
            raise
        return row


def is_invited(directory: Directory, table: UUID, caller: Caller) -> bool:
    """Return whether the caller has an open invitation to a table."""
    return caller.player is not None and bool(directory.invitations(caller.player, table=table))


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitations:
    """
    Use cases of invitations; api.md, section 3.

    A block of either player hides an invitation from its player, and its host cannot see that: it
    stays open in the host's list.
    """

    changes: TableChanges
    directory: Directory
    names: Names

    def request(self, host: RegisteredPlayer, wanted: TableRequest) -> TableRequest:
        """
        Return a request whose invited players are known and distinct.

        Raises Refusal `invalid-body` for an unknown or erased player, or the host.
        """
        invited = tuple(dict.fromkeys(wanted.invited))
        known = self.directory.names(invited)
        for number, player in enumerate(wanted.invited):
            if player not in known or player == host.id:
                raise invalid(f"/invited/{number}", said("request.no_other_player"))
        return replace(wanted, invited=invited)

    def like(self, caller: Caller, host: RegisteredPlayer, table: UUID) -> TableRequest:
        """
        Return the request for a table like another one, with the same players invited.

        They are those who sit there, and at open seats those of the last hand. The seats of other
        players are open, the caller has the own seat with its entropy and key.
        Raises Refusal `not-found`, or `not-seated` unless the caller hosts it or has a seat.
        """
        row = visible_table(self.directory.table(table), caller)
        record = self.changes.record(table)
        conditions, seats = record.table.conditions, record.table.seats
        own = record.table.seat_of(str(host.id))
        if own is None and row.host != host.id:
            raise Refusal("not-seated", said("request.not_of_table"))
        mine = TableSeat() if own is None else seats[own]
        last = self.directory.games_of_table(table, limit=1)
        people = {UUID(seat.player) for seat in seats if seat.player is not None}
        people |= {
            seat.player
            for seat in (last[0].seats if last else ())
            if seat.player is not None and seats[seat.seat].kind is SeatKind.OPEN
        }
        known = self.directory.names(people)
        return TableRequest(
            ruleset=conditions.ruleset["id"],
            seats=tuple(_wanted(seat, own=number == own) for number, seat in enumerate(seats)),
            options=conditions.ruleset["options"],
            clock=conditions.clock,
            window_seconds=conditions.window_seconds,
            public=conditions.public,
            entropy=mine.entropy,
            key=mine.key,
            turn_limit=conditions.turn_limit,
            deal=conditions.deal,
            invited=tuple(player for player in sorted(known) if player != host.id),
            is_like_another=True,
        )

    def invite(self, caller: Caller, table: UUID, player: UUID) -> dict[str, Any]:
        """
        Invite a player to a table as its host; return the invitation. Safe to repeat.

        Raises Refusal `not-found`, also for an unknown or erased player, `forbidden` unless the
        caller is the host, for the host and at a closed table, `seat-taken` if the player sits
        there; and at the quota `limit-reached`, through QuotaFull. Raises PlayerErased for the
        host.
        """
        row = self._hosted(caller, table)
        if row.status == TableStatus.CLOSED:
            raise Refusal("forbidden", said("request.table_closed"))
        if player == row.host:
            raise Refusal("forbidden", said("request.invite_host"))
        if player not in self.directory.names([player]):
            raise not_found("player")
        if any(seat.player == player for seat in row.seats):
            raise Refusal("seat-taken", said("request.invite_seated"))
        now = self.changes.world.now()
        try:
            most = QUOTAS[QuotaKind.INVITATIONS].most
            self.directory.keep_invitation(table, player, at=now, most=most)
        except PlayerErased:
            if self.changes.is_erased(row.host):
                raise
            raise not_found("player") from None
        self.changes.notifier.player_changed(player)
        sent = [one for one in self.directory.invitations_to(table) if one.player == player]
        if not sent:
            raise not_found("player")  # withdrawn, or the table was closed, at the same moment
        return self._sent_json(sent)[0]

    def sent(self, caller: Caller, table: UUID) -> list[dict[str, Any]]:
        """Return the invitations to a table; raises Refusal `not-found`, `forbidden`."""
        self._hosted(caller, table)
        return self._sent_json(self.directory.invitations_to(table))

    def end(self, caller: Caller, table: UUID, player: UUID) -> None:
        """
        Withdraw an open invitation as the host, or decline it as the invited player.

        Raises Refusal `not-found`, also for a declined one, and `forbidden` for others.
        """
        if player == caller.player:
            if not is_invited(self.directory, table, caller):
                raise not_found("invitation")
            now = self.changes.world.now()
            self.directory.end_invitation(table, player, declined_at=now)
            return
        self._hosted(caller, table)
        if not self.directory.end_invitation(table, player):
            raise not_found("invitation")
        self.changes.notifier.player_changed(player)

    def of_player(
        self, player: RegisteredPlayer, *, after: int, limit: int
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Return a page of the open invitations of a player, and where the next one begins."""
        rows = self.directory.invitations(player.id, after=after, limit=limit + 1)
        found = rows[:limit]
        names = self.names.of([one.host for one in found])
        items = [
            {
                "table": str(one.table),
                "host": str(one.host),
                "name": name,
                "ruleset": one.ruleset,
                "visibility": "public" if one.public else "private",
                "at": format_time(one.at),
            }
            for one, name in zip(found, names, strict=True)
        ]
        return items, after + limit if len(rows) > limit else None

    def _hosted(self, caller: Caller, table: UUID) -> TableRow:
        """Return a table of the caller; raises Refusal `not-found`, `forbidden` for others."""
        row = visible_table(self.directory.table(table), caller)
        if row.host != caller.player:
            raise Refusal("forbidden", said("request.host_invites"))
        return row

    def _sent_json(self, sent: Sequence[SentInvitation]) -> list[dict[str, Any]]:
        names = self.names.of([one.player for one in sent])
        return [
            {
                "player": str(one.player),
                "name": name,
                "status": OPEN if one.declined_at is None else DECLINED,
                "at": format_time(one.at),
            }
            for one, name in zip(sent, names, strict=True)
        ]


def _wanted(seat: TableSeat, *, own: bool) -> Any:
    """Return a seat of a request for a table like another one."""
    if own:
        return "me"
    return {"bot": seat.bot} if seat.kind is SeatKind.BOT else "open"
