"""Settings in combinations that no ruleset of the catalogue has: every rule is a setting."""

from __future__ import annotations

from collections.abc import Mapping

from service.domain.cards import Rank
from service.domain.commands import Command
from service.domain.events import Event
from service.domain.ruleset import After, PickUpSettings, RankRule, Ruleset, TryStock
from tests.changed import replace
from tests.rules.phrases import (
    burned,
    ended,
    out,
    pass_,
    passed,
    play,
    played,
    take,
    time_out,
    timed_out,
    took,
    try_stock,
    turn_over,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import dealt, rules, table

SHITHEAD, LEEDS, QUEEN = rules("shithead"), rules("leeds"), rules("covered-queen")
RUNS = rules("guarducci", switches=[5])


def with_rank(ruleset: Ruleset, rank: str, rule: Mapping[str, object]) -> Ruleset:
    """Return the rules with one rank changed."""
    changed = replace(ruleset.rank(Rank(rank)), **rule)
    return replace(ruleset, ranks={**ruleset.ranks, Rank(rank): changed})


def test_a_card_that_asks_for_a_cover_neither_reverses_nor_skips() -> None:
    """Resolution: the first that applies; cover comes before reverse and skip."""
    heavy = with_rank(QUEEN, "Q", {"reverses": True, "skips": True})
    at = table(pile="4c", hands=["Qc 9c 8c", "Jd", "Jh"])
    scenario(heavy, given=at, when=play(0, "Qc"), then=[played(0, "Qc", turn=0)])
    last = table(pile="4c", hands=["Qc", "Jd", "Jh"])
    scenario(heavy, given=last, when=play(0, "Qc"), then=[played(0, "Qc", turn=1), out(0, 1)])


def test_the_card_on_top_asks_for_the_cover() -> None:
    """L17, S13: the companions lie on top and their effects happen."""
    covers = with_rank(LEEDS, "Q", {"covers": True, "skips": True})
    at = table(pile="4c", hands=["5c Qc 9c 8c", "Jd", "Jh"])
    scenario(covers, given=at, when=play(0, "5c Qc"), then=[played(0, "5c Qc", turn=0)])
    last = table(pile="4c", hands=["5c Qc", "Jd", "Jh"])
    then: list[Event] = [played(0, "5c Qc", turn=1), out(0, 1)]
    scenario(covers, given=last, when=play(0, "5c Qc"), then=then)


def test_with_two_left_the_next_seat_plays_after_a_pick_up_even_after_a_skip() -> None:
    """P34(6): only with more than two seats in play at the moment of the pick-up."""
    skipping = with_rank(SHITHEAD, "8", {"skips": True})
    above_two = replace(skipping, pick_up=PickUpSettings(after=After.PREVIOUS_ABOVE_TWO))
    at = table(pile="4c", hands=["8c 6c", "Jd"])
    played_again: list[Command] = [play(0, "8c"), take(0)]
    scenario(above_two, given=at, when=played_again, then=[took(0, 2, turn=1)])
    always = replace(skipping, pick_up=PickUpSettings(after=After.PREVIOUS))
    scenario(always, given=at, when=played_again, then=[took(0, 2, turn=0)])


def test_sets_burn_by_their_size_or_not_at_all() -> None:
    """Set size that burns: a setting; none burns with a size of 0."""
    at = table(pile="9c 9d", hands=["9h 9s 4c", "Jd"])
    threes = replace(SHITHEAD, burn=replace(SHITHEAD.burn, set_size=3))
    then: list[Event] = [played(0, "9h", turn=0), burned(0, cause="set", count=3)]
    scenario(threes, given=at, when=play(0, "9h"), then=then)
    never = replace(SHITHEAD, burn=replace(SHITHEAD.burn, set_size=0))
    scenario(never, given=at, when=play(0, "9h 9s"), then=[played(0, "9h 9s", turn=1)])
    one = table(hands=["9h 4c", "Jd"])
    scenario(never, given=one, when=play(0, "9h"), then=[played(0, "9h", turn=1)])


def test_fives_with_companions_may_cover_and_plain_fives_may_not() -> None:
    """L18, S13: a five is never played without a companion, not even as a cover."""
    covers = with_rank(LEEDS, "Q", {"covers": True})
    at = table(pile="Qc", hands=["5c 6c", "Jd"], covering=True)
    assert moves(covers, at) == {"6c", "5c 6c"}
    blind = table(pile="Qc", hands=["", "Jd"], down=["5c 6c"], covering=True)
    after = scenario(covers, given=blind, when=turn_over(0, 0))
    assert set(after.seats[0].hand) == {"5c", "Qc"}


def test_two_ranks_that_need_companions_do_not_accompany_one_another() -> None:
    """L17: together with cards of a rank that is higher and plays by itself; no joker, no equal."""
    sixes = with_rank(LEEDS, "6", {"plays": LEEDS.rank(Rank("5")).plays})
    jokers = replace(sixes, deck=replace(sixes.deck, jokers=2))
    at = table(hands=["5c 6c X1 9c", "Jd"])
    assert moves(jokers, at) == {"5c 9c", "6c 9c", "9c", "X1"}
    for laid in ("5c 6c", "5c X1", "5c", "5c 6c 9c"):
        scenario(jokers, given=at, when=play(0, laid), then=refused())


def test_a_joker_is_no_part_of_a_run() -> None:
    """P34(5): cards of one suit; a joker has none."""
    jokers = replace(RUNS, deck=replace(RUNS.deck, jokers=2))
    ranks = {**jokers.ranks, Rank("X"): RankRule(plays=rules("guarducci").rank(Rank("X")).plays)}
    jokers = replace(jokers, ranks=ranks)
    at = table(hands=["4c 5c X1 X2", "Jd"])
    assert moves(jokers, at) == {"4c", "5c", "4c 5c", "X1", "X2", "X1 X2"}
    scenario(jokers, given=at, when=play(0, "4c 5c X1"), then=refused())
    scenario(jokers, given=at, when=play(0, "4c X1"), then=refused())


def test_all_runs_are_listed_in_the_order_of_suits_and_ranks() -> None:
    """P34(5): two or more consecutive cards of one suit, wherever they begin."""
    at = table(hands=["2c 3c 4c Kd Ad 9h Jh", "Jd"])
    runs = {move for move in moves(RUNS, at) if " " in move}
    assert runs == {"2c 3c", "3c 4c", "2c 3c 4c", "Kd Ad"}
    assert {move for move in moves(SHITHEAD, at) if " " in move} == set()


def test_a_pick_up_or_pass_before_the_limit_goes_on() -> None:
    """Turn limit: the action that reaches it ends the hand, and not the one before it."""
    at = table(pile="Kc", hands=["4c", "Jd"], actions=8, turn_limit=10)
    scenario(SHITHEAD, given=at, when=take(0), then=[took(0, 1, turn=1)])
    last = table(pile="Kc", hands=["4c", "Jd"], actions=9, turn_limit=10)
    then: list[Event] = [took(0, 1, turn=None), *ended("stalemate", None)]
    scenario(SHITHEAD, given=last, when=take(0), then=then)
    fives = table(hands=["5c", "Jd"], actions=8, turn_limit=10)
    scenario(LEEDS, given=fives, when=pass_(0), then=[passed(0, turn=1)])
    last_pass = table(hands=["5c", "Jd"], actions=9, turn_limit=10)
    scenario(
        LEEDS,
        given=last_pass,
        when=pass_(0),
        then=[passed(0, turn=None), *ended("stalemate", None)],
    )


def test_passes_count_as_actions_and_clear_the_previous_player() -> None:
    """Endless hands; previous player: no seat has played on this pile."""
    at = table(hands=["5c", "Jd 5d"], actions=3, last=1)
    after = scenario(LEEDS, given=at, when=pass_(0))
    assert (after.actions, after.passes, after.last_play, after.first_turn) == (4, 1, None, False)
    opening = table(hands=["5c", "Jd 5d"], first_turn=True)
    assert not scenario(LEEDS, given=opening, when=pass_(0)).first_turn


def test_a_time_out_plays_the_lowest_cards() -> None:
    """Time-outs: the fewest cards, lowest in the ruleset's order, jokers last, then the code."""
    at = table(pile="2c", hands=["9d 9c Jd", "Jh"])
    then: list[Event] = [timed_out(0), played(0, "9c", turn=1)]
    scenario(SHITHEAD, given=at, when=time_out(0), then=then)
    fives = table(pile="Kc", hands=["5c 6c 7c", "Jh"])
    then = [timed_out(0), played(0, "5c 6c", turn=1)]
    scenario(LEEDS, given=fives, when=time_out(0), then=then)


def test_a_time_out_passes_if_no_other_move_is_legal() -> None:
    """Time-outs: neither play nor pile nor face-down card."""
    at = table(hands=["5c", "Jh 5d"])
    scenario(LEEDS, given=at, when=time_out(0), then=[timed_out(0), passed(0, turn=1)])


def test_a_deal_that_leaves_only_special_cards_has_no_starter() -> None:
    """B: a special card turned goes to the bottom of the stock; all special: no starter."""
    boot = rules("shit-boot")
    special = "2c 2d 2h 2s Tc Td Th"
    game, (event,) = dealt(boot, seats=5, stock=special)
    assert (game.pile, len(game.stock)) == ((), 7)
    assert game.top(7) == tuple(special.split())
    assert event.starter is None  # type: ignore[union-attr] # the only event is the deal
    assert event.stock == 7  # type: ignore[union-attr] # likewise


def test_the_deal_states_the_size_of_the_stock() -> None:
    """The deal: what is left is the stock; the starter is turned from its top."""
    for ruleset, left in ((SHITHEAD, 52 - 27), (LEEDS, 52 - 28)):
        game, (event,) = dealt(ruleset, seats=3)
        assert event.stock == left == len(game.stock)  # type: ignore[union-attr] # likewise


def test_threes_are_thrown_clockwise_from_the_dealers_left() -> None:
    """R: beginning left of the dealer, each seat, so that the last of them is followed."""
    game, (_, *thrown) = dealt(
        rules("reverse"),
        seats=4,
        dealer=1,
        hands=["3c", "", "3d", "3h"],
        stock="4c 4d 4h 4s",
        fillers="KQJ986A54T723",
    )
    assert [event.seat for event in thrown] == [2, 3, 0]  # type: ignore[union-attr] # throws
    assert game.thrower == 0


def test_a_follow_up_out_of_turn_is_no_pick_up_and_no_try() -> None:
    """S4 with P9 and P37: what a seat may do in its turn it may not do in another's."""
    turn = replace(SHITHEAD.turn, follow_up=True, try_stock=TryStock.ALWAYS)
    own = replace(SHITHEAD, turn=turn)
    at = table(pile="4c", hands=["9c 6c 6d", "Kd 3d", "Jd"], stock="9d Th Ks")
    after = scenario(own, given=at, when=play(0, "9c"))
    assert moves(own, after, 0) == {"9d"}
    for command in (take(0), try_stock(0)):
        scenario(own, given=after, when=command, then=refused())
    assert {"take", "trystock"} <= moves(own, after, 1)


def test_any_number_of_face_up_cards_of_one_rank_goes_along() -> None:
    """S7: the player's choice, also where one set a size is listed."""
    eights = "8c 8d 8h 8s 8c/2 8d/2 8h/2"
    at = table(pile="Ac", hands=["", "9s"], up=[eights], down=["4c 4d 4h 4s 5c 5d 5h"], decks=2)
    listed = moves(QUEEN, at)
    assert len(listed) == 7
    for along in ("8s", "8h/2 8c", "8d 8s 8c/2"):
        assert f"take {along}" not in listed
        after = scenario(QUEEN, given=at, when=take(0, along))
        assert set(after.seats[0].hand) == {"Ac", *along.split()}
    scenario(QUEEN, given=at, when=take(0, "8c 9s"), then=refused("S7"))
