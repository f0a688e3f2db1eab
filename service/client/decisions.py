"""The search for decisions in the sealed public hands of a service."""

from __future__ import annotations

from typing import Any, TypedDict
from urllib.parse import urlencode

from service.client.api import Api


class DecisionsAnswer(TypedDict):
    """The newest decisions that meet conditions, counted, and a page of them."""

    decisions: int
    hands: int
    limited: bool
    choices: list[dict[str, Any]] | None
    items: list[dict[str, Any]]
    cannot_tell: str
    next: str | None


def search_decisions(api: Api, **conditions: str | int) -> DecisionsAnswer:
    """
    Return decisions by their conditions, as the API names them: `kind="pick_up", had_other="true"`.

    Raises Refused or NotAnswered.
    """
    found: DecisionsAnswer = api.get(f"/decisions?{urlencode(conditions)}")
    return found
