"""Players who are away: for how long, and which claims the others may make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from service.application.access import visible
from service.application.calls import Caller
from service.application.errors import Refusal
from service.application.games.cache import GameCache
from service.application.games.entry import GameEntry
from service.domain.commands import AfterAbsence, ClaimAbsence, RuleRefused, Seat
from service.domain.game import Game, Status
from service.domain.leaving import claim_absence, may_be_awaited
from service.replay.sentences import said
from service.runtime.config import Setting, whole_number
from service.shx.canonical import parse_time

HEARD_SECONDS: Final = 3600
"""Seconds for which it is known when a player was last there: a longer absence counts as long."""

AWAY_SECONDS: Final = Setting(
    name="away_seconds",
    default=180,
    read=whole_number(30, HEARD_SECONDS),
    section="Limits",
    unit="seconds",
    effect="Silence after which a player for whom a hand without a clock waits counts as away",
)

Away = Callable[[Sequence[UUID]], Mapping[UUID, float]]
"""Returns for how many seconds each of some players has been away, 0 if that is not known."""


def none_away(players: Sequence[UUID]) -> Mapping[UUID, float]:
    """Return 0 for each player: for services that record no calls."""
    return dict.fromkeys(players, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Absences:
    """Returns which players are away; no record has this, so it cannot be verified afterwards."""

    games: GameCache
    away: Away
    now: Callable[[], datetime]
    after: int  # seconds

    def seen_by(self, caller: Caller, game: UUID) -> dict[str, Any]:
        """
        Return the absent players of a game for a caller who has a seat, with the possible claims.

        Raises Refusal `not-found`, or `not-seated` without a seat.
        """
        entry = visible(self.games.fresh(game), caller, self.games.sits_or_judges)
        seat = entry.seat_of(caller.player)
        if seat is None:
            raise Refusal("not-seated", said("request.not_seated"))
        found = self._absent(entry)
        items = [
            {"seat": absent, "away_seconds": int(seconds), "claims": claims}
            for absent, seconds in sorted(found.items())
            if absent != seat and (claims := _claims(entry.record.game, seat, absent))
        ]
        return {"after_seconds": self.after, "absent": items}

    def check(self, entry: GameEntry, seat: Seat) -> None:
        """Raise Refusal `not-away` unless the player of a seat is away."""
        if seat not in self._absent(entry):
            raise Refusal("not-away", said("request.not_away", n=self.after))

    def _absent(self, entry: GameEntry) -> Mapping[Seat, float]:
        """
        Return the seats whose players are away, with the seconds for which the hand lacked them.

        An absence counts from the time from which the hand waits for the player, and from the end
        of an outage. An erased player is away.
        """
        record = entry.record
        game = record.game
        if game.setup.clock is not None or game.over:
            return {}
        awaited = [s for s in game.people() if may_be_awaited(game, s)]
        known = [player for s in awaited if (player := entry.players[s]) is not None]
        since = record.dealt_at if game.status is Status.SWAPPING else record.turn_since
        begun = parse_time(since or record.at)
        begun = begun if entry.able_since is None else max(begun, entry.able_since)
        waited = (self.now() - begun).total_seconds()
        if waited < self.after:
            return {}
        away = self.away(known)
        found = {
            s: waited if (player := entry.players[s]) is None else min(waited, away[player])
            for s in awaited
        }
        return {s: seconds for s, seconds in found.items() if seconds >= self.after}


def _claims(game: Game, seat: Seat, absent: Seat) -> list[str]:
    """Return what the rules let a seat claim about an absent one."""
    return [then.value for then in AfterAbsence if _may(game, seat, absent, then)]


def _may(game: Game, seat: Seat, absent: Seat, then: AfterAbsence) -> bool:
    try:
        claim_absence(ClaimAbsence(seat=seat, absent=absent, then=then), game)
    except RuleRefused:
        return False
    return True
