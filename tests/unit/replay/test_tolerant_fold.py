"""The tolerant fold: a log is folded to its end even if its deck or an event contradicts it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from service.domain.cards import HIDDEN
from service.domain.events import CardsDrawn, CardsPlayed, Zone
from service.domain.evolve import evolve, fold
from service.replay.history import Contradiction, Known, next_game, steps_of, unknown_from
from tests.unit.playing import Played, play, rules

GAME: Played = play(rules("shithead"), 3, 5)


def played_from_hand(events: tuple[object, ...]) -> int:
    """Return the seq of a play from a hand late in the game."""
    found = (n for n, e in enumerate(events) if isinstance(e, CardsPlayed) and e.zone is Zone.HAND)
    return [*found][6]


def test_the_tolerant_fold_of_a_valid_log_equals_the_fold() -> None:
    steps = list(steps_of(GAME.events, GAME.deck))
    assert {step.known for step in steps} == {Known.DECK}
    assert [step.event for step in steps] == list(GAME.events)
    assert steps[-1].game == fold(GAME.events, GAME.deck)


def test_if_the_deck_contradicts_an_event_the_public_fold_continues() -> None:
    """The played card is in the stock by the deck, so the deck is ignored from then on."""
    seq = played_from_hand(GAME.events)
    game = fold(GAME.events[:seq], GAME.deck)
    event = GAME.events[seq]
    assert isinstance(event, CardsPlayed)
    other = replace(event, cards=(game.deck[game.stock[-1]],))
    events = (*GAME.events[:seq], other, *GAME.events[seq + 1 : seq + 3])
    steps = list(steps_of(events, GAME.deck))
    assert [step.known for step in steps[:seq]] == [Known.DECK] * seq
    assert [step.known for step in steps[seq:]] == [Known.EVENTS] * 3
    assert steps[-1].game == fold(events)
    assert all(card == HIDDEN for card in steps[-1].game.deck)


def test_if_the_public_fold_fails_the_last_state_is_repeated() -> None:
    """After an impossible draw of a hundred cards the events are listed without a state."""
    seq = played_from_hand(GAME.events)
    impossible = CardsDrawn(seat=0, count=100)
    before = fold(GAME.events[:seq], GAME.deck)
    steps = list(steps_of((*GAME.events[:seq], impossible, *GAME.events[seq:]), GAME.deck))
    assert len(steps) == len(GAME.events) + 1
    for step in steps[seq:]:
        assert step.known is Known.NOTHING
        assert replace(step.game, version=before.version) == before
    assert [step.game.version for step in steps] == list(range(1, len(steps) + 1))


@pytest.mark.parametrize("seat", [7, 64])
def test_an_event_of_an_unknown_seat_is_not_folded(seat: int) -> None:
    game = fold(GAME.events[:20], GAME.deck)
    with pytest.raises(Contradiction, match="names an absent card or seat"):
        next_game(game, CardsDrawn(seat=seat, count=1))


def test_the_error_for_a_card_that_is_not_in_the_hand_mentions_cards() -> None:
    """Players read the message, so it must not be about code."""
    game = fold(GAME.events[: played_from_hand(GAME.events)], GAME.deck)
    other = game.deck[game.stock[0]]
    event = CardsPlayed(
        seat=0, zone=Zone.HAND, cards=(other,), slot=None, opening=None, turn=1, direction=1
    )
    with pytest.raises(ValueError, match="a card to remove is missing"):
        evolve(game, event)


def test_the_version_from_which_cards_are_unknown_is_stated() -> None:
    assert unknown_from(17, Known.EVENTS).startswith("From seq 17 on hidden cards are not known")
    unknown = unknown_from(3, Known.NOTHING)
    assert unknown.startswith("From seq 3 on the places of the cards are not known")
