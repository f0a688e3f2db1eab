"""Marshmallow fields and base schemas without type coercion, and field helpers."""

from __future__ import annotations

import re
from abc import abstractmethod
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from marshmallow import RAISE, Schema, ValidationError, fields, post_load, validate
from msgspec import convert

from schemas.visible_text import (
    BYTES_A_CHARACTER,
    INVISIBLE,
    REFUSED,
    name_fault,
    text_fault,
    tidied,
)
from service.shx.canonical import MAX_INTEGER
from service.shx.curve import key_fault
from service.shx.validators import MAX_SEATS, MAX_TEXT

MAX_VERSION = 1_000_000
"""Highest version that a request can name; no game has as many events."""

MAX_FIELD = 40
"""Characters of an unknown field that are compared with known ones."""

MAX_ERRORS = 20
"""Number of errors after which a request is not examined further."""

_DIGITS = re.compile(r"-?[0-9]{1,1000}")


class Closed(Schema):
    """A schema that refuses unknown fields, and names the field that was probably meant."""

    class Meta:
        """Unknown fields are refused, as the OpenAPI document states."""

        unknown = RAISE

    def handle_error(self, error: ValidationError, data: Any, *, many: bool, **_more: Any) -> None:
        """Add the field with the most similar name to the message about an unknown one."""
        if many or not isinstance(error.messages, dict) or not isinstance(data, Mapping):
            return
        known = {field.data_key or name for name, field in self.load_fields.items()}
        for name in islice(data.keys() - known, MAX_ERRORS):
            near = get_close_matches(str(name)[:MAX_FIELD], known - data.keys(), 1)
            if near and name in error.messages:
                error.messages[name] = [f"is not known here: `{near[0]}` is"]


_Event = TypeVar("_Event")


def about(text: str) -> dict[str, Any]:
    """Return the argument of a field with a description for the OpenAPI document."""
    return {"metadata": {"description": text}}


def described(text: str) -> dict[str, Any]:
    """Return the arguments of a required field with a description for the OpenAPI document."""
    return {"required": True, **about(text)}


class BoundedList(fields.List[Any]):
    """
    A JSON list of `least` to `most` items, as every list in a request has to be.

    The length is checked before the items, and the items until MAX_ERRORS of them are invalid:
    the list of marshmallow validates each item first, and makes a message for each.
    """

    def __init__(self, item: fields.Field[Any], *, least: int = 0, most: int, **more: Any) -> None:
        self.bounds = validate.Length(min=least, max=most)
        super().__init__(item, validate=self.bounds, **more)

    def _deserialize(self, value: Any, *_args: Any, **kwargs: Any) -> list[Any]:
        if not isinstance(value, list):
            raise self.make_error("invalid")
        self.bounds(value)
        found, errors = [], {}
        for number, item in enumerate(value):
            try:
                found.append(self.inner.deserialize(item, **kwargs))
            except ValidationError as error:
                errors[number] = error.messages
                if len(errors) == MAX_ERRORS:
                    break
        if errors:
            raise ValidationError(errors)
        return found


class Integer(fields.Integer):
    """A JSON integer, also written as `1.0`, as in JSON Schema; `true` and `"1"` are refused."""

    def __init__(self, *, low: int = 0, high: int = MAX_INTEGER, **more: Any) -> None:
        super().__init__(strict=True, validate=validate.Range(min=low, max=high), **more)

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> int:
        return whole_number(value)


def whole_number(value: Any) -> int:
    """Return the integer that a number is; raises ValidationError for another value."""
    if type(value) is float and value.is_integer() and abs(value) <= MAX_INTEGER:
        return int(value)
    if type(value) is not int:
        raise ValidationError("is not a whole number")
    return value


class FreeObject(fields.Dict):
    """A JSON object with any names, in which `1.0` is the integer 1."""

    def deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the object with integers for such numbers."""
        return _with_integers(super().deserialize(value, *args, **kwargs))


def _with_integers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_INTEGER:
        return int(value)
    return value


class QueryInteger(fields.Integer):
    """An integer in a query string; the default limits are those of a version."""

    def __init__(self, *, low: int = 0, high: int = MAX_VERSION, **more: Any) -> None:
        super().__init__(validate=validate.Range(min=low, max=high), allow_none=False, **more)

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> int:
        if not isinstance(value, str) or not _DIGITS.fullmatch(value):
            raise ValidationError("is not a whole number")
        return int(value)


_DATE = r"\d{4}-\d\d-\d\d"
_TIME = rf"{_DATE}T\d\d:\d\d:\d\d(\.\d{{1,9}})?(Z|[+-]\d\d:\d\d)"
_NO_TIME = "is no time such as 2026-11-26T18:30:00Z"
_NO_DATE = "is neither a date nor a time such as 2026-11-26T18:30:00Z"


def time_of(text: str, *, dates: bool = False) -> datetime:
    """
    Return the moment, in UTC, of a time that a client or an operator wrote, as in RFC 3339.

    With `dates`, a date is its first moment. Raises ValidationError for other texts, and for a
    day or an hour that does not exist.
    """
    fault = _NO_DATE if dates else _NO_TIME
    if not re.fullmatch(rf"{_TIME}|{_DATE}" if dates else _TIME, text, re.ASCII):
        raise ValidationError(fault)
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the latter if UTC is before the year 1
        raise ValidationError(fault) from None


class Time(fields.Field[datetime]):
    """A time in a request, as in RFC 3339: with any offset, with and without decimals."""

    def __init__(self, *, dates: bool = False, **more: Any) -> None:
        more.setdefault("allow_none", False)
        form = f"^({_TIME}|{_DATE})$" if dates else f"^{_TIME}$"
        shown = {"type": "string", "pattern": form, **({} if dates else {"format": "date-time"})}
        more["metadata"] = {**shown, **more.get("metadata", {})}
        self._dates = dates
        super().__init__(**more)

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> datetime:
        if not isinstance(value, str):
            raise ValidationError(_NO_DATE if self._dates else _NO_TIME)
        return time_of(value, dates=self._dates)


class Boolean(fields.Boolean):
    """A JSON boolean; 0, 1 and strings are refused."""

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("is neither true nor false")
        return value


class QueryBoolean(fields.Boolean):
    """`true` or `false` in a query."""

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> bool:
        if value not in ("true", "false"):
            raise ValidationError("is neither true nor false")
        return bool(value == "true")


class Text(fields.String):
    """A string of `shortest` to `longest` characters, without NUL."""

    def __init__(self, *, shortest: int = 0, longest: int = MAX_TEXT, **more: Any) -> None:
        more.setdefault("allow_none", False)
        size = validate.Length(min=shortest, max=longest)
        whole = validate.Regexp(r"^[^\u0000]*$", error="contains a NUL character")
        super().__init__(validate=[size, whole], **more)


class MultilineText(fields.String):
    """A text of several lines that other people read; at least one character is visible."""

    def __init__(self, *, shortest: int = 0, longest: int = MAX_TEXT, **more: Any) -> None:
        more.setdefault("allow_none", False)
        self._longest = longest
        size = validate.Length(min=shortest, max=longest)
        super().__init__(validate=[size, validate.Regexp(TEXT_PATTERN, error=REFUSED)], **more)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, *args, **kwargs)
        return tidied(text, lines=True) if len(text) <= 2 * self._longest else text

    def _validate(self, value: Any) -> None:
        super()._validate(value)
        if fault := text_fault(value):
            raise ValidationError(fault)


TEXT_PATTERN = (
    r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069"
    r"\ufdd0-\ufdef\ufffe\uffff]*$"
)
"""A part of the rule for texts, for the document of the API."""


class Name(fields.String):
    """A name that a user chose: visible characters, in NFC, without spaces at its edges."""

    def __init__(self, *, longest: int = 40, **more: Any) -> None:
        self._longest = longest
        # For the document of the API, whose lengths are in code points; `name_fault` decides.
        size = validate.Length(min=1, max=BYTES_A_CHARACTER * longest)
        super().__init__(validate=[size, validate.Regexp(NAME_PATTERN, error=INVISIBLE)], **more)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, *args, **kwargs)
        if len(text) <= MAX_TEXT:  # normalising a long text takes time
            text = tidied(text, lines=False)
        if fault := name_fault(text, longest=self._longest):
            raise ValidationError(fault)
        return text


NAME_PATTERN = (
    r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufdd0-\ufdef\ufeff\ufffe\uffff]*$"
)
"""A part of the rule for names, for the document of the API."""


class Chosen(fields.String):
    """One of a fixed set of words."""

    def __init__(self, *words: str, **more: Any) -> None:
        more.setdefault("allow_none", False)
        super().__init__(validate=validate.OneOf(words), **more)


_UUID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


class Ids(fields.Field[tuple[UUID, ...]]):
    """Ids in a query, separated by commas; error messages state what they name."""

    def __init__(self, most: int, kind: str, *, metadata: dict[str, Any], **more: Any) -> None:
        shown = {"type": "string", "pattern": f"^{_UUID}(,{_UUID}){{0,{most - 1}}}$"}
        super().__init__(metadata={**shown, **metadata}, **more)
        self._most = most
        self._kind = kind

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> tuple[UUID, ...]:
        parts = value.split(",") if isinstance(value, str) else []
        if not 1 <= len(parts) <= self._most:
            raise ValidationError(f"is not 1 to {self._most} ids of {self._kind}")
        if not all(re.fullmatch(_UUID, part) for part in parts):  # UUID() accepts other forms too
            raise ValidationError(f"is not a list of ids of {self._kind}")
        return tuple(dict.fromkeys(UUID(part) for part in parts))


class PatternString(fields.String):
    """A string that matches a pattern as a whole."""

    def __init__(self, pattern: str, message: str, **more: Any) -> None:
        more.setdefault("allow_none", False)
        super().__init__(validate=validate.Regexp(pattern, error=message), **more)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, *args, **kwargs)
        if text.endswith("\n"):  # which `$` permits
            raise ValidationError("ends with a line break")
        return text


class PublicKey(PatternString):
    """An Ed25519 public key in base64; weak keys are refused."""

    def _validate(self, value: Any) -> None:
        super()._validate(value)
        if fault := key_fault(b64decode(value)):
            raise ValidationError(f"is {fault}")


def hex_digits(count: int, **more: Any) -> PatternString:
    """Return a field of `count` lowercase hexadecimal digits."""
    return PatternString(rf"^[0-9a-f]{{{count}}}$", f"is not {count} lowercase hex digits", **more)


ID_PATTERN = "[A-Za-z0-9_-]{1,60}"


ME = "me"
"""Names the caller wherever a request names a player."""

ID_OF_PLAYER = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

PLAYER_PATTERN = f"(?:me|{ID_OF_PLAYER})"


def player_or_me(**more: Any) -> PatternString:
    """Return a field of the id of a player, or `me`."""
    return PatternString(f"^{PLAYER_PATTERN}$", "is neither me nor the id of a player", **more)


HANDLE_PATTERN = "[a-z](?:-?[a-z0-9])*"
"""ASCII letters, digits and single hyphens; a handle has 3 to 20 of these characters."""

HANDLE_LENGTHS = (3, 20)


def handle_field(**more: Any) -> PatternString:
    """Return a field of a handle, by which players are found."""
    fault = "is not a handle: lower-case letters, digits and single hyphens between them"
    field = PatternString(f"^{HANDLE_PATTERN}$", fault, **more)
    field.validators.append(validate.Length(*HANDLE_LENGTHS))
    return field


def handle_prefix_field(**more: Any) -> PatternString:
    """Return a field of the first characters of a handle, two or more."""
    field = PatternString(f"^{HANDLE_PATTERN}-?$", "is not the beginning of a handle", **more)
    field.validators.append(validate.Length(2, HANDLE_LENGTHS[1]))
    return field


def name_field(kind: str, **more: Any) -> PatternString:
    """Return a field for the id of a ruleset or the name of a bot; error messages state `kind`."""
    return PatternString(f"^{ID_PATTERN}$", f"is not the name of a {kind}", **more)


def key_field(**more: Any) -> PatternString:
    """Return a field of an Ed25519 public key: 32 bytes in standard base64."""
    return PublicKey(r"^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$", "is not a key of 32 bytes", **more)


def signature_field(**more: Any) -> PatternString:
    """Return a field of an Ed25519 signature: 64 bytes in standard base64."""
    return PatternString(r"^[A-Za-z0-9+/]{85}[AQgw]==$", "is not a signature of 64 bytes", **more)


SEAT_OR_WORD = r"^(public|all|[0-9]|[1-5][0-9]|6[0-3])$"


def viewer_field(**more: Any) -> PatternString:
    """Return the field `as`: the viewer."""
    return PatternString(
        SEAT_OR_WORD, "is neither public, nor all, nor a seat", data_key="as", **more
    )


def time_field(**more: Any) -> PatternString:
    """Return a field of an answer or event: a timestamp in the format of SHX/1."""
    more["metadata"] = {"format": "date-time", **more.get("metadata", {})}
    return PatternString(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$", "is not a time", **more)


class OneOf(Closed):
    """
    One of several schemas, chosen by the content of the value.

    `variant` returns the schema for a value, None if none applies; the OpenAPI document
    lists `variants`.
    """

    variants: tuple[type[Schema], ...] = ()

    @classmethod
    @abstractmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return the variant for a value, None if none applies."""

    def load(self, data: Any, **_more: Any) -> Any:
        """Return the value unchanged; raises ValidationError if its variant refuses it."""
        if not isinstance(data, Mapping):
            raise ValidationError("is not an object")
        schema = self.variant(data)
        if schema is None:
            raise ValidationError({self.discriminator: [self.none_fits]})
        _instance(schema).load(data)
        return dict(data)

    @classmethod
    def by_value(cls) -> Mapping[str, type[Schema]]:
        """Return the variants by the value of `discriminator`, empty if there is none."""
        return {}

    none_fits = "matches none of the permitted forms"
    """The message for a value without a variant."""

    discriminator = "_schema"
    """The field by which the variants are chosen, if there is one."""


class OneOfTypes(OneOf):
    """One of several schemas, chosen by the field `type`; `types` has the schema of each."""

    types: Mapping[str, type[Schema]] = {}
    discriminator = "type"

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.variants = tuple(cls.types.values())
        cls.none_fits = f"is not one of {', '.join(cls.types)}"

    @classmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return the schema of the value's type, None for an unknown one."""
        kind = data.get("type")
        return cls.types.get(kind) if isinstance(kind, str) else None

    @classmethod
    def by_value(cls) -> Mapping[str, type[Schema]]:
        """Return the schema of each type."""
        return cls.types


def plain_data(event: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as plain JSON values."""
    return {name: _plain(value) for name, value in asdict(event).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def from_plain_data(kind: type[_Event], data: Mapping[str, Any]) -> _Event:
    """
    Return the dataclass that `plain_data` describes; omitted fields have their defaults.

    Raises ValidationError of msgspec for a missing field or a wrong type, and AttributeError for
    an unknown field, which a newer version of the service wrote.
    """
    event = convert(data, kind)
    _check_known(event, data)
    return event


def _check_known(value: Any, data: Any) -> None:
    if isinstance(value, tuple):
        for one, item in zip(value, data, strict=True):
            _check_known(one, item)
    elif isinstance(data, Mapping) and not isinstance(value, Mapping):
        for name, item in data.items():
            _check_known(getattr(value, name), item)


@cache
def _instance(schema: type[Schema]) -> Schema:
    """Return the one instance of a schema: making one costs several times as much as loading."""
    return schema()


def seat_field(text: str, *, allow_none: bool = False) -> Integer:
    """Return a required field of the number of a seat."""
    return Integer(high=MAX_SEATS - 1, allow_none=allow_none, **described(text))


def list_of(item: type[Schema], text: str, *, allow_none: bool = False) -> fields.List[Any]:
    """Return a required field of a list of objects."""
    return fields.List(fields.Nested(item), allow_none=allow_none, **described(text))


CARD_PATTERN = r"^(?:[2-9TJQKA][cdhs](?:/(?:[2-9]|[1-9][0-9]))?|X[1-9][0-9]?)$"


def card_field(**more: Any) -> PatternString:
    """Return a field of a card code, such as `Th`, `Th/2` (of the second deck) or `X1`."""
    more["metadata"] = {"example": "Th", **more.get("metadata", {})}
    return PatternString(CARD_PATTERN, "is not a card code", **more)


def card_list(**more: Any) -> fields.List[Any]:
    """Return a required list of card codes."""
    return fields.List(card_field(required=True), required=True, **more)


CURSOR = r"^[A-Za-z0-9_=.:-]{1,200}$"


class PageQuery(Closed):
    """Pagination: page size and cursor."""

    limit = QueryInteger(low=1, high=200, load_default=50, **about("the maximum number of items"))
    cursor = PatternString(
        CURSOR,
        "is not a cursor of a list",
        load_default=None,
        **about("`next` of the previous page; any other text is refused"),
    )


MAX_AFTER = 1_000_000
"""Maximum number of items on the pages before."""


class OffsetQuery(PageQuery):
    """Pagination of a list whose order changes: its cursor is the number of items before."""

    @post_load
    def _number(self, data: dict[str, Any], **_more: Any) -> dict[str, Any]:
        """Return the data with the cursor as a number, 0 without one."""
        text = data["cursor"] or "0"
        if not text.isdecimal() or int(text) > MAX_AFTER:
            raise ValidationError("is not a cursor of this list", "cursor")
        return {**data, "cursor": int(text)}


def page_of(item: type[Schema], *, order: str = "newest first") -> type[Schema]:
    """Return the schema of a page of items; `order` is described to the caller."""
    members: dict[str, Any] = {
        "__doc__": f"A page of items like {item.__name__.removesuffix('Schema')}.",
        "items": fields.List(fields.Nested(item), **described(f"the items, {order}")),
        "next": fields.String(
            allow_none=True, **described("the `cursor` of the next page; null at the end")
        ),
    }
    return type(f"{item.__name__.removesuffix('Schema')}PageSchema", (Closed,), members)
