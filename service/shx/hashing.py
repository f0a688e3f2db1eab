"""The hash functions of SHX/1, over a tag and parts, each preceded by its length."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from service.shx.canonical import canonical


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 of `data`."""
    return hashlib.sha256(data).digest()


def u8(number: int) -> bytes:
    """Return the number as one byte."""
    return number.to_bytes(1, "big")


def u16(number: int) -> bytes:
    """Return the number as two bytes, big-endian."""
    return number.to_bytes(2, "big")


def u32(number: int) -> bytes:
    """Return the number as four bytes, big-endian."""
    return number.to_bytes(4, "big")


def u64(number: int) -> bytes:
    """Return the number as eight bytes, big-endian."""
    return number.to_bytes(8, "big")


def length_prefixed(*parts: bytes) -> bytes:
    """
    Return enc(parts…) of SHX/1: each part after its length, so no two lists have one encoding.

    >>> length_prefixed(b"ab", b"c").hex(" ", 1)
    '00 00 00 02 61 62 00 00 00 01 63'
    """
    return b"".join(u32(len(part)) + part for part in parts)


def tagged_hash(tag: str, *parts: bytes) -> bytes:
    """
    Return TH(tag, parts…), the tagged hash of SHX/1.

    >>> tagged_hash("shx/1/example", b"ab", b"c") == tagged_hash("shx/1/example", b"a", b"bc")
    False
    """
    return sha256(length_prefixed(tag.encode("ascii"), *parts))


def tagged_mac(key: bytes, tag: str, *parts: bytes) -> bytes:
    """Return TM(key, tag, parts…), the tagged HMAC of SHX/1."""
    return hmac.digest(key, length_prefixed(tag.encode("ascii"), *parts), "sha256")


def ruleset_hash(ruleset: Mapping[str, Any]) -> bytes:
    """Return the hash of the ruleset in a `game_created`: id, options and settings."""
    return sha256(canonical(dict(ruleset)))


def custom_ruleset_id(settings: Mapping[str, Any]) -> str:
    """Return the id of a custom ruleset, computed from its settings."""
    return "custom-" + sha256(canonical(dict(settings))).hex()[:16]
