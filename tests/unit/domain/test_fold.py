"""The fold of events: the changes of each event, and events that cannot be folded."""

from __future__ import annotations

import pytest

from service.domain.cards import HIDDEN, Card
from service.domain.commands import GameOver, TimeOut
from service.domain.decide import decide
from service.domain.events import (
    AbortCause,
    CardsDrawn,
    CardsSwapped,
    DeckCommitted,
    Entropy,
    EntropyCommitted,
    EntropyRevealed,
    GameAborted,
    Opening,
    SeatSetup,
    TableLaid,
)
from service.domain.evolve import evolve, fold, is_follow_up
from service.domain.game import EntropyState, Game, LastPlay, SeatState, Status, new_game, without
from tests.changed import replace
from tests.rules.phrases import (
    failed,
    forfeit,
    lay,
    play,
    played,
    ready,
    swap,
    take,
    took,
    try_failed,
    turned,
)
from tests.rules.scenario import not_your_turn, scenario
from tests.rules.tables import cards, created, dealt, game_of, rules, table

SHITHEAD, KARMA, QUEEN = rules("shithead"), rules("karma-radford"), rules("covered-queen")


def playing(**changes: object) -> Game:
    """Return a game of two in mid-play."""
    at = {"pile": "4c", "hands": ["9c 9d", "Kc"], "stock": "6c 6d", "up": ["7c 8c"]}
    return game_of(SHITHEAD, table(**{**at, "down": ["3c 3d"], **changes}))  # type: ignore[arg-type] # as table takes them


def test_a_fold_begins_with_the_creation_and_counts_every_event() -> None:
    """A stream's version is the number of its events."""
    begun = created(SHITHEAD, 2)
    game = fold([begun, DeckCommitted(cards=("", ""))])
    assert (game.version, game.deck, game.status) == (2, (HIDDEN, HIDDEN), Status.SHUFFLING)
    known = cards("9c 9d")
    assert fold([begun, DeckCommitted(cards=("", ""))], deck=known).deck == known
    assert (fold([begun]).version, fold([begun]).deck) == (1, ())
    assert new_game(replace(begun, dealer=1)).dealer == 1
    with pytest.raises(ValueError, match="begins"):
        fold([DeckCommitted(cards=())])
    with pytest.raises(ValueError, match="begins"):
        fold([])
    with pytest.raises(ValueError, match="once"):
        evolve(game, begun)


def test_entropy_is_awaited_committed_and_revealed() -> None:
    """A seat gives no entropy, a value, or a commitment and then its value."""
    kinds = (Entropy.NONE, Entropy.VALUE, Entropy.COMMIT)
    seats = tuple(SeatSetup(kind="human", bot=None, key=None, entropy=kind) for kind in kinds)
    game = new_game(replace(created(SHITHEAD, 3), seats=seats))

    def states() -> list[EntropyState]:
        return [seat.entropy for seat in game.seats]

    waiting = EntropyState.WAITING
    assert states() == [EntropyState.NONE, waiting, waiting]
    game = evolve(game, EntropyCommitted(seat=2, commit=""))
    assert states() == [EntropyState.NONE, waiting, EntropyState.COMMITTED]
    game = evolve(game, EntropyRevealed(seat=1, value=""))
    assert states() == [EntropyState.NONE, EntropyState.REVEALED, EntropyState.COMMITTED]


def test_an_aborted_game_is_over() -> None:
    game = evolve(playing(), GameAborted(cause=AbortCause.IDLE, seat=0))
    with pytest.raises(GameOver):
        decide(play(0, "9c"), game)
    assert (game.status, game.over, game.turn) == (Status.ABORTED, True, None)
    assert game.result is not None
    assert (game.result.cause, game.result.reason) == (AbortCause.IDLE, None)


@pytest.mark.parametrize(
    "event",
    [
        turned(0, 0, "3c", turn=1),
        failed(0, 0, "3c", 1, turn=1),
        replace(turned(0, 0, "3c", turn=1), slot=None),
        CardsDrawn(seat=0, count=3),
        played(0, "Kc", turn=1),
        played(0, "6c", turn=1, zone="up"),
    ],
    ids=["turned", "failed", "no slot", "drew", "hand", "up"],
)
def test_impossible_events_cannot_be_folded(event: object) -> None:
    """An empty slot, more than the stock holds, a card that lies elsewhere."""
    game = playing(down=["- 3d"])
    with pytest.raises(ValueError):
        evolve(game, event)  # type: ignore[arg-type] # all of them are events


def test_mismatched_swaps_and_layings_cannot_be_folded() -> None:
    """A swap has as many cards up as in hand, a laying one stack for each slot."""
    game, _ = dealt(SHITHEAD, seats=2, up=["3c 4c 5c"], hands=["Kc Qc Jc"])
    with pytest.raises(ValueError, match="zip"):
        evolve(game, CardsSwapped(seat=0, up=cards("Kc Qc"), hand=cards("3c")))
    game, _ = dealt(KARMA, seats=2, hands=["Ac Kc Jc 9c 8c 6c"])
    with pytest.raises(ValueError, match="zip"):
        evolve(game, TableLaid(seat=0, stacks=(cards("Ac"), cards("Kc")), count=0))


def test_a_card_leaves_an_unseen_hand_as_a_hidden_card() -> None:
    """A viewer learns the cards of an unseen hand when they are played."""
    assert without((HIDDEN, Card("9c"), HIDDEN), cards("9c 4d")) == (HIDDEN,)
    with pytest.raises(ValueError, match="is missing"):
        without(cards("9c"), cards("4d"))


def test_publicly_taken_cards_are_known_until_they_leave_the_hand() -> None:
    """Face-up cards taken in the exchange, a pile that was picked up, and a failed try."""
    game, _ = dealt(SHITHEAD, seats=2, up=["3c 4c 5c"], hands=["Kc Qc Jc"])
    game = scenario(SHITHEAD, given=game, when=[swap(0, "Kc", "3c"), swap(0, "Qc", "4c")])
    assert set(game.seats[0].known) == set(cards("3c 4c"))
    game = scenario(SHITHEAD, given=game, when=swap(0, "3c", "Kc"))
    assert set(game.seats[0].known) == set(cards("4c Kc"))
    taken = scenario(SHITHEAD, given=playing(), when=[play(0, "9c"), take(1)])
    assert taken.seats[1].known == cards("4c 9c")
    laid = scenario(SHITHEAD, given=taken, when=[play(0, "9d"), play(1, "9c")])
    assert laid.seats[1].known == cards("4c")
    tried = evolve(playing(), try_failed(0, "6c", 1, turn=1))
    assert set(tried.seats[0].known) == set(cards("6c 4c"))


def test_a_failed_blind_card_is_known_only_if_it_was_shown() -> None:
    """L13: the others do not see it; in all other rulesets they do."""
    game = playing(hands=["", "Kc"], up=[""], down=["3c 3d"])
    hidden = evolve(game, failed(0, 0, "", 1, turn=1))
    assert (hidden.seats[0].known, hidden.seats[0].hand) == (cards("4c"), cards("3c 4c"))
    opened = replace(failed(0, 0, "3c", 1, turn=1), opening=Opening(p=0, card=Card("3c")))
    unseen = evolve(replace(game, deck=(HIDDEN,) * len(game.deck)), opened)
    assert (unseen.seats[0].known, unseen.seats[0].hand) == (cards("3c 4c"), cards("3c 4c"))


def test_a_new_pile_has_no_previous_player() -> None:
    """After a burn or a pick-up no seat has played on the pile."""
    burnt = scenario(SHITHEAD, given=playing(hands=["Tc 9d", "Kc"]), when=play(0, "Tc"))
    assert (burnt.pile, burnt.last_play) == ((), None)
    taken = scenario(SHITHEAD, given=playing(), when=[play(0, "9c"), take(1)])
    assert (taken.pile, taken.last_play) == ((), None)


def test_plays_pick_ups_and_tries_are_counted_and_reset_the_passes() -> None:
    """Each counts as one action towards the turn limit."""
    game = scenario(SHITHEAD, given=playing(actions=7), when=play(0, "9c"))
    assert (game.actions, game.passes, game.first_turn) == (8, 0, False)
    game = scenario(SHITHEAD, given=game, when=take(1))
    assert (game.actions, game.passes, game.first_turn) == (9, 0, False)
    assert scenario(SHITHEAD, given=replace(game, passes=1), when=play(0, "9d")).passes == 0
    opening = evolve(replace(playing(), first_turn=True, passes=1), try_failed(0, "6c", 1, turn=1))
    assert (opening.actions, opening.passes, opening.first_turn) == (1, 0, False)


def test_cards_drawn_in_laying_out_may_be_added_until_the_seat_is_ready() -> None:
    """P31: cards drawn while laying out, less those that were laid."""
    hands = ["Ac Kc Kd Jc Jh 9c", "Qd Qh Qs Th 9h 8h"]
    game, _ = dealt(KARMA, seats=2, hands=hands, stock="Js 6c Ad 4c")
    game = scenario(KARMA, given=game, when=lay(0, "Ac", "Kc Kd", "Jc Jh"))
    assert game.seats[0].drawn_laying == cards("Js 6c")
    game = scenario(KARMA, given=game, when=lay(0, "", "", "Js"))
    assert game.seats[0].drawn_laying == cards("6c Ad")
    game = scenario(KARMA, given=game, when=lay(0, "Ad", "", ""))
    assert game.seats[0].drawn_laying == cards("6c 4c")
    assert scenario(KARMA, given=game, when=ready(0)).seats[0].drawn_laying == ()


def test_the_top_card_gives_a_play_its_rank() -> None:
    """L17: the companions lie on top and their rank is the value of the play."""
    assert LastPlay(seat=0, cards=cards("5c 6c"), drawn=(), direction=1).rank == "6"


def test_a_seat_is_empty_only_without_a_card_in_any_zone() -> None:
    """A player is out without a card in the hand, face-up or face-down."""
    assert SeatState().empty
    assert SeatState(down=(None, None)).zone is None
    assert not SeatState(up=(cards("7c"),)).empty
    assert not SeatState(down=(None, 3)).empty
    assert not SeatState(hand=cards("7c")).empty


def test_follow_ups_are_combined_with_their_play() -> None:
    """S4: as if all cards had been played at once, from the direction before the first."""
    at = table(pile="8c", hands=["9c Kc", "Jd 6d", "Jh 6h"], stock="9d 9h 4d 4h")
    after = scenario(QUEEN, given=at, when=[play(0, "9c"), play(0, "9d")])
    drawn = cards("9h 4d")
    together = LastPlay(seat=0, cards=cards("9c 9d"), drawn=drawn, direction=1)
    assert after.last_play == together
    again = scenario(QUEEN, given=after, when=play(0, "9h"))
    drawn = cards("4d 4h")
    assert again.last_play == replace(together, cards=cards("9c 9d 9h"), drawn=drawn)
    scenario(QUEEN, given=again, when=play(0, "4d"), then=not_your_turn())


def test_only_a_play_out_of_turn_on_the_seats_own_play_is_a_follow_up() -> None:
    """S4: the seat that just played, the same rank, while another seat is on turn."""
    at = table(pile="8c", hands=["9c Kc", "Jd 6d", "Jh 6h"], stock="9d 9h 4d 4h")
    after = scenario(QUEEN, given=at, when=play(0, "9c"))
    assert is_follow_up(after, 0, cards("9d 9h"))
    assert not is_follow_up(after, 0, cards("9d 4d"))
    assert not is_follow_up(after, 2, cards("9s"))
    assert not is_follow_up(replace(after, turn=0), 0, cards("9d"))
    assert not is_follow_up(replace(after, turn=None), 0, cards("9d"))
    assert not is_follow_up(replace(after, last_play=None), 0, cards("9d"))
    assert not is_follow_up(replace(after, ruleset=SHITHEAD), 0, cards("9d"))


def test_cards_drawn_by_another_seat_do_not_belong_to_the_last_play() -> None:
    """S4: a follow-up may use only cards that the seat drew in the refill of its own play."""
    mine = LastPlay(seat=0, cards=cards("4c"), drawn=(), direction=1)
    game = replace(playing(), last_play=mine)
    assert evolve(game, CardsDrawn(seat=1, count=1)).last_play == mine
    after = evolve(game, CardsDrawn(seat=0, count=1)).last_play
    assert after == replace(mine, drawn=cards("6c"))
    assert evolve(playing(), CardsDrawn(seat=0, count=1)).last_play is None


def test_after_a_pick_up_nothing_is_to_be_covered() -> None:
    """The event also states the direction."""
    game = replace(playing(), covering=True)
    after = evolve(game, took(0, 1, turn=1, direction=-1))
    assert (after.covering, after.direction, after.turn) == (False, -1, 1)


def test_after_the_end_no_seat_has_the_turn() -> None:
    """Even if it ended in the middle of a turn."""
    game = scenario(SHITHEAD, given=playing(), when=forfeit(1))
    assert (game.status, game.turn, game.over) == (Status.ENDED, None, True)


def test_a_time_out_makes_the_named_move() -> None:
    """An auditor accepts any legal move after a time-out."""
    game = playing()
    events = decide(TimeOut(seat=0, move=play(0, "9c 9d")), game)
    assert events[1] == played(0, "9c 9d", turn=1)
