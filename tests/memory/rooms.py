"""The rooms of referees in memory: one process, and a lead that never expires."""

from __future__ import annotations

from uuid import UUID

from service.application.disputes.room import Lead, Position


class MemoryLeads:
    """The current lead of each room."""

    def __init__(self) -> None:
        self._leads: dict[UUID, Lead] = {}
        self._number = 0

    def read(self, dispute: UUID) -> Lead | None:
        return self._leads.get(dispute)

    def set(self, dispute: UUID, referee: int, position: Position, *, take: bool) -> Lead:
        lead = self._leads.get(dispute)
        if lead is not None and lead.referee != referee and not take:
            return lead
        if lead is None or (lead.referee, lead.position) != (referee, position):
            self._number += 1
            lead = Lead(number=self._number, referee=referee, position=position)
            self._leads[dispute] = lead
        return lead

    def end(self, dispute: UUID, referee: int) -> None:
        lead = self._leads.get(dispute)
        if lead is not None and lead.referee == referee:
            del self._leads[dispute]
