"""How a request ended, as measures and logs may tell it to people who play themselves."""

from __future__ import annotations

from http import HTTPStatus

from flask import Response, g

BY_CARDS = frozenset({"rule-refused", "not-your-turn"})
"""Which of them refuses a move follows from the hand, at an opening or a follow-up."""

REFUSED = "refused"


def outcome(response: Response) -> tuple[int, str | None]:
    """
    Return the status and the problem of an answer; one for all that the cards decide between.

    /metrics may be read by anybody, and whoever runs the server may sit at a table: both
    would else learn of an attempt what the log keeps out.
    """
    problem: str | None = g.get("problem")
    if problem in BY_CARDS:
        return HTTPStatus.UNPROCESSABLE_ENTITY, REFUSED
    return response.status_code, problem
