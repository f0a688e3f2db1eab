"""Why a request is not carried out, beyond what the domain refuses; stable codes of api.md."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """A request that is not carried out; `code` is the problem type of api.md, section 1."""

    def __init__(self, code: str, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.extra = extra


def not_found(what: str) -> Refusal:
    """Return the refusal for something that is not there, or not there for this caller."""
    return Refusal("not-found", f"there is no such {what}")


def invalid(at: str, message: str) -> Refusal:
    """Return the refusal of a body with one fault, at a JSON pointer."""
    errors = [{"at": at, "message": message}]
    return Refusal("invalid-body", "the body cannot be used as it is", errors=errors)
