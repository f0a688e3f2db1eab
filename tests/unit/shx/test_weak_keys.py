"""Keys of small order and keys that are not on the curve, checked by computing with points."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.shx.curve import PRIME as P
from service.shx.curve import SMALL_ORDER, is_weak, key_fault

D = -121665 * pow(121666, -1, P) % P
ORDER = 2**252 + 27742317777372353535851937790883648493
"""The order of the base point; the curve has eight times as many points."""

Point = tuple[int, int]
NEUTRAL: Point = (0, 1)


def added(one: Point, other: Point) -> Point:
    """Return the sum of two points (RFC 8032, section 5.1.4, in affine form)."""
    (x1, y1), (x2, y2) = one, other
    t = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + t, -1, P) % P
    return x, (y1 * y2 + x1 * x2) * pow(1 - t, -1, P) % P


def times(number: int, point: Point) -> Point:
    total = NEUTRAL
    while number:
        if number & 1:
            total = added(total, point)
        point, number = added(point, point), number >> 1
    return total


def point_at(y: int) -> Point | None:
    """Return a point with this y, None if the curve has none."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    return (x, y) if x * x % P == square else None


def small_points() -> set[Point]:
    """Return the eight points of small order: `ORDER` times a point of the curve is one of them."""
    found = {NEUTRAL}
    y = 2
    while len(found) < 8:
        point = point_at(y)
        if point is not None:
            found.add(times(ORDER, point))
        y += 1
    return found


def test_small_order_lists_the_y_of_all_eight_points_of_small_order() -> None:
    points = small_points()
    assert all(times(8, point) == NEUTRAL for point in points)
    assert {y for _, y in points} == SMALL_ORDER


def test_every_encoding_of_a_point_of_small_order_is_weak() -> None:
    encodings = {y + more for y in SMALL_ORDER for more in (0, P) if y + more < 2**255}
    assert len(encodings) == 7
    for y in encodings:
        for sign in (0, 1):
            assert is_weak((y | sign << 255).to_bytes(32, "little"))


def test_other_keys_are_not_weak() -> None:
    base = bytes([0x58, *[0x66] * 31])
    assert not is_weak(base)
    assert not is_weak((2).to_bytes(32, "little"))
    assert not is_weak((P + 2).to_bytes(32, "little"))


def encoded(y: int, sign: int = 0) -> bytes:
    return (y | sign << 255).to_bytes(32, "little")


@pytest.mark.parametrize("sign", [0, 1])
def test_a_key_is_a_point_of_the_curve(sign: int) -> None:
    """About half of all y are not on the curve, yet libraries accept them as keys."""
    for y in range(2, 200):
        assert (key_fault(encoded(y, sign)) is None) == (point_at(y) is not None)


def test_a_non_canonical_encoding_of_a_point_is_not_a_key() -> None:
    for y in range(19):
        assert key_fault(encoded(P + y)) is not None
        assert key_fault(encoded(P + y, 1)) is not None


def test_every_weak_key_is_faulty() -> None:
    for y in SMALL_ORDER:
        assert key_fault(encoded(y)) is not None
        assert key_fault(encoded(y, 1)) is not None


def test_generated_keys_are_valid() -> None:
    for _ in range(50):
        public = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
        assert key_fault(public) is None
