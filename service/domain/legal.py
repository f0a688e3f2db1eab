"""Who may act, and every move that a seat may make."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.cards import Card, Rank, rank_of
from service.domain.commands import (
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Seat,
    Swap,
    TryStock,
)
from service.domain.events import Zone
from service.domain.game import Game, Status
from service.domain.opening import FIRST_COME, may_open
from service.domain.plays import can_play, candidate_plays, choices, codes_of
from service.domain.ruleset import Along, Layout, Obligation
from service.domain.ruleset import TryStock as Trying


def may_act(game: Game, seat: Seat) -> bool:
    """Return whether the seat may do something now; never the same as `seat == turn`."""
    match game.status:
        case Status.SWAPPING:
            return not game.seats[seat].ready
        case Status.PLAYING:
            if game.opening and game.turn is None:
                return may_open(game, seat)
            return game.turn == seat or bool(follow_up_cards(game, seat))
        case _:
            return False


def legal_moves(game: Game, seat: Seat) -> tuple[Move, ...]:
    """
    Return the moves of a seat, a play's cards in laying order, `forfeit` left out.

    Where there are many choices of one rank, one set a size stands for all
    (api.md, section 4); in the exchange the swaps of one pair stand for all.
    """
    if not may_act(game, seat):
        return ()
    if game.status is Status.SWAPPING:
        return tuple(_exchange_moves(game, seat))
    if game.turn is not None and game.turn != seat:
        return tuple(Play(seat=seat, cards=c) for c in choices(follow_up_cards(game, seat)))
    return tuple(_turn_moves(game, seat))


def follow_up_cards(game: Game, seat: Seat) -> tuple[Card, ...]:
    """Return the cards with which a seat that is not on turn may go on with its play (S4)."""
    last = game.last_play
    if not game.ruleset.turn.follow_up or last is None or last.seat != seat:
        return ()
    if game.turn is None or game.turn == seat or game.covering:
        return ()
    return tuple(card for card in last.drawn if rank_of(card) == last.rank)


def may_be_followed_up(game: Game) -> bool:
    """
    Return whether the last play may be continued out of turn by what everybody sees.

    Cards were drawn after it, and one of its rank is unseen.
    """
    last = game.last_play
    if not game.ruleset.turn.follow_up or last is None or game.turn in (None, last.seat):
        return False
    return bool(last.drawn) and _unseen(game, last.rank) > 0


def _unseen(game: Game, rank: Rank) -> int:
    """Return how many cards of a rank lie where not everybody has seen them."""
    setup = game.setup
    seen = [*game.pile, *game.burned]
    for state in game.seats:
        seen += [*state.up_cards, *state.known]
    codes = codes_of(setup.decks, setup.jokers, setup.partial)
    return sum(rank_of(c) == rank for c in codes) - sum(rank_of(c) == rank for c in seen)


def first_lay(game: Game, seat: Seat) -> Lay:
    """Return the laying of the first cards dealt, one on each slot."""
    state = game.seats[seat]
    return Lay(seat=seat, stacks=tuple((card,) for card in state.hand[: len(state.down)]))


def may_pick_up(game: Game, seat: Seat) -> bool:
    """Return whether the rules let the seat take the pile."""
    if game.covering or not game.pile or game.seats[seat].zone is Zone.DOWN:
        return False
    free = game.ruleset.turn.obligation is Obligation.MAY_PICK_UP
    return free or not can_play(game, seat)


def may_try(game: Game, seat: Seat) -> bool:
    """Return whether the seat may try the top card of the stock."""
    if game.covering or not game.stock or game.seats[seat].zone is Zone.DOWN:
        return False
    match game.ruleset.turn.try_stock:
        case Trying.NEVER:
            return False
        case Trying.ALWAYS:
            return True
        case Trying.WHEN_UNABLE:
            return not can_play(game, seat)


def may_pass(game: Game, seat: Seat) -> bool:
    """Return whether the seat has nothing that it could do on an empty pile but pass."""
    if game.pile or game.covering or game.seats[seat].zone is Zone.DOWN:
        return False
    return not can_play(game, seat) and not may_try(game, seat)


def may_go_along(game: Game, seat: Seat, cards: tuple[Card, ...]) -> bool:
    """Return whether `cards`, each named once, are what goes along with a pick-up of the seat."""
    state = game.seats[seat]
    if state.zone is not Zone.UP:
        return not cards
    match game.ruleset.pick_up.along:
        case Along.NOTHING:
            return not cards
        case Along.ONE_SLOT:
            return any(stack and set(stack) == set(cards) for stack in state.up)
        case Along.ONE_RANK:
            held = all(card in state.up_cards for card in cards)
            return held and len({rank_of(card) for card in cards}) == 1


def along_choices(game: Game, seat: Seat) -> Iterator[tuple[Card, ...]]:
    """
    Yield what the seat may take along with the pile: one empty choice, or face-up cards.

    Where there are many of one rank, one set a size stands for all.
    """
    state = game.seats[seat]
    if state.zone is not Zone.UP:
        yield ()
        return
    match game.ruleset.pick_up.along:
        case Along.NOTHING:
            yield ()
        case Along.ONE_SLOT:
            yield from (stack for stack in state.up if stack)
        case Along.ONE_RANK:
            for rank in sorted({rank_of(card) for card in state.up_cards}):
                yield from choices(c for c in state.up_cards if rank_of(c) == rank)


def opens_first_come(game: Game) -> bool:
    """Return whether the first play is made by whoever comes first."""
    return game.ruleset.opening.opener in FIRST_COME


def _turn_moves(game: Game, seat: Seat) -> Iterator[Move]:
    state = game.seats[seat]
    if state.zone is Zone.DOWN:
        slots = [slot for slot, p in enumerate(state.down) if p is not None]
        yield from (PlayBlind(seat=seat, slot=slot) for slot in slots)
        return
    yield from (Play(seat=seat, cards=cards) for cards in candidate_plays(game, seat))
    if may_try(game, seat):
        yield TryStock(seat=seat)
    if may_pick_up(game, seat):
        yield from (PickUp(seat=seat, along=along) for along in along_choices(game, seat))
    if may_pass(game, seat):
        yield Pass(seat=seat)


def _exchange_moves(game: Game, seat: Seat) -> Iterator[Move]:
    state, deal = game.seats[seat], game.ruleset.deal
    if deal.layout is not Layout.NONE and not state.laid:
        yield first_lay(game, seat)
        return
    if deal.layout is Layout.NONE and deal.exchange:
        for card in sorted(state.hand):
            for other in state.up_cards:
                yield Swap(seat=seat, up=(card,), hand=(other,))
    yield Ready(seat=seat)
