"""Leeds Rules: statements L1 to L12, from the deal to the pick-up."""

from __future__ import annotations

import pytest

from service.domain.decide import decide
from service.domain.events import CardsDealt, PlayStarted
from service.domain.ruleset import NextDealer, deck_of
from tests.rules.phrases import (
    burned,
    drew,
    play,
    played,
    ready,
    swap,
    take,
    took,
    turn_over,
    turned,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import all_ready, cards, dealt, rules, table

LEEDS = rules("leeds")


@pytest.mark.parametrize(
    ("first", "last", "decks"), [(2, 5, 1), (6, 11, 2), (12, 17, 3), (18, 23, 4), (24, 24, 5)]
)
def test_l1_more_seats_play_with_more_decks(first: int, last: int, decks: int) -> None:
    """L1: a deck is added if nine cards for each seat and the starter need it."""
    for seats in range(first, last + 1):
        assert deck_of(LEEDS, seats) == (decks, 0, ())
        game, _ = dealt(LEEDS, seats=seats)
        assert len(game.pile) == 1
    assert (LEEDS.seats_min, LEEDS.seats_max) == (2, 24)


def test_l2_ranks_go_from_two_up_to_ace() -> None:
    """L2: rank order 2 3 4 5 6 7 8 9 10 J Q K A."""
    hand = "3c 4c 6c 7c 8c 9c Tc Jc Qc Kc Ac"
    for pile, fitting in (("3d", 11), ("4d", 10), ("6d", 9), ("8d", 7), ("Jd", 4), ("Ad", 1)):
        got = moves(LEEDS, table(pile=pile, hands=[hand, "9s"]))
        assert got == set(hand.split()[-fitting:])


def test_l3_the_shithead_deals_next() -> None:
    """L3: after the first hand the shithead of the last one deals."""
    assert LEEDS.end.next_dealer is NextDealer.LOSER


def test_l4_three_down_three_up_three_in_the_hand_one_at_a_time_from_the_dealers_left() -> None:
    """L4: deal three rounds face down, three face up, and three to the hands."""
    game, events = dealt(LEEDS, seats=3, dealer=1)
    deck = game.deck
    for seat, first in ((2, 0), (0, 1), (1, 2)):
        state = game.seats[seat]
        assert state.down == (first, first + 3, first + 6)
        assert state.up == tuple((deck[p],) for p in (first + 9, first + 12, first + 15))
        assert state.hand == tuple(deck[p] for p in (first + 18, first + 21, first + 24))
    assert isinstance(events[0], CardsDealt)
    assert game.pile == (deck[27],)
    assert game.stock == tuple(range(28, 52))


def test_l5_the_starter_is_turned_before_the_exchange() -> None:
    """L5: the top card of the stock is turned to start the pile before anyone exchanges."""
    game, _ = dealt(LEEDS, seats=2, stock="9c")
    assert game.pile == cards("9c")
    assert moves(LEEDS, game, 1) > {"ready"}


@pytest.mark.parametrize(
    ("starter", "legal"),
    [
        ("Tc", "Td Jd Ad 2d"),  # burns nothing, and asks for a ten or more
        ("Jc", "Jd Ad 2d"),  # reverses nothing
        ("5c", "6d 8d 9d Td Jd Ad 2d 7d"),  # a plain five
        ("2c", "4d 6d 7d 8d 9d Td Jd Ad 2d"),
        ("7c", "4d 6d 7d 2d"),
    ],
)
def test_l5_a_starter_must_be_beaten_but_has_no_effect(starter: str, legal: str) -> None:
    """L5 (reading): a starter burns and reverses nothing, and a starter five is a plain five."""
    hand = "4d 6d 7d 8d 9d Td Jd Ad 2d"
    at = table(pile=starter, hands=["Ks", hand], turn=1, first_turn=True)
    assert moves(LEEDS, at, 1) == set(legal.split())
    game, events = dealt(LEEDS, seats=3, stock=starter)
    assert len(events) == 1
    assert all_ready(game).turn == 1
    assert all_ready(game).direction == 1


def test_l5_a_starter_counts_towards_a_set() -> None:
    """L22: four of one rank on top of the pile burn, the starter included."""
    scenario(
        LEEDS,
        given=table(pile="9c", hands=["9d 9h 9s 4d", "Ks"], first_turn=True),
        when=play(0, "9d 9h 9s"),
        then=[played(0, "9d 9h 9s", turn=0), burned(0, cause="set", count=4)],
    )


def test_l6_hand_cards_are_exchanged_with_own_face_up_cards_and_take_their_slots() -> None:
    """L6: each player may exchange any number of hand cards with own face-up cards."""
    game, _ = dealt(LEEDS, seats=2, up=["4c 5c 6c", "4d 5d 6d"], hands=["Kc Qc Jc", "Kd Qd Jd"])
    after = scenario(LEEDS, given=game, when=swap(0, "Jc Kc", "4c 6c"))
    assert after.seats[0].up == (cards("Jc"), cards("5c"), cards("Kc"))
    assert set(after.seats[0].hand) == set(cards("Qc 4c 6c"))
    again = scenario(LEEDS, given=after, when=swap(0, "4c", "Jc"))
    assert again.seats[0].up[0] == cards("4c")


@pytest.mark.parametrize(
    ("up", "hand"),
    [
        ("Kc", "4d"),  # a card of another seat's table
        ("Kd", "4c"),  # a card of another seat's hand
        ("4c", "5c"),  # not a hand card
        ("Kc", "Qc"),  # not a face-up card
        ("Kc Qc", "4c"),  # two for one
        ("Kc Kc", "4c 5c"),  # one card twice
        ("Kc Qc", "4c 4c"),
        ("8h", "4c"),  # a face-down card
        ("Kc", "8h"),
    ],
)
def test_l6_only_own_cards_are_exchanged_one_for_one(up: str, hand: str) -> None:
    """L6: hand cards for own face-up cards; nobody looks at face-down cards."""
    game, _ = dealt(
        LEEDS,
        seats=2,
        down=["8h 8s 8d"],
        up=["4c 5c 6c", "4d 5d 6d"],
        hands=["Kc Qc Jc", "Kd Qd Jd"],
    )
    scenario(LEEDS, given=game, when=swap(0, up, hand), then=refused())


@pytest.mark.parametrize("dealer", [0, 1, 2])
def test_l7_the_seat_left_of_the_dealer_plays_first(dealer: int) -> None:
    """L7: the player left of the dealer plays first, onto the starter."""
    game, _ = dealt(LEEDS, seats=3, dealer=dealer)
    for seat in (0, 1):
        game = scenario(LEEDS, given=game, when=ready(seat))
    assert decide(ready(2), game)[-1] == PlayStarted(turn=(dealer + 1) % 3)


def test_l8_a_play_is_one_or_more_cards_of_one_rank_equal_or_higher() -> None:
    """L8: equal to or higher than the top card of the pile."""
    at = table(pile="8c", hands=["8d 8h 6c 9c Qd", "Ks"])
    assert moves(LEEDS, at) == {"8d", "8h", "8d 8h", "9c", "Qd"}
    scenario(LEEDS, given=at, when=play(0, "6c"), then=refused("L8"))
    scenario(LEEDS, given=at, when=play(0, "8d 9c"), then=refused("L8"))
    scenario(LEEDS, given=at, when=play(0, "8h 8d"), then=[played(0, "8h 8d", turn=1)])


def test_l9_as_many_are_drawn_as_were_played_even_to_a_large_hand() -> None:
    """L9: draw as many cards as were just played."""
    at = table(pile="4c", hands=["8d 8h 6c 9c Qd Kd", "Ks"], stock="3c 3d 3h")
    scenario(LEEDS, given=at, when=play(0, "8d 8h"), then=[played(0, "8d 8h", turn=1), drew(0, 2)])


def test_l9_cards_are_drawn_for_face_up_and_face_down_cards_too() -> None:
    """L9: draw as many cards as were just played, from whatever zone."""
    at = table(pile="4c", hands=["", "Ks"], up=["8d 9h"], down=["6c 6d"], stock="3c 3d 3h")
    scenario(
        LEEDS,
        given=at,
        when=play(0, "8d"),
        then=[played(0, "8d", turn=1, zone="up"), drew(0, 1)],
    )
    blind = table(pile="4c", hands=["", "Ks"], down=["6c 6d"], stock="3c 3d 3h")
    scenario(
        LEEDS,
        given=blind,
        when=turn_over(0, 1),
        then=[turned(0, 1, "6d", turn=1), drew(0, 1)],
    )


def test_l9_a_short_stock_gives_what_it_has() -> None:
    """L9: if the stock has fewer cards than were played, draw them all."""
    at = table(pile="4c", hands=["8d 8h 8s 6c", "Ks"], stock="3c")
    scenario(
        LEEDS,
        given=at,
        when=play(0, "8d 8h 8s"),
        then=[played(0, "8d 8h 8s", turn=1), drew(0, 1)],
    )


def test_l10_a_seat_that_can_play_must_play() -> None:
    """L10: picking up is allowed only without a legal play."""
    scenario(
        LEEDS,
        given=table(pile="9c", hands=["4d Kc", "9s"]),
        when=take(0),
        then=refused("L10"),
    )
    scenario(
        LEEDS,
        given=table(pile="Kc", hands=["4d 5c 6d", "9s"]),
        when=take(0),
        then=refused("L10"),  # the five with the six can be played
    )
    scenario(
        LEEDS,
        given=table(pile="Kc", hands=["4d 6c", "9s"]),
        when=take(0),
        then=[took(0, 1, turn=1)],
    )


def test_l10_fewer_cards_of_a_rank_than_held_may_be_played() -> None:
    """L10: playing fewer cards of a rank than held is allowed."""
    at = table(pile="8c", hands=["9d 9h 9s", "Ks"])
    assert moves(LEEDS, at) == {"9d", "9h", "9s", "9d 9h", "9d 9s", "9h 9s", "9d 9h 9s"}


def test_l11_after_a_pick_up_the_next_seat_plays_onto_the_empty_pile() -> None:
    """L11: picking up ends the turn."""
    at = table(pile="9s Kc", hands=["4d", "4c 8h", "6s"])
    after = scenario(LEEDS, given=at, when=take(0), then=[took(0, 2, turn=1)])
    assert after.pile == ()
    assert set(after.seats[0].hand) == set(cards("4d 9s Kc"))
    assert moves(LEEDS, after, 1) == {"4c", "8h"}
    assert moves(LEEDS, after, 0) == set()


def test_l12_no_face_up_card_goes_along_with_the_pile() -> None:
    """L12: a player who cannot play from the face-up cards takes the pile alone."""
    at = table(pile="Kc", hands=["", "9s"], up=["4d 6c"], down=["3c 3d"])
    assert moves(LEEDS, at) == {"take"}
    scenario(LEEDS, given=at, when=take(0, "4d"), then=refused("L12"))
    after = scenario(LEEDS, given=at, when=take(0), then=[took(0, 1, turn=1)])
    assert after.seats[0].up == (cards("4d"), cards("6c"))
