"""Verification of uploads in child processes, with a time limit."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from socket import socket

from service.application.errors import Refusal
from service.application.games.evidence import Work
from service.fork_server import BrokeOff, HungUp, Killable, OutOfTime

AGAIN_AFTER = 60
"""Value of Retry-After: the same log takes the same time again."""

_log = logging.getLogger(__name__)


@cache
def verifier() -> Killable:
    """Return the fork server of this process that verifies uploads."""
    return Killable("service.application.games.uploads:answer")


def within(seconds: int) -> Work:
    """Return a function that verifies an upload within `seconds`, or raises `unavailable`."""

    def work(request: bytes, callers: Sequence[socket]) -> bytes:
        try:
            return verifier().run(request, seconds=seconds, callers=callers)
        except OutOfTime:
            detail = (
                f"the verification took more than the limit of {seconds} seconds; "
                "`shithead verify` checks the same file without a limit"
            )
        except HungUp:
            detail = "the caller hung up before the answer"
        except BrokeOff:
            _log.error("the verification of an upload crashed")
            detail = "the verification crashed; `shithead verify` checks the same file"
        raise Refusal("unavailable", detail, retry_after=AGAIN_AFTER) from None

    return work
