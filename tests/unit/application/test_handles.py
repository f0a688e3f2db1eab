"""Look-alikes of handles, and handles that nobody can choose."""

from __future__ import annotations

import pytest

from service.application.handles import is_reserved, skeleton


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *[("bob", "b0b"), ("lola", "l01a"), ("ilse", "lise"), ("alice", "a1ice"), ("zoe", "z0e")],
        *[
            ("lisa", "li5a"),
            ("eliza", "eli2a"),
            ("abba", "a88a"),
            ("bernd", "bemd"),
            ("willy", "vvilly"),
        ],
        *[("ada-l", "adal"), ("a-da-l", "ada-l"), ("ber-nd", "bernd"), ("v-villy", "willy")],
    ],
)
def test_look_alikes_share_a_form(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"), [("ada", "eda"), ("bob", "bobb"), ("tim", "tin"), ("noon", "moon")]
)
def test_other_handles_do_not(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


@pytest.mark.parametrize(
    "handle", ["operator", "0perator", "ad-min", "v-vitness", "greedy", "gree-dy"]
)
def test_roles_and_bots_are_reserved_with_their_look_alikes(handle: str) -> None:
    assert is_reserved(handle)


def test_other_handles_are_not_reserved() -> None:
    assert not is_reserved("greedy-ada")
