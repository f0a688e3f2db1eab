"""The opener of a hand, and the cards of the first play."""

from __future__ import annotations

from typing import assert_never

from service.domain.cards import Card, Rank, rank_of, suit_of
from service.domain.commands import Seat
from service.domain.errors import Refusal
from service.domain.game import Game
from service.domain.positions import seat_dealt
from service.domain.ruleset import Opener, OpeningPlay, Plays

FIRST_COME = (Opener.FIRST_COME_HAND, Opener.FIRST_COME_TABLE)

_OPENING = ("opening.play", "opening.opener")
WITHOUT_THAT_CARD = Refusal("the opening play contains the card that makes you open", _OPENING)
NOT_THAT_RANK = Refusal("the opening play is of the rank that lets you open", _OPENING)


def opener_of(game: Game) -> Seat | None:
    """
    Return the seat that plays first; None if the first qualified seat to act does.

    Raises ValueError before the deal.
    """
    match game.ruleset.opening.opener:
        case Opener.LEFT_OF_DEALER:
            return _left_of(game, _dealer(game))
        case Opener.FIRST_DEALT:
            return _first_dealt(game)
        case Opener.WORST_CARD:
            return worst_card(game)[0]
        case Opener.NEXT_TO_THROWER:
            return _left_of(game, _dealer(game) if game.thrower is None else game.thrower)
        case Opener.FIRST_COME_HAND | Opener.FIRST_COME_TABLE:
            return None
        case _:
            assert_never(game.ruleset.opening.opener)


def qualifying(game: Game) -> tuple[tuple[Seat, ...], Rank]:
    """
    Return the seats qualified for a first-come opening, and the rank that qualifies them.

    If no seat has any of the ranks, all seats qualify, with the first rank.
    """
    on_table = game.ruleset.opening.opener is Opener.FIRST_COME_TABLE
    for rank in game.ruleset.opening.ranks:
        if on_table and (seats := _holding(game, rank, table=True)):
            return seats, rank
        if seats := _holding(game, rank, table=False):
            return seats, rank
    return tuple(range(len(game.seats))), game.ruleset.opening.ranks[0]


def worst_card(game: Game) -> tuple[Seat, Card]:
    """
    Return the seat that holds the worst card, and the card (S3).

    The worst card is decided by rank, then by suit, then by the distance of its seat from the
    dealer. Raises ValueError before the deal.
    """
    opening, count = game.ruleset.opening, len(game.seats)
    dealer = _dealer(game)

    def sort_key(held: tuple[Seat, Card]) -> tuple[int, int, int]:
        seat, card = held
        if rank_of(card) not in opening.ranks:
            return len(opening.ranks), 0, (seat - dealer - 1) % count
        rank = opening.ranks.index(rank_of(card))
        return rank, opening.suits.index(suit_of(card)), (seat - dealer - 1) % count

    held = [(s, card) for s, state in enumerate(game.seats) for card in sorted(state.hand)]
    return min(held, key=sort_key)


def may_open(game: Game, seat: Seat) -> bool:
    """Return whether the seat may make the first play now."""
    if game.turn is not None:
        return game.turn == seat
    return seat in qualifying(game)[0]


def opening_refusal(game: Game, cards: tuple[Card, ...]) -> Refusal | None:
    """Return why `cards` cannot be the first play; None if they can, or it is a later play."""
    if not game.first_turn:
        return None
    ruleset = game.ruleset
    match ruleset.opening.play:
        case OpeningPlay.ANY:
            return None
        case OpeningPlay.THAT_CARD:
            same = worst_card(game)[1][:2]
            if any(card[:2] == same for card in cards):
                return None
            return WITHOUT_THAT_CARD
        case OpeningPlay.THAT_RANK:
            first, last = rank_of(cards[0]), rank_of(cards[-1])
            run = first != last and ruleset.rank(first).plays is not Plays.WITH_COMPANION
            if first == qualifying(game)[1] and not run:
                return None
            return NOT_THAT_RANK
        case _:
            assert_never(ruleset.opening.play)


def _dealer(game: Game) -> Seat:
    if game.dealer is None:
        raise ValueError("nothing has been dealt")
    return game.dealer


def _left_of(game: Game, seat: Seat) -> Seat:
    return (seat + 1) % len(game.seats)


def _first_dealt(game: Game) -> Seat:
    """
    Return the seat dealt the first face-up card of the first of the opening ranks (P5).

    If none lies face up, the first such hand card decides, then the next rank.
    """
    deal, seats, dealer = game.ruleset.deal, len(game.seats), _dealer(game)
    first_up, first_hand = seats * deal.down, seats * (deal.down + deal.up)
    end = first_hand + seats * deal.hand
    for rank in game.ruleset.opening.ranks:
        for start, stop in ((first_up, first_hand), (first_hand, end)):
            for p in range(start, stop):
                if rank_of(game.deck[p]) == rank:
                    return seat_dealt(p, seats=seats, dealer=dealer)
    return _left_of(game, dealer)


def _holding(game: Game, rank: Rank, *, table: bool) -> tuple[Seat, ...]:
    return tuple(
        seat
        for seat, state in enumerate(game.seats)
        if any(rank_of(card) == rank for card in (state.up_cards if table else state.hand))
    )
