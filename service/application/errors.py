"""Refusals of requests, with the stable problem codes of api.md, section 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from schemas.strict_fields import MAX_ERRORS
from service.replay.sentences import Sentence, Value, said, values_json

MAX_POINTER = 200
"""Maximum length of a JSON pointer in a detail; a pointer may be as long as the body."""


class Refusal(Exception):
    """
    The request is refused; `code` is the problem type of api.md, section 1.

    Its detail is a sentence; the code and the values of the sentence are sent beside the text.
    """

    def __init__(self, code: str, detail: Sentence, /, **extra: Any) -> None:
        self.detail = detail.text
        super().__init__(self.detail)
        self.code = code
        self.extra = {"code": detail.code, "values": values_json(detail.values), **extra}


class InvalidHistory(Exception):
    """The stored events of a game are invalid from `seq` on; the operator must investigate."""

    def __init__(self, game: UUID, seq: int) -> None:
        super().__init__(f"game {game} is invalid at seq {seq}")


def not_found(what: str, **values: Value) -> Refusal:
    """
    Return the refusal for an object that does not exist, or that this caller may not see.

    >>> not_found("game").detail
    'there is no such game'
    """
    return Refusal("not-found", said(f"absent.{what}", **values))


def missing_scope(scope: str) -> Refusal:
    """Return the refusal of a token without a scope."""
    return Refusal("missing-scope", said("request.scope", scope=str(scope)), scope=str(scope))


def stale(what: str, present: int, seen: Collection[int]) -> Refusal:
    """
    Return the refusal of a change because none of the versions that the caller has seen is current.

    A version that never was is named: after the restore of a backup a caller may have seen more.

    >>> stale("game", 4, [9]).detail
    'the game never had version 9: its version is 4'
    """
    if any(0 < version <= present for version in seen):
        detail = said("stale.moved_on", what=said(f"stale.{what}"), present=present)
    elif seen:
        detail = _never_had(what, min(seen), present)
    else:
        detail = said("stale.no_version", what=said(f"stale.{what}"), present=present)
    return Refusal("stale-version", detail, version=present)


def check_known(what: str, present: int, after: int) -> None:
    """
    Raise Refusal `unknown-version` if `after` is greater than the present version.

    After the restore of a backup an honest client may have seen more; no event would ever reach it.
    """
    if after > present:
        raise Refusal("unknown-version", _never_had(what, after, present), version=present)


def _never_had(what: str, version: int, present: int) -> Sentence:
    return said("stale.never", what=said(f"stale.{what}"), n=version, present=present)


Fault = Mapping[str, Any]
"""A fault at a place of a request: `at`, `message`, and the code of the message if any."""


def fault(at: str, what: Sentence | str) -> Fault:
    """
    Return what is wrong at a place of a request.

    A text without a code is that of a schema, for the author of a client.
    """
    if isinstance(what, str):
        return {"at": at, "message": what}
    return {"at": at, "message": what.text, "code": what.code, "values": values_json(what.values)}


def invalid(at: str, what: Sentence | str) -> Refusal:
    """Return the refusal of a body with one error, at a JSON pointer."""
    return invalid_body([fault(at, what)])


def invalid_body(errors: Sequence[Fault]) -> Refusal:
    """Return the refusal of a body with these errors; its detail is the first of them."""
    return Refusal("invalid-body", first_of(errors), errors=errors)


def first_of(errors: Sequence[Fault]) -> Sentence:
    """Return the first of the errors of a request, and how many more there are."""
    first, more = errors[0], len(errors) - 1
    place: str | Sentence = first["at"] or said("request.body")
    if len(first["at"]) > MAX_POINTER:
        place = first["at"][:MAX_POINTER] + "…"
    code = first.get("code")
    what = first["message"] if code is None else Sentence(code=code, values=first["values"])
    if not more:
        return said("request.invalid", at=place, fault=what)
    # The examination of a body ends at MAX_ERRORS.
    many = "request.invalid.many" if len(errors) == MAX_ERRORS else "request.invalid.more"
    return said(many, at=place, fault=what, n=more)
