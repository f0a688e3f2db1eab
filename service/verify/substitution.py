"""Substitutions: which other deal would explain a played card that its seat did not hold?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from service.replay.sentences import Sentence, Values
from service.verify.card_tracker import CardMisplaced, Zones
from service.verify.custody import check_custody, check_hidden, followed
from service.verify.finding import Answer, Failed, Position, Unanswered
from service.verify.legality import check_legality
from service.verify.log import Log

MAX_FOLLOWED: Final = 400_000
"""Maximum number of events followed card by card, over all tries for one log."""

MAX_JUDGED: Final = 20_000
"""Maximum number of events judged by the rules again, which takes far longer."""

_RULES: Final[Mapping[str, tuple[str, ...]]] = {
    "cards_dealt": ("deal.hand",),
    "cards_thrown": ("deal.throws", "refill.to", "refill.size"),
    "table_laid": ("refill.to", "refill.size", "deal.layout"),
    "cards_drawn": ("refill.to", "refill.size", "model.refill"),
    "blind_failed": ("model.blind",),
}
"""The settings behind the events by which cards come into a hand unseen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A card that came into a hand unseen: the event, and the position in the deck."""

    seq: int
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """A card dealt or drawn in place of the due one, with which all later events are valid."""

    seq: int
    kind: str  # the type of the event
    actual: str
    due: str
    rule: str | None  # the statement by which cards are drawn or dealt there


@dataclass(frozen=True, slots=True, kw_only=True)
class CardNotHeld:
    """A card played by a seat that, according to the deck, did not hold it; with explanations."""

    seq: int
    seat: int
    card: str
    unseen: bool  # it lay where no seat could see it, so another deal may be behind it
    substitutions: tuple[Substitution, ...] = ()  # each of them alone makes all later events valid
    tried: bool = False  # whether other deals were tried, which needs the deck
    whole: bool = False  # whether all cards that the seat received unseen were tried

    @property
    def by_server(self) -> Sentence:
        """Return what the server did, if it wrote the event."""
        code = "substitution.play_or_deal" if self.unseen else "substitution.play"
        return Sentence(code=code, values={"seat": self.seat})

    @property
    def explained(self) -> tuple[Sentence, ...]:
        """Return which substitutions explain the play, as far as they were tried."""
        if not self.unseen or not self.tried:
            return ()
        ways = tuple(map(_way, self.substitutions))
        if not ways and self.whole:
            return (Sentence(code="substitution.none"),)
        beyond = () if self.whole else (Sentence(code="substitution.partly"),)
        return (*ways, *beyond)


def _way(one: Substitution) -> Sentence:
    values: Values = {"actual": one.actual, "card": one.due, "at": one.seq, "rule": one.rule}
    return Sentence(code=f"substitution.{one.kind}", values=values)


def unheld_of(log: Log) -> CardNotHeld | None:
    """
    Return the first card that a seat played without holding it, None if there is none.

    If the deck is known, the played card is swapped in it with each card that the seat received
    unseen before. A swap after which all later events are valid is an explanation. If
    few events follow, a broken rule explains them as well, and the reader weighs both. The work
    is bounded by MAX_FOLLOWED and MAX_JUDGED, so that equal logs have equal results.
    """
    draws: list[tuple[int, Draw]] = []
    obtained: set[int] = set()
    seq, zones = 0, None
    try:
        for seq, zones in enumerate(followed(log, Position())):
            draws += _drawn(log.events[seq], seq, zones, obtained)
            obtained.update(*zones.obtained)
    except CardMisplaced as error:
        if not error.not_held or zones is None:
            return None
        card = str(error.values["card"])
        seat = int(str(error.values["seat"]))
        found = CardNotHeld(seq=seq + 1, seat=seat, card=card, unseen=_unseen(zones, card))
        return _searched(log, found, draws) if found.unseen and log.deck is not None else found
    return None


def _drawn(
    event: Mapping[str, Any], seq: int, zones: Zones, before: set[int]
) -> Iterator[tuple[int, Draw]]:
    """Yield the cards that an event brings into hands unseen, each with its seat."""
    data, kind = event["data"], event["type"]
    if kind not in _RULES or data.get("opening") is not None:
        return
    faces = (o["p"] for seat in data["face_up"] for o in seat) if kind == "cards_dealt" else ()
    known = before | set(faces)
    for seat, obtained in enumerate(zones.obtained):
        for place in sorted(obtained - known):
            yield seat, Draw(seq=seq, place=place)


def _unseen(zones: Zones, card: str) -> bool:
    """Return whether a card lies in the stock, in a hand or face down, as far as is known."""
    faces = (c for seat in zones.up for stack in seat for c in stack)
    return card in zones.codes and card not in {*zones.pile, *zones.burned, *faces}


def _searched(log: Log, found: CardNotHeld, draws: list[tuple[int, Draw]]) -> CardNotHeld:
    """Return the finding with all substitutions that alone make the later events valid."""
    deck = log.deck or ()
    place = deck.index(found.card)
    other = next((draw.seq for _, draw in draws if draw.place == place), len(log.events))
    tries = _Tries(log)
    ways = []
    for seat, draw in draws:
        if seat != found.seat or not tries.fits(draw.place, place, since=min(draw.seq, other)):
            continue
        kind = log.events[draw.seq]["type"]
        ways.append(
            Substitution(
                seq=draw.seq,
                kind=kind,
                actual=found.card,
                due=deck[draw.place],
                rule=log.cite(*_RULES[kind]),
            )
        )
    return CardNotHeld(
        seq=found.seq,
        seat=found.seat,
        card=found.card,
        unseen=True,
        substitutions=tuple(ways),
        tried=True,
        whole=tries.all_done,
    )


class _Tries:
    """Checks all events against decks with two positions swapped, within the limits of work."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.followed = self.judged = 0
        self.all_done = True

    def fits(self, one: int, other: int, *, since: int) -> bool:
        """
        Return whether the log is valid with two deck positions swapped.

        All events must pass `custody`; those after `since` must pass `legality` and `hidden`.
        """
        size = len(self.log.events)
        if self.followed + size > MAX_FOLLOWED or self.judged + size > MAX_JUDGED:
            self.all_done = False
            return False
        deck = list(self.log.deck or ())
        deck[one], deck[other] = deck[other], deck[one]
        supposed = self.log.supposing(tuple(deck))
        self.followed += size
        if not _passes(lambda at: check_custody(supposed, at), since=-1):
            return False
        self.judged += size
        checks: tuple[Callable[[Position], Answer | None], ...] = (
            lambda at: check_legality(supposed, at),
            lambda at: check_hidden(supposed, at),
        )
        return all(_passes(check, since=since) for check in checks)


def _passes(check: Callable[[Position], Answer | None], *, since: int) -> bool:
    """Return whether a check finds no failure at the events after `since`."""
    at = Position()
    try:
        check(at)
    except Unanswered:
        return True
    except (Failed, ValueError, IndexError):
        return False
    return all(one.seq is not None and one.seq <= since for one in at.failures)
