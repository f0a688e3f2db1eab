"""Bodies and queries, read strictly: what two readers could take for two things is refused."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable, Mapping
from typing import IO, Any, NoReturn
from urllib.parse import parse_qsl

from flask import request

from schemas.strict_fields import SAFE_INTEGER
from service.application.errors import Refusal, misfit

DEEPEST = 32
"""How many objects and lists may stand inside one another; the API's own bodies need eight."""


def malformed(detail: str, at: str | None = None) -> Refusal:
    """Return the refusal of a request that cannot be read; `at` names the place."""
    if at is None:
        return Refusal("malformed", detail)
    return Refusal("malformed", f"{at} {detail}", errors=[{"at": at, "message": detail}])


def body_bytes() -> bytes:
    """Return the body as it was sent; raises `too-large`, where it has a length through Flask."""
    check_encoding()
    body = request.get_data(cache=True)
    _check_size(len(body))
    return body


def copy_body(file: IO[bytes]) -> None:
    """Write the body as it was sent into a file, and go back to its beginning."""
    check_encoding()
    shutil.copyfileobj(request.stream, file)
    _check_size(file.tell())
    file.seek(0)


def check_encoding() -> None:
    """Raise `unsupported-media-type` for a body that would have to be unpacked first."""
    if request.content_encoding not in (None, "", "identity"):
        raise Refusal("unsupported-media-type", "bodies are read without a content encoding")


def _check_size(size: int) -> None:
    """A body without a length is cut off at the limit, and what is left could be taken for it."""
    limit = request.max_content_length
    if request.content_length is None and limit is not None and size >= limit:
        raise Refusal("too-large", "the body is larger than this call reads")


def json_body(*, required: bool) -> Any:
    """
    Return the JSON value of the body; an empty object for a body that may be left out.

    Raises `unsupported-media-type` or `malformed`.
    """
    raw = body_bytes()
    if not raw and not required:
        return {}
    _check_json_type()
    if not raw:
        raise malformed("the body is empty")
    return parse_json(raw)


def parse_json(raw: bytes) -> Any:
    """Return the value of JSON text, refusing all that RFC 8259 leaves to the reader."""
    try:
        text = raw.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_integer,
        )
        # A lone surrogate is an escape that stands for no character.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
        _refuse_depth(value)
    except UnicodeDecodeError:
        raise malformed("the body is not UTF-8") from None
    except UnicodeEncodeError:
        raise malformed("the body has an escape that is no character") from None
    except RecursionError:
        raise malformed("the body is nested too deeply") from None
    except ValueError as error:
        raise malformed(f"the body is not JSON: {error}") from None
    if "\\u0000" in text:
        _refuse_nul(value)
    return value


def query() -> dict[str, str]:
    """Return the query's values by name; each may be given once."""
    try:
        pairs = parse_qsl(
            request.query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=50,
        )
    except (UnicodeDecodeError, ValueError):
        raise malformed("the query cannot be read") from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise malformed("is given twice", name)
        if "\x00" in value or "\x00" in name:
            raise malformed("holds a NUL", name.replace("\x00", ""))
        values[name] = value
    return values


def _check_json_type() -> None:
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if request.mimetype != "application/json" or charset not in ("utf-8", "utf8"):
        raise Refusal("unsupported-media-type", "send the body as application/json in UTF-8")


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise ValueError("a name stands twice in an object")
        result[name] = value
    return result


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _float(text: str) -> float | int:
    """Return a number; 1.0 is the integer 1, as JSON Schema has it."""
    value = float(text)
    if value.is_integer() and abs(value) <= SAFE_INTEGER:
        return int(value)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > SAFE_INTEGER:
        raise ValueError("a number is too large")
    return int(text)


def _refuse_depth(value: Any) -> None:
    """Raise where too much stands inside one another; told like what no reader could follow."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST + 1:
            raise RecursionError
        inner = [list(v.values()) if isinstance(v, Mapping) else v for v in level]
        level = [one for each in inner if isinstance(each, list) for one in each]


def _refuse_nul(value: Any, at: str = "") -> None:
    if isinstance(value, str) and "\x00" in value:
        errors = [{"at": at, "message": "holds a NUL"}]
        raise misfit(errors)
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _refuse_nul(name, at)
            _refuse_nul(inner, f"{at}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_nul(inner, f"{at}/{index}")
