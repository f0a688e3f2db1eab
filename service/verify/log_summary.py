"""The parts of a log that the check `sequence` needs, so that many files fit in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from service.domain.ruleset import NextDealer
from service.replay.sentences import Sentence
from service.verify.finding import Failed, Objection, Unanswered, missing
from service.verify.legality import short_entropy_time
from service.verify.log import Log

Heads = Callable[[], Sequence[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSummary:
    """A log whose first event can be read, in about a kilobyte."""

    name: str | None  # of its file
    game: str
    table: str
    hand: int
    prev_game: str | None
    ruleset: str
    ruleset_hash: str
    keys: tuple[str | None, ...]  # of the seats
    commit: str
    dealer: int | None  # None: drawn
    turn_limit: int
    clock: str  # in words; `-` for a game without one
    began: str
    ended: str  # the time of the last event
    count: int  # lines
    heads_hash: bytes  # SHA-256 of the heads of all lines; equal logs have the same
    heads: Heads  # reads them again, if another log of the same game differs
    seed: str | None  # None before the seal
    aborted: tuple[str, int | None] | None  # cause and seat
    next_dealer: int | None  # after this game; None if it did not end
    undecided: Objection | Sentence | None  # why the next dealer is unknown: a failure, or missing
    dealer_rule: str | None  # the statement on the next dealer
    own_dealer_rule: str | None  # the statement of its ruleset, which also holds for the first hand
    short_time: Sentence | None  # a remark on the time for entropy

    @property
    def seats(self) -> int:
        """Return the number of seats."""
        return len(self.keys)

    @property
    def label(self) -> str:
        """Return the id of the game, followed by the file name if there is one."""
        return f"{self.game} ({self.name})" if self.name else self.game


def summary_of_log(log: Log, heads: Heads | None = None) -> LogSummary | None:
    """
    Return the summary of a log, None if its first event cannot be read.

    `heads` returns the heads of its lines; by default they are held in memory.
    """
    if not log.begins:
        return None
    created, seal, held = log.created, log.seal, log.heads
    due, undecided = _due(log)
    aborted = seal["data"] if seal is not None and seal["type"] == "game_aborted" else None
    return LogSummary(
        name=log.name,
        game=str(log.game),
        table=created["table"],
        hand=created["hand"],
        prev_game=created["prev_game"],
        ruleset=created["ruleset"]["id"],
        ruleset_hash=created["ruleset_hash"],
        keys=tuple(seat["key"] for seat in created["seats"]),
        commit=created["commit"],
        dealer=created["dealer"],
        turn_limit=created["turn_limit"],
        clock=_plain(created["clock"]),
        began=log.events[0]["at"],
        ended=log.events[-1]["at"],
        count=len(held),
        heads_hash=hashlib.sha256(b"".join(held)).digest(),
        heads=heads or (lambda: held),
        seed=None if seal is None else str(seal["data"]["seed"]),
        aborted=None if aborted is None else (aborted["cause"], aborted["seat"]),
        next_dealer=due,
        undecided=undecided,
        dealer_rule=_dealer_rule(log),
        own_dealer_rule=log.cite("end.next_dealer"),
        short_time=short_entropy_time(log) if aborted is not None else None,
    )


def _due(log: Log) -> tuple[int | None, Objection | Sentence | None]:
    """Return the next dealer, and why it is unknown if the ruleset cannot be read."""
    try:
        return next_dealer(log), None
    except Failed as failed:
        return None, failed.objection
    except Unanswered as unanswered:
        return None, Sentence(code=unanswered.code, values=unanswered.values)


def next_dealer(log: Log) -> int | None:
    """
    Return the next dealer after this game (rules.md, Next dealer); None if it did not end.

    Raises Unanswered if its ruleset is not known.
    """
    dealt = [e["data"]["dealer"] for e in log.events if e["type"] == "cards_dealt"]
    ended = [e["data"] for e in log.events if e["type"] == "game_ended"]
    if not dealt or not ended:
        return None
    dealer: int = dealt[-1]
    loser: int | None = ended[-1]["shithead"]
    match ended[-1]["reason"]:
        case "stalemate":
            return dealer
        case "forfeit" if loser is not None:
            return loser
    if log.known_ruleset is None:
        raise missing("open.unjudged")  # `legality` reports the ruleset
    if log.known_ruleset.end.next_dealer is NextDealer.LOSER and loser is not None:
        return loser
    return (dealer + 1) % log.seats


def _dealer_rule(log: Log) -> str | None:
    """Return the statement on the next dealer: of the model if the ruleset has none."""
    ended = next((e["data"] for e in log.events if e["type"] == "game_ended"), None)
    if ended is None or ended["reason"] in ("stalemate", "forfeit"):
        return log.cite("model.next_dealer")
    known = log.known_ruleset
    rotates = known is not None and known.end.next_dealer is NextDealer.ROTATE
    by_ruleset = rotates or ended["shithead"] is not None
    return log.cite("end.next_dealer" if by_ruleset else "model.next_dealer")


def _plain(value: Any) -> str:
    """Return the seconds of a clock; `-` for a game without one."""
    parts = ("turn_seconds", "swap_seconds", "reserve_seconds")
    return "-" if value is None else "/".join(str(value.get(part, 0)) for part in parts)
