"""Rules of all rulesets: how people end a hand without a result."""

from __future__ import annotations

import pytest

from service.domain.commands import AfterAbsence, AgreeEnd, ClaimAbsence, GameOver, Seat
from service.domain.decide import decide
from service.domain.events import (
    AbortCause,
    AbsenceClaimed,
    Clock,
    EndAgreed,
    Event,
    GameAborted,
    TurnTimedOut,
)
from service.domain.game import Game, Status, new_game
from tests.changed import replace
from tests.rules.phrases import forfeit, play, time_out
from tests.rules.scenario import refused, scenario
from tests.rules.tables import created, dealt, game_of, rules, table

SHITHEAD = rules("shithead")
CITED = "1-agreed-end"


def agree(seat: Seat) -> AgreeEnd:
    return AgreeEnd(seat=seat)


def of_people(game: Game, *, bots: tuple[Seat, ...] = ()) -> Game:
    """Return the game with people at the seats that are not named as bots."""
    seats = [
        replace(seat, kind="bot", bot="lowest")
        if number in bots
        else replace(seat, kind="human", bot=None)
        for number, seat in enumerate(game.setup.seats)
    ]
    return replace(game, setup=replace(game.setup, seats=tuple(seats)))


def in_play(*, bots: tuple[Seat, ...] = ()) -> Game:
    """Return a hand of three in play; seat 0 is on turn, and seat 2 is out."""
    at = table(pile="4c", hands=["9c 3c", "9d 3d", ""], out=[2])
    return of_people(game_of(SHITHEAD, at), bots=bots)


def test_the_last_agreement_of_the_people_ends_the_hand_without_a_result() -> None:
    """Once all have agreed, also those who are out, nobody is the shithead and nobody has won."""
    game = in_play()
    for seat in (1, 2):
        game = scenario(SHITHEAD, given=game, when=agree(seat), then=[EndAgreed(seat=seat)])
    then: list[Event] = [EndAgreed(seat=0), GameAborted(cause=AbortCause.AGREED, seat=None)]
    after = scenario(SHITHEAD, given=game, when=agree(0), then=then)
    assert after.status is Status.ABORTED
    scenario(SHITHEAD, given=after, when=agree(0), then=refused(kind=GameOver))


def test_an_agreement_can_be_given_in_the_exchange_and_out_of_turn() -> None:
    game, _ = dealt(SHITHEAD, seats=2)
    scenario(SHITHEAD, given=of_people(game), when=agree(1), then=[EndAgreed(seat=1)])


def test_bots_are_not_asked() -> None:
    ends = decide(agree(2), scenario(SHITHEAD, given=in_play(bots=(1,)), when=agree(0)))
    assert ends[-1] == GameAborted(cause=AbortCause.AGREED, seat=None)


def test_a_move_of_the_own_takes_an_agreement_back() -> None:
    """Who plays on does not want to end the hand; what others do changes no agreement."""
    after = scenario(SHITHEAD, given=in_play(), when=[agree(0), agree(1), play(0, "9c")])
    assert after.agreed == {1}


def test_a_move_after_a_time_out_leaves_an_agreement_standing() -> None:
    after = scenario(SHITHEAD, given=in_play(), when=[agree(0), time_out(0)])
    assert after.agreed == {0}


@pytest.mark.parametrize("case", ["early", "bot", "alone", "twice"])
def test_an_agreement_is_refused(case: str) -> None:
    """Before the deal; of a bot; with bots only, where a loss could be avoided; a second time."""
    given, seat = {
        "early": (of_people(new_game(created(SHITHEAD, 2))), 0),
        "bot": (in_play(bots=(1,)), 1),
        "alone": (in_play(bots=(1, 2)), 0),
        "twice": (scenario(SHITHEAD, given=in_play(), when=agree(0)), 0),
    }[case]
    scenario(SHITHEAD, given=given, when=agree(seat), then=refused(CITED))


def test_a_hand_that_somebody_agreed_to_end_can_still_be_given_up() -> None:
    after = scenario(SHITHEAD, given=in_play(), when=[agree(0), agree(1), forfeit(0)])
    assert after.result is not None
    assert after.result.shithead == 0


ABSENCE = "1-absence"
STAND_IN, END = AfterAbsence.STAND_IN, AfterAbsence.END


def claim(seat: Seat, absent: Seat, then: AfterAbsence) -> ClaimAbsence:
    return ClaimAbsence(seat=seat, absent=absent, then=then)


def of_three(*, hands: str = "9c 3c", **setup: object) -> Game:
    """Return a hand of three people in which seat 0 is on turn, with these cards."""
    game = of_people(game_of(SHITHEAD, table(pile="4c", hands=[hands, "9d 3d", "9h 3h"])))
    return replace(game, setup=replace(game.setup, **setup)) if setup else game


def test_a_bot_plays_for_an_absent_player_until_that_player_moves() -> None:
    """Its moves are those of time-outs; an own move of the player ends it."""
    claimed = AbsenceClaimed(seat=1, absent=0, then=STAND_IN)
    game = scenario(SHITHEAD, given=of_three(), when=claim(1, 0, STAND_IN), then=[claimed])
    assert game.absent == {0}
    after = scenario(SHITHEAD, given=game, when=time_out(0))
    assert after.absent == {0}
    assert after.turn == 1
    assert isinstance(decide(time_out(0), game)[0], TurnTimedOut)
    assert scenario(SHITHEAD, given=game, when=play(0, "9c")).absent == frozenset()


def test_the_hand_ends_as_left_once_all_others_ask_for_it() -> None:
    game = of_three(hands="9c 3c 5c")
    first = AbsenceClaimed(seat=1, absent=0, then=END)
    game = scenario(SHITHEAD, given=game, when=claim(1, 0, END), then=[first])
    then: list[Event] = [
        AbsenceClaimed(seat=2, absent=0, then=END),
        GameAborted(cause=AbortCause.LEFT, seat=0),
    ]
    scenario(SHITHEAD, given=game, when=claim(2, 0, END), then=then)
    back = scenario(SHITHEAD, given=game, when=play(0, "9c"))
    assert back.asked == frozenset(), "the player is there after all"


def test_a_player_for_whom_a_bot_stands_in_is_not_asked() -> None:
    game = replace(of_three(), replaced=frozenset({(2, 5)}))
    ends = decide(claim(1, 0, END), game)
    assert ends[-1] == GameAborted(cause=AbortCause.LEFT, seat=0)


def test_who_is_losing_cannot_end_a_hand_by_a_claim() -> None:
    """With more cards left than the absent player there is only the stand-in."""
    game = of_three(hands="9c")
    scenario(SHITHEAD, given=game, when=claim(1, 0, END), then=refused(ABSENCE))
    scenario(SHITHEAD, given=game, when=claim(1, 0, STAND_IN))


def test_the_place_of_a_player_who_is_out_is_not_taken_away() -> None:
    game = in_play()
    scenario(SHITHEAD, given=game, when=claim(1, 0, END), then=refused(ABSENCE))
    scenario(SHITHEAD, given=game, when=claim(2, 0, STAND_IN))


@pytest.mark.parametrize(
    "case", ["early", "clock", "bot", "self", "not awaited", "replaced", "twice"]
)
def test_a_claim_is_refused(case: str) -> None:
    game = of_three()
    clocked = of_three(clock=Clock(turn_seconds=30, swap_seconds=60))
    given, command = {
        "early": (of_people(new_game(created(SHITHEAD, 2))), claim(1, 0, STAND_IN)),
        "clock": (clocked, claim(1, 0, STAND_IN)),
        "bot": (of_people(game, bots=(1,)), claim(1, 0, STAND_IN)),
        "self": (game, claim(0, 0, STAND_IN)),
        "not awaited": (game, claim(0, 1, STAND_IN)),
        "replaced": (replace(game, replaced=frozenset({(0, 5)})), claim(1, 0, END)),
        "twice": (scenario(SHITHEAD, given=game, when=claim(1, 0, END)), claim(1, 0, END)),
    }[case]
    scenario(SHITHEAD, given=given, when=command, then=refused(ABSENCE))
