"""Settings in combinations that no ruleset of the catalogue has: every rule is a setting."""

from __future__ import annotations

from collections.abc import Mapping

from service.domain.cards import Rank
from service.domain.commands import Command
from service.domain.events import Event
from service.domain.plays import opener_of
from service.domain.ruleset import After, PickUpSettings, RankRule, Ruleset, TryStockWhen
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
    """A cover comes before a reverse and a skip; only the first of them takes effect."""
    own = with_rank(QUEEN, "Q", {"reverses": True, "skips": True})
    at = table(pile="4c", hands=["Qc 9c 8c", "Jd", "Jh"])
    scenario(own, given=at, when=play(0, "Qc"), then=[played(0, "Qc", turn=0)])
    last = table(pile="4c", hands=["Qc", "Jd", "Jh"])
    scenario(own, given=last, when=play(0, "Qc"), then=[played(0, "Qc", turn=1), out(0, 1)])


def test_a_queen_as_companion_of_a_five_must_be_covered() -> None:
    """L17, S13: the companion lies on top, and its effects happen."""
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
    """The size of a set that burns is a setting; with size 0 no set burns."""
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
    """L17: a companion has a higher rank, can be played by itself, and is no joker."""
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


def test_every_part_of_a_run_is_listed() -> None:
    """P34(5): every part of a run, from two cards up, is a run of its own."""
    at = table(hands=["2c 3c 4c Kd Ad 9h Jh", "Jd"])
    runs = {move for move in moves(RUNS, at) if " " in move}
    assert runs == {"2c 3c", "3c 4c", "2c 3c 4c", "Kd Ad"}
    assert {move for move in moves(SHITHEAD, at) if " " in move} == set()


def test_the_pick_up_or_pass_that_reaches_the_turn_limit_ends_the_hand() -> None:
    """The action before it does not."""
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
    """After a pass no seat counts as the one that played on the pile."""
    at = table(hands=["5c", "Jd 5d"], actions=3, last=1)
    after = scenario(LEEDS, given=at, when=pass_(0))
    assert (after.actions, after.passes, after.last_play, after.first_turn) == (4, 1, None, False)
    opening = table(hands=["5c", "Jd 5d"], first_turn=True)
    assert not scenario(LEEDS, given=opening, when=pass_(0)).first_turn


def test_a_time_out_plays_the_lowest_cards() -> None:
    """The fewest cards, the lowest rank, and of equal cards the first in code order."""
    at = table(pile="2c", hands=["9d 9c Jd", "Jh"])
    then: list[Event] = [timed_out(0), played(0, "9c", turn=1)]
    scenario(SHITHEAD, given=at, when=time_out(0), then=then)
    fives = table(pile="Kc", hands=["5c 6c 7c", "Jh"])
    then = [timed_out(0), played(0, "5c 6c", turn=1)]
    scenario(LEEDS, given=fives, when=time_out(0), then=then)


def test_a_time_out_passes_if_no_other_move_is_legal() -> None:
    """The seat can neither play nor pick up nor turn a card."""
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


def test_the_event_of_the_deal_states_the_size_of_the_stock() -> None:
    """The rest of the deck is the stock, without the starter."""
    for ruleset, left in ((SHITHEAD, 52 - 27), (LEEDS, 52 - 28)):
        game, (event,) = dealt(ruleset, seats=3)
        assert event.stock == left == len(game.stock)  # type: ignore[union-attr] # likewise


def test_threes_are_thrown_clockwise_from_the_dealers_left() -> None:
    """R: each seat throws its threes, beginning left of the dealer."""
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
    assert opener_of(game) == 1, "left of the last thrower, and not of the dealer"


def test_a_seat_that_may_follow_up_may_not_pick_up_or_try_the_stock() -> None:
    """S4: out of turn a seat may only play on the cards it has just drawn."""
    turn = replace(SHITHEAD.turn, follow_up=True, try_stock=TryStockWhen.ALWAYS)
    own = replace(SHITHEAD, turn=turn)
    at = table(pile="4c", hands=["9c 6c 6d", "Kd 3d", "Jd"], stock="9d Th Ks")
    after = scenario(own, given=at, when=play(0, "9c"))
    assert moves(own, after, 0) == {"9d"}
    for command in (take(0), try_stock(0)):
        scenario(own, given=after, when=command, then=refused())
    assert {"take", "trystock"} <= moves(own, after, 1)


def test_any_number_of_face_up_cards_of_one_rank_goes_along() -> None:
    """S7: any cards of one rank, even if the listed moves have one choice for each number."""
    eights = "8c 8d 8h 8s 8c/2 8d/2 8h/2"
    at = table(pile="Ac", hands=["", "9s"], up=[eights], down=["4c 4d 4h 4s 5c 5d 5h"], decks=2)
    listed = moves(QUEEN, at)
    assert len(listed) == 7
    for along in ("8s", "8h/2 8c", "8d 8s 8c/2"):
        assert f"take {along}" not in listed
        after = scenario(QUEEN, given=at, when=take(0, along))
        assert set(after.seats[0].hand) == {"Ac", *along.split()}
    scenario(QUEEN, given=at, when=take(0, "8c 9s"), then=refused("S7"))
