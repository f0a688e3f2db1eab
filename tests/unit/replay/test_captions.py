"""Captions: one sentence for each event, with the cards that the viewer may see."""

from __future__ import annotations

import pytest

from service.domain.commands import Seat
from service.domain.events import (
    AbortCause,
    BlindFailed,
    BurnCause,
    CardsDealt,
    CardsDrawn,
    CardsPlayed,
    CardsSwapped,
    CardsThrown,
    EndReason,
    Event,
    GameAborted,
    GameEnded,
    Opening,
    PileBurned,
    PilePickedUp,
    PlayStarted,
    StockFailed,
    TableLaid,
    TurnPassed,
    TurnTimedOut,
    Zone,
)
from service.domain.evolve import evolve
from service.domain.game import Game, SeatState, Status, new_game
from service.domain.view import Viewer, seen_by
from service.replay.captions import IN_CODES, caption
from service.replay.frames import frames
from service.replay.sentences import Voice, prose
from tests.changed import replace
from tests.unit.playing import RULESETS, cards, created, play, rules, seat_counts

DECK = cards("9h 7c 5d 4d 8s 8h")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (TableLaid(seat=0, stacks=((), ()), count=0), "Seat 1 laid – face-up"),
        (CardsThrown(seat=1, cards=(), count=0), "Seat 2 threw –"),
        (
            GameEnded(reason=EndReason.WINNER, shithead=None, places=()),
            "– wins",
        ),
        (
            GameEnded(reason=EndReason.SHITHEAD, shithead=None, places=()),
            "– is the shithead",
        ),
        (
            GameEnded(reason=EndReason.FORFEIT, shithead=None, places=()),
            "– gave up and is the shithead",
        ),
    ],
)
def test_events_of_a_tampered_log_have_captions(event: Event, words: str) -> None:
    """A replay shows every event, also one that no server writes: the audit objects below it."""
    assert caption(event).text == words


def table(identity: str = "leeds", *, hand: str = "9h", pile: str = "6c") -> Game:
    """Return a running game of two; seat 0 has face-down cards 1 and 2, the stock is 3, 4, 5."""
    game = replace(new_game(created(rules(identity), 2)), deck=DECK, status=Status.PLAYING)
    mine = SeatState(hand=cards(hand), up=((), ()), down=(1, 2))
    other = SeatState(hand=cards("Kd"), up=((), ()), down=(None, None))
    return replace(game, seats=(mine, other), stock=(3, 4, 5), pile=cards(pile), turn=0)


def sentence(event: Event, game: Game | None = None, viewer: Viewer = None) -> str:
    """Return the caption of `event` for a viewer."""
    before = table() if game is None else game
    after = evolve(before, event)
    return IN_CODES.text(event, seen_by(before, viewer), seen_by(after, viewer))


def sentence_in_codes(event: Event) -> str:
    return prose([caption(event)], Voice(codes=True))


def played(
    text: str,
    *,
    seat: Seat = 0,
    zone: Zone = Zone.HAND,
    turn: Seat | None = 1,
    direction: int = 1,
) -> CardsPlayed:
    return CardsPlayed(
        seat=seat,
        zone=zone,
        cards=cards(text),
        slot=0 if zone is Zone.DOWN else None,
        opening=None,
        turn=turn,
        direction=direction,
    )


def test_a_play_names_cards_zone_and_the_next_seat() -> None:
    assert sentence(played("9h")) == "Seat 1 played 9h. Seat 2 is next."


def test_the_caption_of_a_play_states_an_extra_turn_or_the_end() -> None:
    assert sentence(played("9h", turn=0)) == "Seat 1 played 9h. Seat 1 acts again."
    assert sentence(played("9h", turn=None)) == "Seat 1 played 9h."


def test_the_caption_of_a_play_states_a_reverse() -> None:
    text = "Seat 1 played 9h. The direction has turned. Seat 2 is next."
    assert sentence(played("9h", direction=-1)) == text


def test_captions_of_blind_plays_and_tries_name_the_source_of_the_card() -> None:
    blind = sentence(played("7c", zone=Zone.DOWN))
    assert blind == "Seat 1 turned 7c, and it fits. Seat 2 is next."
    tried = sentence(played("4d", zone=Zone.STOCK))
    assert tried == "Seat 1 tried the stock: 4d fits. Seat 2 is next."


def test_drawn_cards_are_named_only_to_their_seat() -> None:
    drawn = CardsDrawn(seat=0, count=2)
    assert sentence(drawn) == sentence(drawn, viewer=1) == "Seat 1 drew 2 cards."
    assert sentence(drawn, viewer=0) == "Seat 1 drew 4d 8s."
    assert sentence(drawn, viewer="all") == "Seat 1 drew 4d 8s."


@pytest.mark.parametrize(("viewer", "seen"), [(None, False), (0, True), (1, False)])
def test_a_hidden_blind_card_is_named_only_to_its_seat(viewer: Viewer, *, seen: bool) -> None:
    """L13: the others do not see it."""
    failed = BlindFailed(seat=0, taker=0, slot=0, opening=None, count=1, turn=1, direction=1)
    hidden = "Seat 1 turned a card that does not fit, unseen by the others. Seat 2 is next."
    named = "Seat 1 turned 7c: it does not fit. Seat 2 is next."
    assert sentence(failed, viewer=viewer) == (named if seen else hidden)


def test_a_blind_card_that_fails_on_an_empty_pile_is_taken_alone() -> None:
    opening = Opening(p=1, card=cards("7c")[0])
    failed = BlindFailed(seat=0, taker=0, slot=0, opening=opening, count=0, turn=1, direction=1)
    text = "Seat 1 turned 7c: it does not fit. Seat 2 is next."
    assert sentence(failed, table(pile="")) == text


def test_both_seats_are_named_if_the_previous_player_takes_the_pile() -> None:
    """R, second hand: if a player cannot play, the previous one takes the pile."""
    picked = PilePickedUp(seat=0, taker=1, count=1, along=(), turn=0, direction=1)
    text = "Seat 1 could not play, and seat 2 took 1 card. Seat 1 acts again."
    assert sentence(picked) == text


def test_a_pick_up_names_the_face_up_card_taken_with_the_pile() -> None:
    game = table()
    game = game.with_seat(0, replace(game.seats[0], hand=(), up=(cards("Kc"), ())))
    picked = PilePickedUp(seat=0, taker=0, count=1, along=cards("Kc"), turn=1, direction=1)
    assert sentence(picked, game) == "Seat 1 picked up 1 card, with Kc. Seat 2 is next."


def test_a_failed_try_is_seen_by_all() -> None:
    opening = Opening(p=3, card=cards("4d")[0])
    failed = StockFailed(seat=0, taker=0, opening=opening, count=1, turn=1, direction=1)
    assert sentence(failed) == "Seat 1 tried the stock: 4d does not fit. Seat 2 is next."
    given = replace(failed, taker=1, turn=0)
    text = "Seat 1 tried the stock: 4d does not fit, and seat 2 took the pile. Seat 1 acts again."
    assert sentence(given) == text


def test_a_burn_names_its_cause_and_the_clearing_seat() -> None:
    burn = PileBurned(seat=0, cause=BurnCause.SET, count=4, cleared_by=0)
    assert sentence(burn) == "Seat 1 completed a set and burned 4 cards."
    burn = PileBurned(seat=0, cause=BurnCause.RANK, count=1, cleared_by=1)
    assert sentence(burn) == "Seat 1 burned the pile: 1 card, and seat 2 cleared it."


def test_the_deal_names_the_counts_the_starter_and_the_cards_under_the_stock() -> None:
    openings = [Opening(p=p, card=card) for p, card in enumerate(DECK)]
    deal = CardsDealt(
        dealer=1,
        down=3,
        up=0,
        hand=6,
        stock=27,
        face_up=((), ()),
        starter=openings[0],
        returned=(openings[1], openings[2]),
    )
    assert sentence_in_codes(deal) == (
        "Seat 2 dealt: 3 face-down, 0 face-up, 6 in hand; 9h starts the pile, "
        "and 7c 5d went under the stock."
    )


def test_throwing_laying_and_swapping_name_the_cards() -> None:
    thrown = CardsThrown(seat=0, cards=cards("9h"), count=1)
    assert sentence(thrown) == "Seat 1 threw 9h and drew 1 card."
    laid = TableLaid(seat=0, stacks=(cards("9h"), ()), count=0)
    assert sentence(laid) == "Seat 1 laid 9h face-up."
    swapped = CardsSwapped(seat=0, up=cards("9h"), hand=cards("Kc"))
    game = table()
    game = game.with_seat(0, replace(game.seats[0], up=(cards("Kc"), ())))
    assert sentence(swapped, game) == "Seat 1 laid 9h face-up and took Kc."


def test_captions_of_the_start_a_pass_and_a_time_out() -> None:
    assert sentence(PlayStarted(turn=1)) == "Seat 2 began the play."
    first_come = "Play is open: any player who may begin can act, the first one begins."
    assert sentence(PlayStarted(turn=None)) == first_come
    passed = sentence(TurnPassed(seat=0, turn=1))
    assert passed == "Seat 1 passed. Seat 2 is next."
    timed_out = sentence(TurnTimedOut(seat=0))
    assert timed_out == "Seat 1 ran out of time."


def test_captions_of_the_end_state_its_reason() -> None:
    def ended(reason: EndReason, shithead: Seat | None) -> str:
        return sentence(GameEnded(reason=reason, shithead=shithead, places=(1, 0)))

    assert ended(EndReason.SHITHEAD, 0) == "Seat 1 is the shithead."
    assert ended(EndReason.WINNER, None) == "Seat 2 wins."
    assert ended(EndReason.STALEMATE, None) == "Stalemate: nobody is the shithead."
    assert ended(EndReason.FORFEIT, 0) == "Seat 1 gave up and is the shithead."
    for cause in AbortCause:
        text = sentence(GameAborted(cause=cause, seat=0))
        assert text.startswith(("The hand was ended", "The hand was not dealt: seat 1 "))


@pytest.mark.parametrize("identity", RULESETS)
def test_every_event_has_a_caption_without_hidden_cards(identity: str) -> None:
    ruleset = rules(identity)
    game = play(ruleset, seat_counts(ruleset)[-1], 2)
    viewers: tuple[Viewer, ...] = (None, 0, "all")
    for viewer in viewers:
        for frame in frames(game.events, deck=game.deck, viewer=viewer):
            text = frame.caption
            assert text[0].isupper()
            assert text.endswith(".")
            assert "??" not in text
