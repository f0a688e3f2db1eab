"""The query of a long poll of a game or table, and the longest wait."""

from __future__ import annotations

from typing import Final

from schemas.strict_fields import Closed, QueryInteger, about

MAX_WAIT_SECONDS: Final = 30
"""How long a poll may wait. A change answers it sooner (`service/api/long_poll.py`)."""


class WaitQuery(Closed):
    """Long poll: the time to wait for a version greater than `after`."""

    after = QueryInteger(
        load_default=None,
        **about("with `wait`: the caller's version; the answer waits for a greater one"),
    )
    wait = QueryInteger(
        high=MAX_WAIT_SECONDS,
        load_default=0,
        **about(f"seconds to wait, at most {MAX_WAIT_SECONDS}"),
    )
