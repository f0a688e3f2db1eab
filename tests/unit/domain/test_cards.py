"""Cards in words, and other spellings of their codes."""

from __future__ import annotations

import pytest

from service.domain.cards import JOKER, RANKS, nearest_code, ordered_deck
from service.replay.sentences import sentence

TEN_DECKS = ordered_deck(decks=10, jokers=2)


def test_each_rank_has_its_article() -> None:
    spoken = "a two|a three|a four|a five|a six|a seven|an eight|a nine|a ten|a jack|a queen|a king"
    found = [sentence("refused.does_not_fit", {"ranked": rank}) for rank in (*RANKS, JOKER)]
    expected = (*spoken.split("|"), "an ace", "a joker")
    assert found == [f"{rank} does not fit on the pile" for rank in expected]


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
