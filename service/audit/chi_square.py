"""The chi-square distribution, computed from the incomplete gamma function."""

from __future__ import annotations

import math

_CLOSE = 1e-14
_TINY = 1e-300
_MOST_TERMS = 100_000


def chi_square_p(statistic: float, df: int) -> float:
    """
    Return the probability that chance gives a statistic at least as large.

    Raises ValueError for less than one degree of freedom.
    """
    if df < 1:
        raise ValueError("a chi-square has at least one degree of freedom")
    return upper_gamma(df / 2, max(statistic, 0.0) / 2)


def chi_square_quantile(p: float, df: int) -> float:
    """
    Return the statistic below which chance stays with probability `p`; by bisection.

    Raises ValueError for a `p` that is not between 0 and 1.
    """
    if not 0 < p < 1:
        raise ValueError("a probability between 0 and 1")
    low, high = 0.0, float(df)
    while chi_square_p(high, df) > 1 - p:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if chi_square_p(middle, df) > 1 - p:
            low = middle
        else:
            high = middle
        if high - low <= 1e-10 * high:
            break
    return (low + high) / 2


def upper_gamma(a: float, x: float) -> float:
    """
    Return Q(a, x), the regularized upper incomplete gamma function.

    Below a + 1 the series of P converges fast, above it the continued fraction of Q
    (Abramowitz and Stegun 6.5.29 and 6.5.31, the latter by Lentz's method).
    """
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        return max(0.0, 1 - front * _series(a, x))
    return front * _fraction(a, x)


def _series(a: float, x: float) -> float:
    term = total = 1 / a
    for n in range(1, _MOST_TERMS):
        term *= x / (a + n)
        total += term
        if term < total * _CLOSE:
            break
    return total


def _fraction(a: float, x: float) -> float:
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / (b or _TINY)
    value = d
    for n in range(1, _MOST_TERMS):
        an = -n * (n - a)
        b += 2
        d = 1 / (an * d + b or _TINY)
        c = b + an / c or _TINY
        step = c * d
        value *= step
        if abs(step - 1) < _CLOSE:
            break
    return value
