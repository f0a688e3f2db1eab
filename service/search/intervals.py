"""Intervals of shares that were counted."""

from __future__ import annotations

import math
from typing import Final

Z: Final = 1.96
"""Standard deviations of an interval of 95 %."""


def wilson(share: float, count: int) -> tuple[float, float]:
    """
    Return the interval of 95 % of a share of `count` trials, between 0 and 1.

    (Wilson: Probable inference, the law of succession, and statistical inference, 1927.)

    >>> [round(end, 3) for end in wilson(0.5, 100)]
    [0.404, 0.596]
    """
    centre = share + Z * Z / (2 * count)
    spread = Z * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    scale = 1 + Z * Z / count
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
