"""Public keys of Ed25519: which 32 bytes are a point of the curve, and which prove nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

PRIME: Final = 2**255 - 19
"""Coordinates of Ed25519 are integers modulo this; d of its curve is `_CURVE_D` (RFC 8032, 5.1)."""

_CURVE_D: Final = -121665 * pow(121666, -1, PRIME) % PRIME
_ROOT_OF_MINUS_ONE: Final = pow(2, (PRIME - 1) // 4, PRIME)
_ORDER_EIGHT: Final = int.from_bytes(
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
)
SMALL_ORDER: Final = frozenset({0, 1, PRIME - 1, _ORDER_EIGHT, PRIME - _ORDER_EIGHT})
"""The y coordinates of the eight points whose order divides 8; x and -x have the same."""


def is_weak(public: bytes) -> bool:
    """
    Return whether 32 bytes encode a point of small order, in any of its encodings.

    Under such a key one signature is valid for many messages, so it proves nothing about a
    move. The sign of x is ignored and y reduced: RFC 8032 allows one encoding of each point,
    but libraries accept others as well.
    """
    y = int.from_bytes(public, "little") & (2**255 - 1)
    return y % PRIME in SMALL_ORDER


@lru_cache(maxsize=4096)
def key_fault(public: bytes) -> str | None:
    """
    Return why 32 bytes cannot serve as an Ed25519 public key; None if they can.

    The bytes are decompressed (RFC 8032, section 5.1.3): the libraries in use accept any 32
    bytes as a key and fail only when a signature is checked. A seat with such a key could
    never sign a move. A second encoding of a point is refused, because one private key would
    then have two public keys.

    >>> key_fault(bytes([0x58, *[0x66] * 31])) is None  # the base point
    True
    >>> key_fault(bytes([2, *bytes(31)]))
    'a key that is no point of the curve, so no signature verifies under it'
    """
    if is_weak(public):
        return "a key of small order, which proves nothing"
    number = int.from_bytes(public, "little")
    y, sign = number & (2**255 - 1), number >> 255
    if y >= PRIME:
        return "a key in a non-canonical encoding"
    x = _root((y * y - 1) * pow(_CURVE_D * y * y + 1, -1, PRIME) % PRIME)
    if x is None:
        return "a key that is no point of the curve, so no signature verifies under it"
    if x == 0 and sign:
        return "a key in a non-canonical encoding"
    return None


def _root(square: int) -> int | None:
    """Return a square root modulo the prime, None if there is none."""
    root = pow(square, (PRIME + 3) // 8, PRIME)
    if root * root % PRIME == square:
        return root
    root = root * _ROOT_OF_MINUS_ONE % PRIME
    return root if root * root % PRIME == square else None
