"""The schema of problems, and validation errors as JSON pointers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from marshmallow import fields

from schemas.moves import MoveSchema
from schemas.seeks import SeekSchema
from schemas.strict_fields import MAX_ERRORS, Chosen, Closed, Integer, about, described
from schemas.tokens import Scope

_WHOLE = "_schema"
_MESSAGES = tuple(
    (re.compile(pattern, re.DOTALL), message)
    for pattern, message in (
        (r"Missing data for required field\.", "is missing"),
        (r"Unknown field\.", "is not known here"),
        (r"Field may not be null\.", "may not be null"),
        (r"Not a valid string\.", "is not a string"),
        (r"Not a valid list\.", "is not a list"),
        (r"Not a valid mapping type\.|Invalid (?:input )?type\.", "is not an object"),
        (r"Not a valid UUID\.", "is not a UUID"),
        (r"Not a valid (?:integer|number)\.", "is not a number"),
        (r"Must be one of: (.*)\.", r"is not one of \1"),
        (
            r"Must be greater than or equal to (\S+) and less than or equal to (\S+)\.",
            r"is not from \1 to \2",
        ),
        (r"Must be greater than or equal to (\S+)\.", r"is less than \1"),
        (r"Length must be between (\d+) and (\d+)\.", r"is not \1 to \2 long"),
        (r"Length must be (\d+)\.", r"is not \1 long"),
        (r"Shorter than minimum length (\d+)\.", r"is shorter than \1"),
        (r"Longer than maximum length (\d+)\.", r"is longer than \1"),
    )
)
"""Messages of marshmallow as regular expressions, and the corresponding messages of the API."""


def pointers(messages: Any, at: str = "") -> list[dict[str, str]]:
    """Return the first messages of a ValidationError, each with the JSON pointer to its value."""
    first = islice(_walk(messages, at), MAX_ERRORS)
    return [{"at": place, "message": message} for place, message in first]


def _walk(messages: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(messages, Mapping):
        for key, inner in messages.items():
            yield from _walk(inner, at if key == _WHOLE else f"{at}/{token(key)}")
    elif isinstance(messages, list | tuple):
        for message in messages:
            yield from _walk(message, at)
    else:
        yield at, _message(str(messages))


def _message(theirs: str) -> str:
    """Return a message of marshmallow in the words of the API."""
    for pattern, ours in _MESSAGES:
        match = pattern.fullmatch(theirs)
        if match is not None:
            return match.expand(ours)
    return theirs


def token(key: Any) -> str:
    """Return a name escaped for a JSON pointer (RFC 6901)."""
    return str(key).replace("~", "~0").replace("/", "~1")


class FaultSchema(Closed):
    """An error in a body, query or header."""

    at = fields.String(
        **described("a JSON pointer into the body, or the name of a parameter or header"),
    )
    message = fields.String(**described("what is wrong with the value"))
    code = fields.String(
        **about("the code of the sentence in `message`; a fault of the schema has none")
    )
    values = fields.Dict(
        keys=fields.String(),
        **about("the values in this sentence by name; seats from 0, in the sentence from 1"),
    )


class ProblemSchema(Closed):
    """A problem (RFC 9457): why a request was refused or failed."""

    type = fields.String(
        required=True,
        metadata={"description": "the address of the problem type", "format": "uri-reference"},
    )
    title = fields.String(**described("the problem type in words"))
    status = Integer(low=400, high=599, **described("the HTTP status"))
    detail = fields.String(**described("why this request was refused, and what would be accepted"))
    instance = fields.String(**described("the path of the request"))
    code = fields.String(**described("the code of the sentence in `detail`, in `strings/`"))
    values = fields.Dict(
        keys=fields.String(),
        **described("the values in this sentence by name; seats from 0, in the sentence from 1"),
    )
    errors = fields.List(
        fields.Nested(FaultSchema),
        **about(
            "with `invalid-body`, `malformed`, `ruleset-refused`: the errors, of which the first "
            f"{MAX_ERRORS} are found"
        ),
    )
    rule = fields.String(**about("with `rule-refused`: the id of the statement"))
    rule_text = fields.String(
        allow_none=True, **about("with `rule-refused`: the text of the statement")
    )
    legal = fields.List(
        fields.Nested(MoveSchema),
        **about("with `rule-refused`: the caller's legal moves"),
    )
    seek = fields.Nested(
        SeekSchema, **about("with `seek-over`: the seek as it ended, perhaps at a `table`")
    )
    id = fields.UUID(**about("with `dispute-open` and `dispute-withdrawn`: the id of that dispute"))
    scope = Chosen(*Scope, **about("with `missing-scope`: the scope that the token lacks"))
    limit = fields.String(
        **about("with `limit-reached` and `rate-limited`: the name in `x-limits`, if it is a quota")
    )
    version = Integer(
        **about("the present version, with `rule-refused`, `stale-version` and `unknown-version`")
    )
