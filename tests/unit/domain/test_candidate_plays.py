"""The legal plays of a seat: each once, in order, one set of each size if there are many."""

from __future__ import annotations

from service.domain.cards import HIDDEN, Rank
from service.domain.plays import can_play, candidate_plays, codes_of
from service.domain.ruleset import Ruleset
from tests.changed import replace
from tests.rules.phrases import play
from tests.rules.scenario import refused, scenario
from tests.rules.tables import Table, game_of, rules, table

SHITHEAD, LEEDS, KARMA = rules("shithead"), rules("leeds"), rules("karma-radford")
QUEEN, RUNS = rules("covered-queen"), rules("guarducci", switches=[5])


def plays(ruleset: Ruleset, given: Table) -> list[str]:
    """Return the plays of seat 0 in their order."""
    return [" ".join(cards) for cards in candidate_plays(game_of(ruleset, given), 0)]


def test_stacks_are_listed_whole_alone_and_together() -> None:
    """P31: a stack is played as one group; two stacks of one rank may go in one play."""
    at = table(pile="4c", hands=["", "9d"], up=["7d+7c 8c 7h"], down=["3c 3d 3h"])
    assert plays(KARMA, at) == ["7c 7d", "7h", "7c 7d 7h", "8c"]
    gone = table(pile="4c", hands=["", "9d"], up=["7d+7c - 8c"], down=["3c - 3h"])
    assert plays(KARMA, gone) == ["7c 7d", "8c"]
    held = table(pile="4c", hands=["7h 7s", "9d"], up=["7d+7c 8c"], down=["3c 3d"])
    assert plays(KARMA, held) == ["7h", "7s", "7h 7s"]


def test_many_cards_in_stacks_are_listed_by_their_stacks() -> None:
    """The listed sets consist of whole stacks of any size."""
    high = table(
        pile="4c",
        hands=["", "9d"],
        up=["7c+7d+7h 7s+7c/2+7d/2 7h/2"],
        down=["3c 3d 3h"],
        decks=2,
    )
    assert len(plays(KARMA, high)) == len(set(plays(KARMA, high))) == 7
    pairs = table(
        pile="4c",
        hands=["", "9d"],
        up=["7c+7d 7h+7s 7c/2+7d/2 7h/2"],
        down=["3c 3d 3h 3s"],
        decks=2,
    )
    assert len(plays(KARMA, pairs)) == 15
    seven = table(
        pile="4c",
        hands=["", "9d"],
        up=["7c+7d 7h 7s 7c/2 7d/2 7h/2 7s/2"],
        down=["3c 3d 3h 3s 3c/2 3d/2 3h/2"],
        decks=2,
    )
    six = replace(seven, up=("7c+7d 7h 7s 7c/2 7d/2 7h/2 -", ""))
    assert len(plays(KARMA, six)) == 2**6 - 1
    listed = [len(laid.split()) for laid in plays(KARMA, seven)]
    assert listed == [2, 1, 1, 1, 1, 1, 1, 3, 4, 5, 6, 7, 8]
    scenario(KARMA, given=seven, when=play(0, "7h/2 7s"))
    single = table(
        pile="4c",
        hands=["", "9d"],
        up=["7c 7d 7h 7s 7c/2 7d/2 7h/2"],
        down=["3c 3d 3h 3s 3c/2 3d/2 3h/2"],
        decks=2,
    )
    assert [len(laid.split()) for laid in plays(KARMA, single)] == [1, 2, 3, 4, 5, 6, 7]


def test_stacks_stay_whole_in_runs_and_with_companions() -> None:
    """A stack of face-up cards is played whole, never in part."""
    running = replace(KARMA, turn=replace(KARMA.turn, runs=True))
    at = table(pile="4c", hands=["", "9d"], up=["6c 7c+7d 8c 9c"], down=["3c 3d 3h 3s"])
    assert plays(running, at) == ["6c", "7c 7d", "8c", "9c", "8c 9c"]
    scenario(running, given=at, when=play(0, "6c 7c"), then=refused("P31"))
    ranks = {**KARMA.ranks, Rank("5"): LEEDS.rank(Rank("5"))}
    accompanied = replace(KARMA, ranks=ranks)
    at = table(pile="4c", hands=["", "9d"], up=["5c 7c+7d 8c"], down=["3c 3d 3h"])
    assert plays(accompanied, at) == ["5c 7c 7d", "5c 8c", "7c 7d", "8c"]


def test_fives_and_companions_are_listed_once() -> None:
    """L17: every choice up to six cards; beyond that, one for each pair of sizes."""
    few = table(pile="Kc", hands=["5c 5d 6c 6d", "9d"])
    assert plays(LEEDS, few) == [
        *("5c 6c", "5c 6d", "5c 6c 6d"),
        *("5d 6c", "5d 6d", "5d 6c 6d"),
        *("5c 5d 6c", "5c 5d 6d", "5c 5d 6c 6d"),
    ]
    six = table(pile="Kc", hands=["5c 5d 5h 6c 6d 6h", "9d"])
    assert len(plays(LEEDS, six)) == len(set(plays(LEEDS, six))) == 49
    seven = table(pile="Kc", hands=["5c 5d 5h 6c 6d 6h 6s", "9d"])
    assert len(plays(LEEDS, seven)) == len(set(plays(LEEDS, seven))) == 12


def test_one_set_of_each_size_is_listed_for_many_cards() -> None:
    """Seven nines are listed as seven plays, of one to seven cards."""
    at = table(pile="4c", hands=["9c 9d 9h 9s 9c/2 9d/2 9h/2", "Ks"], decks=2)
    assert [len(laid.split()) for laid in plays(LEEDS, at)] == [1, 2, 3, 4, 5, 6, 7]


def test_runs_are_listed_once_by_suit_and_rank() -> None:
    """P34(5): two or more consecutive cards of one suit."""
    at = table(hands=["9s 8s 4c 3c 2c Kd Ad 9h 8h Jh", "Jd"])
    listed = plays(RUNS, at)
    assert len(listed) == len(set(listed))
    runs = [laid for laid in listed if len({card[0] for card in laid.split()}) > 1]
    assert runs == ["2c 3c", "2c 3c 4c", "3c 4c", "Kd Ad", "8h 9h", "8s 9s"]


def test_a_seat_with_hidden_cards_has_no_known_play() -> None:
    """The plays of an unseen hand are unknown, even on an empty pile."""
    game = game_of(SHITHEAD, table(hands=["9c", "9d"]))
    unseen = game.with_seat(0, replace(game.seats[0], hand=(HIDDEN,)))
    assert can_play(game, 0)
    assert not can_play(unseen, 0)


def test_the_cards_of_a_partial_deck_are_in_the_game_and_no_others() -> None:
    """S1: a partial deck may replace the last one."""
    partial = rules("covered-queen", partial=["4", "9"])
    at = table(pile="8c", hands=["9c/2 3c", "9d", "9h", "9s", "Kc"])
    scenario(partial, given=at, when=play(0, "9c/2"))
    assert codes_of(1, 0, (Rank("9"),)) - codes_of(1, 0, ()) == {"9c/2", "9d/2", "9h/2", "9s/2"}


def test_some_runs_of_several_decks_are_listed() -> None:
    """P34(5): with many cards each is in a listed run, and unlisted runs are legal as well."""
    decks = [f"{rank}c{mark}" for rank in "3456789TJQKA" for mark in ("", "/2", "/3", "/4")]
    at = table(hands=[" ".join(decks), "9d"], decks=4)
    runs = [laid for laid in plays(RUNS, at) if len({card[0] for card in laid.split()}) > 1]
    assert {card for run in runs for card in run.split()} == set(decks)
    assert len(runs) == len(set(runs)) < 3000
    assert "3c 4c/2" in runs
    assert "3c/2 4c/2" not in runs
    scenario(RUNS, given=at, when=play(0, "3c/2 4c/2"))
    many = table(hands=["3c 3c/2 3c/3 3c/4 4c 4c/2 4c/3", "9d"], decks=4)
    first, *others = [laid for laid in plays(RUNS, many) if len({c[0] for c in laid.split()}) > 1]
    assert first == "3c 4c"
    assert others == ["3c/2 4c", "3c/3 4c", "3c/4 4c", "3c 4c/2", "3c 4c/3"]
    few = table(hands=["3c 3c/2 3c/3 4c 4c/2 4c/3", "9d"], decks=3)
    assert "3c/2 4c/2" in plays(RUNS, few)
