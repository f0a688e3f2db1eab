"""Captions: one English sentence for each event, in the present or past tense."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from service.domain.cards import HIDDEN, JOKER, Card, in_code_order, rank_of
from service.domain.commands import Seat
from service.domain.demand import burn_cause
from service.domain.events import (
    AbortCause,
    BlindFailed,
    BurnCause,
    CardsDealt,
    CardsDrawn,
    CardsPlayed,
    CardsSwapped,
    CardsThrown,
    DeckCommitted,
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
from service.domain.words import counted
from service.rulesets.statements import covered_by


def listed(words: Iterable[str]) -> str:
    """Return words as a list: `a`, `a and b`, `a, b and c`; `nothing` without words."""
    *most, last = list(words) or ["nothing"]
    return f"{', '.join(most)} and {last}" if most else last


def pile_of(count: int) -> str:
    """Return the pile with its size."""
    return f"the pile of {counted(count, 'card')}"


_RANKS: Final = {
    "T": "10",
    "J": "jack",
    "Q": "queen",
    "K": "king",
    "A": "ace",
}
_SUITS: Final = {"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades"}


_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth")
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}


def ordinal(number: int) -> str:
    """
    Return an ordinal number, from 1: in words up to six, then in digits.

    >>> [ordinal(number) for number in (1, 3, 7, 12, 21)]
    ['first', 'third', '7th', '12th', '21st']
    """
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    ending = "th" if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def spelled(card: Card) -> str:
    """
    Return a card in words, for readers who do not know the codes.

    >>> spelled(Card("Kh"))
    'the king of hearts'
    >>> spelled(Card("Td/2"))
    'the 10 of diamonds (deck 2)'
    """
    code, _, deck = card.partition("/")
    rank = rank_of(card)
    which = f" (deck {deck})" if deck else ""
    if rank == JOKER or code[-1] not in _SUITS:
        return f"a joker ({card})" if rank == JOKER else card
    return f"the {_RANKS.get(rank, rank)} of {_SUITS[code[-1]]}{which}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The wording of the sentences: tense, names of cards, reasons, the next seat."""

    past: bool = False
    spelled: bool = False  # cards and places in words, not as codes and numbers
    reasons: bool = False  # why a play changes the turn
    next_seat: bool = True  # which seat is next

    def __call__(self, present: str, past: str) -> str:
        """Return the verb in the tense of this wording."""
        return past if self.past else present

    @property
    def stack(self) -> str:
        """Return the separator of the cards of a stack."""
        return " with " if self.spelled else "+"

    def card(self, card: Card) -> str:
        """Return the name of a card."""
        return spelled(card) if self.spelled else card

    def cards(self, cards: Iterable[Card]) -> str:
        """Return the names of cards as a list."""
        return listed(map(self.card, cards))

    def turned(self, card: str, slot: int) -> str:
        """Return the place and the name of a turned card; `card` is "" if it stays hidden."""
        if not self.spelled:
            return f"{card or 'a card unseen'} in slot {slot}"
        place = f"its {ordinal(slot + 1)} face-down card"
        return f"{place}, {card}" if card else f"{place} unseen"

    def drawn(self, count: int, cards: Sequence[Card]) -> str:
        """Return the number of cards drawn, with the cards that the viewer sees."""
        number = counted(count, "card")
        return f"{number}: {self.cards(cards)}" if cards else number

    def ending(self, seat: Seat, turn: Seat | None) -> str:
        """Return the end of a sentence about `seat`: the seat that acts next, if there is one."""
        if turn is None or not self.next_seat:
            return "."
        if turn == seat:
            return f"; it {self('acts', 'acted')} again."
        return f"; seat {turn} {self('is', 'was')} next."


PRESENT: Final = Wording()
EXPLAINING: Final = Wording(reasons=True)
PAST: Final = Wording(past=True, spelled=True, next_seat=False)


def caption(event: Event, before: Game | None, after: Game | None, say: Wording = PRESENT) -> str:
    """
    Return the sentence for `event`, which led from `before` to `after`.

    Both games are masked for the viewer; every detail that the event does not state is read
    from them, so the sentence cannot reveal more than the view. Without games it has only
    the details that the event states.

    >>> from service.domain.events import CardsDrawn
    >>> caption(CardsDrawn(seat=1, count=2), None, None)
    'Seat 1 draws 2 cards.'
    >>> caption(CardsDrawn(seat=1, count=2), None, None, PAST)
    'Seat 1 drew 2 cards.'
    """
    if isinstance(event, PlayEvent):
        return _play(event, before, after, say)
    if isinstance(event, SetupEvent):
        return _setup(event, say)
    if isinstance(event, ExchangeEvent):
        return _exchange(event, before, after, say)
    return _end(event, say)


def _setup(event: SetupEvent, say: Wording) -> str:
    match event:
        case GameCreated():
            seats = counted(len(event.seats), "seat")
            begins = f"{say('begins', 'began')} by {event.ruleset.id}"
            return f"Hand {event.hand} of the table {begins}, with {seats}."
        case EntropyCommitted(seat=seat):
            return f"Seat {seat} {say('binds', 'bound')} itself to its share of the shuffle."
        case EntropyRevealed(seat=seat):
            return f"Seat {seat} {say('shows', 'showed')} its share of the shuffle."
        case DeckCommitted(cards=cards):
            return f"The order of the {counted(len(cards), 'card')} {say('is', 'was')} fixed."
        case _:
            assert_never(event)


def _exchange(event: ExchangeEvent, before: Game | None, after: Game | None, say: Wording) -> str:
    match event:
        case CardsDealt():
            return _dealt(event, say)
        case CardsThrown(seat=seat, cards=cards, count=count):
            new = _new_in_hand(before, after, seat)
            text = f"Seat {seat} {say('throws', 'threw')} {say.cards(cards)} onto the pile"
            return f"{text}{_and_draws(count, new, say)}."
        case CardsSwapped(seat=seat, up=up, hand=hand):
            laid, took = say("lays", "laid"), say("takes", "took")
            text = f"Seat {seat} {laid} {say.cards(up)} face up"
            return f"{text} and {took} {say.cards(hand)} in exchange."
        case TableLaid(seat=seat, stacks=stacks, count=count):
            new = _new_in_hand(before, after, seat)
            laid = listed(say.stack.join(map(say.card, stack)) for stack in stacks if stack)
            text = f"Seat {seat} {say('lays', 'laid')} {laid} face up"
            return f"{text}{_and_draws(count, new, say)}."
        case SeatReady(seat=seat):
            return f"Seat {seat} {say('is', 'was')} ready."
        case PlayStarted(turn=None):
            begins, opens = say("begins", "began"), say("opens", "opened")
            return f"Play {begins}: the first to come with the right card {opens}."
        case PlayStarted(turn=turn):
            begins, opens = say("begins", "began"), say("opens", "opened")
            return f"Play {begins}: seat {turn} {opens}."
        case _:
            assert_never(event)


def _dealt(event: CardsDealt, say: Wording) -> str:
    parts = [f"{event.down} face down", f"{event.up} face up", f"{event.hand} to the hand"]
    cards = listed(part for part in parts if not part.startswith("0 "))
    text = f"Seat {event.dealer} {say('deals', 'dealt')} each seat {cards}"
    if event.returned:
        under = say.cards(opening.card for opening in event.returned)
        text += f", {say('puts', 'put')} {under} under the stock"
    if event.starter is not None:
        starter = say.card(event.starter.card)
        text += f", {say('turns', 'turned')} {starter} to start the pile"
    return f"{text} and {say('leaves', 'left')} {counted(event.stock, 'card')} in the stock."


def _play(event: PlayEvent, before: Game | None, after: Game | None, say: Wording) -> str:
    match event:
        case CardsPlayed(seat=seat, turn=turn):
            return _played(event, before, say) + say.ending(seat, turn)
        case CardsDrawn(seat=seat, count=count):
            return f"Seat {seat}{_draws(count, _new_in_hand(before, after, seat), say)}."
        case PileBurned():
            return _burned(event, say)
        case PilePickedUp(seat=seat, taker=taker, count=count, along=along, turn=turn):
            taken = pile_of(count) + (f" with {say.cards(along)}" if along else "")
            taken = f"{say('takes', 'took')} {taken}{say.ending(seat, turn)}"
            if taker == seat:
                return f"Seat {seat} {taken}"
            return f"Seat {seat} {say('cannot', 'could not')} play, and seat {taker} {taken}"
        case BlindFailed() | StockFailed():
            return _failed(event, before, after, say)
        case TurnPassed(seat=seat, turn=turn):
            passes = f"{say('passes', 'passed')}{say.ending(seat, turn)}"
            return f"Seat {seat} {say('cannot', 'could not')} play on the empty pile and {passes}"
        case TurnTimedOut(seat=seat):
            runs_out = f"{say('runs', 'ran')} out of time"
            return f"Seat {seat} {runs_out}; the server {say('moves', 'moved')} for it."
        case _:
            assert_never(event)


def _and_draws(count: int, new: Sequence[Card], say: Wording) -> str:
    return f" and{_draws(count, new, say)}" if count else ""


def _draws(count: int, new: Sequence[Card], say: Wording) -> str:
    return f" {say('draws', 'drew')} {say.drawn(count, new)}"


def _played(event: CardsPlayed, before: Game | None, say: Wording) -> str:
    seat, cards = event.seat, say.cards(event.cards)
    turned = "" if before is None else _consequence(event, before, say)
    plays = f"Seat {seat} {say('plays', 'played')} {cards}"
    lands = f"and it {say('is', 'was')} played"
    match event.zone:
        case Zone.HAND if before is not None and is_follow_up(before, seat, event.cards):
            return f"Seat {seat} {say('goes', 'went')} on with {cards} that it drew{turned}"
        case Zone.HAND:
            return f"{plays} from its hand{turned}"
        case Zone.UP:
            return f"{plays} from its face-up cards{turned}"
        case Zone.DOWN:
            turns = f"{say('turns', 'turned')} {say.turned(cards, event.slot or 0)}"
            return f"Seat {seat} {turns}, {lands}{turned}"
        case Zone.STOCK:
            tries, turns = say("tries", "tried"), say("turns", "turned")
            return f"Seat {seat} {tries} the stock, {turns} {cards}, {lands}{turned}"
        case _:
            assert_never(event.zone)


def _consequence(event: CardsPlayed, before: Game, say: Wording) -> str:
    """Return the effect of a play on the direction or, with reasons, on the turn."""
    if not say.reasons:
        return ", turning the direction" if event.direction != before.direction else ""
    ruleset, last, laid = before.ruleset, before.last_play, event.cards
    if last is not None and is_follow_up(before, event.seat, laid):
        laid = last.cards + laid
    rules = [ruleset.rank(rank_of(card)) for card in laid]
    if burn_cause(ruleset, before.pile + event.cards) is not None:
        return f", which burns{_gone(event)}"
    if covered_by(before, event) is not None:
        return f", which asks to be covered{_gone(event)}"
    turned, skipped = sum(r.turned for r in rules), sum(r.skipped for r in rules)
    effects = []
    if turned:
        effects.append("turns the direction" if turned % 2 else "turns the direction and back")
    if skipped:
        effects.append(f"skips {counted(skipped, 'seat')}")
    return f", which {listed(effects)}" if effects else ""


def _gone(event: CardsPlayed) -> str:
    """Return why the seat does not play again, if it went out by this play."""
    return "" if event.turn in (None, event.seat) else f", but seat {event.seat} is out"


def _burned(event: PileBurned, say: Wording) -> str:
    why = {BurnCause.RANK: "by its top card", BurnCause.SET: "by a set of one rank"}[event.cause]
    by = f"; seat {event.cleared_by} {say('clears', 'cleared')} it"
    text = f"The pile of {counted(event.count, 'card')} {say('burns', 'burned')} {why}"
    return f"{text}." if event.cleared_by == event.seat else f"{text}{by}."


def _failed(
    event: BlindFailed | StockFailed, before: Game | None, after: Game | None, say: Wording
) -> str:
    """Return the sentence of a turned card that did not fit, named if the viewer sees it."""
    seat, taker, turns = event.seat, event.taker, say("turns", "turned")
    if isinstance(event, BlindFailed):
        new = () if event.opening else _new_in_hand(before, after, seat)
        # The cards of the pile are known; any other card that came to the hand is the turned one.
        pile = () if before is None else before.pile
        secret = [say.card(card) for card in new if card not in pile]
        card = say.card(event.opening.card) if event.opening else next(iter(secret), "")
        text = f"Seat {seat} {turns} {say.turned(card, event.slot)}"
    else:
        tries = f"{say('tries', 'tried')} the stock"
        text = f"Seat {seat} {tries} and {turns} {say.card(event.opening.card)}"
    takes = say("takes", "took")
    text += f", which {say('does', 'did')} not fit, and {takes} it"
    if taker == seat:
        text += f" with {pile_of(event.count)}" if event.count else ""
    else:
        text += f", while seat {taker} {takes} {pile_of(event.count)}"
    return text + say.ending(seat, event.turn)


def _end(event: EndEvent, say: Wording) -> str:
    match event:
        case SeatOut(seat=seat, place=place):
            has, is_ = say("has", "had"), say("is", "was")
            return f"Seat {seat} {has} no card left and {is_} out, in place {place}."
        case GameEnded():
            return _ended(event, say)
        case GameSealed():
            if say.spelled:
                return "The record was closed, and the order of the deck was published."
            return f"The seed and the deck {say('are', 'were')} published."
        case GameAborted(cause=AbortCause.IDLE, seat=int(seat)):
            given_up = f"The game {say('is', 'was')} given up unfinished"
            return f"{given_up}: seat {seat} did not come back."
        case GameAborted(cause=cause, seat=seat):
            given_up = f"The game {say('is', 'was')} given up unfinished"
            return f"{given_up}: {_ABORTED[cause].format(seat=seat)}."
        case _:
            assert_never(event)


def _ended(event: GameEnded, say: Wording) -> str:
    is_ = say("is", "was")
    match event.reason:
        case EndReason.SHITHEAD:
            return f"The hand {is_} over: {_seat(event.shithead)} {is_} the shithead."
        case EndReason.WINNER:
            winner = event.places[0] if event.places else None
            return f"The hand {is_} over: {_seat(winner)} {say('wins', 'won')}."
        case EndReason.STALEMATE:
            return f"The hand {say('ends', 'ended')} as a stalemate, without a shithead."
        case EndReason.FORFEIT:
            gives_up = say("gives up", "gave up")
            return (
                f"{_seat(event.shithead).capitalize()} {gives_up} the hand and {is_} its shithead."
            )
        case _:
            assert_never(event.reason)


def _seat(seat: Seat | None) -> str:
    """Return a seat in words; None, as a contradictory log may have, is `no seat`."""
    return "no seat" if seat is None else f"seat {seat}"


_ABORTED = {
    AbortCause.NO_ENTROPY: "seat {seat} did not give its share of the shuffle",
    AbortCause.LEFT: "seat {seat} left",
    AbortCause.IDLE: "no player came back",
    AbortCause.OPERATOR: "the operator ended it",
}


def _new_in_hand(before: Game | None, after: Game | None, seat: Seat) -> tuple[Card, ...]:
    """Return the cards that came to a hand, as far as the viewer sees them."""
    if before is None or after is None:
        return ()
    old = before.seats[seat].hand
    return in_code_order(c for c in after.seats[seat].hand if c not in old and c != HIDDEN)
