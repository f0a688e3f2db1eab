"""Refusals of requests, with the stable problem codes of api.md, section 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from schemas.strict_fields import MAX_ERRORS
from service.replay.sentences import Sentence, values_json

MAX_POINTER = 200
"""Maximum length of a JSON pointer in a detail; a pointer may be as long as the body."""


class Refusal(Exception):
    """
    The request is refused; `code` is the problem type of api.md, section 1.

    A detail that is a sentence is sent with its own code and values beside the text.
    """

    def __init__(self, code: str, detail: str | Sentence, **extra: Any) -> None:
        said = detail if isinstance(detail, Sentence) else None
        self.detail = detail if isinstance(detail, str) else detail.text
        super().__init__(self.detail)
        self.code = code
        coded = {} if said is None else {"code": said.code, "values": values_json(said.values)}
        self.extra = {**coded, **extra}


class InvalidHistory(Exception):
    """The stored events of a game are invalid from `seq` on; the operator must investigate."""

    def __init__(self, game: UUID, seq: int) -> None:
        super().__init__(f"game {game} is invalid at seq {seq}")


def not_found(what: str) -> Refusal:
    """Return the refusal for an object that does not exist, or that this caller may not see."""
    return Refusal("not-found", f"there is no such {what}")


def stale(what: str, present: int, seen: Collection[int]) -> Refusal:
    """
    Return the refusal of a change because none of the versions that the caller has seen is current.

    A version that never was is named: after the restore of a backup a caller may have seen more.

    >>> stale("game", 4, [9]).detail
    'this game never had version 9: its version is 4'
    """
    if any(0 < version <= present for version in seen):
        detail = f"the {what} has moved on: its version is {present}"
    elif seen:
        detail = f"this {what} never had version {min(seen)}: its version is {present}"
    else:
        detail = f'If-Match names no version of the {what}: send "v{present}"'
    return Refusal("stale-version", detail, version=present)


def check_known(what: str, present: int, after: int) -> None:
    """
    Raise Refusal `unknown-version` if `after` is greater than the present version.

    After the restore of a backup an honest client may have seen more; no event would ever reach it.
    """
    if after > present:
        detail = f"this {what} never had version {after}: its version is {present}"
        raise Refusal("unknown-version", detail, version=present)


def invalid(at: str, message: str) -> Refusal:
    """Return the refusal of a body with one error, at a JSON pointer."""
    return invalid_body([{"at": at, "message": message}])


def invalid_body(errors: Sequence[Mapping[str, str]]) -> Refusal:
    """Return the refusal of a body with these errors; its detail is the first of them."""
    first, more = errors[0], len(errors) - 1
    # The examination of a body ends at MAX_ERRORS.
    how_many = f"at least {more}" if len(errors) == MAX_ERRORS else more
    place = first["at"] or "the body"
    if len(place) > MAX_POINTER:
        place = place[:MAX_POINTER] + "…"
    others = "" if not more else f" (and {how_many} more)"
    return Refusal("invalid-body", f"{place}: {first['message']}{others}", errors=errors)
