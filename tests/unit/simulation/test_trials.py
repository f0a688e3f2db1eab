"""Trial hands find rulesets that get stuck or never end, within their limits."""

from __future__ import annotations

import pytest

from schemas.settings import full_tree, merged
from service.domain.events import Event
from service.domain.evolve import evolve
from service.domain.game import Game
from service.rulesets.catalogue import catalogue, definition
from service.rulesets.custom import custom_definition
from service.simulation.trials import Limits, play_trials
from tests.changed import replace
from tests.examples import spread


@pytest.mark.heavy
@pytest.mark.parametrize("identity", spread(catalogue(), 3))
def test_the_rulesets_of_the_catalogue_pass(identity: str) -> None:
    report = play_trials(definition(identity).settings({}), 3, Limits(seconds=20))
    assert report.accepted, report
    assert report.hands == 3


def test_trials_are_repeatable() -> None:
    settings = definition("shithead").settings({})
    assert play_trials(settings, 4) == play_trials(settings, 4)


def test_an_opening_that_cannot_be_made_is_found() -> None:
    """A seat with a face-up three need not have one in the hand."""
    stuck = merged(definition("morehead").settings({}), {"opening": {"play": "that_rank"}})
    report = play_trials(full_tree(stuck), 30)
    assert report.refusal is not None
    assert "no legal move" in report.refusal or "opening" in report.refusal


def test_hands_that_never_end_are_counted_and_refused() -> None:
    report = play_trials(definition("shithead").settings({}), 4, Limits(actions_per_seat=1))
    assert (report.hands, report.stalemates) == (4, 4)
    assert report.refusal == "every trial hand ended in a stalemate"


def test_a_trial_stops_at_its_time_limit() -> None:
    clock = iter(range(1000))
    report = play_trials(
        definition("shithead").settings({}), 50, Limits(seconds=10), now=lambda: next(clock)
    )
    assert report.hands == 0
    assert report.refusal == "no trial hand ended in the time limit"


def test_rules_whose_bots_would_exceed_their_constant_time_are_refused() -> None:
    """The time of their moves would reveal the number of legal moves, and so the cards."""
    settings = definition("shithead").settings({})
    report = play_trials(settings, 1, Limits(interval_seconds=1e-9))
    assert report.refusal is not None
    assert "a bot takes too long" in report.refusal
    assert play_trials(settings, 1).accepted


def test_a_deck_beyond_the_limit_is_refused() -> None:
    report = play_trials(definition("shithead").settings({}), 1, Limits(cards=51))
    assert report.refusal == "with 2 players the deck has more than 51 cards"


def test_a_lost_card_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(game: Game, event: Event) -> Game:
        return replace(evolve(game, event), burned=())

    monkeypatch.setattr("service.simulation.simulate.evolve", losing)
    report = play_trials(definition("shithead").settings({}), 4)
    assert report.refusal is not None
    assert "a card is lost or duplicated" in report.refusal


@pytest.mark.heavy
def test_legal_moves_play_a_stack_whole_even_with_a_five() -> None:
    """A stack of face-up cards is played whole, even as the companion of a five."""
    laid_out = {"up": 0, "hand": 6, "exchange": False, "layout": "stacks"}
    changes = {"players": {"max": 5}, "deal": laid_out}
    own = custom_definition(definition("leeds"), "Stacked Leeds", changes)
    report = play_trials(own.settings({}), 20, Limits(seconds=20))
    assert report.accepted, report
