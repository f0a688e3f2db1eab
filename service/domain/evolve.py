"""The state after an event, `evolve(game, event)`, and after a whole log, `fold(events)`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from msgspec.structs import replace

from service.domain.cards import HIDDEN, Card, rank_of
from service.domain.commands import AfterAbsence, Seat
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
from service.domain.game import (
    EntropyState,
    Game,
    GameResult,
    LastPlay,
    SeatState,
    Status,
    new_game,
    positions,
    without,
)


def fold(events: Iterable[Event], deck: tuple[Card, ...] | None = None) -> Game:
    """
    Return the game after `events`, the first of which creates it.

    `deck` is the deck in order as far as the reader knows it, HIDDEN for every unknown
    card; None hides all of it.

    Raises ValueError if the first event is missing or creates no game, or if an event cannot be
    applied.
    """
    steps = iter(events)
    first = next(steps, None)
    if not isinstance(first, GameCreated):
        raise ValueError("a game begins with game_created")
    game = new_game(first)
    if deck is not None:
        game = replace(game, deck=deck)
    for event in steps:
        game = evolve(game, event)
    return game


def evolve(game: Game, event: Event) -> Game:
    """
    Return `game` after `event`.

    Events are not judged here: `decide` settled whether the move was allowed, and an
    auditor asks `decide` again.

    Raises ValueError if the event cannot be applied, for example if a card leaves a hand
    that does not hold it.
    """
    if isinstance(event, PlayEvent):
        changed = _play(game, event)
    elif isinstance(event, SetupEvent):
        changed = _setup(game, event)
    elif isinstance(event, ExchangeEvent):
        changed = _exchange(game, event)
    else:
        changed = _end(game, event)
    return replace(changed, version=game.version + 1)


def _setup(game: Game, event: SetupEvent) -> Game:
    match event:
        case GameCreated():
            raise ValueError("a game is created once")
        case EntropyCommitted(seat=seat):
            state = replace(game.seats[seat], entropy=EntropyState.COMMITTED)
            return game.with_seat(seat, state)
        case EntropyRevealed(seat=seat):
            state = replace(game.seats[seat], entropy=EntropyState.REVEALED)
            return game.with_seat(seat, state)
        case DeckCommitted(cards=cards):
            return game if game.deck else replace(game, deck=(HIDDEN,) * len(cards))
        case _:
            assert_never(event)


def _exchange(game: Game, event: ExchangeEvent) -> Game:
    match event:
        case CardsDealt():
            return _dealt(game, event)
        case CardsThrown(seat=seat, cards=cards, count=count):
            state = game.seats[seat]
            hand = without(state.hand, cards) + game.top(count)
            game = game.with_seat(seat, replace(state, hand=hand))
            pile = game.pile + cards
            return replace(game, pile=pile, stock=game.stock[count:], thrower=seat)
        case CardsSwapped(seat=seat):
            return _acted(game.with_seat(seat, _swapped(game.seats[seat], event)), seat)
        case TableLaid(seat=seat, count=count):
            game = game.with_seat(seat, _laid(game, event))
            # After a time-out, laying and being ready are one move made for the seat.
            timed_out = game.timed_out
            game = replace(_acted(game, seat), stock=game.stock[count:])
            return replace(game, timed_out=timed_out)
        case SeatReady(seat=seat):
            state = replace(game.seats[seat], ready=True, drawn_laying=())
            return _acted(game.with_seat(seat, state), seat)
        case PlayStarted(turn=turn):
            return replace(game, status=Status.PLAYING, turn=turn)
        case _:
            assert_never(event)


def _dealt(game: Game, event: CardsDealt) -> Game:
    dealt = positions(
        seats=len(game.seats),
        dealer=event.dealer,
        down=event.down,
        up=event.up,
        hand=event.hand,
    )
    seats = tuple(
        replace(
            state,
            hand=tuple(game.deck[p] for p in dealt.hand[seat]),
            up=tuple((o.card,) for o in event.face_up[seat]) or ((),) * event.down,
            down=dealt.down[seat],
        )
        for seat, state in enumerate(game.seats)
    )
    gone = 0 if event.starter is None else 1
    first = dealt.used + len(event.returned)
    stock = tuple(range(first + gone, len(game.deck)))
    return replace(
        game,
        status=Status.SWAPPING,
        dealer=event.dealer,
        seats=seats,
        stock=stock + tuple(o.p for o in event.returned),
        pile=(event.starter.card,) if event.starter else (),
    )


def _swapped(state: SeatState, event: CardsSwapped) -> SeatState:
    replaced = dict(zip(event.hand, event.up, strict=True))
    up = tuple(tuple(replaced.get(card, card) for card in stack) for stack in state.up)
    return replace(
        state,
        hand=without(state.hand, event.up) + event.hand,
        known=_still_known(state.known, event.up) + event.hand,
        up=up,
    )


def _laid(game: Game, event: TableLaid) -> SeatState:
    state = game.seats[event.seat]
    laid = tuple(card for stack in event.stacks for card in stack)
    drawn = game.top(event.count)
    kept = without(state.drawn_laying, laid) if state.laid else ()
    return replace(
        state,
        hand=without(state.hand, laid) + drawn,
        up=tuple(old + new for old, new in zip(state.up, event.stacks, strict=True)),
        laid=True,
        drawn_laying=kept + drawn,
    )


def _play(game: Game, event: PlayEvent) -> Game:
    match event:
        case CardsPlayed():
            return _played(game, event)
        case CardsDrawn(seat=seat, count=count):
            return _drawn(game, seat, count)
        case PileBurned():
            burned = game.burned + game.pile
            flusher = event.cleared_by if game.ruleset.burn.flusher else None
            game = replace(game, pile=(), burned=burned, flusher=flusher)
            return replace(game, last_play=None, covering=False)
        case PilePickedUp(seat=seat, along=along):
            state = game.seats[seat]
            game = game.with_seat(seat, replace(state, up=_without_up(state.up, along)))
            return _took(game, event, along)
        case BlindFailed(seat=seat, slot=slot, opening=opening):
            position = game.seats[seat].down[slot]
            if position is None:
                raise ValueError(f"slot {slot} of /seats/{seat} is empty")
            card = game.deck[position] if opening is None else opening.card
            game = game.with_seat(seat, _emptied(game.seats[seat], slot))
            return _took(_gained(game, seat, (card,), known=opening is not None), event)
        case StockFailed(seat=seat, opening=opening):
            game = replace(game, stock=game.stock[1:])
            return _took(_gained(game, seat, (opening.card,), known=True), event)
        case TurnPassed(seat=seat, turn=turn):
            game = replace(_acted(game, seat), turn=turn, last_play=None)
            return replace(game, passes=game.passes + 1, actions=game.actions + 1, first_turn=False)
        case TurnTimedOut(seat=seat):
            state = game.seats[seat]
            state = replace(state, time_outs=state.time_outs + 1)
            return replace(game.with_seat(seat, state), timed_out=seat)
        case _:
            assert_never(event)


def _played(game: Game, event: CardsPlayed) -> Game:
    seat, cards, last = event.seat, event.cards, game.last_play
    if last is not None and is_follow_up(game, seat, cards):
        last = replace(last, cards=last.cards + cards, drawn=without(last.drawn, cards))
    else:
        last = LastPlay(seat=seat, cards=cards, drawn=(), direction=game.direction)
    return replace(
        on_pile(_acted(game, seat), event),
        turn=event.turn,
        direction=event.direction,
        last_play=last,
        covering=event.turn == seat and must_cover(game, cards),
        first_turn=False,
        passes=0,
    )


def on_pile(game: Game, event: CardsPlayed) -> Game:
    """
    Return the game with the played cards moved to the pile and the action counted.

    The turn, the direction and the last play stay as they are.

    Raises ValueError if the cards are not in the zone that they leave.
    """
    game = _left_zone(game, event)
    return replace(game, pile=game.pile + event.cards, actions=game.actions + 1)


def is_follow_up(game: Game, seat: Seat, cards: tuple[Card, ...]) -> bool:
    """Return whether `cards` of a seat that is not on turn follow up its last play (S4)."""
    last = game.last_play
    return (
        game.ruleset.turn.follow_up
        and last is not None
        and last.seat == seat
        and game.turn is not None
        and game.turn != seat
        and all(rank_of(card) == last.rank for card in cards)
    )


def must_cover(game: Game, cards: tuple[Card, ...]) -> bool:
    """Return whether a play of `cards` must be covered by the same seat (S13, P34)."""
    rule = game.ruleset.rank(rank_of(cards[-1]))
    return rule.covers or (rule.covers_with_two and len(game.in_play()) == 2)


def _left_zone(game: Game, event: CardsPlayed) -> Game:
    """Return the game without the played cards in the zone they came from."""
    seat, state = event.seat, game.seats[event.seat]
    match event.zone:
        case Zone.HAND:
            known = _still_known(state.known, event.cards)
            state = replace(state, hand=without(state.hand, event.cards), known=known)
        case Zone.UP:
            state = replace(state, up=_without_up(state.up, event.cards))
        case Zone.DOWN:
            if event.slot is None or state.down[event.slot] is None:
                raise ValueError(f"slot {event.slot} of /seats/{seat} has no card")
            state = _emptied(state, event.slot)
        case Zone.STOCK:
            return replace(game, stock=game.stock[1:])
        case _:
            assert_never(event.zone)
    return game.with_seat(seat, state)


def _drawn(game: Game, seat: Seat, count: int) -> Game:
    drawn = game.top(count)
    if len(drawn) < count:
        raise ValueError(f"the stock has fewer than {count} cards")
    state = game.seats[seat]
    game = game.with_seat(seat, replace(state, hand=state.hand + drawn))
    last = game.last_play
    if last is not None and last.seat == seat:
        last = replace(last, drawn=last.drawn + drawn)
    return replace(game, stock=game.stock[count:], last_play=last)


def _took(
    game: Game,
    event: PilePickedUp | BlindFailed | StockFailed,
    along: tuple[Card, ...] = (),
) -> Game:
    """Return the game after the pile, and the cards `along`, went to the taker's hand."""
    game = _gained(game, event.taker, game.pile + along, known=True)
    return replace(
        _acted(game, event.seat),
        pile=(),
        last_play=None,
        covering=False,
        first_turn=False,
        passes=0,
        actions=game.actions + 1,
        turn=event.turn,
        direction=event.direction,
    )


def _gained(game: Game, seat: Seat, cards: tuple[Card, ...], *, known: bool) -> Game:
    state = game.seats[seat]
    more = state.known + cards if known else state.known
    return game.with_seat(seat, replace(state, hand=state.hand + cards, known=more))


def _acted(game: Game, seat: Seat) -> Game:
    """Return the game after an action; a seat's own move ends its time-outs and its agreement."""
    if game.timed_out == seat:
        return replace(game, timed_out=None)
    if game.agreed or game.replaced or game.asked:
        game = _present(game, seat)
    state = game.seats[seat]
    if state.time_outs == 0:
        return game
    return game.with_seat(seat, replace(state, time_outs=0))


def _present(game: Game, seat: Seat) -> Game:
    """Return the game after a seat's own move, which takes back what it said and what it denies."""
    return replace(
        game,
        agreed=game.agreed - {seat},
        replaced=frozenset(one for one in game.replaced if one[0] != seat),
        asked=frozenset(pair for pair in game.asked if seat not in pair),
    )


def _end(game: Game, event: EndEvent) -> Game:
    match event:
        case SeatOut(seat=seat, place=place):
            return game.with_seat(seat, replace(game.seats[seat], place=place))
        case EndAgreed(seat=seat):
            return replace(game, agreed=game.agreed | {seat})
        case AbsenceClaimed(seat=seat, absent=absent, then=AfterAbsence.END):
            return replace(game, asked=game.asked | {(seat, absent)})
        case AbsenceClaimed(absent=absent):
            others = frozenset(one for one in game.replaced if one[0] != absent)
            asked = frozenset(pair for pair in game.asked if pair[1] != absent)
            return replace(game, replaced=others | {(absent, game.version)}, asked=asked)
        case GameEnded():
            result = GameResult(
                reason=event.reason, cause=None, shithead=event.shithead, places=event.places
            )
            return replace(game, status=Status.ENDED, turn=None, result=result)
        case GameSealed():
            return game
        case GameAborted(cause=cause, seat=seat):
            awaited = None if cause is AbortCause.OPERATOR else seat
            result = GameResult(
                reason=None,
                cause=cause,
                shithead=None,
                places=game.places(),
                awaited=awaited,
            )
            return replace(game, status=Status.ABORTED, turn=None, result=result)
        case _:
            assert_never(event)


def _still_known(known: tuple[Card, ...], gone: tuple[Card, ...]) -> tuple[Card, ...]:
    if not known or frozenset(gone).isdisjoint(known):
        return known
    return tuple([card for card in known if card not in gone])


def _emptied(state: SeatState, slot: int) -> SeatState:
    return replace(state, down=(*state.down[:slot], None, *state.down[slot + 1 :]))


def _without_up(
    up: tuple[tuple[Card, ...], ...], gone: tuple[Card, ...]
) -> tuple[tuple[Card, ...], ...]:
    if any(card not in stack_cards(up) for card in gone):
        raise ValueError("a card is not among the face-up cards")
    return tuple(tuple(card for card in stack if card not in gone) for stack in up)


def stack_cards(up: tuple[tuple[Card, ...], ...]) -> tuple[Card, ...]:
    """Return the cards of all face-up slots."""
    return tuple(card for stack in up for card in stack)
