"""Legal moves: single questions, and the ordered list of all moves."""

from __future__ import annotations

import pytest

from service.domain.commands import Ready
from service.domain.decide import decide
from service.domain.events import PlayStarted, SeatReady
from service.domain.game import Game, Status, new_game
from service.domain.legal import (
    acting_seats,
    along_choices,
    follow_up_cards,
    legal_moves,
    may_act,
    may_be_followed_up,
    may_go_along,
    may_pass,
    may_pick_up,
    may_try,
)
from service.domain.ruleset import Layout, Ruleset, TryStockWhen
from tests.changed import replace
from tests.rules.phrases import forfeit, lay, play, ready, swap
from tests.rules.scenario import moves, not_your_turn, refused, scenario, words
from tests.rules.tables import Table, all_ready, cards, created, dealt, game_of, rules, table

SHITHEAD, LEEDS, KARMA = rules("shithead"), rules("leeds"), rules("karma-radford")
QUEEN, EGILSSON, BOOT = rules("covered-queen"), rules("egilsson"), rules("shit-boot")


def listed(ruleset: Ruleset, given: Table | Game, seat: int = 0) -> list[str]:
    """Return a seat's moves in words, in their order."""
    game = given if isinstance(given, Game) else game_of(ruleset, given)
    return [words(move) for move in legal_moves(game, seat)]


def test_with_only_face_down_cards_no_pick_up_try_or_pass_is_legal() -> None:
    """A seat with face-down cards only can do nothing but turn one."""
    at = table(pile="Kc", hands=["", "9d"], down=["3c 4c"], stock="6c")
    game = game_of(EGILSSON, at)
    assert [may_pick_up(game, 0), may_try(game, 0), may_pass(game, 0)] == [False] * 3
    assert may_pass(replace(game, pile=()), 0) is False
    assert listed(EGILSSON, game) == ["turn 0", "turn 1"]


def test_a_seat_that_must_cover_cannot_pick_up_try_or_pass() -> None:
    """A seat that must cover its own card may only play."""
    at = table(pile="Kc", hands=["4c", "9d"], stock="6c", covering=True)
    game = game_of(EGILSSON, at)
    assert [may_pick_up(game, 0), may_try(game, 0), may_pass(game, 0)] == [False] * 3
    assert may_pass(replace(game, pile=()), 0) is False
    assert listed(EGILSSON, game) == ["4c"]


def test_tries_are_allowed_never_when_unable_or_always() -> None:
    """P37: always; B: if the seat cannot play; other rulesets: never."""
    able = table(pile="4c", hands=["9c", "9d"], stock="6c")
    unable = table(pile="Kc", hands=["9c", "9d"], stock="6c")
    answers = {
        ruleset.id: (may_try(game_of(ruleset, able), 0), may_try(game_of(ruleset, unable), 0))
        for ruleset in (SHITHEAD, BOOT, EGILSSON)
    }
    assert answers == {
        "shithead": (False, False),
        "shit-boot": (False, True),
        "egilsson": (True, True),
    }


def test_a_seat_that_can_try_the_stock_cannot_pass() -> None:
    """A seat passes only if the pile is empty and no other move is legal."""
    turn = replace(LEEDS.turn, try_stock=TryStockWhen.WHEN_UNABLE)
    trying = replace(LEEDS, turn=turn)
    at = table(hands=["5c 5d", "9d"], stock="6c")
    assert listed(trying, at) == ["trystock"]
    assert listed(LEEDS, at) == ["pass"]
    assert moves(LEEDS, table(pile="9c", hands=["5c 4d", "9d"])) == {"take"}


def test_outside_play_no_seat_may_act() -> None:
    """Before the deal and after the end."""
    assert not may_act(new_game(created(SHITHEAD, 2)), 0)
    game, _ = dealt(SHITHEAD, seats=2)
    over = scenario(SHITHEAD, given=all_ready(game), when=forfeit(0))
    assert [may_act(over, seat) for seat in range(2)] == [False, False]
    assert follow_up_cards(over, 0) == ()


def test_the_seats_that_may_act_are_those_not_ready_or_on_turn() -> None:
    """In the exchange all that are not ready, in play the seat on turn, after the end none."""
    game, _ = dealt(SHITHEAD, seats=3)
    assert acting_seats(game) == (0, 1, 2)
    assert acting_seats(scenario(SHITHEAD, given=game, when=ready(1))) == (0, 2)
    playing = game_of(SHITHEAD, table(pile="4c", hands=["9c", "9d", "9h"], turn=2))
    assert acting_seats(playing) == (2,)
    over = scenario(SHITHEAD, given=playing, when=forfeit(2))
    assert (over.status, acting_seats(over)) == (Status.ENDED, ())


def test_seats_that_may_open_or_follow_up_may_act_without_being_on_turn() -> None:
    """T3: whoever has a three opens; S4: the seat that just played may add drawn cards."""
    at = table(hands=["3d 9s", "6h 9c", "3c 9h"], first_turn=True, turn=None)
    assert acting_seats(game_of(rules("threes"), at)) == (0, 2)
    at = table(pile="8c", hands=["9c Kc Qc", "Jd 6d", "9s 6h"], stock="9d 9h")
    assert acting_seats(scenario(QUEEN, given=at, when=play(0, "9c"))) == (0, 1)
    assert acting_seats(scenario(SHITHEAD, given=at, when=play(0, "9c"))) == (1,)


def test_only_the_seat_that_just_played_may_follow_up() -> None:
    """S4: with cards drawn in the refill; open until another seat acts."""
    at = table(pile="8c", hands=["9c Kc Qc", "Jd 6d", "9s 6h"], stock="9d 9h")
    after = scenario(QUEEN, given=at, when=play(0, "9c"))
    assert follow_up_cards(after, 0) == ("9d",)
    assert [follow_up_cards(after, seat) for seat in (1, 2)] == [(), ()]
    assert [may_act(after, seat) for seat in range(3)] == [True, True, False]
    assert listed(QUEEN, after) == ["9d"]
    scenario(QUEEN, given=after, when=play(2, "9s"), then=not_your_turn())
    assert follow_up_cards(replace(after, turn=0), 0) == ()
    assert follow_up_cards(replace(after, turn=None), 0) == ()


def test_without_the_follow_up_rule_no_card_is_added_to_a_play() -> None:
    """In `shithead` a drawn card of the rank just played may not be added."""
    at = table(pile="8c", hands=["9c Kc Qc", "Jd 6d"], stock="9d 9h")
    after = scenario(SHITHEAD, given=at, when=play(0, "9c"))
    assert [may_act(after, seat) for seat in range(2)] == [False, True]
    scenario(SHITHEAD, given=after, when=play(0, "9d"), then=not_your_turn())


def test_the_cards_that_may_go_along_are_listed_in_order() -> None:
    """P14: one slot, not an empty one; S7: one card or several of one rank, rank by rank."""
    at = table(pile="Kc", hands=["", "9d"], up=["- 7d 5c"], down=["- 6d 6c"])
    assert list(along_choices(game_of(SHITHEAD, at), 0)) == [("7d",), ("5c",)]
    many = ["Qd 8c Jd 6c Td 3c 9c 2d 4c 7c"]
    wide = table(pile="Kc", hands=["", "9d"], up=many, down=["Ks Kh 8d 8h 8s 6d 6h 6s 5d 5h"])
    assert [cards[0] for cards in along_choices(game_of(QUEEN, wide), 0)] == sorted(many[0].split())


def test_plays_are_listed_before_the_try_and_the_pick_ups() -> None:
    """Plays first, each rank from few cards to many."""
    at = table(pile="4c", hands=["9d 9c Kd", "Jd"], stock="6c")
    assert listed(EGILSSON, at) == ["9c", "9d", "9c 9d", "Kd", "trystock", "take"]


def test_stacks_on_the_table_do_not_restrict_the_hand() -> None:
    """A stack of face-up cards is played whole; hand cards are not stacks."""
    at = table(pile="4c", hands=["7h 9s", "9d"], up=["7d+7c 8c"], down=["3c 3d"])
    scenario(KARMA, given=at, when=play(0, "7h"))
    assert "7h" in moves(KARMA, at)


def test_the_exchange_lists_swaps_of_one_pair_and_then_ready() -> None:
    """Only swaps of one pair are listed, in the order of the hand's codes."""
    game, _ = dealt(SHITHEAD, seats=2, up=["3c 4c 5c"], hands=["Qc Kc Jc"])
    pairs = [f"swap {up} for {hand}" for up in ("Jc", "Kc", "Qc") for hand in ("3c", "4c", "5c")]
    assert listed(SHITHEAD, game) == [*pairs, "ready"]


def test_without_an_exchange_ready_is_the_only_move() -> None:
    """`exchange` is an independent setting."""
    strict = replace(SHITHEAD, deal=replace(SHITHEAD.deal, exchange=False))
    game, _ = dealt(strict, seats=2, up=["3c 4c 5c"], hands=["Qc Kc Jc"])
    assert listed(strict, game) == ["ready"]
    scenario(strict, given=game, when=swap(0, "Qc", "3c"), then=refused())


def test_a_seat_that_lays_its_cards_cannot_exchange_them() -> None:
    """Even if the rules allow both, laid cards are not exchanged."""
    both = replace(KARMA, deal=replace(KARMA.deal, exchange=True))
    game, _ = dealt(both, seats=2, hands=["Ac Kc Qc 9c 8c 6c"])
    laid = scenario(both, given=game, when=lay(0, "9c", "8c", "6c"))
    assert listed(both, laid) == ["ready"]
    scenario(both, given=laid, when=swap(0, "Ac", "9c"), then=refused("P31"))


def test_in_a_layout_deal_the_first_cards_are_laid_then_the_seat_is_ready() -> None:
    """P21: any three of the six may be laid; only the first three are listed."""
    for ruleset in (KARMA, rules("shithead-layout")):
        game, _ = dealt(ruleset, seats=2, hands=["Ac Kc Qc 9c 8c 6c"])
        assert listed(ruleset, game) == ["lay Ac Kc Qc"]
        laid = scenario(ruleset, given=game, when=lay(0, "9c", "8c", "6c"))
        assert listed(ruleset, laid) == ["ready"]


def test_the_last_to_be_ready_starts_the_play() -> None:
    """Two events: the seat is ready, and the opener."""
    game, _ = dealt(LEEDS, seats=2)
    assert decide(ready(0), game) == (SeatReady(seat=0),)
    after = scenario(LEEDS, given=game, when=ready(0))
    assert decide(Ready(seat=1), after) == (SeatReady(seat=1), PlayStarted(turn=1))


@pytest.mark.parametrize("layout", [Layout.PLAIN, Layout.STACKS])
def test_a_hand_above_the_refill_size_draws_nothing_in_laying_out(layout: Layout) -> None:
    """P31: the hand is refilled to its size, never cut down to it."""
    deal = replace(KARMA.deal, hand=7, layout=layout)
    game, _ = dealt(replace(KARMA, deal=deal), seats=2, hands=["Ac Kc Qc 9c 8c 6c 4c"])
    before = len(game.stock)
    game = scenario(game.ruleset, given=game, when=lay(0, "9c", "8c", "6c"))
    assert (len(game.seats[0].hand), len(game.stock)) == (4, before)


def test_without_stacks_nothing_is_added_to_a_laid_table() -> None:
    """P21: each player lays three; a card drawn in laying out stays in the hand."""
    layout = rules("shithead-layout")
    roomy = replace(layout, refill=replace(layout.refill, size=5))
    game, _ = dealt(roomy, seats=2, hands=["Ac Kc Qc 9c 8c 6c"], stock="9d 8d")
    game = scenario(roomy, given=game, when=lay(0, "9c", "8c", "6c"))
    assert set(game.seats[0].drawn_laying) == {"9d", "8d"}
    scenario(roomy, given=game, when=lay(0, "9d", "", ""), then=refused("P21"))


def test_only_the_last_play_can_be_followed_up_in_another_seats_turn() -> None:
    """S4: cards drawn for a play may be added until the next player plays."""
    at = table(hands=["5c 9d Jd", "5d", "6h"], stock="Jc Js")
    assert may_be_followed_up(game_of(QUEEN, at)) is False  # no play yet
    assert may_be_followed_up(scenario(QUEEN, given=at, when=play(0, "5c"))) is True
    assert may_be_followed_up(scenario(SHITHEAD, given=at, when=play(0, "5c"))) is False
    full = replace(at, hands=("5c 9d Jd 4c", "5d", "6h"))
    assert may_be_followed_up(scenario(QUEEN, given=full, when=play(0, "5c"))) is False
    over = replace(at, turn_limit=1)
    assert may_be_followed_up(scenario(QUEEN, given=over, when=play(0, "5c"))) is False
    cover = table(pile="9s", hands=["Qc 9d Jd", "Qd", "6h"], stock="Jc Js")
    after = scenario(QUEEN, given=cover, when=play(0, "Qc"))
    assert after.last_play is not None and after.last_play.drawn
    assert may_be_followed_up(after) is False


def test_a_slot_or_cards_of_one_rank_go_along_with_a_pick_up() -> None:
    """P14: one face-up card or stack; S7: cards of one rank."""
    at = table(pile="Kc", hands=["", "9d"], up=["- 4c"], down=["3c 3d"])
    assert may_go_along(game_of(SHITHEAD, at), 0, cards("4c"))
    assert not may_go_along(game_of(SHITHEAD, at), 0, ())
    five = table(pile="Kc", hands=["", "9d"], up=["5c 4c"], down=["3c 3d"])
    assert may_go_along(game_of(QUEEN, five), 0, cards("5c"))
    assert not may_go_along(game_of(QUEEN, five), 0, cards("5c 5d"))
