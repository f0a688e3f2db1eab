"""Ed25519 keys that no signature can be trusted under: the points of small order."""

from __future__ import annotations

from typing import Final

PRIME: Final = 2**255 - 19
_ORDER_EIGHT: Final = int.from_bytes(
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
)
SMALL_ORDER: Final = frozenset({0, 1, PRIME - 1, _ORDER_EIGHT, PRIME - _ORDER_EIGHT})
"""The y of the eight points whose order divides 8; x and -x share theirs."""


def is_weak(public: bytes) -> bool:
    """
    Return whether 32 bytes spell a point of small order, in any of its spellings.

    Under such a key one signature holds for many messages, so it would bind nobody to a move.
    The sign of x is left aside, and y is reduced: RFC 8032 has one spelling a point, but
    libraries read others as well.
    """
    y = int.from_bytes(public, "little") & (2**255 - 1)
    return y % PRIME in SMALL_ORDER
