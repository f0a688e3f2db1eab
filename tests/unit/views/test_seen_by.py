"""The view of a seat equals the fold with the cards known to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.cards import HIDDEN
from service.domain.events import TableLaid
from service.domain.evolve import evolve, fold
from service.domain.game import Game, SeatState, new_game
from service.domain.view import ALL, masked_deck, seat_openings, seen_by
from tests.changed import replace
from tests.examples import examples
from tests.unit.playing import RULESETS, Played, cards, created, play, rules, seat_counts

DECK_COMMITTED = 2  # the version after game_created and deck_committed


def _in_order(game: Game) -> Game:
    """Return the game with sorted hands and without its deck, for comparison."""
    seats = tuple(
        replace(seat, hand=tuple(sorted(seat.hand, key=lambda card: (card == HIDDEN, card))))
        for seat in game.seats
    )
    return replace(game, seats=seats, deck=())


@st.composite
def stops(draw: st.DrawFn) -> tuple[Played, int]:
    """Draw a random game and one of its versions."""
    identity = draw(st.sampled_from(RULESETS))
    ruleset = rules(identity, draw(st.sampled_from([1, 2])))
    seats = draw(st.sampled_from(seat_counts(ruleset)))
    game = play(ruleset, seats, draw(st.integers(0, 2**32)))
    return game, draw(st.integers(DECK_COMMITTED, len(game.events)))


@examples(40)
@given(stop=stops())
def test_a_seat_sees_the_fold_with_its_own_dealt_and_drawn_cards(
    stop: tuple[Played, int],
) -> None:
    game, version = stop
    events = game.events[:version]
    full = fold(events, game.deck)
    for seat in range(len(full.seats)):
        own = masked_deck(game.deck, seat_openings(events, seat))
        assert _in_order(seen_by(full, seat)) == _in_order(fold(events, own))
        assert HIDDEN not in seen_by(full, seat).seats[seat].hand


@examples(40)
@given(stop=stops())
def test_the_public_sees_the_fold_of_the_public_log(stop: tuple[Played, int]) -> None:
    game, version = stop
    events = game.events[:version]
    full, public = fold(events, game.deck), fold(events)
    assert _in_order(seen_by(full, None)) == _in_order(public)
    assert seen_by(public, None) == seen_by(full, None)


@examples(30)
@given(stop=stops())
def test_a_seat_gets_no_openings_of_cards_of_another_seat_or_of_the_stock(
    stop: tuple[Played, int],
) -> None:
    game, version = stop
    events = game.events[:version]
    full = fold(events, game.deck)
    opened = [set(seat_openings(events, seat)) for seat in range(len(full.seats))]
    assert sum(len(some) for some in opened) == len(set().union(*opened))
    unturned = {p for seat in full.seats for p in seat.down if p is not None}
    assert not set().union(*opened) & (unturned | set(full.stock))


@pytest.mark.parametrize("identity", RULESETS)
def test_views_do_not_show_the_deck(identity: str) -> None:
    game = play(rules(identity), seat_counts(rules(identity))[0], 5)
    full = fold(game.events, game.deck)
    assert set(seen_by(full, None).deck) == {HIDDEN}
    assert set(seen_by(full, 0).deck) == {HIDDEN}


def test_the_view_of_all_has_the_deck_and_every_hand_sorted() -> None:
    game = play(rules("shithead"), 3, 7)
    full = fold(game.events[:10], game.deck)
    seen = seen_by(full, ALL)
    assert seen.deck == full.deck
    assert [set(seat.hand) for seat in seen.seats] == [set(seat.hand) for seat in full.seats]
    assert all(list(seat.hand) == sorted(seat.hand) for seat in seen.seats)


def test_cards_drawn_by_another_seat_in_its_last_play_are_hidden() -> None:
    """S4: nobody else knows whether a seat drew a card of the rank that it just played."""
    for seed in range(40):
        game = play(rules("covered-queen"), 2, seed)
        for version in range(DECK_COMMITTED, len(game.events)):
            full = fold(game.events[:version], game.deck)
            last = full.last_play
            if last is not None and last.drawn and isinstance(last.seat, int):
                other = seen_by(full, 1 - last.seat).last_play
                own = seen_by(full, last.seat).last_play
                assert other is not None and set(other.drawn) == {HIDDEN}
                assert own is not None and own.drawn == last.drawn
                return
    raise AssertionError("no game had a refill")


def test_cards_drawn_by_another_seat_while_laying_out_are_hidden() -> None:
    """P31: only cards drawn while laying out may be added to a stack."""
    lay = TableLaid(seat=0, stacks=(cards("4c 4d"), cards("Kd"), cards("Ac")), count=1)
    game = new_game(created(rules("karma-radford"), 2))
    state = SeatState(hand=cards("4c 4d Kd Ac Ts 9s"), up=((), (), ()), down=(0, 1, 2))
    game = replace(game.with_seat(0, state), deck=cards("2c 3c 5c 6c"), stock=(3,))
    game = evolve(game, lay)
    assert seen_by(game, 0).seats[0].drawn_laying == cards("6c")
    assert seen_by(game, 1).seats[0].drawn_laying == (HIDDEN,)
    assert seen_by(game, None).seats[0].drawn_laying == (HIDDEN,)
