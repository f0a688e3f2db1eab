"""Errors of marshmallow as JSON pointers (RFC 6901), which problems carry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_OF_THE_WHOLE = "_schema"
_IN_OUR_WORDS = tuple(
    (re.compile(theirs, re.DOTALL), ours)
    for theirs, ours in (
        (r"Missing data for required field\.", "is missing"),
        (r"Unknown field\.", "is not known here"),
        (r"Field may not be null\.", "may not be null"),
        (r"Not a valid string\.", "is not a string"),
        (r"Not a valid list\.", "is not a list"),
        (r"Not a valid mapping type\.|Invalid (?:input )?type\.", "is not an object"),
        (r"Not a valid UUID\.", "is not a UUID"),
        (r"Not a valid (?:integer|number)\.", "is not a number"),
        (r"Must be one of: (.*)\.", r"is not one of \1"),
        (r"Must be greater than or equal to (\S+) and less than or equal to (\S+)\.",
         r"is not from \1 to \2"),
        (r"Must be greater than or equal to (\S+)\.", r"is less than \1"),
        (r"Length must be between (\d+) and (\d+)\.", r"is not \1 to \2 long"),
        (r"Length must be (\d+)\.", r"is not \1 long"),
        (r"Shorter than minimum length (\d+)\.", r"is shorter than \1"),
        (r"Longer than maximum length (\d+)\.", r"is longer than \1"),
    )
)
"""What marshmallow says, and how the API says it: in one style, about the value at the place."""


def pointers(messages: Any, at: str = "") -> list[dict[str, str]]:
    """Return every message with the pointer to the value that it is about."""
    return [{"at": place, "message": message} for place, message in _walk(messages, at)]


def _walk(messages: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(messages, Mapping):
        for key, inner in messages.items():
            yield from _walk(inner, at if key == _OF_THE_WHOLE else f"{at}/{token(key)}")
    elif isinstance(messages, list | tuple):
        for message in messages:
            yield from _walk(message, at)
    else:
        yield at, _in_our_words(str(messages))


def _in_our_words(message: str) -> str:
    for theirs, ours in _IN_OUR_WORDS:
        match = theirs.fullmatch(message)
        if match is not None:
            return match.expand(ours)
    return message


def token(key: Any) -> str:
    """Return a name as it stands in a JSON pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")
