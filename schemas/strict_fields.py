"""Marshmallow fields that take just what JSON, or a query, says: no "yes" for true, no 1.0."""

from __future__ import annotations

import re
import unicodedata
from abc import abstractmethod
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from service.record.weak_keys import is_weak

SAFE_INTEGER = 2**53 - 1
"""The largest integer that every reader of JSON keeps exactly."""

MOST_EVENTS = 1_000_000
"""More than the events of any game; a version beyond it names nothing."""

MAX_TEXT = 300
"""Characters of the longest string that a body may hold; bundles apart."""

_DIGITS = re.compile(r"-?[0-9]{1,16}")


class Closed(Schema):
    """A schema that refuses fields it does not know."""

    class Meta:
        """Unknown fields are refused, and the document says so."""

        unknown = RAISE


class Whole(fields.Integer):
    """An integer of JSON: neither true, nor 1.0, nor "1"."""

    def __init__(self, *, low: int = 0, high: int = SAFE_INTEGER, **more: Any) -> None:
        super().__init__(strict=True, validate=validate.Range(min=low, max=high), **more)

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> int:
        if type(value) is not int:
            raise ValidationError("is not a whole number")
        return value


class QueryWhole(fields.Integer):
    """An integer in a query: digits and nothing else; a version, unless told otherwise."""

    def __init__(self, *, low: int = 0, high: int = MOST_EVENTS, **more: Any) -> None:
        super().__init__(validate=validate.Range(min=low, max=high), allow_none=False, **more)

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> int:
        if not isinstance(value, str) or not _DIGITS.fullmatch(value):
            raise ValidationError("is not a whole number")
        return int(value)


class Truth(fields.Boolean):
    """True or false of JSON, nothing that stands for it."""

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("is neither true nor false")
        return value


class QueryTruth(fields.Boolean):
    """`true` or `false` in a query."""

    def _deserialize(self, value: Any, *_args: Any, **_kwargs: Any) -> bool:
        if value not in ("true", "false"):
            raise ValidationError("is neither true nor false")
        return bool(value == "true")


class Text(fields.String):
    """A string of at most `longest` characters."""

    def __init__(self, *, shortest: int = 0, longest: int = MAX_TEXT, **more: Any) -> None:
        more.setdefault("allow_none", False)
        size = validate.Length(min=shortest, max=longest)
        whole = validate.Regexp(r"^[^\u0000]*$", error="holds a NUL")
        super().__init__(validate=[size, whole], **more)


class Name(fields.String):
    """A name that people give: characters that can be seen, brought to NFC."""

    def __init__(self, *, longest: int = 40, **more: Any) -> None:
        size = validate.Length(min=1, max=longest, error="is not 1 to {max} characters long")
        super().__init__(validate=[size, validate.Regexp(NAME_PATTERN, error=_HIDDEN)], **more)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        text = unicodedata.normalize("NFC", super()._deserialize(value, *args, **kwargs))
        if any(unicodedata.category(character) in _UNSEEN for character in text):
            raise ValidationError(_HIDDEN)
        if not text.strip():
            raise ValidationError("is empty")
        return text


NAME_PATTERN = (
    r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$"
)
_HIDDEN = "has a control character, or one that cannot be seen"
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})


class Chosen(fields.String):
    """One of a few words."""

    def __init__(self, *words: str, **more: Any) -> None:
        more.setdefault("allow_none", False)
        super().__init__(validate=validate.OneOf(words), **more)


class Shaped(fields.String):
    """A string that a pattern describes whole."""

    def __init__(self, pattern: str, what: str, **more: Any) -> None:
        more.setdefault("allow_none", False)
        super().__init__(validate=validate.Regexp(pattern, error=what), **more)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, *args, **kwargs)
        if text.endswith("\n"):  # which `$` lets pass
            raise ValidationError("ends with a line break")
        return text


class PublicKey(Shaped):
    """An Ed25519 public key in base64; one that anybody could sign for is refused."""

    def _validate(self, value: Any) -> None:
        super()._validate(value)
        if is_weak(b64decode(value)):
            raise ValidationError("is a key of small order, which proves nothing")


def hex_digits(count: int, **more: Any) -> Shaped:
    """Return a field of `count` lowercase hexadecimal digits."""
    return Shaped(rf"^[0-9a-f]{{{count}}}$", f"is not {count} lowercase hex digits", **more)


GIVEN_NAME = "[A-Za-z0-9_-]{1,60}"


def name_field(what: str, **more: Any) -> Shaped:
    """Return a field of a name that the project itself gave: of a ruleset, of a bot."""
    return Shaped(f"^{GIVEN_NAME}$", f"is not the name of a {what}", **more)


def key_field(**more: Any) -> Shaped:
    """Return a field of an Ed25519 public key: 32 bytes in standard base64."""
    return PublicKey(r"^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$", "is not a key of 32 bytes", **more)


def signature_field(**more: Any) -> Shaped:
    """Return a field of an Ed25519 signature: 64 bytes in standard base64."""
    return Shaped(r"^[A-Za-z0-9+/]{85}[AQgw]==$", "is not a signature of 64 bytes", **more)


def time_field(**more: Any) -> Shaped:
    """Return a field of a time as SHX/1 writes it."""
    return Shaped(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$", "is not a time", **more)


class OneOf(Closed):
    """
    One of several schemas, told apart by what is in the value.

    `variant` returns the schema for a value, or None where there is none; the
    document lists `variants`.
    """

    variants: tuple[type[Schema], ...] = ()

    @classmethod
    @abstractmethod
    def variant(cls, data: Mapping[str, Any]) -> type[Schema] | None:
        """Return which of the variants a value means to be."""

    def load(self, data: Any, **_more: Any) -> Any:
        """Return the value as it came, once its variant has taken it."""
        if not isinstance(data, Mapping):
            raise ValidationError("is not an object")
        schema = self.variant(data)
        if schema is None:
            raise ValidationError({self.told_by: [self.none_fits]})
        schema().load(data)
        return dict(data)

    none_fits = "is none of the kinds that are asked for"
    told_by = "_schema"
    """The field that tells the variants apart, where there is one."""
