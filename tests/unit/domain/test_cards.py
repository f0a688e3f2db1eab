"""Cards in words, and other spellings of their codes."""

from __future__ import annotations

import pytest

from service.domain.cards import JOKER, RANKS, named, nearest_code, ordered_deck

TEN_DECKS = ordered_deck(decks=10, jokers=2)


def test_each_rank_has_its_article() -> None:
    spoken = "a 2|a 3|a 4|a 5|a 6|a 7|an 8|a 9|a 10|a jack|a queen|a king|an ace|a joker"
    assert [named(rank) for rank in (*RANKS, JOKER)] == spoken.split("|")


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("10h", "Th"),
        (" tH ", "Th"),
        ("10h/10", "Th/10"),
        ("7C/10", "7c/10"),
        ("x2", "X2"),
        ("7", None),
        ("10", None),
        ("", None),
        ("10h/11", None),
        ("x3", None),
    ],
)
def test_another_spelling_of_a_code_is_recognised(typed: str, code: str | None) -> None:
    assert nearest_code(typed, TEN_DECKS) == code
