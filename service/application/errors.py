"""Why a request is not carried out, beyond what the domain refuses; stable codes of api.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

MOST_QUOTED = 200
"""Characters of a place that a sentence repeats: it may be as long as the body."""


class Refusal(Exception):
    """A request that is not carried out; `code` is the problem type of api.md, section 1."""

    def __init__(self, code: str, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.extra = extra


class Unfollowed(Exception):
    """What is stored of a game makes no game from the event `seq` on; its operator has to look."""

    def __init__(self, game: UUID, seq: int) -> None:
        super().__init__(f"game {game} cannot be followed at seq {seq}")


def not_found(what: str) -> Refusal:
    """Return the refusal for something that is not there, or not there for this caller."""
    return Refusal("not-found", f"there is no such {what}")


def invalid(at: str, message: str) -> Refusal:
    """Return the refusal of a body with one fault, at a JSON pointer."""
    return misfit([{"at": at, "message": message}])


def misfit(errors: Sequence[Mapping[str, str]]) -> Refusal:
    """Return the refusal of a body with these faults; the sentence is about the first."""
    first, more = errors[0], len(errors) - 1
    place = first["at"] or "the body"
    if len(place) > MOST_QUOTED:
        place = place[:MOST_QUOTED] + "…"
    others = "" if not more else f" (and {more} more)"
    return Refusal("invalid-body", f"{place}: {first['message']}{others}", errors=errors)
