"""What the keys do in a replay: where it stands after each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

NEXT: Final = ("right", "down", "n", " ", "enter")
BACK: Final = ("left", "up", "p", "backspace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a replay stands: at a step, perhaps with a number being typed."""

    step: int = 0  # from 0
    viewer: int = 0  # which of those whose view can be shown
    typed: str | None = None  # the version to go to, as far as it is typed
    over: bool = False


def after_key(place: Place, key: str, *, steps: int, viewers: int) -> Place:
    """Return the place after a key, in a replay of so many steps for so many viewers."""
    if place.typed is not None:
        return _typing(place, key, place.typed, steps)
    last = steps - 1
    if key in NEXT:
        return replace(place, step=min(place.step + 1, last))
    if key in BACK:
        return replace(place, step=max(place.step - 1, 0))
    match key:
        case "home":
            return replace(place, step=0)
        case "end":
            return replace(place, step=last)
        case "g":
            return replace(place, typed="")
        case "v":
            return replace(place, viewer=(place.viewer + 1) % viewers)
        case "q" | "escape":
            return replace(place, over=True)
        case _:
            return place


def _typing(place: Place, key: str, typed: str, steps: int) -> Place:
    """Return the place while the version to go to is typed; a number too great is the last."""
    if key.isdecimal() and len(typed) < 6:
        return replace(place, typed=typed + key)
    match key:
        case "backspace":
            return replace(place, typed=typed[:-1])
        case "enter" if typed:
            return replace(place, typed=None, step=min(max(int(typed), 1), steps) - 1)
        case "enter" | "escape" | "q" | "g":
            return replace(place, typed=None)
        case _:
            return place
