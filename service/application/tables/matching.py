"""Matches open seeks: which of them are seated together, first come, first served."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from service.store.seeks import Seek, SeekConditions

Apart = Callable[[UUID, UUID], bool]
"""Returns whether two players may not be seated together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Seeks that get a table together; bots take the seats that are left."""

    ruleset: str
    seeks: tuple[Seek, ...]  # the oldest first

    @property
    def bots(self) -> int:
        """Return the number of seats for bots."""
        return self.seeks[0].conditions.seats - len(self.seeks)


def matches(seeks: Sequence[Seek], *, now: datetime, apart: Apart) -> Iterator[Match]:
    """
    Yield the matches among open seeks, which are in the order of their age.

    The oldest seek is served first: with the first of its rulesets for which there are enough
    others, again the oldest first. A seek whose time for bots has come, and for which there are not
    enough, gets a table with those others that accept bots at any time; a seek that never accepts
    bots is not seated with them. No player sits twice at a table.
    """

    def agreed(seek: Seek) -> SeekConditions:
        return replace(seek.conditions, rulesets=())

    by_conditions: dict[SeekConditions, list[Seek]] = {}
    for seek in seeks:
        by_conditions.setdefault(agreed(seek), []).append(seek)
    for pool in by_conditions.values():
        yield from _Pool(pool, apart).matches(now)


class _Pool:
    """Open seeks that agree on everything but the ruleset."""

    def __init__(self, seeks: Sequence[Seek], apart: Apart) -> None:
        self._apart = apart
        self._seeks = seeks
        self._of_ruleset: dict[str, dict[UUID, Seek]] = {}
        for seek in seeks:
            for ruleset in seek.conditions.rulesets:
                self._of_ruleset.setdefault(ruleset, {})[seek.id] = seek

    def matches(self, now: datetime) -> Iterator[Match]:
        """Yield the matches of the pool."""
        matched: set[UUID] = set()
        for seek in self._seeks:
            if seek.id not in matched and (match := self._match(seek, now)) is not None:
                matched.update(one.id for one in match.seeks)
                self._take(match.seeks)
                yield match

    def _match(self, seek: Seek, now: datetime) -> Match | None:
        found = [(name, self._with(seek, name)) for name in seek.conditions.rulesets]
        for ruleset, members in found:
            if len(members) == seek.conditions.seats:
                return Match(ruleset=ruleset, seeks=members)
        if seek.fills_at is None or seek.fills_at > now:
            return None
        found = [(name, self._with(seek, name, bots=True)) for name in seek.conditions.rulesets]
        ruleset, members = max(found, key=lambda one: len(one[1]))  # the first of several
        return Match(ruleset=ruleset, seeks=members)

    def _with(self, seek: Seek, ruleset: str, *, bots: bool = False) -> tuple[Seek, ...]:
        """Return a seek and the oldest others for the seats beside it."""
        if not bots and len(self._of_ruleset[ruleset]) < seek.conditions.seats:
            return (seek,)  # not enough, however many are apart
        members = [seek]
        for other in self._of_ruleset[ruleset].values():
            if len(members) == seek.conditions.seats:
                break
            if bots and other.fill_after is None:
                continue
            if not any(self._are_apart(other, one) for one in members):
                members.append(other)
        return tuple(sorted(members, key=lambda one: (one.created_at, one.id)))

    def _are_apart(self, one: Seek, other: Seek) -> bool:
        return one.player == other.player or self._apart(one.player, other.player)

    def _take(self, seeks: Sequence[Seek]) -> None:
        for seek in seeks:
            for ruleset in seek.conditions.rulesets:
                del self._of_ruleset[ruleset][seek.id]
