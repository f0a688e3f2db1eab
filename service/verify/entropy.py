"""What the seats added to the shuffle, in words: who could have chosen the deck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

States = Sequence[Mapping[str, Any]]
"""For each seat its `mode` and `state`, as the audit object of the API has them."""

_ADDED: Final[Mapping[str, str]] = {
    "value": (
        "seat {} added a value in one step: no player alone could choose the deck;"
        " the house could, together with whoever sent last"
    ),
    "commit": (
        "seat {} bound itself to a value before it showed it: nobody could choose the deck"
        " without this seat, not even the house together with all others"
    ),
}


def entropy_lines(states: States) -> list[str]:
    """Return who added to the shuffle, and what that keeps from whom, a line each."""
    if states and all(state["mode"] == "none" for state in states):
        return ["no player added to the shuffle: the house alone chose it"]
    return [_line(state) for state in states]


def doubt_on_the_seed(states: States) -> str | None:
    """
    Return in words what is not shown of the choice of the seed, None where nothing is left.

    The deck is fixed before play in any case; that nobody liked it before it was fixed
    follows only from a player who was bound to a value that nobody else knew.
    """
    modes = {state["mode"] for state in states if state["state"] == "revealed"}
    if "commit" in modes:
        return None
    if "value" in modes:
        return "that the house and the player who sent last did not choose it together"
    return "that the house did not choose a seed it liked, for no player added to the shuffle"


def _line(state: Mapping[str, Any]) -> str:
    seat, mode = state["seat"], state["mode"]
    if mode == "none":
        return f"seat {seat} added nothing to the shuffle"
    if state["state"] == "revealed":
        return _ADDED[mode].format(seat)
    if state["state"] == "committed":
        return f"seat {seat} bound itself to a value and did not show it"
    return f"seat {seat} was to add to the shuffle and did not"
