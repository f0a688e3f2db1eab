"""Pictures of moments: well-formed, bounded, without names, and no more than the view."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from service.domain.cards import HIDDEN, Card
from service.domain.view import ALL, Viewer
from service.replay.deck import card_id, symbol
from service.replay.frames import Frame, frames, frames_of
from service.replay.history import steps_of
from service.replay.picture import WIDTH, picture, spelled
from tests.changed import replace
from tests.examples import stride
from tests.unit.playing import RULESETS, play, rules, seat_counts

SVG = "{http://www.w3.org/2000/svg}"
MOST_BYTES = 80_000


def moments(identity: str, viewer: Viewer) -> list[Frame]:
    """Return every tenth frame of a hand with as many seats as the ruleset permits here."""
    ruleset = rules(identity)
    game = play(ruleset, seat_counts(ruleset)[-1], 7, turn_limit=60)
    return list(frames(game.events, deck=game.deck, viewer=viewer))[::10]


def texts(drawn: str) -> list[str]:
    """Return the texts of a picture, which has to be well-formed."""
    return [element.text or "" for element in ET.fromstring(drawn).iter(f"{SVG}text")]


@pytest.mark.parametrize("identity", RULESETS)
def test_a_picture_of_any_moment_is_small_and_needs_nothing_else(identity: str) -> None:
    for frame in moments(identity, ALL)[:: stride(2)]:
        drawn = picture(frame)
        assert len(drawn.encode()) < MOST_BYTES
        root = ET.fromstring(drawn)
        names = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert names <= {
            "svg",
            "title",
            "rect",
            "circle",
            "text",
            "path",
            "g",
            "defs",
            "symbol",
            "use",
        }
        attributes = {name for element in root.iter() for name in element.attrib}
        assert not {"style", "class", "onload"} & attributes
        cards = [
            {key: float(one.get(key, 0)) for key in ("x", "width")}
            for one in root.iter(f"{SVG}use")
        ]
        assert all(0 <= card["x"] <= WIDTH - card["width"] for card in cards if card["width"])
        assert not re.search(r"(?:href|src)=\"(?!#)|url\((?!#)", drawn)


def test_the_seats_of_a_picture_have_numbers_and_no_names() -> None:
    frame = moments("shithead", None)[3]
    drawn, seats = picture(frame), range(1, len(frame.game.seats) + 1)  # as the pages count them
    assert {f"Seat {seat}" for seat in seats} <= set(texts(drawn))
    assert "Seat 0" not in drawn
    assert not re.search(r"name|player", picture(frame))


def test_a_hand_that_the_viewer_does_not_see_is_drawn_as_backs() -> None:
    frame = moments("shithead", None)[3]
    seat = frame.game.seats[0]
    assert HIDDEN in seat.hand
    shown, hidden = (
        picture(replace(frame, game=frame.game.with_seat(0, replace(seat, hand=hand))))
        for hand in (("Kh",) * 3, (HIDDEN,) * 3)
    )
    assert shown != hidden
    assert hidden.count('<use href="#back"') == shown.count('<use href="#back"') + 3
    assert 'id="card-Kh"' in shown
    assert 'id="card-Kh"' not in hidden, "a picture defines only the cards that it shows"


def test_a_hand_of_fifty_cards_is_drawn_as_twelve_with_the_number() -> None:
    frame = moments("shithead", ALL)[3]
    seats = frame.game.seats
    large = frame.game.with_seat(0, replace(seats[0], hand=("Kh",) * 50))
    drawn = picture(replace(frame, game=replace(large, pile=("2c",) * 50)))
    assert texts(drawn).count("50") == 2
    assert len(drawn) < MOST_BYTES


def test_the_sentence_is_that_of_the_moment_and_has_at_most_two_lines() -> None:
    ruleset = rules("shithead")
    game = play(ruleset, 2, 5)
    steps = enumerate(steps_of(game.events, game.deck), start=1)
    for frame in list(frames_of(steps, viewer=ALL, say=spelled("en"))):
        assert texts(picture(frame))[-1] in frame.caption
    long = replace(frame, caption="a very long sentence " * 40)
    assert sum("very long" in text for text in texts(picture(long))) == 2


def test_each_card_of_the_deck_has_a_drawing_of_its_own() -> None:
    cards = [Card(rank + suit) for rank in "23456789TJQKA" for suit in "cdhs"]
    ids = [card_id(card) for card in [*cards, Card("X1"), HIDDEN]]
    drawn = [symbol(one).partition(">")[2] for one in ids]
    assert len(set(ids)) == len(set(drawn)) == 54
    assert all(ET.fromstring(symbol(one)).attrib["id"] == one for one in ids)
    assert card_id(Card("7c/2")) == card_id(Card("7c")) and card_id(Card("X2")) == "card-X"


@pytest.mark.parametrize(
    ("language", "seat", "dealer", "last"),
    [("sv", "Plats 1", "giv", "shithead"), ("ja", "席 1", "親", "シットヘッド")],
)
def test_the_words_of_a_picture_are_in_its_language(
    language: str, seat: str, dealer: str, last: str
) -> None:
    game = play(rules("leeds"), 3, 1, turn_limit=3000)  # with a shithead at its end
    steps = list(enumerate(steps_of(game.events, game.deck), start=1))
    ours, english = (
        list(frames_of(steps, viewer=ALL, say=spelled(one))) for one in (language, "en")
    )
    assert all(one.caption != other.caption for one, other in zip(ours, english, strict=True))
    assert all(one.caption.endswith("。" if language == "ja" else ".") for one in ours)
    drawn = picture(ours[2], language)
    assert f'lang="{language}"' in drawn
    assert {seat, dealer} <= set(texts(drawn))
    number = ours[2].game.dealer
    assert number is not None
    assert f"{seat[:-1]}{number + 1}" in ours[2].caption, "the sentence counts as the table does"
    assert last in texts(picture(ours[-1], language))


def test_a_line_of_wide_characters_fits_into_the_picture() -> None:
    frame = moments("shithead", ALL)[3]
    long = picture(replace(frame, caption="席" * 200), "ja")
    assert [one for one in texts(long) if "席席" in one] == ["席" * 44, "席" * 43 + "…"]
