"""`replace` for values of the game (structs) and for dataclasses alike, for tests."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, cast

import msgspec

Value = TypeVar("Value")


def replace(value: Value, /, **changes: Any) -> Value:
    """Return `value` with some of its fields changed."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    changed: Value = dataclasses.replace(cast("Any", value), **changes)
    return changed
