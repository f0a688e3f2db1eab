"""The decisions of a sealed hand, each with what its seat could know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from service.audit.decision import milliseconds
from service.domain.cards import JOKER, RANKS, Card, rank_of
from service.domain.commands import Move, Pass, PickUp, Play, PlayBlind, Seat, TryStock
from service.domain.demand import ANYTHING, demand_of
from service.domain.events import PileBurned
from service.domain.legal import legal_moves
from service.replay.history import History, MoveKind, RecordedMove
from service.search.intervals import wilson
from service.shx.canonical import parse_time

Kind = Literal["play", "pick_up", "blind", "try_stock", "pass"]

SPECIAL: Final = ("burn", "refused", "time_out")
"""Properties of a decision beside its kind of move."""

KINDS: Final[Mapping[type, Kind]] = {
    Play: "play",
    PickUp: "pick_up",
    PlayBlind: "blind",
    TryStock: "try_stock",
    Pass: "pass",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """
    One decision: the position as its seat saw it, what it did, and how the hand ended for it.

    Everything about the position is public or the seat's own. A blind choice has neither rank nor
    number: the seat could not know them.
    """

    event: int  # the first of its move
    seat: int
    bot: str | None  # None: a person, or the clock for one
    phase: str  # the zone that the seat plays from: hand, up or down
    demand: str  # the kind of demand of the pile
    asked: str | None  # the rank that the demand names
    top: str | None  # the rank of the top card
    pile: int  # cards
    held: int  # cards in the hand
    cards: str | None  # the open ranks that it plays from, such as 6,9,9,K; None: a blind choice
    left: int  # seats in play
    kind: Kind
    rank: str | None  # of a play; several, such as 5+6, in the order in which they were laid
    count: int  # cards of a play; 0 for all else
    burned: bool  # whether it burned the pile
    timed_out: bool
    had_other: bool  # whether another move was legal
    refused: int  # attempts that were refused before it
    milliseconds: int | None  # None if it was no turn of the seat
    lost: bool | None  # None: the hand has no loser

    @property
    def choice(self) -> str:
        """Return what was chosen, as decisions are counted: `play 7 x2`, `pick_up`, `blind`."""
        return f"{self.kind} {self.rank} x{self.count}" if self.kind == "play" else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilter:
    """The conditions of a search; None and an empty tuple are none."""

    ruleset: str | None = None
    player: str | None = None
    bot: str | None = None
    phase: str | None = None
    demand: str | None = None
    asked: str | None = None
    top: str | None = None
    held: tuple[int, int] | None = None
    cards: str | None = None
    left: tuple[int, int] | None = None
    kind: str | None = None
    rank: str | None = None
    count: int | None = None
    had_other: bool | None = None
    took: tuple[int, int] | None = None  # whole seconds
    lost: bool | None = None

    def fits(self, one: Decided, player: str | None) -> bool:
        """Return whether a decision of a player meets every condition but that on the ruleset."""
        exact = ("phase", "demand", "asked", "top", "cards", "count", "had_other", "lost")
        if any(getattr(self, n) not in (None, getattr(one, n)) for n in exact):
            return False
        if self.rank is not None and self.rank not in (one.rank or "").split("+"):
            return False
        if self.player not in (None, player):
            return False
        if self.bot not in (None, one.bot or "none") or not self._is_kind(one):
            return False
        seconds = None if one.milliseconds is None else one.milliseconds // 1000
        ranges = ((self.held, one.held), (self.left, one.left), (self.took, seconds))
        return all(r is None or (v is not None and r[0] <= v <= r[1]) for r, v in ranges)

    def _is_kind(self, one: Decided) -> bool:
        match self.kind:
            case "burn":
                return one.burned
            case "refused":
                return one.refused > 0
            case "time_out":
                return one.timed_out
            case kind:
                return kind in (None, one.kind)


@dataclass(slots=True, kw_only=True)
class ChoiceCount:
    """How often something was chosen, and how these hands ended for the seat."""

    n: int = 0
    ended: int = 0  # in hands with a loser
    lost: int = 0


def shares_of(choices: Mapping[str, ChoiceCount]) -> list[dict[str, Any]]:
    """
    Return the choices with their shares, the most frequent first (statistics.md, section 4).

    `share` is that of all decisions, `lost` that of the hands with a loser.
    """
    every = sum(one.n for one in choices.values())
    return [
        {
            "choice": name,
            "n": one.n,
            "share": _share(one.n, every),
            "lost": _share(one.lost, one.ended),
        }
        for name, one in sorted(choices.items(), key=lambda item: (-item[1].n, item[0]))
    ]


def _share(of: int, count: int) -> dict[str, Any] | None:
    """Return a share with the interval of 95 %; None of nothing."""
    if not count:
        return None
    low, high = wilson(of / count, count)
    return {
        "of": count,
        "share": round(of / count, 4),
        "low": round(low, 4),
        "high": round(high, 4),
    }


def decisions_of(history: History, refused: Sequence[Mapping[str, Any]] = ()) -> Iterator[Decided]:
    """
    Yield the decisions of a hand in order: every move in play, without forfeits and the exchange.

    `refused` are the refused attempts of the bundle. A hand that is not sealed has none: what a
    seat chose among is not public before.
    """
    if history.log[-1].type != "game_sealed":
        return
    before = 0
    for move in history.moves:
        seat, command = move.seat, move.command
        if move.kind is not MoveKind.PLAY or seat is None or command is None:
            continue
        if type(command) in KINDS:
            since, until = history.log[before].at, history.log[move.first].at
            tried = sum(
                row["seat"] == seat
                and parse_time(since) < parse_time(row["at"]) <= parse_time(until)
                for row in refused
            )
            yield _decided(history, move, seat, command, tried)
            before = move.last


def ranks_of(cards: Iterable[Card]) -> str:
    """
    Return the ranks of some cards, sorted, so that equal positions have equal texts.

    >>> ranks_of(map(Card, ('Kh', '6s', '9d', '9c')))
    '6,9,9,K'
    """
    return ",".join(sorted(map(rank_of, cards), key=(*RANKS, JOKER).index))


def _decided(
    history: History, move: RecordedMove, seat: Seat, command: Move, tried: int
) -> Decided:
    game = history.games[move.first - 1]
    own, setup = game.seats[seat], history.games[0].setup.seats[seat]
    demand = ANYTHING if game.covering else demand_of(game.ruleset, game.pile)
    cards = command.cards if isinstance(command, Play) else ()
    result = history.games[-1].result
    loser = None if result is None else result.shithead
    events = [record.event for record in history.log[move.first : move.last + 1]]
    return Decided(
        event=move.first,
        seat=seat,
        bot=setup.bot,
        phase=str(own.zone),
        demand=demand.kind.value,
        asked=demand.rank,
        top=rank_of(game.pile[-1]) if game.pile else None,
        pile=len(game.pile),
        held=len(own.hand),
        cards=ranks_of(own.hand or [card for stack in own.up for card in stack]) or None,
        left=len(game.in_play()),
        kind=KINDS[type(command)],
        rank="+".join(dict.fromkeys(map(rank_of, cards))) or None,
        count=len(cards),
        burned=any(isinstance(event, PileBurned) for event in events),
        timed_out=move.timed_out,
        had_other=len(legal_moves(game, seat)) > 1,
        refused=tried,
        milliseconds=milliseconds(history, move),
        lost=None if loser is None else loser == seat,
    )
