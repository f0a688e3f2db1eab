"""Rules of all rulesets: passes, limits, forfeits, time-outs, which seats may act."""

from __future__ import annotations

import pytest

from service.domain.cards import Card
from service.domain.commands import Command, GameOver, Play, TimeOut, UnknownCard
from service.domain.decide import decide
from service.domain.events import AbortCause, EntropyCommitted, Event, GameAborted
from service.domain.evolve import evolve
from service.domain.game import Status, new_game
from service.domain.legal import default_opener, legal_moves, may_act
from service.domain.ruleset import Ruleset
from tests.rules.phrases import (
    drew,
    ended,
    failed,
    forfeit,
    lay,
    out,
    pass_,
    passed,
    play,
    played,
    ready,
    swap,
    take,
    time_out,
    timed_out,
    took,
    try_stock,
    turn_over,
)
from tests.rules.scenario import moves, not_your_turn, refused, scenario
from tests.rules.tables import Table, all_ready, cards, created, dealt, game_of, rules, table

LEEDS, SHITHEAD, QUEEN = rules("leeds"), rules("shithead"), rules("covered-queen")
THREES, KARMA, BOOT = rules("threes"), rules("karma-radford"), rules("shit-boot")


def test_passes_of_all_seats_in_a_row_are_a_stalemate() -> None:
    """With only fives on an empty pile a player passes; if all pass, the hand is a stalemate."""
    at = table(hands=["5c", "5d", "5h"])
    after = scenario(LEEDS, given=at, when=pass_(0), then=[passed(0, turn=1)])
    after = scenario(LEEDS, given=after, when=pass_(1), then=[passed(1, turn=2)])
    scenario(
        LEEDS, given=after, when=pass_(2), then=[passed(2, turn=None), *ended("stalemate", None)]
    )


def test_a_play_between_passes_restarts_the_count() -> None:
    """The hand is a stalemate only if all seats pass one after another."""
    at = table(hands=["5c", "5d 9c 3s", "5h"])
    after = scenario(LEEDS, given=at, when=[pass_(0), play(1, "3s"), take(2), pass_(0)])
    assert after.turn == 1
    assert after.passes == 1


def test_a_failed_blind_card_between_passes_restarts_the_count() -> None:
    """A face-down five that fails on an empty pile is not a pass."""
    at = table(hands=["5c", ""], down=["", "5d"])
    after = scenario(LEEDS, given=at, when=[pass_(0), turn_over(1, 0), pass_(0)])
    assert (after.result, after.turn) == (None, 1)


def test_passing_needs_an_empty_pile_and_no_legal_play() -> None:
    """A seat with a legal play must play, and a seat with a pile in front of it picks it up."""
    scenario(LEEDS, given=table(hands=["5c 6c", "9s"]), when=pass_(0), then=refused())
    scenario(LEEDS, given=table(pile="Kc", hands=["5c", "9s"]), when=pass_(0), then=refused())
    blind = table(hands=["", "9s"], down=["5c"])
    scenario(LEEDS, given=blind, when=pass_(0), then=refused())


@pytest.mark.parametrize("act", ["play", "take", "blind", "pass", "fail"])
def test_the_turn_limit_ends_the_hand_as_a_stalemate(act: str) -> None:
    """Every play, pick-up, pass and face-down card counts towards the limit of the table."""
    stale = ended("stalemate", None, 2)
    given = {
        "play": table(pile="4c", hands=["9c 3c", "9d", ""], out=[2], actions=9, turn_limit=10),
        "take": table(pile="Kc", hands=["9c", "9d", ""], out=[2], actions=9, turn_limit=10),
        "pass": table(hands=["5c", "9d", ""], out=[2], actions=9, turn_limit=10),
        "blind": table(
            pile="4c", hands=["", "9d", ""], down=["9c 3c"], out=[2], actions=9, turn_limit=10
        ),
        "fail": table(
            pile="Kc", hands=["", "9d", ""], down=["9c 3c"], out=[2], actions=9, turn_limit=10
        ),
    }[act]
    commands: dict[str, Command] = {"play": play(0, "9c"), "take": take(0), "pass": pass_(0)}
    command = commands.get(act, turn_over(0, 0))
    events = decide(command, game_of(LEEDS, given))
    assert events[-2:] == stale
    assert getattr(events[0], "turn", 0) is None


def test_the_action_that_reaches_the_limit_may_still_end_the_hand() -> None:
    """A last card played as the last action of the limit still takes its player out."""
    at = table(pile="4c", hands=["9c", "9d"], actions=9, turn_limit=10)
    then = (played(0, "9c", turn=None), out(0, 1), *ended("shithead", 1, 0, 1))
    scenario(SHITHEAD, given=at, when=play(0, "9c"), then=then)


def test_one_action_before_the_limit_play_goes_on() -> None:
    at = table(pile="4c", hands=["9c 3c", "9d"], actions=8, turn_limit=10)
    scenario(SHITHEAD, given=at, when=play(0, "9c"), then=[played(0, "9c", turn=1)])


@pytest.mark.parametrize("seat", [0, 1])
def test_a_seat_that_forfeits_is_the_shithead_on_turn_or_not(seat: int) -> None:
    """A player who gives up is the shithead; only the seats that went out have places."""
    at = table(pile="4c", hands=["9c 3c", "9d", ""], out=[2])
    scenario(SHITHEAD, given=at, when=forfeit(seat), then=[*ended("forfeit", seat, 2)])


def test_a_forfeit_is_possible_only_after_the_deal() -> None:
    """A player who leaves before the deal aborts the game, and is no shithead."""
    game, _ = dealt(SHITHEAD, seats=2)
    scenario(SHITHEAD, given=game, when=forfeit(1), then=[*ended("forfeit", 1)])
    setup = new_game(created(SHITHEAD, 2))
    then = [GameAborted(cause=AbortCause.LEFT, seat=1)]
    assert list(decide(forfeit(1), setup)) == then
    assert evolve(setup, EntropyCommitted(seat=0, commit="")).status is Status.SHUFFLING


def test_a_seat_that_is_out_cannot_forfeit() -> None:
    at = table(pile="4c", hands=["9c 3c", "9d", ""], out=[2])
    scenario(SHITHEAD, given=at, when=forfeit(2), then=refused())


def test_after_the_end_every_move_is_refused() -> None:
    at = table(pile="4c", hands=["9c", "9d"])
    after = scenario(SHITHEAD, given=at, when=play(0, "9c"))
    commands: list[Command] = [play(1, "9d"), turn_over(1, 0), take(1), try_stock(1), pass_(1)]
    commands += [swap(1, "9d", "Kc"), lay(1, "9d"), ready(1), forfeit(1), time_out(1)]
    for command in commands:
        scenario(SHITHEAD, given=after, when=command, then=refused(kind=GameOver))
    assert not may_act(after, 1)


def test_a_time_out_in_the_exchange_counts_as_ready() -> None:
    """A player whose time is up in the exchange is ready."""
    game, _ = dealt(SHITHEAD, seats=2)
    events = decide(TimeOut(seat=0), game)
    assert events[0] == timed_out(0)
    after = scenario(SHITHEAD, given=game, when=time_out(0))
    assert after.seats[0].ready
    assert after.seats[0].time_outs == 1


def test_a_time_out_in_a_layout_deal_lays_the_first_cards() -> None:
    """A player whose time is up lays the first cards dealt, or keeps those already laid."""
    game, _ = dealt(KARMA, seats=2, hands=["Kc Kd Qc Qd Jc 9c"])
    after = scenario(KARMA, given=game, when=time_out(0))
    assert after.seats[0].up == (cards("Kc"), cards("Kd"), cards("Qc"))
    assert after.seats[0].ready
    assert after.seats[0].time_outs == 1
    own = scenario(KARMA, given=game, when=[lay(0, "9c", "Jc", "Qd"), time_out(0)])
    assert own.seats[0].up == (cards("9c"), cards("Jc"), cards("Qd"))
    assert own.seats[0].ready


def test_at_a_first_come_opening_the_first_qualifying_seat_times_out() -> None:
    """If nobody opens in time, the first player left of the dealer with a right card does."""
    hands = ["3c Kc Qc", "Kd Qd Jd", "3d 3h Jc"]
    game, _ = dealt(THREES, seats=3, dealer=0, hands=hands, stock="9c 9d")
    game = all_ready(game)
    assert default_opener(game) == 2
    then = (timed_out(2), played(2, "3d", turn=0), drew(2, 1))
    scenario(THREES, given=game, when=time_out(2), then=then)


@pytest.mark.parametrize(
    ("ruleset", "given", "then"),
    [
        (
            SHITHEAD,  # fewest, lowest in the ruleset's order
            table(pile="9c", hands=["Kc Kd Jc Jd 4c", "9s"]),
            [played(0, "Jc", turn=1)],
        ),
        (
            SHITHEAD,
            table(pile="9c", hands=["Kc 2d 4c", "9s"]),
            [played(0, "2d", turn=1)],
        ),
        (
            LEEDS,  # two cards, but nothing fewer is legal
            table(pile="Kc", hands=["5c 6c 6d 7d", "9s"]),
            [played(0, "5c 6c", turn=1)],
        ),
        (
            rules("morehead", jokers=2),  # jokers last
            table(pile="9c", hands=["X1 Ac 4c", "9s"]),
            [played(0, "Ac", turn=1)],
        ),
        (
            rules("morehead", jokers=2),
            table(pile="Ac", hands=["X1 Kc 4c", "9s", "9h"]),
            [played(0, "X1", turn=2, direction=-1)],
        ),
        (
            rules("reverse", hand=2),  # the ace is low there
            table(hands=["Ac Kc 4c", "9s"]),
            [played(0, "Ac", turn=1)],
        ),
        (
            LEEDS,  # fewest before lowest
            table(pile="8c", hands=["5c 6c 9c", "9s"]),
            [played(0, "9c", turn=1)],
        ),
        (SHITHEAD, table(pile="Kc", hands=["4c", "9s"]), [took(0, 1, turn=1)]),
        (BOOT, table(pile="Kc", hands=["4c", "9s"], stock="9h 8h"), [took(0, 1, turn=1)]),
        (
            SHITHEAD,
            table(pile="Kc", hands=["", "9s"], down=["- 4d 4h"]),
            [failed(0, 1, "4d", 1, turn=1)],
        ),
        (LEEDS, table(hands=["5c", "9s"]), [passed(0, turn=1)]),
    ],
)
def test_a_time_out_on_turn_makes_the_lowest_play_or_picks_up_or_turns_a_card(
    ruleset: Ruleset, given: Table, then: list[Event]
) -> None:
    """The fewest legal cards are played, the lowest first, jokers last."""
    scenario(ruleset, given=given, when=time_out(0), then=[timed_out(0), *then])


def test_time_outs_in_a_row_are_counted_until_the_seat_acts() -> None:
    """After two time-outs in a row a bot stands in for the player."""
    at = table(pile="4c", hands=["9c 8c 7c 3c", "9d Td 6d"])
    once = scenario(SHITHEAD, given=at, when=[time_out(0), play(1, "Td"), play(1, "6d")])
    assert once.seats[0].time_outs == 1
    twice = scenario(SHITHEAD, given=once, when=time_out(0))
    assert twice.seats[0].time_outs == 2
    back = scenario(SHITHEAD, given=once, when=take(0))
    assert back.seats[0].time_outs == 0


def test_a_time_out_of_a_seat_that_may_not_act_is_refused() -> None:
    """Only a seat that may act can run out of time."""
    at = table(pile="4c", hands=["9c 3c", "9d", ""], out=[2])
    for seat in (1, 2):
        scenario(SHITHEAD, given=at, when=time_out(seat), then=not_your_turn())
    game, _ = dealt(SHITHEAD, seats=2)
    game = scenario(SHITHEAD, given=game, when=ready(0))
    scenario(SHITHEAD, given=game, when=time_out(0), then=not_your_turn())


def test_a_card_that_is_not_in_the_game_is_unknown() -> None:
    """Jokers and cards of a second deck exist only if the game uses them."""
    at = table(pile="4c", hands=["9c 3c", "9d"])
    for card in ("X1", "9c/2", "1c", "??", "9x", ""):
        command = Play(seat=0, cards=(Card(card),))
        scenario(SHITHEAD, given=at, when=command, then=refused(kind=UnknownCard))


def test_play_waits_for_every_seat_to_be_ready() -> None:
    """In the exchange every seat may act until it is ready, and no seat may play."""
    game, _ = dealt(SHITHEAD, seats=3, up=["3c 4c 5c"], hands=["Kc Qc Jc"])
    assert [may_act(game, s) for s in range(3)] == [True] * 3
    game = scenario(SHITHEAD, given=game, when=ready(0))
    assert [may_act(game, s) for s in range(3)] == [False, True, True]
    assert legal_moves(game, 0) == ()
    scenario(SHITHEAD, given=game, when=swap(0, "Kc", "3c"), then=not_your_turn())
    scenario(SHITHEAD, given=game, when=play(0, "Kc"), then=not_your_turn())


def test_the_exchange_is_over_once_play_has_begun() -> None:
    at = table(pile="4c", hands=["9c 3c", "9d"], up=["Kc Kd"], down=["5c 5d"])
    for command in (swap(0, "9c", "Kc"), lay(0, "9c", "3c"), ready(0)):
        scenario(SHITHEAD, given=at, when=command, then=refused())


def test_any_set_of_a_listed_size_is_legal_beyond_six_cards() -> None:
    """Only the first set of each size, in code order, is listed; all others are accepted."""
    hand = "9c 9d 9h 9s 9c/2 9d/2 9h/2 3c"
    at = table(pile="4c", hands=[hand, "Ks"], decks=2)
    nines = sorted(hand.split()[:-1])
    assert moves(LEEDS, at) == {" ".join(nines[:n]) for n in range(1, 8)}
    for laid in ("9h/2", "9s 9h/2", "9h/2 9c/2 9d", "9s 9c/2 9d/2 9h/2"):
        assert scenario(LEEDS, given=at, when=play(0, laid)) is not None


def test_any_sizes_of_fives_and_companions_are_legal_beyond_six_cards() -> None:
    """One move is listed for each number of fives and each number of companions."""
    at = table(pile="Kc", hands=["5c 5d 5h 9c 9d 9h 9s 3c", "Ks"])
    listed = moves(LEEDS, at)
    assert len(listed) == 12
    assert "5c 5d 9c" in listed
    for laid in ("5h 9s", "5d 5h 9h 9s"):
        assert laid not in listed
        assert scenario(LEEDS, given=at, when=play(0, laid)) is not None


def test_six_cards_are_listed_one_by_one() -> None:
    """With up to six cards to choose from, every set is a move of its own."""
    at = table(pile="4c", hands=["9c 9d 9h 9s 9c/2 9d/2 3c", "Ks"], decks=2)
    assert len(moves(LEEDS, at)) == 63
