"""Captions: the sentence for each event of a game, and what follows from it for the turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from service.domain.cards import HIDDEN, Card, in_code_order, rank_of
from service.domain.commands import Seat
from service.domain.demand import burn_cause
from service.domain.events import (
    AbortCause,
    AbsenceClaimed,
    BlindFailed,
    CardsDealt,
    CardsDrawn,
    CardsPlayed,
    CardsSwapped,
    CardsThrown,
    DeckCommitted,
    EndAgreed,
    EndEvent,
    EndReason,
    EntropyCommitted,
    EntropyRevealed,
    Event,
    ExchangeEvent,
    GameAborted,
    GameCreated,
    GameEnded,
    GameSealed,
    PileBurned,
    PilePickedUp,
    PlayEvent,
    PlayStarted,
    SeatOut,
    SeatReady,
    SetupEvent,
    StockFailed,
    TableLaid,
    TurnPassed,
    TurnTimedOut,
    Zone,
)
from service.domain.evolve import is_follow_up
from service.domain.game import Game
from service.replay.sentences import ENGLISH, Sentence, Values, Voice, prose
from service.rulesets.statements import covered_by


def caption(event: Event, before: Game | None = None, after: Game | None = None) -> Sentence:
    """
    Return the sentence for `event`, which led from `before` to `after`.

    The pages have the same codes in `captions.js`. Both games are masked for the viewer; cards
    that the event does not state are read from them, so the sentence cannot reveal more than the
    view. Without games it has only what the event states.

    >>> from service.domain.events import CardsDrawn
    >>> caption(CardsDrawn(seat=1, count=2)).text
    'Seat 2 drew 2 cards'
    """
    if isinstance(event, PlayEvent):
        return _play(event, before, after)
    if isinstance(event, SetupEvent):
        return _setup(event)
    if isinstance(event, ExchangeEvent):
        return _exchange(event)
    return _end(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """
    What the text of an event has: cards as codes or in words, and what follows for the turn.

    It is in English, as texts of the API are, unless there is another `language`.
    """

    codes: bool = True
    turns: bool = True
    language: str = ENGLISH

    def text(self, event: Event, before: Game, after: Game) -> str:
        """Return the sentences for an event, which led from `before` to `after`."""
        sentences = [caption(event, before, after)]
        if self.turns:
            if isinstance(event, CardsPlayed) and event.direction != before.direction:
                sentences.append(Sentence(code="then.reversed"))
            sentences += turn_after(event)
        return prose(sentences, Voice(codes=self.codes, language=self.language))


IN_CODES: Final = Wording()


def turn_after(event: Event) -> Iterator[Sentence]:
    """Yield which seat acts after an event, if the event gives the turn to one."""
    match event:
        case (
            CardsPlayed(seat=seat, turn=int(turn))
            | PilePickedUp(seat=seat, turn=int(turn))
            | BlindFailed(seat=seat, turn=int(turn))
            | StockFailed(seat=seat, turn=int(turn))
            | TurnPassed(seat=seat, turn=int(turn))
        ):
            yield _of("then.again" if turn == seat else "then.turn", turn)
        case _:
            pass


def explained(event: Event, before: Game) -> str:
    """Return what an event of a move did, with the effects of cards, from public information."""
    said = (caption(event, before, before), *_effects(event, before), *turn_after(event))
    return prose(said, Voice(codes=True))


def _effects(event: Event, before: Game) -> Iterator[Sentence]:
    """Yield the effects of the cards that a seat played on the pile, the direction and the turn."""
    if not isinstance(event, CardsPlayed):
        return
    ruleset, last, laid = before.ruleset, before.last_play, event.cards
    if last is not None and is_follow_up(before, event.seat, laid):
        laid = last.cards + laid
    burns = burn_cause(ruleset, before.pile + event.cards) is not None
    if burns or covered_by(before, event) is not None:
        yield Sentence(code="effect.burns" if burns else "effect.covers")
        if event.turn not in (None, event.seat):
            yield Sentence(code="effect.out", values={"seat": event.seat})
        return
    rules = [ruleset.rank(rank_of(card)) for card in laid]
    if turned := sum(rule.turned for rule in rules):
        yield Sentence(code="effect.turns" if turned % 2 else "effect.turns_back")
    if skipped := sum(rule.skipped for rule in rules):
        yield Sentence(code="effect.skips", values={"n": skipped})


def _setup(event: SetupEvent) -> Sentence:
    match event:
        case GameCreated():
            return Sentence(code="did.created", values={"n": len(event.seats)})
        case EntropyCommitted(seat=seat):
            return _of("did.entropy_committed", seat)
        case EntropyRevealed(seat=seat):
            return _of("did.entropy_revealed", seat)
        case DeckCommitted(cards=cards):
            return Sentence(code="did.deck", values={"n": len(cards)})
        case _:
            assert_never(event)


def _of(code: str, seat: Seat | None, **values: int | tuple[Card, ...]) -> Sentence:
    return Sentence(code=code, values={"seat": seat, **values})


def _exchange(event: ExchangeEvent) -> Sentence:
    match event:
        case CardsDealt():
            return _dealt(event)
        case CardsThrown(seat=seat, cards=cards, count=count):
            drew = ".drew" if count else ""
            return _of(f"did.cards_thrown{drew}", seat, cards=cards, n=count)
        case CardsSwapped(seat=seat, up=up, hand=hand):
            return _of("did.swapped", seat, laid=up, taken=hand)
        case TableLaid(seat=seat, stacks=stacks, count=count):
            laid = tuple(card for stack in stacks for card in stack)
            return _of(f"did.laid{'.drew' if count else ''}", seat, cards=laid, n=count)
        case SeatReady(seat=seat):
            return _of("did.seat_ready", seat)
        case PlayStarted(turn=turn):
            return Sentence(code="did.started.open") if turn is None else _of("did.started", turn)
        case _:
            assert_never(event)


def _dealt(event: CardsDealt) -> Sentence:
    values: Values = {"seat": event.dealer, "down": event.down, "up": event.up, "hand": event.hand}
    if event.starter is None:
        return Sentence(code="did.dealt", values=values)
    values = {**values, "cards": (event.starter.card,)}
    if not event.returned:
        return Sentence(code="did.dealt.starter", values=values)
    under = tuple(opening.card for opening in event.returned)
    return Sentence(code="did.dealt.returned", values={**values, "laid": under})


def _play(event: PlayEvent, before: Game | None, after: Game | None) -> Sentence:
    match event:
        case CardsPlayed(seat=seat, zone=zone, cards=cards):
            code = "did.played" if zone is Zone.HAND else f"did.played.{zone}"
            return _of(code, seat, cards=cards)
        case CardsDrawn(seat=seat, count=count):
            new = _new_in_hand(before, after, seat)
            if new:
                return _of("did.cards_drawn.named", seat, cards=new)
            return _of("did.cards_drawn", seat, n=count)
        case PileBurned(seat=seat, cause=cause, count=count, cleared_by=taker):
            return _taken(_of(f"did.burned.{cause}", seat, n=count), taker)
        case PilePickedUp(seat=seat, taker=taker, count=count, along=along):
            if taker != seat:
                return _of("did.gave", seat, n=count, taker=taker)
            return _of(f"did.picked{'.with' if along else ''}", seat, n=count, cards=along)
        case BlindFailed(seat=seat, taker=taker):
            card = _turned(event, before, after)
            said = _of("did.blind", seat, cards=card) if card else _of("did.blind.hidden", seat)
            return _taken(said, taker)
        case StockFailed(seat=seat, taker=taker, opening=opening):
            return _taken(_of("did.stock", seat, cards=(opening.card,)), taker)
        case TurnPassed(seat=seat):
            return _of("did.turn_passed", seat)
        case TurnTimedOut(seat=seat):
            return _of("did.turn_timed_out", seat)
        case _:
            assert_never(event)


def _taken(said: Sentence, taker: Seat) -> Sentence:
    """Return a sentence that names the seat which takes or clears the pile, if it is another."""
    if taker == said.values["seat"]:
        return said
    return Sentence(code=f"{said.code}.for", values={**said.values, "taker": taker})


def _turned(event: BlindFailed, before: Game | None, after: Game | None) -> tuple[Card, ...]:
    """Return the face-down card that did not fit, as far as the viewer sees it."""
    if event.opening is not None:
        return (event.opening.card,)
    # The cards of the pile are known; any other card that came to the hand is the turned one.
    pile = () if before is None else before.pile
    new = _new_in_hand(before, after, event.seat)
    return tuple(card for card in new if card not in pile)[:1]


def _end(event: EndEvent) -> Sentence:
    match event:
        case SeatOut(seat=seat, place=place):
            return _of("did.out", seat, n=place)
        case EndAgreed(seat=seat):
            return _of("did.end_agreed", seat)
        case AbsenceClaimed(seat=seat, absent=absent, then=then):
            return _of(f"did.absent.{then}", seat, taker=absent)
        case GameEnded(reason=reason, shithead=shithead, places=places):
            return result(reason, shithead, places)
        case GameSealed():
            return Sentence(code="did.game_sealed")
        case GameAborted(cause=cause, seat=seat) if seat is None or cause in _BY_NO_SEAT:
            return Sentence(code=f"did.aborted.{cause}")
        case GameAborted(cause=cause, seat=seat):
            return _of(f"did.aborted.{cause}.seat", seat)
        case _:
            assert_never(event)


_BY_NO_SEAT: Final = (AbortCause.OPERATOR, AbortCause.AGREED)


def result(reason: str, shithead: Seat | None, places: Iterable[Seat]) -> Sentence:
    """Return the result of a hand; a seat that is missing, as in a false log, is a dash."""
    if reason == EndReason.STALEMATE:
        return Sentence(code="result.stalemate")
    who = next(iter(places), None) if reason == EndReason.WINNER else shithead
    return _of(f"result.{reason}", who)


def _new_in_hand(before: Game | None, after: Game | None, seat: Seat) -> tuple[Card, ...]:
    """Return the cards that came to a hand, as far as the viewer sees them."""
    if before is None or after is None:
        return ()
    old = before.seats[seat].hand
    return in_code_order(c for c in after.seats[seat].hand if c not in old and c != HIDDEN)
