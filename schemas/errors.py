"""Errors of marshmallow as JSON pointers (RFC 6901), which problems carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_OF_THE_WHOLE = "_schema"


def pointers(messages: Any, at: str = "") -> list[dict[str, str]]:
    """Return every message with the pointer to the value that it is about."""
    return [{"at": place, "message": message} for place, message in _walk(messages, at)]


def _walk(messages: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(messages, Mapping):
        for key, inner in messages.items():
            yield from _walk(inner, at if key == _OF_THE_WHOLE else f"{at}/{_token(key)}")
    elif isinstance(messages, list | tuple):
        for message in messages:
            yield from _walk(message, at)
    else:
        yield at, str(messages)


def _token(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")
