"""Rules of all rulesets: how people end a hand without a result."""

from __future__ import annotations

import pytest

from service.domain.commands import AgreeEnd, GameOver, Seat
from service.domain.decide import decide
from service.domain.events import AbortCause, EndAgreed, Event, GameAborted
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
        seat if number in bots else replace(seat, kind="human", bot=None)
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
