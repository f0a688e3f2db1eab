"""Request bodies and queries, parsed strictly."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import IO, Any, Final, NoReturn, cast
from urllib.parse import parse_qsl

from flask import Flask, Request, current_app, request

from service.api.call import present_call
from service.application.errors import Refusal, fault, invalid
from service.replay.sentences import Sentence, said
from service.shx.canonical import MAX_INTEGER

MAX_DEPTH = 32
"""Maximum nesting depth of a body; the schemas of the API need eight levels."""

MAX_PARAMETERS = 50
"""Maximum number of parameters of a query."""

MAX_NAMES = 500
"""Maximum number of names in an object, because each unknown name is reported."""


def malformed(what: Sentence, at: str | None = None) -> Refusal:
    """Return the refusal of a malformed request; `at` names the parameter or header."""
    if at is None:
        return Refusal("malformed", what)
    detail = said("request.parameter", at=at, fault=what)
    return Refusal("malformed", detail, errors=[fault(at, what)])


def _behind(proxy: Any) -> Callable[[], Any]:
    """
    Return the function that returns the object behind one of Flask's proxies.

    Reading an attribute through the proxy takes ten times as long as reading it directly, so the
    functions that every call runs read the object first.
    """
    return cast("Callable[[], Any]", proxy._get_current_object)  # noqa: SLF001 - documented


present_request: Callable[[], Request] = _behind(request)
"""Return the request that this thread answers."""

present_app: Callable[[], Flask] = _behind(current_app)
"""Return the application that answers the present request."""


def path_of(present: Request) -> str:
    """
    Return the path of a request with its parameters as they were parsed.

    A UUID in capitals or a number with leading zeros names the same object, which must have one
    path wherever a path is a key or is recorded.
    """
    rule, values = present.url_rule, present.view_args or {}
    if rule is None:
        return present.path
    return PATH_PARAMETER.sub(lambda match: str(values[match[1]]), rule.rule)


PATH_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
"""A parameter in the rule of a route, and its name."""


def caller_address() -> str:
    """
    Return the client address under which a request is counted.

    For IPv6 this is the /64 network, because its owner has every address in it.
    `X-Forwarded-For` has been evaluated already, for as many proxies as the settings trust.
    """
    return counted_address(present_request().remote_addr or "")


UNREADABLE_ADDRESS = "unreadable"
"""The key under which all callers are counted together whose address cannot be read."""

MAX_ADDRESS = 64
"""Maximum number of characters of an address; the longest one with scope and port has fewer."""


def counted_address(text: str) -> str:
    """
    Return the key under which an address is counted: itself, or its /64 network.

    A port that a proxy added is left out. Addresses that cannot be read, such as `unknown`, have
    one key in common, because a caller may be able to choose them.
    """
    return UNREADABLE_ADDRESS if len(text) > MAX_ADDRESS else _counted(text)


@lru_cache(maxsize=4096)
def _counted(text: str) -> str:
    try:
        address = ip_address(_without_port(text.strip().strip('"')))
    except ValueError:
        return UNREADABLE_ADDRESS
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)


def _without_port(text: str) -> str:
    """Return the address of `address:port`, `[address]:port` and `[address]`."""
    with_port = _IPV4_AND_PORT.fullmatch(text) or _BRACKETED.fullmatch(text)
    return with_port[1] if with_port else text


_IPV4_AND_PORT = re.compile(r"([0-9.]+):[0-9]{1,5}")
_BRACKETED = re.compile(r"\[([^\[\]]+)\](?::[0-9]{1,5})?")


def forwarded_address(header: str, proxies: int) -> str | None:
    """
    Return the address that the first of `proxies` trusted proxies saw; None if there are fewer.

    Quotation marks have no meaning here: one that a caller opens would swallow the address that
    the proxy appends.
    """
    addresses = header.rsplit(",", proxies)
    return addresses[-proxies].strip() if len(addresses) >= proxies else None


def limit_body(most: int) -> None:
    """Limit the body of the present request to `most` bytes, or fewer if the settings say so."""
    present = present_request()
    configured = present.max_content_length
    present.max_content_length = most if configured is None else min(most, configured)


def body_bytes() -> bytes:
    """Return the raw body; raises `too-large` or `unsupported-media-type`."""
    call = present_call()
    body = call.raw_body
    if body is None:
        check_encoding()
        present = present_request()
        length, limit = present.content_length, present.max_content_length
        if length is not None and limit is not None and length <= limit:
            body = present.environ["wsgi.input"].read(length)  # what `get_data` does in 20 calls
        else:
            body = present.get_data(cache=False)
            _check_size(len(body))
        call.raw_body = body
    return body


def copy_body(file: IO[bytes]) -> None:
    """Copy the raw body into a file and rewind it; raises as `body_bytes` does."""
    check_encoding()
    shutil.copyfileobj(request.stream, file)
    _check_size(file.tell())
    file.seek(0)


def check_encoding() -> None:
    """Raise `unsupported-media-type` for a compressed body."""
    if present_request().environ.get("HTTP_CONTENT_ENCODING") not in (None, "", "identity"):
        raise Refusal("unsupported-media-type", said("request.encoded_body"))


def _check_size(size: int) -> None:
    """Raise `too-large` for a body without Content-Length that Flask cut off at the limit."""
    present = present_request()
    if present.content_length is not None:
        return
    limit = present.max_content_length
    if limit is not None and size >= limit:
        raise Refusal("too-large", said("limit.body", n=limit))


def json_body(*, required: bool) -> Any:
    """
    Return the JSON value of the body; an empty object if an optional body is missing.

    Raises `unsupported-media-type`, `too-large`, and what `parse_json` raises.
    """
    raw = body_bytes()
    if not raw and not required:
        return {}
    _check_json_type()
    if not raw:
        raise malformed(said("request.empty_body"))
    return parse_json(raw)


def parse_json(raw: bytes) -> Any:
    """
    Return the value of JSON text.

    Raises `malformed` for text that is not strict JSON or is nested too deeply, and
    `invalid-body` for a string with a NUL character.
    """
    try:
        text = raw.decode("utf-8")
        value = _DECODER.decode(text)
        if "\\u" in text:
            # Fails for a lone surrogate, an escape that encodes no character.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        if text.count("[") + text.count("{") > MAX_DEPTH:
            _refuse_depth(value)
    except UnicodeDecodeError:
        raise malformed(said("request.body_not_utf8")) from None
    except UnicodeEncodeError:
        raise malformed(said("request.surrogate")) from None
    except RecursionError:
        raise malformed(said("request.nested", n=MAX_DEPTH)) from None
    except ValueError as error:
        raise malformed(said("request.not_json", reason=str(error))) from None
    if "\\u0000" in text:
        _refuse_nul(value)
    return value


def query_values() -> dict[str, str]:
    """
    Return the query parameters.

    Raises `malformed` for a repeated parameter, a NUL character, a query that is not
    percent-encoded UTF-8, and more than 50 parameters.
    """
    try:
        pairs = parse_qsl(
            request.query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_PARAMETERS,
        )
    except (UnicodeDecodeError, ValueError):
        raise malformed(said("request.query_encoding", n=MAX_PARAMETERS)) from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise malformed(said("request.repeated"), name)
        if "\x00" in value or "\x00" in name:
            raise malformed(said("request.nul"), name.replace("\x00", ""))
        values[name] = value
    return values


def _check_json_type() -> None:
    present = present_request()
    if present.environ.get("CONTENT_TYPE") == "application/json":
        return
    charset = present.mimetype_params.get("charset", "utf-8").lower()
    if present.mimetype != "application/json" or charset not in ("utf-8", "utf8"):
        raise Refusal("unsupported-media-type", said("request.json_type"))


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if len(pairs) > MAX_NAMES:
        raise ValueError(f"an object has more than {MAX_NAMES} names")
    for name, value in pairs:
        if name in result:
            raise ValueError("a name is repeated in an object")
        result[name] = value
    return result


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _float(text: str) -> float:
    """Return a number, also for `1.0`: a signed move has to be the one that the record states."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        raise ValueError("a number is too large")
    return int(text)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer
)


def _refuse_depth(value: Any) -> None:
    """Raise RecursionError for a value that is nested too deeply."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH + 1:
            raise RecursionError
        containers = [list(v.values()) if isinstance(v, Mapping) else v for v in level]
        level = [item for items in containers if isinstance(items, list) for item in items]


def _refuse_nul(value: Any, at: str = "") -> None:
    if isinstance(value, str) and "\x00" in value:
        raise invalid(at, said("request.nul"))
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _refuse_nul(name, at)
            _refuse_nul(inner, f"{at}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_nul(inner, f"{at}/{index}")
