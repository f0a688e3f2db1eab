"""Illegal moves that engines often allow, in every ruleset in which they can occur."""

from __future__ import annotations

import pytest

from service.domain.commands import CommandRefused, NotYourTurn, PlayBlind, RuleRefused, Swap
from service.domain.decide import decide
from service.domain.game import Game
from service.domain.legal import legal_moves
from service.domain.ruleset import Layout, Plays, Ruleset, Taker
from tests.rules.every_ruleset import EVERY, LOSERS, at_table, each, plain
from tests.rules.phrases import play, ready, take, turn_over
from tests.rules.scenario import refused, scenario
from tests.rules.tables import cards, dealt, game_of, rules, table


@each(of=[r for r in EVERY if r.pick_up.taker is Taker.SELF])
def test_after_a_pick_up_the_hand_is_played_again(ruleset: Ruleset) -> None:
    """A player with face-up cards who picks up must play from the hand again."""
    low = plain(ruleset)[0]
    given = at_table(
        ruleset, pile="Kc", hands=["", "Ks Qs", "Qh"], up=[f"{low}c"], down=[f"{low}d"], last=1
    )
    game = game_of(ruleset, given)
    (move,) = [m for m in legal_moves(game, 0) if type(m).__name__ == "PickUp"]
    after = scenario(ruleset, given=game, when=move)
    assert cards("Kc")[0] in after.seats[0].hand
    with pytest.raises(CommandRefused):
        decide(PlayBlind(seat=0, slot=0), after)


@each()
def test_a_last_face_down_card_that_does_not_fit_is_taken(ruleset: Ruleset) -> None:
    """The player does not go out."""
    low = plain(ruleset)[0]
    given = at_table(ruleset, pile="Kc", hands=["", "Ks Qs", "Qh"], down=[f"{low}d"])
    after = scenario(ruleset, given=given, when=turn_over(0, 0))
    assert after.seats[0].place is None
    assert cards(f"{low}d")[0] in after.seats[0].hand
    assert after.result is None


@each()
def test_a_face_down_two_fits_on_a_king_and_a_ten_if_it_goes_on_anything(
    ruleset: Ruleset,
) -> None:
    given = at_table(ruleset, pile="Kc", hands=["", "Ks Qs"], down=["2d Td 9d"])
    two = scenario(ruleset, given=given, when=turn_over(0, 0))
    assert two.pile == cards("Kc 2d")
    ten = scenario(ruleset, given=given, when=turn_over(0, 1))
    fits = ruleset.ranks[cards("T")[0]].plays is Plays.ANYTHING  # type: ignore[index] # a rank
    assert (ten.pile == () and ten.burned[-2:] == cards("Kc Td")) is fits
    assert (len(ten.seats[0].hand) == 0) is fits


@each()
@pytest.mark.parametrize(
    "laid", ["8c 8c", "Ks", "Jh", "", "8c 9d", "3h", "8c Ks", "6s"], ids=lambda text: text or "none"
)
def test_a_play_of_other_cards_than_own_hand_cards_of_one_rank_is_refused(
    ruleset: Ruleset, laid: str
) -> None:
    """One card twice, another seat's, a burned one, none, mixed ranks, an own face-up card."""
    given = at_table(
        ruleset,
        pile="4c",
        hands=["8c 8d 9d", "Ks"],
        up=["6s 6h"],
        down=["6c 6d"],
        burned="Jh",
        stock="3h",
    )
    scenario(ruleset, given=given, when=play(0, laid), then=refused())


@each(of=[r for r in EVERY if r.deal.layout is Layout.NONE])
def test_a_swap_after_ready_is_refused(ruleset: Ruleset) -> None:
    """While others still exchange, and in play."""
    game, _ = dealt(ruleset, seats=ruleset.seats_min)
    swap = Swap(seat=0, up=game.seats[0].hand[:1], hand=game.seats[0].up[0])
    game = scenario(ruleset, given=game, when=ready(0))
    with pytest.raises(NotYourTurn):
        decide(swap, game)
    for seat in range(1, ruleset.seats_min):
        game = scenario(ruleset, given=game, when=ready(seat))
    with pytest.raises((NotYourTurn, RuleRefused)):
        decide(swap, game)


@each(of=LOSERS)
def test_a_move_out_of_turn_or_of_a_seat_that_is_out_is_refused(ruleset: Ruleset) -> None:
    given = at_table(ruleset, pile="4c", hands=["9c 8c", "9d", ""], out=(2,))
    game = game_of(ruleset, given)
    gone = [s for s in range(len(game.seats)) if game.seats[s].place is not None]
    assert 2 in gone
    for seat in (1, *gone):
        for command in (play(seat, "9d"), take(seat), turn_over(seat, 0)):
            with pytest.raises(NotYourTurn):
                decide(command, game)


@each()
def test_a_second_identical_play_is_refused(ruleset: Ruleset) -> None:
    """The turn has passed, and the card has left the hand."""
    given = at_table(ruleset, pile="4c", hands=["9c 8c", "Kd 3d"])
    after = scenario(ruleset, given=given, when=play(0, "9c"))
    with pytest.raises(CommandRefused):
        decide(play(0, "9c"), after)


@pytest.mark.parametrize("first", [0, 2])
def test_of_two_first_come_openings_the_first_counts(first: int) -> None:
    """The other one comes too late, unless it is then that player's turn."""
    hands = ["3c Kc Qc", "Kd Qd Jd", "3d Jh Jc"]
    for ruleset in (r for r in EVERY if "first_come" in r.opening.opener):
        game, _ = dealt(ruleset, seats=3, hands=hands, fillers="KQJ9865A4T72")
        for seat in range(3):
            game = scenario(ruleset, given=game, when=ready(seat))
        opening = {0: play(0, "3c"), 2: play(2, "3d")}
        after = scenario(ruleset, given=game, when=opening[first])
        assert after.turn == (first + 1) % 3
        second = opening[2 - first]
        if after.turn != second.seat:
            with pytest.raises(NotYourTurn):
                decide(second, after)


def test_a_follow_up_counts_only_if_it_comes_before_the_next_seats_play() -> None:
    """S4: the follow-up is open until another seat acts."""
    queen = rules("covered-queen")
    given = table(hands=["5c 9c 9d", "Kd 6d", "6h 9h"], stock="5h Jc")
    after: Game = scenario(queen, given=given, when=play(0, "5c"))
    late = scenario(queen, given=after, when=play(1, "6d"))
    with pytest.raises(NotYourTurn):
        decide(play(0, "5h"), late)
    early = scenario(queen, given=after, when=[play(0, "5h"), play(1, "6d")])
    assert early.pile == cards("5c 5h 6d")


@each()
def test_the_turn_limit_ends_a_hand_without_a_shithead(ruleset: Ruleset) -> None:
    """The hand is a stalemate."""
    low = plain(ruleset)[0]
    given = at_table(
        ruleset,
        pile="Kc",
        hands=[f"{low}c {low}d", f"{low}h Qc"],
        last=1,
        actions=19,
        turn_limit=20,
    )
    after = scenario(ruleset, given=given, when=take(0))
    assert after.result is not None
    assert (after.result.reason, after.result.shithead) == ("stalemate", None)
