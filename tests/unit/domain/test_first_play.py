"""The opener and the opening play, in cases that no ruleset of the catalogue has."""

from __future__ import annotations

import pytest

from service.domain.cards import Rank
from service.domain.game import Game, SeatState, new_game
from service.domain.legal import default_opener, opens_first_come
from service.domain.plays import may_open, opener_of, qualifying, worst_card
from service.domain.ruleset import Opener, OpeningPlay, OpeningSettings, Ruleset
from tests.changed import replace
from tests.rules.phrases import play
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import all_ready, cards, created, dealt, rules, table

MOREHEAD, QUEEN, SHITHEAD = rules("morehead"), rules("covered-queen"), rules("shithead")
THREES = rules("threes")


def holding(ruleset: Ruleset, *hands: str, up: tuple[str, ...] = (), dealer: int = 0) -> Game:
    """Return a game before its first play, in which the seats hold these cards."""
    tables = (*up, *("" for _ in hands[len(up) :]))
    seats = tuple(
        SeatState(hand=cards(hand), up=tuple((card,) for card in cards(shown)))
        for hand, shown in zip(hands, tables, strict=True)
    )
    return replace(new_game(created(ruleset, len(hands))), seats=seats, dealer=dealer)


def opening_by(ruleset: Ruleset, ranks: str) -> Ruleset:
    """Return the rules with another list of the ranks that open."""
    opening = replace(ruleset.opening, ranks=tuple(Rank(r) for r in ranks))
    return replace(ruleset, opening=opening)


def test_opening_seats_qualify_by_rank_and_zone() -> None:
    """M4: a face-up three, else a three in hand, then fours likewise; T3: the hand alone."""
    on_table = holding(MOREHEAD, "3c", "9c", "9d", up=("", "3d", "3h"))
    assert qualifying(on_table) == ((1, 2), "3")
    in_hand = holding(MOREHEAD, "3c", "9c", "9d", up=("", "4d", "4h"))
    assert qualifying(in_hand) == ((0,), "3")
    assert qualifying(holding(THREES, "4c", "9c", "4d", up=("", "3d", "3h"))) == ((0, 2), "4")


def test_if_no_seat_qualifies_every_seat_may_open() -> None:
    """T3: the first rank of the list is then required; a short list or jokers can cause this."""
    game = holding(opening_by(THREES, "34"), "9c", "9d")
    assert qualifying(game) == ((0, 1), "3")


def test_a_time_out_opens_with_the_first_qualifying_seat_left_of_the_dealer() -> None:
    """T3: if nobody opens in time, the first such player left of the dealer does."""
    hands = ("3c", "9c", "3d", "3h")
    assert [default_opener(holding(THREES, *hands, dealer=d)) for d in range(4)] == [2, 2, 3, 0]
    assert default_opener(holding(THREES, "3c", "3d", dealer=0)) == 1
    assert default_opener(holding(THREES, "3c", "3d", dealer=1)) == 0


def test_equal_worst_cards_are_decided_by_the_distance_from_the_dealer() -> None:
    """S3: of two equal cards the one nearest to the dealer's left opens; the dealer is the last."""
    assert worst_card(holding(QUEEN, "4c", "4c/2", "9c")) == (1, "4c/2")
    assert worst_card(holding(QUEEN, "4c/2", "9c", "4c", dealer=1)) == (2, "4c")
    assert worst_card(holding(QUEEN, "9d", "4c/2 4c")) == (1, "4c")
    assert worst_card(holding(QUEEN, "9d", "4s 4h 4c")) == (1, "4c")


def test_an_unlisted_card_is_better_than_every_listed_one() -> None:
    """S3: cards outside the list, such as jokers, are compared by seat only."""
    short = opening_by(QUEEN, "4")
    assert worst_card(holding(short, "9c", "4s", "9d")) == (1, "4s")
    for dealer, first in ((0, 1), (1, 2), (2, 0)):
        assert worst_card(holding(short, "9c", "5c", "6d", dealer=dealer))[0] == first
    assert worst_card(holding(QUEEN, "X1", "3s")) == (1, "3s")


def test_the_opening_play_contains_either_of_two_equal_cards() -> None:
    """S3: the worst card or its equal from another deck, but not a card of another suit."""
    at = table(hands=["4c 4c/2 4d 9h", "9c"], first_turn=True, decks=2)
    for laid in ("4c", "4c/2", "4d 4c/2"):
        scenario(QUEEN, given=at, when=play(0, laid))
    scenario(QUEEN, given=at, when=play(0, "4d"), then=refused("S3"))
    second = table(hands=["4c/2 4d 9h", "9c"], first_turn=True, decks=2)
    scenario(QUEEN, given=second, when=play(0, "4c/2 4d"))


def test_without_a_listed_card_the_seat_left_of_the_dealer_opens() -> None:
    """P5: no seat was dealt a card of a rank that opens."""
    short = opening_by(SHITHEAD, "2")
    for dealer in range(3):
        hands, up = ["Kc Qc Jc", "Kd Qd Jd", "Kh Qh Jh"], ["8c 8d 8h", "9c 9d 9h", "6c 6d 6h"]
        game, _ = dealt(short, seats=3, dealer=dealer, hands=hands, up=up)
        assert opener_of(game) == (dealer + 1) % 3


def test_without_thrown_cards_the_seat_left_of_the_dealer_opens() -> None:
    """R: here no rank is thrown."""
    reverse = rules("reverse")
    without_throws = replace(reverse, deal=replace(reverse.deal, throws=()))
    game, events = dealt(without_throws, seats=3, dealer=1)
    assert (len(events), opener_of(game)) == (1, 2)


def test_before_the_deal_there_is_no_opener() -> None:
    """The dealer may still have to be drawn, and the opener depends on the dealer."""
    with pytest.raises(ValueError, match="dealt"):
        opener_of(replace(holding(rules("leeds"), "3c", "4c"), dealer=None))


def test_the_seat_on_turn_or_every_qualifying_seat_may_open() -> None:
    """The seat on turn, or at a first-come opening every seat that qualifies."""
    game = holding(THREES, "3c", "9c", "3d")
    assert [may_open(game, seat) for seat in range(3)] == [True, False, True]
    named = replace(game, turn=1)
    assert [may_open(named, seat) for seat in range(3)] == [False, True, False]


def test_first_come_openings_are_recognized() -> None:
    """T3, M4: first come, first served."""
    first_come = {
        opener for opener in Opener if opens_first_come(holding(_with_opener(opener), "3c"))
    }
    assert first_come == {Opener.FIRST_COME_HAND, Opener.FIRST_COME_TABLE}


def test_an_opening_with_companions_begins_with_the_opening_rank() -> None:
    """T3 and L17: if fives open, they are played with their companions."""
    leeds = rules("leeds")
    opening = OpeningSettings(
        opener=Opener.FIRST_COME_HAND, ranks=(Rank("5"),), play=OpeningPlay.THAT_RANK
    )
    at = table(hands=["5c 6c 7c", "9c"], turn=None, first_turn=True)
    fives_open = replace(leeds, opening=opening)
    scenario(fives_open, given=at, when=play(0, "5c 6c"))
    scenario(fives_open, given=at, when=play(0, "6c"), then=refused())


def _with_opener(opener: Opener) -> Ruleset:
    return replace(THREES, opening=replace(THREES.opening, opener=opener))


def test_a_run_is_not_an_opening_of_one_rank() -> None:
    """T3: the opening play is one or more cards of that rank, even if runs are legal."""
    runs = replace(THREES, turn=replace(THREES.turn, runs=True))
    game, _ = dealt(runs, seats=2, hands=["3c 4c 3d", "Kd Qd Jd"])
    game = all_ready(game)
    assert moves(runs, game) == {"3c", "3d", "3c 3d"}
    scenario(runs, given=game, when=play(0, "3c 4c"), then=refused("T3"))
