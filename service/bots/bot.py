"""What a bot is: a name, a word about it, and how it chooses."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

View = Mapping[str, Any]
"""The view of the bot's own seat, as the API shows it to a person (api.md, section 4)."""

Move = dict[str, Any]
"""A move as a player posts it."""

Chooser = Callable[[View, Sequence[Move], random.Random], Move]
"""Returns a legal move, most often one of those listed; there is always at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """One kind of bot; `choose` depends on its three arguments alone, so a retry plays the same."""

    name: str
    description: str
    strength: int  # from 1, which can be beaten by chance, to 5
    choose: Chooser
