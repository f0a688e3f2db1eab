"""
Whether a player's blind choices know too much: an e-value that may be looked at after every game.

Before a face-down card is turned, nobody knows which card lies in which slot. Given the k
faces that turned out to lie in the slots to choose from, every order of them was equally likely,
so the chosen one fits with probability g/k, where g of them fit: whatever habit the player has.

A peeker bets against that. One who looks with probability t, and then takes a card that fits,
chooses one that fits with probability (1 - t) g/k + t. The ratio of the two probabilities is
1 - t + t k/g for a fit and 1 - t for a miss; its mean for honest players is 1 at every choice, so
the product over all choices is a martingale, and so is the mean of the products over several t.
By Ville's inequality an honest player's product ever reaches a threshold 1/a with probability a
at most, however often one looks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

THRESHOLD = 1000.0
"""An e-value at which honest play is no good explanation any more."""

FALSE_ALARM = 1 / THRESHOLD
"""The probability with which an honest player ever gets there."""

LOOKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
"""How often the peekers look that the e-value bets on, a tenth of the stake on each."""

_LARGEST = 1e300


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of `slots` face-down cards was chosen; `playable` of them fitted, or this one did not."""

    slots: int
    playable: int
    fitted: bool

    @property
    def telling(self) -> bool:
        """Return whether choosing could make a difference."""
        return 0 < self.playable < self.slots


def e_value(choices: Iterable[Choice]) -> float:
    """Return the e-value of choices in their order; 1 where there are none."""
    stakes = [0.0] * len(LOOKS)  # logarithms
    for choice in choices:
        if choice.telling:
            stakes = [
                stake + math.log(_ratio(choice, look))
                for stake, look in zip(stakes, LOOKS, strict=True)
            ]
    largest = max(stakes)
    if largest > math.log(_LARGEST):
        return _LARGEST
    return sum(math.exp(stake) for stake in stakes) / len(LOOKS)


def _ratio(choice: Choice, look: float) -> float:
    if choice.fitted:
        return 1 - look + look * choice.slots / choice.playable
    return 1 - look
