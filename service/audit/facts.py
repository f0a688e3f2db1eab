"""What statistics take from the log of a game that is over: its deck, and choices made blind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from service.audit.blind_evidence import Choice
from service.audit.story import Recorded, Story
from service.domain.cards import Card
from service.domain.commands import PlayBlind, Seat
from service.domain.decide import decide
from service.domain.errors import CommandRefused
from service.domain.events import BlindFailed, CardsDealt, CardsPlayed, Event, Zone
from service.domain.game import Game
from service.domain.positions import positions


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindFact:
    """A seat chose among face-down cards, itself: neither a bot nor the clock did."""

    seat: Seat
    seq: int
    choice: Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class DealFact:
    """A deck that was dealt from."""

    deck: tuple[Card, ...]
    dealt: int  # cards that left it in the deal
    to_people: tuple[int, ...]  # positions


def deal_fact(
    log: Sequence[Recorded], deck: tuple[Card, ...] | None, people: Collection[Seat]
) -> DealFact | None:
    """Return what was dealt in a sealed log; None where there was no deck, or no deal."""
    deals = [record.event for record in log if isinstance(record.event, CardsDealt)]
    if deck is None or not deals:
        return None
    event = deals[0]
    dealt = positions(
        seats=len(event.face_up),
        dealer=event.dealer,
        down=event.down,
        up=event.up,
        hand=event.hand,
    )
    theirs = [
        p
        for seat in people
        for p in (*dealt.down[seat], *dealt.up[seat], *dealt.hand[seat])
    ]
    return DealFact(deck=deck, dealt=dealt.used, to_people=tuple(sorted(theirs)))


def blind_facts(
    log: Sequence[Recorded], deck: tuple[Card, ...] | None, people: Collection[Seat]
) -> Iterator[BlindFact]:
    """Yield the blind choices of `people` in a sealed log, in their order."""
    story: Story | None = None
    for record in log:
        seat = _chooser(record.event)
        # What is done for a seat after its time ran out is the server's: `by` is null.
        if seat is None or seat not in people or record.fields["by"] != seat:
            continue
        story = story or Story(log, deck)
        choice = _choice(story.games[record.seq - 1], seat, record.event)
        yield BlindFact(seat=seat, seq=record.seq, choice=choice)


def _chooser(event: Event) -> Seat | None:
    match event:
        case CardsPlayed(zone=Zone.DOWN, seat=seat) | BlindFailed(seat=seat):
            return seat
        case _:
            return None


def _choice(before: Game, seat: Seat, event: Event) -> Choice:
    """Return how many slots there were, and in how many of them lay a card that fitted."""
    lying = [slot for slot, p in enumerate(before.seats[seat].down) if p is not None]
    return Choice(
        slots=len(lying),
        playable=sum(_fits(before, seat, slot) for slot in lying),
        fitted=isinstance(event, CardsPlayed),
    )


def _fits(before: Game, seat: Seat, slot: int) -> bool:
    try:
        decided = decide(PlayBlind(seat=seat, slot=slot), before)
    except CommandRefused:
        return False
    return any(isinstance(step, CardsPlayed) for step in decided)
